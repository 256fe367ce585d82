import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import { peekWhole } from '#runtime/shard/value-in-steps.ts';
import type { Range, Shard, ShardPosition, TableReader } from '#runtime/shard/shard.ts';
import { visitedRows } from '#test/support/visited-rows.ts';

/** Where a shard lives; opening it again shows what was flushed. */
export interface ShardPlace {
  /** Opens it with {@link SUITE_TABLES}. */
  open(): Shard;
  /** Opens what was copied into a folder; absent where nothing can be copied. */
  openCopy?(folder: string): Shard;
  remove(): void;
}

/** The tables every shard of the suite has. */
export const SUITE_TABLES: readonly string[] = ['first', 'second', 'third'];

const everything: Range = { start: '', end: '\u00ff'.repeat(KEY_BYTES_MAX + 1) };

function at(sequence: number): ShardPosition {
  return { sequence, clock: { ms: 1_700_000_000_000 + sequence, counter: sequence } };
}

function put(table: number, key: string, text: string): Write {
  return { table, key, value: Buffer.from(text) };
}

function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

/** The rows of a range, which are the same where they are stored. */
function rows(reader: TableReader, table: number, range: Range = everything): [string, string][] {
  const found = [...reader.range(table, range)].map(({ key, value }): [string, string] => [
    key,
    Buffer.from(value).toString('latin1'),
  ]);
  expect(visitedRows(reader, table, range)).toEqual(found);
  expect(visitedRows(reader, table, range, 2)).toEqual(found.slice(0, 2));
  return found;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Keys of few different bytes, so that they meet, and of any bytes. */
const keys: fc.Arbitrary<string> = fc
  .oneof(
    fc.array(fc.constantFrom(0, 1, 0x61, 0xfe, 0xff), { minLength: 1, maxLength: 4 }),
    fc.array(fc.nat(255), { minLength: 1, maxLength: 40 }),
    fc
      .tuple(fc.nat(255), fc.integer({ min: KEY_BYTES_MAX - 2, max: KEY_BYTES_MAX }))
      .map(([byte, length]) => Array<number>(length).fill(byte)),
  )
  .map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Bounds of ranges are any text, also what cannot be a key. */
const bounds: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: keys },
  { weight: 1, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: keys.map((key) => key.padEnd(KEY_BYTES_MAX + 3, key)) },
);

const writeLists: fc.Arbitrary<Write[]> = fc.array(
  fc.record({
    table: fc.nat(SUITE_TABLES.length - 1),
    key: keys,
    value: fc.option(fc.uint8Array({ maxLength: 60 }), { nil: null }),
  }),
  { maxLength: 40 },
);

/** What a shard holds, told in the simplest way. */
class Model {
  readonly tables = SUITE_TABLES.map(() => new Map<string, string>());

  apply(writes: readonly Write[]): void {
    for (const { table, key, value } of writes) {
      if (value === null) this.tables[table]?.delete(key);
      else this.tables[table]?.set(key, Buffer.from(value).toString('latin1'));
    }
  }

  rows(table: number, { start, end, reverse }: Range): [string, string][] {
    const inside = [...(this.tables[table] ?? [])].filter(([key]) => key >= start && key < end);
    inside.sort(([a], [b]) => (a < b ? -1 : 1));
    return reverse === true ? inside.reverse() : inside;
  }
}

