import type { GuardMutant } from './guard-mutant.ts';

const sealTest = ['test/cluster/seal/member-seal.test.ts'];
const replayTest = ['test/cluster/seal/replay-guard.test.ts'];

/** The safety guards of messages between members. */
export const sealGuards: readonly GuardMutant[] = [
  {
    guard: 'a call without a seal is refused',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (acceptsUnsigned) return { message: data, answers: unsignedAnswers };',
    to: 'return { message: data, answers: unsignedAnswers };',
    tests: sealTest,
  },
  {
    guard: 'a call is sealed with a key of the cluster, for its subject and its answer',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (!isGenuine) {',
    to: 'if (false) {',
    tests: sealTest,
  },
  {
    guard: 'a call is taken once',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (!isNew || isElse || isLate) {',
    to: 'if (isElse || isLate) {',
    tests: sealTest,
  },
  {
    guard: 'a call is for this process',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (!isNew || isElse || isLate) {',
    to: 'if (!isNew || isLate) {',
    tests: sealTest,
  },
  {
    guard: 'a call is for this time',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (!isNew || isElse || isLate) {',
    to: 'if (!isNew || isElse) {',
    tests: sealTest,
  },
  {
    guard: 'an answer is from the process that was called',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (opened === undefined || !opened.life.equals(receiver.life)) {',
    to: 'if (opened === undefined) {',
    tests: sealTest,
  },
  {
    guard: 'an answer is taken once, in order',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (opened.number <= newest) {',
    to: 'if (false) {',
    tests: sealTest,
  },
  {
    guard: 'a control message is sealed',
    file: 'cluster/seal/member-seal.ts',
    from: "if (isGenuine) return Buffer.from(body).toString('latin1');",
    to: "return Buffer.from(body).toString('latin1');",
    tests: sealTest,
  },
  {
    guard: 'a broadcast is sealed with a key of the cluster',
    file: 'cluster/seal/member-seal.ts',
    from: 'if (!isWhole || !keys.holds(purpose,',
    to: 'if (!isWhole && !keys.holds(purpose,',
    tests: sealTest,
  },
  {
    guard: 'a broadcast without a seal is refused',
    file: 'cluster/seal/member-seal.ts',
    from: "if (acceptsUnsigned) return { name: '', life: undefined, number: 0, tickMs: 0 };",
    to: "return { name: '', life: undefined, number: 0, tickMs: 0 };",
    tests: sealTest,
  },
  {
    guard: 'a broadcast is taken once',
    file: 'cluster/seal/member-seal.ts',
    from: ', sender.number)) return sender;',
    to: ', sender.number) || true) return sender;',
    tests: sealTest,
  },
  {
    guard: 'a number that is too far behind to be known is refused',
    file: 'cluster/seal/replay-guard.ts',
    from: 'if (newest - number >= REORDERED_MAX || isMarked(seen, number)) return false;',
    to: 'if (isMarked(seen, number)) return false;',
    tests: replayTest,
  },
  {
    guard: 'a number that was received is refused',
    file: 'cluster/seal/replay-guard.ts',
    from: 'if (newest - number >= REORDERED_MAX || isMarked(seen, number)) return false;',
    to: 'if (newest - number >= REORDERED_MAX) return false;',
    tests: replayTest,
  },
  {
    guard: 'a number that was skipped is not one that was received',
    file: 'cluster/seal/replay-guard.ts',
    from: 'else for (let each = newest + 1; each < number; each++) unmark(seen, each);',
    to: '',
    tests: replayTest,
  },
  {
    guard: 'a member that was not heard for long is not called',
    file: 'cluster/seal/peer-lives.ts',
    from: 'if (heard === undefined || nowMs - heard.heardMs > SILENT_MS_MAX) return undefined;',
    to: 'if (heard === undefined) return undefined;',
    tests: sealTest,
  },
  {
    guard: 'a seal records where the name of its sender ends',
    file: 'cluster/seal/member-seal.ts',
    from: '{name.length}',
    to: '{0}',
    tests: sealTest,
  },
  {
    guard: 'a call without a seal takes no sealed answer',
    file: 'cluster/seal/member-seal.ts',
    from: '(data[0] === MAGIC ? undefined : data)',
    to: 'data',
    tests: sealTest,
  },
];
