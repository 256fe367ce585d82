import type { GuardMutant } from './guard-mutant.ts';

const flushQuorumTest = ['test/cluster/replica-durability/flush-quorum.test.ts'];
const logReaderTest = ['test/cluster/replication/log-reader.test.ts'];
const supersededShardsTest = ['test/cluster/ownership/superseded-shards.test.ts'];
const openingTest = ['test/cluster/replication/lost-end.test.ts'];

/** The safety guards of who opens a log, or finds out what became of its appends. */
export const openingGuards: readonly GuardMutant[] = [
  {
    guard: 'an opening whose answer was lost is its own',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (owner.nonce.equals(this.#opening.nonce)) return this.#opened();',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'nothing is sent to a log that is full again',
    file: 'cluster/replication/partition-opening.ts',
    from: "if (outcome.kind === 'full') throw logFull(outcome.reason);",
    to: '',
    tests: openingTest,
  },
  {
    guard: 'a log that was shorter at first may have lost what renewed a lease',
    file: 'cluster/replication/partition-opening.ts',
    from: '    if (!isAtOnce) this.#waitAnew();\n    if (this.#breaks === 0)',
    to: '    if (this.#breaks === 0)',
    tests: openingTest,
  },
  {
    guard: 'time before a break does not count for a lease',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (this.#breaks === 0) this.#checkedMs',
    to: 'this.#checkedMs',
    tests: openingTest,
  },
  {
    guard: 'a log that was shorter for a while may have lost what renewed a lease',
    file: 'cluster/replication/partition-opening.ts',
    from: '    if (!isAtOnce) this.#waitAnew();\n    this.#leader = leader;',
    to: '    this.#leader = leader;',
    tests: openingTest,
  },
  {
    guard: 'a further epoch whose answer was lost is not opened again',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (writer.fold.state.epoch > startEpoch) return true;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an owner that others left behind does not wait for what they cut off',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (firstSequence > sequence) return true;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'a replica that was ahead once does not count at the next check',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (this.#ahead !== undefined && !isAhead(this.#ahead.position, state)) this.#ahead = undefined;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening restarts its wait after a break at the last moment',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (this.#breaks > breaks) continue;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'a log that was shorter at the last moment may have lost what renewed a lease',
    file: 'cluster/replication/partition-opening.ts',
    from: 'clock);\n    if (!isAtOnce) this.#waitAnew();\n  }',
    to: 'clock);\n    void isAtOnce;\n  }',
    tests: openingTest,
  },
  {
    guard: 'an end is not set aside of a partition that was left meanwhile',
    file: 'cluster/ownership/partition-member.ts',
    from: 'if (signal.aborted || this.#flushed === undefined) return;',
    to: 'if (this.#flushed === undefined) return;',
    tests: supersededShardsTest,
  },
  {
    guard: 'an end is not set aside of a partition that is followed again',
    file: 'cluster/ownership/partition-member.ts',
    from: '    this.#superseded?.stop();\n    try {',
    to: '    try {',
    tests: supersededShardsTest,
  },
  {
    guard: 'a follower takes no message again that a consumer delivers again',
    file: 'cluster/replication/log-reader.ts',
    from: 'if (message.sequence < next) continue;',
    to: '',
    tests: logReaderTest,
  },
  {
    guard: 'a follower continues behind nothing that it could not store',
    file: 'cluster/replication/log-reader.ts',
    from: 'if (this.#decoder.fold.state.sequence !== sequence) throw error;',
    to: '',
    tests: logReaderTest,
  },
  {
    guard: 'nothing is given back behind a message that cannot be compared at present',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (stored === undefined) throw',
    to: 'if (stored === undefined) continue;\n    if (false) throw',
    tests: ['test/cluster/replica-durability/flushed-replica.test.ts'],
  },
  {
    guard: 'an opening that was cancelled before it was stored waits for no confirmation',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: '    if (signal.aborted) giveUp();\n    else this.begin(log);',
    to: '    this.begin(log);',
    tests: flushQuorumTest,
  },
  {
    guard: 'an opening that was cancelled makes no owner',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'return log.ended === undefined && !signal.aborted;',
    to: 'return log.ended === undefined;',
    tests: flushQuorumTest,
  },
];
