import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LockPage, PoolPage } from '#actors/locks/messages.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { LocksFixture } from '#test/support/locks-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { LocksModel } from './locks-model.ts';

const keys = ['a', 'b'] as const;
const key = fc.constantFrom(...keys);

/** Times that meet each other often. */
const ms = fc.constantFrom(10, 20, 30, 40);

type Step =
  | { readonly do: 'acquire'; readonly key: string; readonly ttlMs: number; readonly waitMs: number }
  | { readonly do: 'release' | 'renew'; readonly key: string; readonly pick: number; readonly ttlMs: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart' | 'lose' }
  | {
      readonly do: 'claim' | 'put back';
      readonly key: string;
      readonly n: number;
      readonly capacity: number;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      key,
      ttlMs: ms,
      waitMs: fc.constantFrom(0, 0, 10, 25, 60),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('release' as const, 'renew' as const),
      key,
      pick: fc.nat(),
      ttlMs: ms,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 35 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'lose' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('claim' as const, 'put back' as const),
      key,
      n: fc.integer({ min: 1, max: 4 }),
      capacity: fc.integer({ min: 0, max: 9 }),
    }),
  },
);

/** The real thing and the model, side by side. */
class Pair {
  readonly real: LocksFixture;
  readonly model = new LocksModel();
  /** Tokens that were ever granted, so that old ones are tried as well. */
  readonly tokens: number[] = [];
  /** What became of real waiters, by the model's numbers. */
  readonly heard = new Map<number, string>();
  readonly expected = new Map<number, string>();
  /** Tokens of the model by those of the real locks, which may skip some. */
  readonly #offset: number;
  readonly #prefix: string;

  constructor(real: LocksFixture, offset: number, prefix: string) {
    this.real = real;
    this.#offset = offset;
    this.#prefix = prefix;
  }

  name(text: string): string {
    return this.#prefix + text;
  }

  async run(each: Step): Promise<void> {
    switch (each.do) {
      case 'acquire':
        return await this.#acquire(each.key, each.ttlMs, each.waitMs);
      case 'release':
      case 'renew':
        return await this.#return(each.do, each.key, each.pick, each.ttlMs);
      case 'pass':
        // A moment at a time, so that what happens at one does not depend on what happens at a later one.
        for (let index = 0; index < each.ms; index += 1) {
          this.#expectAll(this.model.advance(1));
          await this.real.pass(1);
        }
        return;
      case 'restart':
        for (const id of this.model.restart()) this.expected.set(id, 'SHUTTING_DOWN');
        await this.real.host.reopen();
        // Leases end by themselves once the locks are used; unused ones last their time again at every restart.
        await this.real.claim(this.name('touched'), 1, 0);
        await this.real.quiet();
        return;
      case 'lose':
        // A write that is thrown away changes nothing, also nothing of what was there.
        await this.real.refusing(new ServiceError('STORAGE_FULL'), async () => {
          // Several in a row, so that the next is lost while what the first one took is being read in again.
          for (let count = 0; count < 3; count += 1) {
            const claimed = this.real.claim(this.name('lost'), 1, 1);
            await expect(claimed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
          }
        });
        // Leases are read in again now: one that ends before that is done would end at the next moment only.
        await this.real.quiet();
        return;
      default:
        return await this.#units(each);
    }
  }

  async #acquire(name: string, ttlMs: number, waitMs: number): Promise<void> {
    const outcome = this.model.acquire(name, ttlMs, waitMs);
    const real = this.real.acquire(this.name(name), ttlMs, waitMs);
    if ('waiter' in outcome) {
      real.then(
        (answer) =>
          this.heard.set(outcome.waiter, answer.acquired ? `${answer.token - this.#offset}` : 'refused'),
        (error) => this.heard.set(outcome.waiter, (error as ServiceError).code),
      );
      await this.real.quiet();
      return;
    }
    const answer = await real;
    expect(answer.acquired ? answer.token - this.#offset : null).toBe(outcome.token);
    if (outcome.token !== null) this.tokens.push(outcome.token);
  }

  async #return(what: 'release' | 'renew', name: string, pick: number, ttlMs: number): Promise<void> {
    // The holder's most of the time, else one from long ago.
    const held = this.model.leases.get(name)?.token;
    const token = pick % 4 === 0 ? (this.tokens[pick % (this.tokens.length || 1)] ?? 1) : (held ?? 1);
    if (what === 'renew') {
      const renewed = await this.real.renew(this.name(name), token + this.#offset, ttlMs);
      expect(renewed).toBe(this.model.renew(name, token, ttlMs));
      return;
    }
    const released = await this.real.release(this.name(name), token + this.#offset);
    const { ended, released: expected } = this.model.release(name, token);
    expect(released).toBe(expected);
    this.#expectAll(ended);
    await this.real.quiet();
  }

  async #units(each: Extract<Step, { capacity: number }>): Promise<void> {
    const pool = this.name(each.key);
    if (each.do === 'claim') {
      const answer = await this.real.claim(pool, each.n, each.capacity);
      expect(answer.claimed ? answer.remaining : null).toBe(
        this.model.claim(each.key, each.n, each.capacity),
      );
      return;
    }
    const remaining = await this.real.releaseUnits(pool, each.n).catch(() => null);
    expect(remaining).toBe(this.model.releaseUnits(each.key, each.n));
  }

  #expectAll(ended: ReturnType<LocksModel['advance']>): void {
    for (const { id, token } of ended) {
      this.expected.set(id, token === null ? 'refused' : `${token}`);
      if (token !== null) this.tokens.push(token);
    }
  }

