import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A test file, or one test of it, that is not run against a cluster. */
export interface LeftOut {
  /** From the root of the repository. */
  readonly file: string;
  /** Title of the one test, without those of the suites around it; without it the whole file. */
  readonly test?: string;
  /** What in it is of one process, or why a cluster is promised to differ. */
  readonly reason: string;
}

/**
 * What is not run against a cluster of those tests that start a server, with the reason. Everything else is, also
 * what is written later.
 */
export const leftOut: readonly LeftOut[] = [
  {
    file: 'test/scenarios/feed-restore.slow.test.ts',
    reason: 'opens the files of an embedded server; feed-failover has consumers of a cluster',
  },
  { file: 'test/history/history.test.ts', reason: 'opens data directories that earlier versions left' },
  {
    file: 'test/history/older-version.test.ts',
    reason: 'opens a data directory that an earlier version left',
  },
  {
    file: 'test/server/host/backup-folder.test.ts',
    test: 'is looked at before a start makes anything',
    reason: 'each member of a cluster has a data directory of its own, which it makes',
  },
  {
    file: 'test/scenarios/interface-examples.test.ts',
    reason: 'the examples show a single member, and the files of its data directory open one of them',
  },
  {
    file: 'test/server/first-start.test.ts',
    reason: 'takes the one port of an embedded server while it starts',
  },
  {
    file: 'test/server/full-volume-start.test.ts',
    reason: 'opens a data directory that an earlier version left',
  },
  {
    file: 'test/server/engine/revision-clock.test.ts',
    reason: 'sets the clock of an embedded server; members of a cluster go by that of the NATS servers',
  },
  {
    file: 'test/operator/local-cluster/nginx.slow.test.ts',
    reason: 'looks at the numbers of the one server behind nginx',
  },
  {
    file: 'test/server/check/check-directory.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/damage-matrix.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/damaged-shard-start.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/changed-built-ins.test.ts',
    reason: 'changes rows in the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/long-strings.slow.test.ts',
    reason: 'counts the work of one process; members read a forwarded command once more',
  },
  {
    file: 'test/scenarios/operator-programs.slow.test.ts',
    reason: 'reads, damages and salvages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/interrupted-programs.slow.test.ts',
    reason: 'checks, salvages and restores the data directory of an embedded server',
  },
  {
    file: 'test/server/host/folder-watch.test.ts',
    test: 'makes a member report that it is not ready, in the status as well',
    reason:
      'makes a folder of an embedded server read-only; the members of a cluster have others, and take turns',
  },
  {
    file: 'test/server/salvage/salvage-directory.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/server/engine/registry-file.test.ts',
    reason: 'takes files of an embedded server away',
  },
  {
    file: 'test/server/refused-start.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/server/salvage/rebuilt-catalogue.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/mixed-directory.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/server/check/kept-segments.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/server/salvage/removed-beside-hole.slow.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  {
    file: 'test/scenarios/damaged-lists.test.ts',
    reason: 'damages the data directory of an embedded server',
  },
  { file: 'test/scenarios/checks.test.ts', reason: 'damages the data directory of an embedded server' },
  { file: 'test/scenarios/backup-crash.slow.test.ts', reason: 'kills the one process at crash points' },
  {
    file: 'test/scenarios/rotated-master-key.test.ts',
    reason: 'renames the key of an embedded server; cluster-rotation has the master key of a cluster',
  },
  { file: 'test/scenarios/rotated-master-key.slow.test.ts', reason: 'kills the one process at crash points' },
  { file: 'test/scenarios/people-crash.slow.test.ts', reason: 'kills the one process at crash points' },
  { file: 'test/scenarios/branch-crash.slow.test.ts', reason: 'stops the one process at crash points' },
  { file: 'test/scenarios/index-build-crash.slow.test.ts', reason: 'kills the one process at crash points' },
  { file: 'test/scenarios/jobs-crash.slow.test.ts', reason: 'kills the one process at crash points' },
  { file: 'test/scenarios/bulk-crash.slow.test.ts', reason: 'kills the one process at crash points' },
  { file: 'test/scenarios/merge-crash.slow.test.ts', reason: 'stops the one process at crash points' },
  { file: 'test/scenarios/provisioning-crash.slow.test.ts', reason: 'stops the one process at crash points' },
  { file: 'test/scenarios/cluster-status.test.ts', reason: 'says what an embedded member tells of itself' },
  { file: 'test/scenarios/status.test.ts', reason: 'shows what an embedded member tells of itself' },
  {
    file: 'test/scenarios/backup-page.slow.test.ts',
    reason: 'restores into the folder of an embedded server',
  },
  {
    file: 'test/scenarios/backup.slow.test.ts',
    test: 'fill an empty data directory, which a server then serves with the old accounts [BAK-012] [BAK-016]',
    reason: 'restores into the folder of an embedded server',
  },
  {
    file: 'test/scenarios/backup.slow.test.ts',
    test: 'into an empty directory keeps servers away, and is done again from the beginning [BAK-016]',
    reason: 'restores into the folder of an embedded server',
  },
  {
    file: 'test/scenarios/backup.slow.test.ts',
    test: 'that fails in the middle ends with an error exit code, also after it has cleaned up [BAK-015]',
    reason: 'restores into the folder of an embedded server',
  },
  {
    file: 'test/scenarios/backup.slow.test.ts',
    test: 'is refused where a directory is in use, and for what is no backup',
    reason: 'restores into the folder of an embedded server',
  },
  {
    file: 'test/scenarios/lock-lifetimes.test.ts',
    test: 'counts from the restart, for every lock that was held [LOCK-013]',
    reason: 'lets time stand still, in which members do not hear each other',
  },
  {
    file: 'test/scenarios/idempotency.test.ts',
    test: 'is remembered across a restart and for 24 hours [IDEM-005]',
    reason: 'sets the clock ahead, which members correct by the clocks of the NATS servers',
  },
  {
    file: 'test/scenarios/operations.test.ts',
    test: 'describes every metric of a member, and no other',
    reason: 'compares a page with the numbers of an embedded member',
  },
  {
    file: 'test/scenarios/prometheus.test.ts',
    reason: 'starts a member of each mode and compares alert rules with the numbers of both',
  },
  {
    file: 'test/protocols/rest/identity/login-times.test.ts',
    reason: 'sets the clock ahead, which members correct by the clocks of the NATS servers',
  },
  {
    file: 'test/scenarios/read-consistency.test.ts',
    test: 'changes no answer: the process is the owner',
    reason: 'in a cluster local reads may be older than what another member was told',
  },
  {
    file: 'test/scenarios/system-routes.test.ts',
    test: 'answers that it serves, as JSON [HTTP-035]',
    reason: 'says what an embedded member tells of itself',
  },
  {
    file: 'test/scenarios/system-routes.test.ts',
    test: 'are answered to this machine, with counts and durations of requests [HTTP-032]',
    reason: 'counts what one member did, which has a journal',
  },
  {
    file: 'test/server/engine/member-bus.test.ts',
    test: 'notifies listeners of commits, counts them, and reports deleted branches and repositories',
    reason: 'counts what one member told',
  },
  {
    file: 'test/operator/local-cluster/haproxy.slow.test.ts',
    reason: 'is about the balancer, not about who is behind it',
  },
  { file: 'test/scenarios/cluster-edges.nats.slow.test.ts', reason: 'starts a cluster of its own' },
  { file: 'test/server/cluster-bus.nats.slow.test.ts', reason: 'starts a cluster of its own' },
  {
    file: 'test/server/backup/cluster-backup.nats.slow.test.ts',
    reason: 'starts a cluster of its own',
  },
  {
    file: 'test/server/host/folder-watch.test.ts',
    test: 'makes a member of which a folder was moved away report that it is not ready',
    reason: 'moves a folder of an embedded server; the members of a cluster have others, and take turns',
  },
  {
    file: 'test/server/host/signing-key.test.ts',
    test: 'a member with a lost key serves, and has an alarm until its next start',
    reason: 'the members of a cluster are given their key',
  },
  {
    file: 'test/scenarios/rotated-signing-key.test.ts',
    reason: 'starts one data directory with several keys',
  },
];

const root = join(import.meta.dirname, '../..');

/** Every test file that starts a server in its process, from the root of the repository, sorted. */
export function serverTests(): readonly string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .filter((file) => /\bstartServer\(/.test(readFileSync(join(root, file), 'utf8')))
    .sort();
}

/** The test files that are run against a cluster. */
export function clusterTests(): readonly string[] {
  const files = new Set(leftOut.flatMap(({ file, test }) => (test === undefined ? [file] : [])));
  return serverTests().filter((file) => !files.has(file));
}
