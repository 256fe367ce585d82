import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LockGrant, LockRefused } from '#actors/locks/messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { AdminPrincipal } from '#runtime/access/principal.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callers } from '#test/support/host-fixture.ts';
import { LocksFixture } from '#test/support/locks-fixture.ts';

let locks: LocksFixture;

beforeEach(async () => {
  locks = await LocksFixture.open();
});

afterEach(() => locks.close());

/** The shorter of two times to wait; the other one is twice as long. */
const WAIT_MS = 30_000;

function callerNamed(userId: string): Caller {
  const principal = { ...(callers.admin.principal as AdminPrincipal), userId };
  return { principal, policy: policyFor(principal, principal.tenant) };
}

/** What became of the acquires of one caller. */
class Crowd {
  readonly caller: Caller;
  granted = 0;
  timedOut = 0;
  refused = 0;
  waiting = 0;
  /** Codes of errors that nobody expects. */
  readonly failures = new Set<string>();

  constructor(name: string) {
    this.caller = callerNamed(name);
  }

  /** Asks so often for a lock that is taken. */
  async join(count: number, waitMs: number): Promise<void> {
    for (let asked = 0; asked < count; asked += 1) {
      this.waiting += 1;
      locks.acquire('a', 1_000, waitMs, this.caller).then(
        (answer) => this.#heard(answer),
        (error: unknown) => this.#failed(error),
      );
      // No more at once than a mailbox takes.
      if (asked % 1_000 === 999) await locks.quiet();
    }
    await locks.quiet();
  }

  #heard({ acquired }: LockGrant | LockRefused): void {
    this.waiting -= 1;
    if (acquired) this.granted += 1;
    else this.timedOut += 1;
  }

  #failed(error: unknown): void {
    const code = error instanceof ServiceError ? error.code : String(error);
    // Who still waits when the test is over.
    if (code === 'SHUTTING_DOWN') return;
    this.waiting -= 1;
    if (code === 'RATE_LIMITED') this.refused += 1;
    else this.failures.add(code);
  }
}

test('ten thousand acquires wait, no caller takes the places of all, and each is answered in its turn', async () => {
  await locks.taken('a', 60 * WAIT_MS);
  const [greedy, second, third, fourth, late] = ['1', '2', '3', '4', '5'].map((name) => new Crowd(name)) as [
    Crowd,
    Crowd,
    Crowd,
    Crowd,
    Crowd,
  ];
  // Alone, one may have half of the places, and not one more.
  await greedy.join(5_500, WAIT_MS);
  expect([greedy.waiting, greedy.refused]).toEqual([5_000, 500]);
  // Beside them others have a quarter each, until all are taken.
  await second.join(2_600, WAIT_MS);
  expect([second.waiting, second.refused]).toEqual([2_500, 100]);
  await third.join(2_000, 2 * WAIT_MS);
  await fourth.join(500, 2 * WAIT_MS);
  expect([third.waiting, fourth.waiting]).toEqual([2_000, 500]);
  await late.join(10, WAIT_MS);
  expect(late.refused).toBe(10);

  // The time of 7,500 is up at one moment: more than a mailbox takes.
  await locks.pass(WAIT_MS);
  for (let round = 0; round < 100 && greedy.waiting + second.waiting > 0; round += 1) await locks.pass(1);
  expect([greedy.timedOut, second.timedOut]).toEqual([5_000, 2_500]);
  expect([greedy.waiting, second.waiting, third.waiting, fourth.waiting]).toEqual([0, 0, 2_000, 500]);
  await late.join(10, 2 * WAIT_MS);
  expect(late.waiting).toBe(10);
  expect([greedy, second, third, fourth, late].flatMap(({ failures }) => [...failures])).toEqual([]);
});
