import type { GuardMutant } from './guard-mutant.ts';

const ruleTest = ['test/cluster/snapshot/truncation-rule.test.ts'];
const truncationTest = ['test/cluster/snapshot/log-truncation.test.ts'];
const sweepTest = ['test/cluster/snapshot/snapshot-sweep.test.ts'];
const writerTest = ['test/cluster/snapshot/snapshot-writer.test.ts'];

/** The safety guards of what is removed of logs and stored snapshots. */
export const snapshotGuards: readonly GuardMutant[] = [
  {
    guard: 'a log is cut before both snapshots',
    file: 'cluster/snapshot/truncation-rule.ts',
    from: '{ sequence: oldest.sequence, what:',
    to: '{ sequence: snapshots[0]?.sequence ?? 0, what:',
    tests: ruleTest,
  },
  {
    guard: 'a log is cut before what its owner has not stored',
    file: 'cluster/snapshot/truncation-rule.ts',
    from: '{ sequence: ownerStored, what:',
    to: '{ sequence: Number.POSITIVE_INFINITY, what:',
    tests: ruleTest,
  },
  {
    guard: 'a log is cut before what a follower has not stored, where one member has taken all snapshots',
    file: 'cluster/snapshot/truncation-rule.ts',
    from: 'if (new Set(snapshots.map(({ member }) => member)).size < SNAPSHOTS_KEPT)',
    to: 'if (false)',
    tests: ruleTest,
  },
  {
    guard: 'a follower that does not answer has stored nothing',
    file: 'cluster/snapshot/truncation-rule.ts',
    from: 'sequence: stored ?? 0,',
    to: 'sequence: stored ?? Number.POSITIVE_INFINITY,',
    tests: ruleTest,
  },
  {
    guard: 'only snapshots of this log count when it is cut',
    file: 'cluster/snapshot/log-truncation.ts',
    from: '      .filter(({ position }) => position.identity === state.identity)\n',
    to: '',
    tests: truncationTest,
  },
  {
    guard: 'a log that was recreated is not truncated',
    file: 'cluster/snapshot/log-truncation.ts',
    from: 'if ((await stream.state()).identity !== state.identity) return undefined;',
    to: '',
    tests: truncationTest,
  },
  {
    guard: 'no stored file is removed before a log has its beginning or a snapshot',
    file: 'cluster/snapshot/snapshot-sweep.ts',
    from: 'if (firstSequence > 1 && !records.some((record) => isContinued(record, firstSequence))) {',
    to: 'if (false) {',
    tests: sweepTest,
  },
  {
    guard: 'no stored file is removed while a named one is missing',
    file: 'cluster/snapshot/snapshot-sweep.ts',
    from: 'if ((await blobs.info(hash)) === undefined) throw keeping(',
    to: 'if (false) throw keeping(',
    tests: sweepTest,
  },
  {
    guard: 'no stored file is removed that a snapshot names',
    file: 'cluster/snapshot/snapshot-sweep.ts',
    from: 'if (named.has(hash)) continue;',
    to: '',
    tests: sweepTest,
  },
  {
    guard: 'no stored file is removed that is young',
    file: 'cluster/snapshot/snapshot-sweep.ts',
    from: 'if (clock.wallMs() - storedAtMs >= SWEEP_AGE_MS) old.push(hash);',
    to: 'old.push(hash);',
    tests: sweepTest,
  },
  {
    guard: 'no stored file is removed while a log cannot be read',
    file: 'cluster/snapshot/snapshot-sweep.ts',
    from: "if (firstSequence === undefined) throw new ServiceError('LOG_UNAVAILABLE');",
    to: 'if (firstSequence === undefined) continue;',
    tests: sweepTest,
  },
  {
    guard: 'a snapshot builds on nothing of another log',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: 'records.filter(({ position }) => position.identity === source.identity);',
    to: 'records;',
    tests: writerTest,
  },
  {
    guard: 'a snapshot names no file of an earlier one that is gone',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: 'await this.#requireStored(stored.shared);',
    to: '',
    tests: writerTest,
  },
  {
    guard: 'a stored copy is read back',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: 'const found = await readStored(untilAborted(await blobs.get(hash), signal), owner);',
    to: 'void owner; void signal; const found = size;',
    tests: writerTest,
  },
  {
    guard: 'a file that another snapshot names stays',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: 'const info = wanted.has(hash) ? undefined : await blobs.info(hash);',
    to: 'const info = await blobs.info(hash);',
    tests: writerTest,
  },
  {
    guard: 'a file that was stored again stays',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: 'if (info !== undefined && info.storedAtMs < (kept[0]?.takenAtMs ?? 0)) await',
    to: 'if (info !== undefined) await',
    tests: writerTest,
  },
  {
    guard: 'a snapshot has no copy of another state than its position is for',
    file: 'cluster/snapshot/snapshot-writer.ts',
    from: '    requireSequence(path, store.tablesOf(id), sequence);',
    to: '',
    tests: writerTest,
  },
];
