import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { type Change, Memtable } from '#runtime/commit/memtable.ts';
import { visitedRows } from '#test/support/visited-rows.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';

const TABLES = 2;

const tables = fc.nat(TABLES - 1);
const keys = fc.string({ unit: fc.constantFrom('\0', 'a', 'b', '\u00ff'), minLength: 1, maxLength: 3 });
const bounds = fc.string({ unit: fc.constantFrom('\0', 'a', 'b', '\u00ff'), maxLength: 4 });
const values: fc.Arbitrary<Change> = fc.option(fc.uint8Array({ maxLength: 3 }), { nil: null });
const changes = fc.array(fc.record({ table: tables, key: keys, value: values }), { maxLength: 25 });
const ranges = fc.array(fc.record({ table: tables, start: bounds, end: bounds, reverse: fc.boolean() }), {
  maxLength: 6,
});

type Model = Map<string, Change>[];

function emptyModel(): Model {
  return Array.from({ length: TABLES }, () => new Map());
}

function inside(rows: Iterable<[string, Change]>, { start, end, reverse }: Range): [string, Change][] {
  const found = [...rows].filter(([key]) => key >= start && key < end).sort(([a], [b]) => (a < b ? -1 : 1));
  return reverse === true ? found.reverse() : found;
}

function expectLike(memtable: Memtable, model: Model, asked: readonly (Range & { table: number })[]): void {
  for (const { table, ...range } of asked) {
    const expected = inside(model[table] as Map<string, Change>, range);
    expect([...(memtable.range(table, range) ?? [])]).toEqual(expected);
    expect(memtable.range(table, range) === undefined || (model[table]?.size ?? 0) > 0).toBe(true);
  }
  for (const [table, rows] of model.entries())
    for (const [key, value] of rows) expect(memtable.get(table, key)).toBe(value);
}

describe('a memtable', () => {
  it('answers as a plain map does, in ranges both ways, asked at any time', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(changes, ranges), { maxLength: 5 }), (rounds) => {
        const memtable = new Memtable();
        const model = emptyModel();
        for (const [written, asked] of rounds) {
          for (const { table, key, value } of written) {
            memtable.set(table, key, value);
            model[table]?.set(key, value);
          }
          expectLike(memtable, model, asked);
        }
      }),
    );
  });

  it('is, after changes are taken back newest first, as it was before them, sizes included', () => {
    fc.assert(
      fc.property(changes, ranges, changes, ranges, (kept, before, undone, after) => {
        const memtable = new Memtable();
        const model = emptyModel();
        for (const { table, key, value } of kept) {
          memtable.set(table, key, value);
          model[table]?.set(key, value);
        }
        for (const { table, ...range } of before) memtable.range(table, range);
        const { bytes, count } = memtable;
        const log = undone.map(({ table, key, value }, index) => {
          const earlier = memtable.get(table, key);
          memtable.set(table, key, value);
          if (index % 5 === 4) memtable.range(table, { start: '', end: '\u00ff' });
          return { table, key, earlier };
        });
        for (const { table, key, earlier } of log.toReversed()) memtable.restore(table, key, earlier);
        expect([memtable.bytes, memtable.count]).toEqual([bytes, count]);
        expectLike(memtable, model, after);
        expect(memtable.writes().length).toBe(model.reduce((sum, rows) => sum + rows.size, 0));
      }),
    );
  });

  it('counts nothing when everything was taken back', () => {
    const memtable = new Memtable();
    memtable.set(0, 'a', Buffer.from('1'));
    memtable.set(0, 'a', null);
    memtable.restore(0, 'a', Buffer.from('1'));
    memtable.restore(0, 'a', undefined);
    expect([memtable.count, memtable.bytes, memtable.writes()]).toEqual([0, 0, []]);
    expect(() => memtable.restore(0, 'a', undefined)).toThrow(InvariantError);
  });

  it('takes over a newer memtable, whose changes win', () => {
    fc.assert(
      fc.property(changes, changes, ranges, (older, newer, asked) => {
        const [memtable, other, model] = [new Memtable(), new Memtable(), emptyModel()];
        for (const { table, key, value } of older) memtable.set(table, key, value);
        for (const { table, key, value } of newer) other.set(table, key, value);
        for (const { table, key, value } of [...older, ...newer]) model[table]?.set(key, value);
        memtable.range(0, { start: '', end: 'b' });
        memtable.absorb(other);
        expectLike(memtable, model, asked);
      }),
    );
  });

  it('may be written to while a range of it is walked over', () => {
    fc.assert(
      fc.property(changes, changes, fc.boolean(), (older, newer, reverse) => {
        const memtable = new Memtable();
        for (const { table, key, value } of older) memtable.set(table, key, value);
        const known = new Set(older.filter(({ table }) => table === 0).map(({ key }) => key));
        const range = { start: '', end: '\u00ff\u00ff\u00ff\u00ff', reverse };
        const walked: string[] = [];
        const waiting = [...newer];
        for (const [key] of memtable.range(0, range) ?? []) {
          walked.push(key);
          const change = waiting.pop();
          if (change === undefined) continue;
          memtable.set(0, change.key, change.value);
          memtable.range(0, range);
        }
        const expected = [...known].sort();
        expect(walked).toEqual(reverse ? expected.reverse() : expected);
      }),
    );
  });
});

/** Rows beneath a memtable, and one after the other what becomes of a key: null removes it. */
const beneath = fc.uniqueArray(keys, { maxLength: 4 });
const history = fc.array(fc.record({ key: keys, value: values }), { maxLength: 25 });

/** Writes to a memtable as an actor would: what is there is replaced, what is not there is inserted. */
function write(memtable: Memtable, rows: Map<string, Change>, key: string, value: Change): void {
  if (value !== null && (rows.get(key) ?? null) === null) memtable.insert(0, key, value);
  else memtable.set(0, key, value);
  rows.set(key, value);
}

