import type { GuardMutant } from './guard-mutant.ts';

const callsTest = ['test/cluster/router/call-guards.nats.test.ts'];

/** The safety guards of calls between members: what is done once, and what is known of it. */
export const callGuards: readonly GuardMutant[] = [
  {
    guard: 'a call that is sent again does not join a cancelled one',
    file: 'cluster/router/call-server.ts',
    from: 'if (running === undefined || running.signal.aborted) return false;',
    to: 'if (running === undefined) return false;',
    tests: callsTest,
  },
  {
    guard: 'the end of a cancelled call leaves the call that was sent again',
    file: 'cluster/router/call-server.ts',
    from: 'if (name !== undefined && this.#named.get(name) === running) this',
    to: 'if (name !== undefined) this',
    tests: callsTest,
  },
  {
    guard: 'no call is verified after the member closed',
    file: 'cluster/router/call-server.ts',
    from: 'if (!this.#isClosed) this.#take(message);',
    to: 'this.#take(message);',
    tests: callsTest,
  },
  {
    guard: 'no call begins after it was cancelled',
    file: 'cluster/router/call-server.ts',
    from: '          running.signal.throwIfAborted();\n          resolve(',
    to: '          resolve(',
    tests: callsTest,
  },
  {
    guard: 'no long call begins after it was cancelled',
    file: 'cluster/router/call-server.ts',
    from: 'requireWaiting: () => signal.throwIfAborted()',
    to: 'requireWaiting: () => undefined',
    tests: callsTest,
  },
  {
    guard: 'calls that wait for a turn are answered before a member is settled',
    file: 'cluster/router/call-server.ts',
    from: 'this.#running.size + this.#arrived > 0',
    to: 'this.#running.size > 0',
    tests: callsTest,
  },
  {
    guard: 'calls under way are ended when a member closes',
    file: 'cluster/router/call-server.ts',
    from: "for (const running of this.#running.values()) running.cancel(new ServiceError('SHUTTING_DOWN'));",
    to: '',
    tests: callsTest,
  },
  {
    guard: 'a call is not begun later than its caller waits',
    file: 'cluster/router/call-server.ts',
    from: 'return waitMs === undefined ? caller : { ...caller, deadlineMs: this.clock.monotonicMs() + waitMs };',
    to: 'return waitMs === undefined ? caller : { ...caller };',
    tests: callsTest,
  },
  {
    guard: 'a call is done only under its precondition',
    file: 'cluster/router/call-server.ts',
    from: ': { principal, policy, signal, precondition };',
    to: ': { principal, policy, signal };',
    tests: callsTest,
  },
  {
    guard: 'an answer with a missing piece is none',
    file: 'cluster/router/remote-calls.ts',
    from: 'if (frame.number > this.#received && frame.kind !== FrameKind.error) {',
    to: 'if (false) {',
    tests: callsTest,
  },
  {
    guard: 'a call without an answer may have been done',
    file: 'cluster/router/remote-calls.ts',
    from: "if (this.#stream === undefined) this.#settle({ kind: 'lost' });",
    to: "if (this.#stream === undefined) this.#settle({ kind: 'elsewhere' });",
    tests: callsTest,
  },
  {
    guard: 'a call is not sent when its caller has left',
    file: 'cluster/router/remote-calls.ts',
    from: 'if (signal?.aborted === true) return reject(signal.reason);',
    to: '',
    tests: callsTest,
  },
  {
    guard: 'a long call is not sent to its end when its caller has left',
    file: 'cluster/router/remote-calls.ts',
    from: 'if (this.#pending.get(reply) !== pending) return;',
    to: '',
    tests: callsTest,
  },
  {
    guard: 'an acknowledgement of read pieces that was lost is sent again',
    file: 'cluster/router/remote-calls.ts',
    from: 'if (this.#acknowledged > 0) this.#acknowledge();',
    to: '',
    tests: callsTest,
  },
  {
    guard: 'calls to other members stay when one is gone',
    file: 'cluster/router/remote-calls.ts',
    from: 'if (call.subject !== subject) continue;',
    to: '',
    tests: callsTest,
  },
  {
    guard: 'callers get an error before their member stops to hear answers',
    file: 'cluster/router/remote-calls.ts',
    from: 'Math.min(call.deadlineMs, this.#endMs)',
    to: 'call.deadlineMs',
    tests: callsTest,
  },
];
