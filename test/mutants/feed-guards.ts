import type { GuardMutant } from './guard-mutant.ts';

const feedTests = ['test/runtime/feed/read-feed.test.ts'];
const batchTests = ['test/runtime/feed/feed-batch.test.ts'];
const runnerTests = ['test/runtime/feed/feed-runner.test.ts'];

/** The safety guards of the change feed and its consumers. */
export const feedGuards: readonly GuardMutant[] = [
  {
    guard: 'a change is told from the state before its commit, however often the commit writes the node',
    file: 'runtime/tree/tree-writer.ts',
    from: 'details: changeDetails(before, record),',
    to: 'details: changeDetails(old, record),',
    tests: ['test/runtime/tree/tree-model.fuzz.test.ts'],
  },
  {
    guard: 'a feed never uses a number again, also after a version that did not know it',
    file: 'runtime/tree/feed-store.ts',
    from: 'last = Math.max(last, lastFeedSequence(turn));',
    to: 'last = 0;',
    tests: feedTests,
  },
  {
    guard: 'a repaired feed uses no number again that a consumer may have seen',
    file: 'runtime/tree/revision-store.ts',
    from: 'feed: { ...noFeed, last: branchHead.feed.last }',
    to: 'feed: noFeed',
    tests: feedTests,
  },
  {
    guard: 'a lost revision of a fast-forward is not passed over',
    file: 'runtime/feed/entry-changes.ts',
    from: 'if (compareRevisions(parentOf(record), previous) !== 0) throw lost(parentOf(record));',
    to: '',
    tests: feedTests,
  },
  {
    guard: 'a batch continues in the middle of an entry without reading what came before',
    file: 'runtime/feed/entry-changes.ts',
    from: 'for (let next = reached ?? from;',
    to: 'for (let next = from;',
    tests: batchTests,
  },
  {
    guard: 'a consumer does not stop for ever at changes that are lost',
    file: 'runtime/feed/feed-batch.ts',
    from: "if (items.length === 0) return startingAt(reader, 'cut');",
    to: '',
    tests: batchTests,
  },
  {
    guard: 'a missing entry is not passed over',
    file: 'runtime/feed/read-feed.ts',
    from: 'sequence === next ? entryOf(reader, sequence, row) : undefined',
    to: 'entryOf(reader, sequence, row)',
    tests: feedTests,
  },
  {
    guard: 'a consumer whose position the feed does not have starts again',
    file: 'runtime/feed/feed-batch.ts',
    from: "if (page.isCut) return startingAt(reader, 'cut');",
    to: '',
    tests: batchTests,
  },
  {
    guard: 'the position of a consumer moves with its effects',
    file: 'runtime/feed/branch-consumers.ts',
    from: 'writeConsumer(turn, { ...stored, position, start: isDone ? undefined : batch.start, state });',
    to: 'writeConsumer(turn, { ...stored, start: isDone ? undefined : batch.start, state });',
    tests: runnerTests,
  },
  {
    guard: 'a consumer takes no item before its start is complete',
    file: 'runtime/feed/branch-consumers.ts',
    from: 'start: isDone ? undefined : batch.start, state });',
    to: 'start: undefined, state });',
    tests: runnerTests,
  },
  {
    guard: 'a start whose next entry is lost is begun anew',
    file: 'runtime/feed/feed-batch.ts',
    from: '  if (isCut) return undefined;\n',
    to: '',
    tests: ['test/runtime/feed/branch-consumers.test.ts'],
  },
  {
    guard: 'the consumers of a branch are not those of its fork',
    file: 'actors/branch/history/move-head.ts',
    from: '  forgetConsumers(turn);\n',
    to: '',
    tests: runnerTests,
  },
  {
    guard: 'consumers leave a branch alone while it is being restored',
    file: 'runtime/feed/branch-consumers.ts',
    from: '    if (!hasRow(reader, CommonTable.meta, HEAD_KEY)) return undefined;\n',
    to: '',
    tests: ['test/runtime/feed/branch-consumers.test.ts'],
  },
  {
    guard: 'consumers continue in a branch that was restored',
    file: 'runtime/actor/copies/backup-behaviour.ts',
    from: '    turn.emit(rowsImported);\n',
    to: '',
    tests: ['test/scenarios/feed-restore.slow.test.ts'],
  },
  {
    guard: 'consumers continue in a branch that is opened',
    file: 'runtime/actor/host/actor-host.ts',
    from: '    observer.opened?.(actor);\n',
    to: '',
    tests: ['test/scenarios/feed-restore.slow.test.ts'],
  },
  {
    guard: 'the removal of a branch is recorded before it begins, for consumers',
    file: 'server/feed/member-feeds.ts',
    from: "await this.#tellTenant(owner, 'NoteEnding', branches);",
    to: '',
    tests: ['test/scenarios/feed-consumers.test.ts'],
  },
  {
    guard: 'a start tells consumers of recorded removals',
    file: 'server/wiring.ts',
    from: "if (engine.mode === 'embedded') services.feeds.takeUp(() => true);",
    to: '',
    tests: ['test/scenarios/feed-consumers.test.ts'],
  },
  {
    guard: 'a consumer is not told of a removal before it',
    file: 'runtime/feed/ended-branches.ts',
    from: 'if (await isRemoved(branch)) await',
    to: 'if ((await isRemoved(branch)) || true) await',
    tests: ['test/runtime/feed/ended-branches.test.ts'],
  },
];