/** What every implementation of {@link Shard} promises. */
export function shardSuite(name: string, makePlace: () => ShardPlace): void {
  describe(name, () => {
    let place: ShardPlace;
    let shard: Shard;

    beforeEach(() => {
      place = makePlace();
      shard = place.open();
    });

    afterEach(async () => {
      await shard.close();
      place.remove();
    });

    async function apply(writes: readonly Write[], sequence: number): Promise<void> {
      await shard.apply(writes, at(sequence)).flushed;
    }

    async function reopen(): Promise<void> {
      await shard.close();
      shard = place.open();
    }

    it('starts empty, before the first record', () => {
      expect(shard.position).toEqual({ sequence: 0, clock: { ms: 0, counter: 0 } });
      for (const table of SUITE_TABLES.keys()) expect(rows(shard, table)).toEqual([]);
      expect(shard.get(0, 'a')).toBeUndefined();
    });

    it('shows writes and their position when they are committed', async () => {
      const { committed } = shard.apply([put(1, 'a', 'one'), put(2, 'a', 'two')], at(7));
      await committed;
      expect(text(shard.get(1, 'a'))).toBe('one');
      expect(text(shard.get(2, 'a'))).toBe('two');
      expect(shard.get(0, 'a')).toBeUndefined();
      expect(shard.position).toEqual(at(7));
    });

    it('has reached its position when it is flushed', async () => {
      await shard.apply([put(0, 'a', '1')], at(1)).flushed;
      expect(shard.position).toEqual(at(1));
    });

    it('takes a position without writes', async () => {
      await apply([], 3);
      await reopen();
      expect(shard.position).toEqual(at(3));
    });

    it('applies in order, the last write of a key wins', async () => {
      await apply(
        [put(0, 'a', '1'), put(0, 'a', '2'), put(0, 'b', '1'), { table: 0, key: 'b', value: null }],
        1,
      );
      expect(rows(shard, 0)).toEqual([['a', '2']]);
      await apply([{ table: 0, key: 'a', value: null }, put(0, 'a', '3')], 2);
      expect(rows(shard, 0)).toEqual([['a', '3']]);
    });

    it('distinguishes an empty value from none, and removes what is not there', async () => {
      await apply([put(0, 'empty', ''), { table: 0, key: 'absent', value: null }], 1);
      expect(shard.get(0, 'empty')).toHaveLength(0);
      expect(rows(shard, 0)).toEqual([['empty', '']]);
      await apply([{ table: 0, key: 'empty', value: null }], 2);
      expect(shard.get(0, 'empty')).toBeUndefined();
    });

    it('keeps keys of every byte value in byte order', async () => {
      const all = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
      await apply(
        all.map((key) => put(0, key, key)),
        1,
      );
      expect(rows(shard, 0).map(([key]) => key)).toEqual(all);
      expect(rows(shard, 0, { ...everything, reverse: true }).map(([key]) => key)).toEqual(all.toReversed());
      for (const key of all) expect(text(shard.get(0, key))).toBe(key);
    });

    it('bounds a range at its start, inclusive, and its end, exclusive, both ways', async () => {
      await apply(
        ['a', 'b', 'c', 'd'].map((key) => put(0, key, '')),
        1,
      );
      const found = (start: string, end: string, reverse = false) =>
        rows(shard, 0, { start, end, reverse })
          .map(([key]) => key)
          .join('');
      expect(found('b', 'd')).toBe('bc');
      expect(found('b', 'd', true)).toBe('cb');
      expect(found('aa', 'cc')).toBe('bc');
      expect(found('aa', 'cc', true)).toBe('cb');
      expect(found('b', 'b')).toBe('');
      expect(found('b', 'b', true)).toBe('');
      expect(found('d', 'a')).toBe('');
      expect(found('d', 'a', true)).toBe('');
      expect(found('', 'b', true)).toBe('a');
    });

    it('may be left in the middle of a range', async () => {
      await apply(
        ['a', 'b', 'c'].map((key) => put(0, key, '')),
        1,
      );
      for (const { key } of shard.range(0, everything)) if (key === 'b') break;
      for (const { key } of shard.range(0, { ...everything, reverse: true })) if (key === 'b') break;
      expect(rows(shard, 0)).toHaveLength(3);
    });

    it('shows what a plain map would, after any writes, and again when it is reopened', async () => {
      const model = new Model();
      let sequence = 0;
      await fc.assert(
        fc.asyncProperty(
          writeLists,
          fc.array(fc.tuple(fc.nat(SUITE_TABLES.length - 1), bounds, bounds, fc.boolean()), { maxLength: 8 }),
          fc.boolean(),
          async (writes, ranges, again) => {
            sequence += 1;
            model.apply(writes);
            await apply(writes, sequence);
            if (again) await reopen();
            expect(shard.position).toEqual(at(sequence));
            for (const { table, key } of writes) {
              const bytes = shard.get(table, key);
              const found = bytes === undefined ? undefined : Buffer.from(bytes).toString('latin1');
              expect(found).toBe(model.tables[table]?.get(key));
            }
            for (const [table, start, end, reverse] of ranges) {
              const range = { start, end, reverse };
              expect(rows(shard, table, range)).toEqual(model.rows(table, range));
            }
          },
        ),
        { numRuns: 60 },
      );
      for (const table of SUITE_TABLES.keys())
        expect(rows(shard, table)).toEqual(model.rows(table, everything));
    });

    it('hands out bytes that later reads and applications leave alone', async () => {
      await apply([put(0, 'a', 'first'), put(0, 'b', 'second'), put(0, 'big', 'x'.repeat(100_000))], 1);
      const a = shard.get(0, 'a');
      const big = shard.get(0, 'big');
      const listed = [...shard.range(0, everything)];
      await apply([put(0, 'a', 'other'), put(0, 'big', 'y'.repeat(100_000))], 2);
      for (const key of ['b', 'a', 'big', 'a']) shard.get(0, key);
      await turn();
      expect(text(a)).toBe('first');
      expect(text(big)).toBe('x'.repeat(100_000));
      expect(listed.map(({ value }) => text(value)?.slice(0, 6))).toEqual(['first', 'second', 'xxxxxx']);
    });

    it('peeks at what it would get', async () => {
      await apply([put(0, 'a', 'one'), put(0, 'b', ''), put(0, 'big', 'x'.repeat(300_000))], 1);
      const peek = (key: string, reader: TableReader = shard): string | undefined => {
        const bytes = peekWhole(reader, 0, key);
        // Its own end may lie behind what it says its length is.
        return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
      };
      for (const key of ['a', 'b', 'big', 'none', '', 'x'.repeat(KEY_BYTES_MAX + 1), 'a'])
        expect(peek(key)).toBe(text(shard.get(0, key)));
      const pinned = shard.snapshot();
      await apply([put(0, 'a', 'two')], 2);
      expect([peek('a'), text(pinned.get(0, 'a')), peek('a')]).toEqual(['two', 'one', 'two']);
      expect([peek('a', pinned), peek('a'), peek('a', pinned)]).toEqual(['one', 'two', 'one']);
      for (const key of ['b', 'big', 'none', '', 'x'.repeat(KEY_BYTES_MAX + 1)])
        expect(peek(key, pinned)).toBe(text(pinned.get(0, key)));
      pinned.close();
      expect(() => peek('a', pinned)).toThrow();
    });

    it('tells whether it has a key', async () => {
      await apply([put(0, 'a', 'one'), put(0, 'b', ''), put(0, 'ba', 'x'), put(1, 'c', 'other')], 1);
      const asked = ['a', 'b', 'ba', 'c', 'aa', 'ab', '', 'b'.repeat(KEY_BYTES_MAX + 1)];
      const found = (reader: TableReader): string[] => asked.filter((key) => hasRow(reader, 0, key));
      expect(found(shard)).toEqual(['a', 'b', 'ba']);
      const pinned = shard.snapshot();
      await apply([put(0, 'c', 'new'), { table: 0, key: 'a', value: null }], 2);
      expect([found(shard), found(pinned)]).toEqual([
        ['b', 'ba', 'c'],
        ['a', 'b', 'ba'],
      ]);
      pinned.close();
      expect(() => hasRow(pinned, 0, 'a')).toThrow('closed');
    });

    it('is copied unchanged, position included, and the copy changes independently', async () => {
      if (shard.copyTo === undefined) return;
      await apply([put(0, 'a', 'one'), put(1, 'b', 'x'.repeat(100_000))], 4);
      const folder = mkdtempSync(join(tmpdir(), 'copy-'));
      await shard.copyTo(join(folder, 'copy'));
      await apply([put(0, 'a', 'two')], 5);
      const copy = place.openCopy?.(join(folder, 'copy')) as Shard;
      expect([text(copy.get(0, 'a')), copy.position]).toEqual(['one', at(4)]);
      expect(copy.get(1, 'b')).toHaveLength(100_000);
      await copy.apply([put(0, 'a', 'three')], at(6)).flushed;
      expect(text(shard.get(0, 'a'))).toBe('two');
      await copy.close();
      rmSync(folder, { recursive: true });
    });

    it('never shows a part of an application, or a position ahead of its writes', async () => {
      const names = Array.from({ length: 3000 }, (_, index) => `k${index}`);
      for (let round = 1; round <= 5; round += 1) {
        const applied = shard.apply(
          names.map((key) => put(0, key, `${round}`)),
          at(round),
        );
        let isDone = false;
        void applied.flushed.then(() => {
          isDone = true;
        });
        while (!isDone) {
          const seen = new Set(rows(shard, 0).map(([, value]) => value));
          expect(seen.size).toBeLessThanOrEqual(1);
          if (shard.position.sequence === round) expect([...seen]).toEqual([`${round}`]);
          await turn();
        }
      }
    });

    it('answers the same all through one turn, also while an application is under way', async () => {
      await apply([put(0, 'a', '0')], 1);
      const { flushed } = shard.apply([put(0, 'a', '1')], at(2));
      const first = text(shard.get(0, 'a'));
      const until = performance.now() + 20;
      while (performance.now() < until) expect(text(shard.get(0, 'a'))).toBe(first);
      await flushed;
      expect(text(shard.get(0, 'a'))).toBe('1');
    });

    it('pins a snapshot over later applications', async () => {
      await apply([put(0, 'a', '1'), put(0, 'b', '1')], 1);
      const pinned = shard.snapshot();
      await apply([put(0, 'a', '2'), { table: 0, key: 'b', value: null }, put(0, 'c', '2')], 2);
      const later = shard.snapshot();
      await apply([put(0, 'a', '3')], 3);
      await turn();
      expect(rows(pinned, 0)).toEqual([
        ['a', '1'],
        ['b', '1'],
      ]);
      expect(rows(pinned, 0, { ...everything, reverse: true })).toEqual([
        ['b', '1'],
        ['a', '1'],
      ]);
      expect(text(pinned.get(0, 'b'))).toBe('1');
      expect(pinned.get(0, 'c')).toBeUndefined();
      expect(rows(later, 0)).toEqual([
        ['a', '2'],
        ['c', '2'],
      ]);
      expect(rows(shard, 0)).toEqual([
        ['a', '3'],
        ['c', '2'],
      ]);
      pinned.close();
      pinned.close();
      const closed = expect.objectContaining({ code: 'SHUTTING_DOWN' });
      expect(() => pinned.get(0, 'a')).toThrow(closed);
      expect(() => visitedRows(pinned, 0, everything)).toThrow(closed);
      expect(text(later.get(0, 'a'))).toBe('2');
      later.close();
    });

    it('holds hundreds of snapshots at once, each at its own moment', async () => {
      const snapshots = [];
      for (let sequence = 1; sequence <= 150; sequence += 1) {
        await apply([put(0, 'a', `${sequence}`)], sequence);
        snapshots.push(shard.snapshot());
      }
      expect(snapshots.map((snapshot) => text(snapshot.get(0, 'a')))).toEqual(
        snapshots.map((_, index) => `${index + 1}`),
      );
      for (const snapshot of snapshots) snapshot.close();
    });

    it('refuses keys no shard could keep, with nothing applied', async () => {
      const long = 'x'.repeat(KEY_BYTES_MAX + 1);
      for (const key of ['', long]) {
        expect(() => shard.apply([put(0, 'good', '1'), put(0, key, '1')], at(1))).toThrow(InvariantError);
      }
      await turn();
      expect(rows(shard, 0)).toEqual([]);
      expect(shard.position.sequence).toBe(0);
      expect([shard.get(0, ''), shard.get(0, long)]).toEqual([undefined, undefined]);
      await apply([put(0, 'x'.repeat(KEY_BYTES_MAX), 'longest')], 1);
      expect(text(shard.get(0, 'x'.repeat(KEY_BYTES_MAX)))).toBe('longest');
    });

    it('refuses a table it does not have', async () => {
      expect(() => shard.get(SUITE_TABLES.length, 'a')).toThrow(InvariantError);
      expect(() => shard.apply([put(0, 'a', ''), put(SUITE_TABLES.length, 'a', '')], at(1))).toThrow(
        InvariantError,
      );
      await turn();
      expect(rows(shard, 0)).toEqual([]);
    });

    it('never moves back in the log', async () => {
      await apply([], 5);
      expect(() => shard.apply([], at(4))).toThrow(InvariantError);
      await apply([put(0, 'a', 'same position')], 5);
      expect(text(shard.get(0, 'a'))).toBe('same position');
    });

    it('does not let applications overlap', async () => {
      const { flushed } = shard.apply([put(0, 'a', '1')], at(1));
      expect(() => shard.apply([put(0, 'a', '2')], at(2))).toThrow(InvariantError);
      await flushed;
      expect(text(shard.get(0, 'a'))).toBe('1');
    });

    it('waits for the application under way when it is closed', async () => {
      const { flushed } = shard.apply([put(0, 'a', 'kept')], at(1));
      await shard.close();
      await flushed;
      shard = place.open();
      expect(text(shard.get(0, 'a'))).toBe('kept');
      expect(shard.position).toEqual(at(1));
    });

    it('is closed at once when nothing is under way, and refuses everything from then on', async () => {
      await apply([put(0, 'a', '1')], 1);
      const pinned = shard.snapshot();
      const closed = shard.close();
      const again = place.open();
      expect(text(again.get(0, 'a'))).toBe('1');
      const gone = expect.objectContaining({ code: 'SHUTTING_DOWN' });
      expect(() => shard.get(0, 'a')).toThrow(gone);
      expect(() => shard.range(0, everything)).toThrow(gone);
      expect(() => shard.snapshot()).toThrow(gone);
      expect(() => pinned.get(0, 'a')).toThrow(gone);
      expect(() => pinned.range(0, everything)).toThrow(gone);
      pinned.close();
      const refused = shard.apply([put(0, 'a', '2')], at(2));
      await expect(refused.committed).rejects.toThrow(gone);
      await expect(refused.flushed).rejects.toThrow(gone);
      await closed;
      await shard.close();
      expect(text(again.get(0, 'a'))).toBe('1');
      shard = again;
    });

    it('takes applications of ten thousand writes and values of megabytes', async () => {
      const many = Array.from({ length: 10_000 }, (_, index) => put(0, `k${index}`, `v${index}`));
      await apply([...many, put(1, 'big', 'x'.repeat(3_000_000))], 1);
      const before = shard.sizeBytes();
      expect(before).toBeGreaterThan(3_000_000);
      await reopen();
      expect(rows(shard, 0)).toHaveLength(10_000);
      expect(shard.get(1, 'big')).toHaveLength(3_000_000);
    });
  });
}