  /** Compares everything that can be seen. */
  check(): void {
    expect(Object.fromEntries(this.heard)).toEqual(Object.fromEntries(this.expected));
    const locks = this.real.ask<LockPage>({ type: 'ListLocks', limit: 1000 }).items;
    const own = locks.filter((lock) => lock.key.startsWith(this.#prefix));
    const now = this.real.clock.wallMs();
    const seen = own.map((lock) => [
      lock.key,
      lock.token - this.#offset,
      lock.expires_at_ms - now,
      lock.waiting,
    ]);
    const held = keys.flatMap((name) => {
      const lease = this.model.leases.get(name);
      const waiting = this.model.lines.get(name)?.length ?? 0;
      return lease === undefined
        ? []
        : [[this.name(name), lease.token, lease.endsAtMs - this.model.nowMs, waiting]];
    });
    expect(seen).toEqual(held);
    const pools = this.real.ask<PoolPage>({ type: 'ListPools', limit: 1000 }).items;
    const shown = pools.filter(({ pool }) => keys.some((name) => pool === this.name(name)));
    const touched = keys.flatMap((name) => {
      const pool = this.model.pools.get(name);
      return pool === undefined ? [] : [{ pool: this.name(name), ...pool }];
    });
    expect(shown).toEqual(touched);
    for (const { capacity, remaining } of shown) {
      expect(remaining).toBeGreaterThanOrEqual(0);
      expect(remaining).toBeLessThanOrEqual(capacity);
    }
  }
}

let real: LocksFixture;
let runs = 0;

beforeAll(async () => {
  real = await LocksFixture.open();
});

afterAll(() => real.close());

/** A token that is free to take tells where the counter stands; taking it is part of the history. */
async function pairOf(): Promise<Pair> {
  runs += 1;
  // Whatever an earlier run left is over: its leases end, its waiters go.
  await real.pass(1_000);
  const token = await real.taken(`probe ${runs}`, 10);
  await real.release(`probe ${runs}`, token);
  return new Pair(real, token, `${runs} `);
}

it('locks and pools do what the model does, through time, restarts and lost writes [INV-004] [LOCK-003]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const pair = await pairOf();
      for (const each of steps) {
        await pair.run(each);
        pair.check();
      }
    }),
    {
      numRuns: workloadCount(30),
      // A lease ends at the moment after a write was lost.
      examples: [
        [
          [
            { do: 'acquire', key: 'b', ttlMs: 10, waitMs: 0 },
            { do: 'acquire', key: 'b', ttlMs: 30, waitMs: 40 },
            { do: 'pass', ms: 9 },
            { do: 'lose' },
            { do: 'pass', ms: 31 },
          ],
        ],
      ],
      // A failure is told of with its seed and as far as it is shrunk, instead of running into the time of the test.
      interruptAfterTimeLimit: 20_000,
    },
  );
});
