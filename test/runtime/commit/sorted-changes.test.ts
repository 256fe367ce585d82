import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Change, Memtable } from '#runtime/commit/memtable.ts';
import { sortedChanges } from '#runtime/commit/sorted-changes.ts';
import type { Write } from '#runtime/log/log-entry.ts';

type Row = readonly [table: number, key: string, value: number | null];

const rows = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 4 }),
    fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 3,
    }),
    fc.option(fc.integer({ min: 0, max: 255 })),
  ),
  { maxLength: 60 },
);

function memtableOf(changes: readonly Row[]): Memtable {
  const memtable = new Memtable();
  for (const [table, key, value] of changes)
    memtable.set(table, key, value === null ? null : Uint8Array.of(value));
  return memtable;
}

/** What the stack shows of each key, in order; the newest memtable comes first. */
function expected(stack: readonly (readonly Row[])[]): Write[] {
  const newest = new Map<string, Write>();
  for (const changes of stack.toReversed())
    for (const [table, key, value] of changes) {
      const shown: Change = value === null ? null : Uint8Array.of(value);
      newest.set(`${table}:${key}`, { table, key, value: shown });
    }
  return [...newest.values()].sort((a, b) => a.table - b.table || (a.key < b.key ? -1 : 1));
}

describe('the changes of a stack of memtables', () => {
  it('come in the order of table and key, each key once with its newest change', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (stack, partMax) => {
        const parts = [...sortedChanges(stack.map(memtableOf), partMax)].filter((part) => part.length > 0);
        expect(parts.flat()).toEqual(expected(stack));
        for (const part of parts.slice(0, -1)) expect(part.length).toBe(partMax);
      }),
    );
  });

  it('are sorted in bounded pieces, with a pause after each', () => {
    const memtable = new Memtable();
    for (let index = 0; index < 20_000; index++)
      memtable.set(3, `key-${(index * 7919) % 20_000}`, Uint8Array.of(1));
    const parts = [...sortedChanges([memtable], 4000)];
    const keys = parts.flat().map(({ key }) => key);
    expect(keys).toEqual([...memtable.keys(3)].sort());
    expect(parts.filter((part) => part.length === 0).length).toBeGreaterThanOrEqual(4);
    expect(parts.filter((part) => part.length > 0).map((part) => part.length)).toEqual([
      4000, 4000, 4000, 4000, 4000,
    ]);
  });

  it('come in parts of bounded weight, which a heavy change closes', () => {
    const memtable = new Memtable();
    for (let index = 0; index < 9; index++) memtable.set(index % 2, `k${index}`, null);
    const weigh = (table: number, key: string): number => (table === 1 && key === 'k5' ? 20 : 3);
    const parts = [...sortedChanges([memtable], 10, 100, weigh)].filter((part) => part.length > 0);
    expect(parts.map((part) => part.map(({ key }) => key))).toEqual([
      ['k0', 'k2', 'k4', 'k6'],
      ['k8', 'k1', 'k3', 'k5'],
      ['k7'],
    ]);
  });

  it('come in parts of bounded bytes, a larger value in a part of its own', () => {
    const memtable = new Memtable();
    const sizes = [4, 4, 4, 30, 1, 9, 10];
    for (const [index, size] of sizes.entries()) memtable.set(0, `k${index}`, new Uint8Array(size));
    const parts = [...sortedChanges([memtable], 100, 10)].filter((part) => part.length > 0);
    expect(parts.map((part) => part.map(({ value }) => value?.length))).toEqual([
      [4, 4, 4],
      [30],
      [1, 9],
      [10],
    ]);
  });
});
