import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { COMMIT_BYTES_MAX, type TurnLimits, TurnScope } from '#runtime/commit/turn-scope.ts';
import { compareRevisions } from '#runtime/content/revision.ts';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { TestClock } from '#test/support/test-clock.ts';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };

class Batch {
  readonly clock = new TestClock();
  readonly hybridClock = new HybridClock(this.clock);
  readonly memtable = new Memtable();
  readonly #shard = new MemoryShard(new MemoryDisk(), 2, this.clock);
  readonly #reader = new MemtableReader(
    () => [this.memtable],
    () => this.#shard,
  );

  turn(limits: TurnLimits = {}): TurnScope {
    return new TurnScope(
      caller,
      this.clock.wallMs(),
      this.#reader,
      this.memtable,
      this.hybridClock,
      systemRandom,
      limits,
    );
  }

  /** Everything the batch holds. */
  rows(): string[] {
    return this.memtable
      .writes()
      .map(({ table, key, value }) => `${table}${key}=${value === null ? '-' : value}`)
      .sort();
  }
}

const value = (text: string): Uint8Array => Buffer.from(text);

describe('a turn', () => {
  it('reads its own writes and those of earlier commands of the batch', () => {
    const batch = new Batch();
    batch.turn().put(0, 'a', value('1'));
    const turn = batch.turn();
    expect(String(turn.get(0, 'a'))).toBe('1');
    turn.put(0, 'b', value('2'));
    turn.remove(0, 'a');
    expect(turn.get(0, 'a')).toBeUndefined();
    expect([...turn.range(0, { start: '', end: 'z' })].map(({ key }) => key)).toEqual(['b']);
  });

  it('leaves nothing behind when it is undone, after any writes of it and others', () => {
    const writes = fc.array(
      fc.tuple(
        fc.nat(1),
        fc.constantFrom('a', 'b', 'c', 'd'),
        fc.option(fc.oneof(fc.string(), fc.constant('large'.repeat(500))), { nil: null }),
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(writes, writes, (kept, undone) => {
        const batch = new Batch();
        const write = (turn: TurnScope, list: typeof kept) => {
          for (const [table, key, text] of list)
            if (text === null) turn.remove(table, key);
            else if (turn.get(table, key) === undefined) turn.insert(table, key, value(text));
            else turn.put(table, key, value(text));
        };
        write(batch.turn(), kept);
        const before = batch.rows();
        const turn = batch.turn();
        write(turn, undone);
        turn.emit({ type: 'Happened' });
        turn.undo();
        expect(batch.rows()).toEqual(before);
        expect(turn.events).toEqual([]);
        turn.undo();
        expect(batch.rows()).toEqual(before);
      }),
    );
  });

  it('takes a revision only when it is asked for one, and keeps it', () => {
    const batch = new Batch();
    const first = batch.turn().revision;
    batch.turn().put(0, 'a', value('no revision'));
    const turn = batch.turn();
    expect(turn.revision).toBe(turn.revision);
    expect(compareRevisions(turn.revision, first)).toBe(1);
  });

  it.each(['', 'x'.repeat(KEY_BYTES_MAX + 1)])(
    'refuses a key no shard takes, before it is in the log',
    (key) => {
      const batch = new Batch();
      expect(() => batch.turn().put(0, key, value('1'))).toThrow(InvariantError);
      expect(() => batch.turn().insert(0, key, value('1'))).toThrow(InvariantError);
      expect(() => batch.turn().remove(0, key)).toThrow(InvariantError);
      expect(batch.memtable.count).toBe(0);
    },
  );

  it('counts a key that is changed again and again once', () => {
    const batch = new Batch();
    const turn = batch.turn();
    const large = Buffer.alloc(COMMIT_BYTES_MAX / 8);
    for (let time = 0; time < 100; time += 1) turn.put(0, 'same', large);
    expect(batch.memtable.bytes).toBeLessThan(COMMIT_BYTES_MAX / 7);
  });

  it('refuses to grow beyond what the log takes at once, and can be undone then', () => {
    const batch = new Batch();
    const turn = batch.turn();
    const large = Buffer.alloc(COMMIT_BYTES_MAX / 2);
    const fill = () => {
      for (let number = 0; ; number += 1) turn.put(0, `k${number}`, large);
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'COMMIT_TOO_LARGE' }));
    turn.undo();
    expect([batch.memtable.count, batch.memtable.bytes]).toEqual([0, 0]);
  });

  it('refuses to grow beyond what the process lets one commit have', () => {
    const turn = new Batch().turn({ commitBytesMax: 10_000 });
    for (let number = 0; number < 10; number += 1) turn.put(0, `k${number}`, Buffer.alloc(1_000));
    expect(() => turn.put(0, 'one too many', value('1'))).toThrow(
      expect.objectContaining({ code: 'COMMIT_TOO_LARGE' }),
    );
  });

  it('counts what is held to undo it', () => {
    const batch = new Batch();
    batch.turn().put(0, 'earlier', Buffer.alloc(5_000));
    const turn = batch.turn({ commitBytesMax: 10_000 });
    turn.put(0, 'earlier', Buffer.alloc(6_000));
    expect([batch.memtable.bytes > 6_000, turn.undoBytes]).toEqual([true, 5_000]);
    expect(() => turn.put(0, 'more', value('1'))).toThrow(
      expect.objectContaining({ code: 'COMMIT_TOO_LARGE' }),
    );
    turn.undo();
    expect([turn.undoBytes, batch.memtable.get(0, 'earlier')?.length]).toEqual([0, 5_000]);
  });

  it('holds no large values of its own that it replaces, and restores what was there before', () => {
    const batch = new Batch();
    const shared = Buffer.alloc(2_000, 's');
    batch.turn().put(0, 'kept', shared);
    const turn = batch.turn();
    // The very bytes that stand under another key are no value of this turn there.
    turn.put(0, 'copy', shared);
    turn.put(0, 'kept', Buffer.alloc(2_000, 'n'));
    expect(turn.undoBytes).toBe(2_000);
    for (let time = 0; time < 5; time += 1) {
      turn.put(0, 'kept', Buffer.alloc(2_000));
      turn.insert(0, `new${time}`, Buffer.alloc(2_000));
      turn.put(0, `new${time}`, Buffer.alloc(2_000));
    }
    expect(turn.undoBytes).toBe(2_000);
    turn.remove(0, 'new1');
    turn.put(0, 'new1', Buffer.alloc(2_000));
    turn.undo();
    expect([batch.memtable.count, batch.memtable.get(0, 'kept')]).toEqual([1, shared]);
  });
});
