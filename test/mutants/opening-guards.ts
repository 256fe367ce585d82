import type { GuardMutant } from './guard-mutant.ts';

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
    guard: 'a replica that was ahead for a moment says nothing of the next time',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (this.#ahead !== undefined && !isAhead(this.#ahead.position, state)) this.#ahead = undefined;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening begins its wait anew after a break at the last moment',
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
];
