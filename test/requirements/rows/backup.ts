// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: backup and restore. */
export const backupRows: readonly Requirement[] = [
  { id: 'BAK-001', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A restored repository has every row of content, history, schema, branches and tags that the backup has' },
  { id: 'BAK-002', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup that is made while others write has every write that was answered before it was asked for' },
  { id: 'BAK-003', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup that is made while others write has each commit whole or not at all' },
  { id: 'BAK-004', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup names no branch that is not in it, although branches are deleted while it is made' },
  { id: 'BAK-005', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A repository can be restored under another name beside the one it was copied from' },
  { id: 'BAK-006', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'Restored revisions keep their numbers, and the next one is above them whatever the wall clock says' },
  { id: 'BAK-007', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'After a restore, and after another of the same backup, fence tokens of every branch are above all that were handed out before; leases are gone, pools are as they were' },
  { id: 'BAK-008', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'Background jobs that were waiting or running in a backup are done in the restored repository, on its own branches' },
  { id: 'BAK-009', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup with a file that is missing, cut or changed is refused with `BACKUP_DAMAGED` naming the file, and nothing is made' },
  { id: 'BAK-010', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'Restoring a repository where one of its name exists is refused with 409 `REPOSITORY_ALREADY_EXISTS`' },
  { id: 'BAK-011', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'Whoever follows the log has every row of a restored repository' },
  { id: 'BAK-012', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup of everything fills an empty server with all tenants, accounts and repositories, and is refused where something is' },
  { id: 'BAK-013', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup of everything has every tenant, with its accounts and repositories' },
  { id: 'BAK-014', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup that fails, is given up or is cut by a crash leaves nothing that looks whole' },
  { id: 'BAK-015', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: '`npm run backup` and `npm run restore` back up a running server and restore into it, show progress, say in words what is wrong, and exit 0 only when it is done, 1 when it failed and 2 when it could not be asked for' },
  { id: 'BAK-016', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: '`npm run restore -- --from F --into D` fills an empty data directory without a server; a server refuses to start on one that is filled in part, and running it again begins anew' },
  { id: 'BAK-017', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: '`/api/management/backups` and `/api/management/restores` answer 403 to whoever is no administrator of tenant `default`' },
  { id: 'BAK-018', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'No route writes a backup outside of `[server] backup_dir` or restores one from elsewhere: 400 `VALIDATION_FAILED`' },
  { id: 'BAK-019', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A restored repository is there whole or not at all, wherever its restore is cut' },
  { id: 'BAK-020', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup of a single server is restored into an empty cluster, and a backup any member makes of the whole cluster into an empty data directory' },
  { id: 'BAK-021', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'Every command of the documentation page on backups does what it says' },
  { id: 'BAK-022', document: 'design', section: 'Backup and restore', status: 'verified', theme: 'cluster', behaviour: 'A backup is signed with a key derived from the master key: one that was altered is refused, and one signed with another key or none is refused with `BACKUP_FOREIGN` unless the caller accepts it by name' },
];
