import { describe, expect, it } from 'vitest';
import { Locks } from '#actors/locks/locks.ts';
import { insertLease } from '#actors/locks/locks-tables.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { callers } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

/** More than one command reads in. */
const STORED = 700;

const nameOf = (number: number): string => `k${String(number).padStart(6, '0')}`;

/** Locks over a store of leases that an earlier process granted. */
class Restarted {
  readonly clock = new TestClock();
  readonly locks: Locks;
  /** Point reads of the store. */
  reads = 0;
  readonly #memtable = new Memtable();
  readonly reader: TableReader;

  constructor(stored = STORED) {
    const shard = new MemoryShard(new MemoryDisk(), 8, this.clock);
    const layered = new MemtableReader(
      () => [this.#memtable],
      () => shard,
    );
    this.reader = {
      get: (table, key) => {
        this.reads += 1;
        return layered.get(table, key);
      },
      range: (table, range) => layered.range(table, range),
    };
    const turn = this.turn();
    for (let number = 0; number < stored; number += 1) {
      const lease = { token: number + 1, ttlMs: 1000, acquiredAtMs: 0, expiresAtMs: 1000, owner: null };
      insertLease(turn, nameOf(number), lease);
    }
    this.locks = new Locks({
      clock: this.clock,
      servingSinceMs: this.clock.monotonicMs(),
      tokenFloor: () => stored,
      waits: { timeUp: () => {}, grantUnsent: () => {} },
    });
  }

  turn(): TurnScope {
    const clock = new HybridClock(this.clock);
    return new TurnScope(callers.admin, 0, this.reader, this.#memtable, clock, systemRandom);
  }

  isFree(key: string): boolean {
    const command = { type: 'AcquireLock', key, ttlMs: 1000, owner: null, waitMs: 0 } as const;
    const answer = this.locks.acquire(command, this.turn());
    return 'acquired' in answer && answer.acquired;
  }
}

it('grants no more locks than memory has room for, and again when one is free', () => {
  const most = 100_000;
  const restarted = new Restarted(most);
  let after: string | undefined;
  do after = restarted.locks.adopt(restarted.turn(), after);
  while (after !== undefined);
  expect(() => restarted.isFree('one more')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
  const first = { type: 'ReleaseLock', key: nameOf(0), token: 1 } as const;
  expect(restarted.locks.release(first, restarted.turn())).toEqual({ released: true });
  expect(restarted.isFree('one more')).toBe(true);
});

describe('leases of an earlier process', () => {
  it('are not looked for in the store any more when all of them have been read in', () => {
    const restarted = new Restarted();
    const after = restarted.locks.adopt(restarted.turn(), undefined);
    expect(restarted.isFree(nameOf(STORED - 1))).toBe(false);
    expect(restarted.locks.adopt(restarted.turn(), after)).toBeUndefined();
    expect(restarted.isFree(nameOf(0))).toBe(false);
    restarted.reads = 0;
    expect([restarted.isFree('new'), restarted.isFree(nameOf(1))]).toEqual([true, false]);
    expect(restarted.reads).toBe(0);
  });

  it('are looked for again when what was read in was forgotten half-way', () => {
    const restarted = new Restarted();
    const after = restarted.locks.adopt(restarted.turn(), undefined);
    restarted.locks.forget();
    expect(restarted.locks.adopt(restarted.turn(), after)).toBeUndefined();
    expect(restarted.isFree(nameOf(0))).toBe(false);
  });

  it('are looked for again when everything was forgotten', () => {
    const restarted = new Restarted();
    let after: string | undefined;
    do after = restarted.locks.adopt(restarted.turn(), after);
    while (after !== undefined);
    restarted.locks.forget();
    expect(restarted.isFree(nameOf(0))).toBe(false);
  });

  it('hold no write while the running batch may take them away and memory has forgotten it', () => {
    const { locks, reader } = new Restarted();
    const lease = { key: nameOf(0), token: 1 };
    expect(locks.guard(lease, reader)).toBe(true);
    locks.settleGuards();
    locks.forget();
    expect(locks.guard(lease, reader)).toBe(false);
    locks.batchEnded();
    expect(locks.guard(lease, reader)).toBe(true);
  });
});