/** What there is when a memtable has been put over the rows beneath it. */
function rowsOver(stored: readonly string[], memtable: Memtable): Map<string, Change> {
  const rows = new Map<string, Change>(stored.map((key) => [key, Buffer.from('stored')]));
  for (const { key, value } of memtable.writes()) {
    if (value === null) rows.delete(key);
    else rows.set(key, value);
  }
  return rows;
}

function present(rows: Map<string, Change>): Map<string, Change> {
  return new Map([...rows].filter(([, value]) => value !== null));
}

describe('rows that are inserted into a memtable', () => {
  it('make the same of what is beneath as others, also through a newer memtable and when changes are taken back', () => {
    fc.assert(
      fc.property(beneath, history, history, history, (stored, older, newer, undone) => {
        const rows = new Map<string, Change>(stored.map((key) => [key, Buffer.from('stored')]));
        const [memtable, batch] = [new Memtable(), new Memtable()];
        for (const { key, value } of older) write(memtable, rows, key, value);
        expect(rowsOver(stored, memtable)).toEqual(present(rows));
        for (const { key, value } of newer) write(batch, rows, key, value);
        const before = {
          rows: new Map(rows),
          writes: batch.writes(),
          bytes: batch.bytes,
          count: batch.count,
        };
        const log = undone.map(({ key, value }) => {
          const earlier = batch.get(0, key);
          write(batch, rows, key, value);
          return { key, earlier };
        });
        for (const { key, earlier } of log.toReversed()) batch.restore(0, key, earlier);
        expect(new Map(batch.writes().map((one) => [one.key, one.value]))).toEqual(
          new Map(before.writes.map((one) => [one.key, one.value])),
        );
        expect([batch.bytes, batch.count]).toEqual([before.bytes, before.count]);
        const whole = new Memtable();
        whole.absorbHalfApplied(memtable);
        whole.absorbHalfApplied(batch);
        expect(rowsOver(stored, whole)).toEqual(present(before.rows));
        memtable.absorb(batch);
        expect(rowsOver(stored, memtable)).toEqual(present(before.rows));
        expect(memtable.count).toBe(memtable.writes().length);
      }),
    );
  });

  it('leave nothing when they are removed again, in the same memtable or by a newer one', () => {
    const [memtable, batch] = [new Memtable(), new Memtable()];
    memtable.insert(0, 'a', Buffer.from('1'));
    memtable.set(0, 'a', Buffer.from('2'));
    memtable.set(0, 'a', null);
    expect([memtable.count, memtable.bytes, memtable.writes()]).toEqual([0, 0, []]);
    memtable.insert(0, 'b', Buffer.from('1'));
    batch.set(0, 'b', null);
    memtable.absorb(batch);
    expect([memtable.count, memtable.bytes, memtable.writes()]).toEqual([0, 0, []]);
    expect([...(memtable.range(0, { start: '', end: '\u00ff' }) ?? [])]).toEqual([]);
  });

  it('are removed from a shard that may have them already', () => {
    const [memtable, batch, whole] = [new Memtable(), new Memtable(), new Memtable()];
    memtable.insert(0, 'a', Buffer.from('1'));
    batch.set(0, 'a', null);
    whole.absorbHalfApplied(memtable);
    whole.absorbHalfApplied(batch);
    expect(whole.writes()).toEqual([{ table: 0, key: 'a', value: null }]);
  });

  it('must not be there yet', () => {
    const memtable = new Memtable();
    memtable.set(0, 'a', Buffer.from('1'));
    expect(() => memtable.insert(0, 'a', Buffer.from('2'))).toThrow(InvariantError);
  });
});

describe('a reader over memtables and a shard', () => {
  it('shows for every key the newest change, and the shard below', async () => {
    await fc.assert(
      fc.asyncProperty(
        changes,
        fc.array(changes, { maxLength: 4 }),
        ranges,
        async (stored, memtablesOldestFirst, asked) => {
          const shard = new MemoryShard(new MemoryDisk(), TABLES, systemClock);
          const writes = stored.map((write) => ({ ...write }));
          await shard.apply(writes, { sequence: 1, clock: { ms: 1, counter: 0 } }).flushed;
          const model = emptyModel();
          for (const { table, key, value } of [...stored, ...memtablesOldestFirst.flat()])
            model[table]?.set(key, value);
          const memtables = memtablesOldestFirst.map((written) => {
            const memtable = new Memtable();
            for (const { table, key, value } of written) memtable.set(table, key, value);
            return memtable;
          });
          const reader: TableReader = new MemtableReader(
            () => memtables.toReversed(),
            () => shard,
          );
          for (const { table, ...range } of asked) {
            const expected = inside(model[table] as Map<string, Change>, range).filter(
              ([, value]) => value !== null,
            );
            const found = [...reader.range(table, range)].map(({ key, value }) => [
              key,
              Uint8Array.from(value),
            ]);
            expect(found).toEqual(
              expected.map(([key, value]) => [key, Uint8Array.from(value as Uint8Array)]),
            );
            const texts = expected.map(([key, value]) => [
              key,
              Buffer.from(value as Uint8Array).toString('latin1'),
            ]);
            for (const most of [Number.POSITIVE_INFINITY, 3])
              expect(visitedRows(reader, table, range, most)).toEqual(texts.slice(0, most));
          }
          for (const [table, rows] of model.entries()) {
            for (const [key, value] of rows) {
              const found = reader.get(table, key);
              expect(found === undefined ? null : Uint8Array.from(found)).toEqual(value);
            }
          }
        },
      ),
    );
  });
});
