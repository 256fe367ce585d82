import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { EmptyRanges } from '#runtime/commit/empty-ranges.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { TestClock } from '#test/support/test-clock.ts';

const KEYS = 60;
const END = '\u00ff';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };

function keyOf(number: number): string {
  return String(number).padStart(3, '0');
}

/** A table used as a queue, and the same without the memory of what was drained. */
class Queue {
  readonly drained = new EmptyRanges();
  readonly #clock = new TestClock();
  readonly #shard = new MemoryShard(new MemoryDisk(), 2, this.#clock);
  #memtables: readonly Memtable[] = [];
  readonly reader = new MemtableReader(
    () => this.#memtables,
    () => this.#shard,
    undefined,
    this.drained,
  );
  readonly plain: TableReader = new MemtableReader(
    () => this.#memtables,
    () => this.#shard,
  );

  async fill(): Promise<void> {
    const writes = Array.from({ length: KEYS }, (_, number) => ({
      table: 0,
      key: keyOf(number),
      value: Uint8Array.of(number),
    }));
    await this.#shard.apply(writes, { sequence: 1, clock: { ms: 1, counter: 0 } }).flushed;
  }

  /** A command; its changes are taken back where it says so. */
  turn(change: (turn: TurnScope) => boolean): void {
    const memtable = new Memtable();
    this.#memtables = [memtable, ...this.#memtables];
    const turn = new TurnScope(caller, 0, this.reader, memtable, new HybridClock(this.#clock), systemRandom);
    if (!change(turn)) turn.undo();
  }
}

function keysOf(reader: TableReader, start: string, end: string): string[] {
  return [...reader.range(0, { start, end })].map(({ key }) => key);
}

const number = fc.integer({ min: 0, max: KEYS + 5 });
const change = fc.oneof(
  fc.record({ kind: fc.constant('take' as const), most: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('put' as const), number }),
  fc.record({ kind: fc.constant('remove' as const), number }),
  fc.record({ kind: fc.constant('look' as const), number }),
);
const commands = fc.array(fc.record({ changes: fc.array(change, { maxLength: 5 }), isKept: fc.boolean() }), {
  maxLength: 8,
});

describe('a queue whose front was drained', () => {
  it('shows what it would show without that being remembered', async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (all) => {
        const queue = new Queue();
        await queue.fill();
        for (const { changes, isKept } of all) {
          queue.turn((turn) => {
            for (const step of changes) {
              if (step.kind === 'put') turn.put(0, keyOf(step.number), Uint8Array.of(1));
              else if (step.kind === 'remove') turn.remove(0, keyOf(step.number));
              else if (step.kind === 'take') {
                for (const key of keysOf(turn, '', END).slice(0, step.most)) turn.remove(0, key);
              } else {
                const start = keyOf(step.number);
                expect(keysOf(turn, start, END)).toEqual(keysOf(queue.plain, start, END));
                expect(keysOf(turn, '', start)).toEqual(keysOf(queue.plain, '', start));
              }
              expect(keysOf(turn, '', END)).toEqual(keysOf(queue.plain, '', END));
            }
            return isKept;
          });
          expect(keysOf(queue.reader, '', END)).toEqual(keysOf(queue.plain, '', END));
        }
      }),
    );
  });

  it('takes no note of a walk during whose beginning something was written', async () => {
    const queue = new Queue();
    await queue.fill();
    queue.turn((turn) => {
      for (let count = 0; count < 40; count++) turn.remove(0, keyOf(count));
      const walk = turn.range(0, { start: '', end: END })[Symbol.iterator]();
      turn.put(0, keyOf(3), Uint8Array.of(1));
      walk.next();
      return true;
    });
    expect(keysOf(queue.reader, '', END)[0]).toBe(keyOf(3));
  });

  it('is begun behind what was drained', async () => {
    const queue = new Queue();
    await queue.fill();
    queue.turn((turn) => {
      for (const key of keysOf(turn, '', END).slice(0, 40)) turn.remove(0, key);
      keysOf(turn, '', END);
      return true;
    });
    expect(queue.drained.firstAfter(0, '')).toBe(keyOf(40));
    queue.turn((turn) => {
      turn.put(0, keyOf(7), Uint8Array.of(1));
      return true;
    });
    expect(queue.drained.firstAfter(0, '')).toBe(keyOf(7));
  });
});
