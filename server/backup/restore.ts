/**
 * Restores a backup: into a running server, or into an empty data directory without one.
 *
 * Run: npm run restore -- --help
 */
import { resolve } from 'node:path';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { Secret } from '#runtime/config/secret.ts';
import { previousMasterKeyOf, storedMasterKeyOf } from '#runtime/config/secrets.ts';
import { connect, connectionOf, connectionOptions, connectionUsage, DEFAULT_URL } from '#operator/connect.ts';
import { begin, follow, type Operation } from '#operator/operation.ts';
import { givenFolder, requireMakeable, requireOutside } from '#operator/given-folder.ts';
import { UsageError } from '#operator/operator-error.ts';
import { bytesText, ProgressLine } from '#operator/progress-line.ts';
import {
  type CommandValues,
  FAILED_EXIT_CODE,
  interruption,
  runCommand,
  USAGE_EXIT_CODE,
} from '#operator/run-command.ts';
import { restoreDirectory } from './restore-directory.ts';

const usage = `npm run restore -- --from <backup> [option …]

Restores a backup. First every file is compared with its checksum. After a restore no lock is held, and fence tokens are
higher than all earlier ones.

Into a running server: one repository, under its own or another name; or everything, if the server is empty. Existing data
is never replaced. Ctrl+C also cancels the restore in the server. A second Ctrl+C ends only this program.

  --from <name>          name of a backup in the backup folder of the server, or its path
  --repository <t/name>  tenant and name of a repository in it; default: the only one, else everything
  --as <t/name>          tenant and name of the restored repository; default: as in the backup
  --accept-foreign       accept a backup that is not signed with the key of the server
  --url <address>        address of the server, default ${DEFAULT_URL}
  --user <name>          administrator of tenant default, default admin
  --token <token>        token of an administrator, instead of a login

Into an empty data directory that no server uses: everything.

  --from <folder>        folder of the backup
  --into <folder>        the data directory; put the old secrets/ into it first, or set SVC_MASTER_KEY
                         (and SVC_MASTER_KEY_PREVIOUS for a backup from before the key was replaced)
  --accept-foreign       accept a backup that is not signed with that key

  --help                 show this text

${connectionUsage}

Exit code 0: done. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: wrong options, or no login.
`;

interface RestoreOperation extends Operation {
  readonly id: string;
  readonly bytes_total: number;
  readonly as: string | null;
}

const options = {
  from: { type: 'string' },
  into: { type: 'string' },
  repository: { type: 'string' },
  as: { type: 'string' },
  'accept-foreign': { type: 'boolean', default: false },
  ...connectionOptions,
} as const;

type Arguments = CommandValues<typeof options>;

async function main(values: Arguments): Promise<number> {
  const { from, into } = values;
  if (from === undefined) throw new UsageError(`Name the backup with --from.\n\n${usage}`);
  if (into === undefined) await intoServer(from, values);
  else await intoDirectory(from, into, values);
  return 0;
}

async function intoServer(from: string, values: Arguments): Promise<void> {
  const path = '/api/management/restores';
  const client = await connect(connectionOf(values));
  // From here on an interruption must cancel the restore in the server too.
  const signal = interruption();
  const { id } = await begin<RestoreOperation>(client, path, {
    from: from.includes('/') ? resolve(from) : from,
    repository: values.repository,
    as: values.as,
    accept_foreign: values['accept-foreign'],
  });
  const line = new ProgressLine(process.stdout, systemClock);
  const show = (now: RestoreOperation): void => {
    if (now.state === 'running') line.show(progressText(now.bytes, now.bytes_total, now.current));
  };
  const restore = await follow(client, `${path}/${id}`, systemClock, show, signal).finally(() => line.end());
  process.stdout.write(
    restore.as === null ? 'Everything is restored\n' : `Repository ${restore.as} is restored\n`,
  );
}

async function intoDirectory(from: string, into: string, values: Arguments): Promise<void> {
  if (values.repository !== undefined || values.as !== undefined) {
    throw new UsageError(
      'Only everything can be restored into a directory. Restore a single repository into a running server.',
    );
  }
  const asked = Object.keys(connectionOptions).find((name) => name in values);
  if (asked !== undefined)
    throw new UsageError(`With --into no server is used; leave out --${asked}.\n\n${usage}`);
  const backup = givenFolder('--from', from);
  const made = givenFolder('--into', into);
  requireOutside(made, backup);
  requireMakeable(made);
  armCrashPointFromText(process.env.SVC_CRASH_POINT);
  const signal = interruption();
  const line = new ProgressLine(process.stdout, systemClock);
  const { repositories, tenants } = await restoreDirectory({
    dataDir: made.path,
    backup: backup.path,
    key: keyOf(made.path),
    acceptForeign: values['accept-foreign'],
    clock: systemClock,
    random: systemRandom,
    signal,
    onProgress: (bytes, total, current) => line.show(progressText(bytes, total, current ?? null)),
  }).finally(() => line.end());
  process.stdout.write(
    `${into} has ${counted(tenants, 'tenant', 'tenants')} and ${counted(repositories, 'repository', 'repositories')}; start a server on it\n`,
  );
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns the key for verifying backups: the directory's own, as a server on it would have it. */
function keyOf(dataDir: string): BackupKey | undefined {
  const secretOf = (text = ''): Secret | undefined => (text === '' ? undefined : new Secret(text));
  const { SVC_MASTER_KEY: current, SVC_MASTER_KEY_PREVIOUS: before } = process.env;
  try {
    const masterKey = storedMasterKeyOf({ dataDir, masterKey: secretOf(current) });
    const previous = previousMasterKeyOf({ dataDir, masterKeyPrevious: secretOf(before) }).key;
    // A server on the directory makes a new key when there is only the previous one.
    const [first, second] = masterKey === undefined ? [previous] : [masterKey, previous];
    return first === undefined ? undefined : new BackupKey(first.bytes(), second?.bytes());
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function progressText(bytes: number, total: number, current: string | null): string {
  const percent = total === 0 ? 100 : Math.floor((bytes / total) * 100);
  return `${percent} % of ${bytesText(total / 2)}, ${current ?? 'comparing checksums'}`;
}

await runCommand({ usage, options, main });
