import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { applyMemtables } from '#runtime/commit/apply-memtables.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import {
  encodeStub,
  LargeValue,
  numberKey,
  PIECE_BYTES,
  pieceKey,
  placeOf,
  WHOLE_BYTES_MAX,
} from '#runtime/shard/large-value.ts';
import { storedRows, valueInSteps } from '#runtime/shard/value-in-steps.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import {
  encodeLarge,
  FORMAT_KEY,
  LARGE_KEY,
  LARGE_ROWS,
  PIECES,
  SYSTEM,
  tableOptions,
} from '#runtime/shard/lmdb-tables.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import type { ShardPosition, TableReader } from '#runtime/shard/shard.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';

const TABLES = ['first', 'second'];
const everything = { start: '', end: '\u00ff'.repeat(2_000) };

let folder: string;
let shard: LmdbShard;
let sequence: number;

const path = (): string => join(folder, 'data.mdb');
const at = (): ShardPosition => ({ sequence, clock: { ms: 1_700_000_000_000 + sequence, counter: 0 } });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'large-value-'));
  shard = new LmdbShard(folder, TABLES);
  sequence = 0;
});

afterEach(async () => {
  await shard.close();
  rmSync(folder, { recursive: true, force: true });
});

async function apply(...writes: Write[]): Promise<void> {
  sequence += 1;
  await shard.apply(writes, at()).flushed;
}

/** A value of a length whose every part is another one. */
function patterned(length: number, seed = 1): Buffer {
  const value = Buffer.alloc(length);
  for (let index = 0; index < length; index += 4_096) value.writeUInt8((index / 4_096 + seed) % 256, index);
  if (length > 0) value[length - 1] = seed;
  return value;
}

function put(key: string, value: Uint8Array, table = 0): Write {
  return { table, key, value };
}

function remove(key: string, table = 0): Write {
  return { table, key, value: null };
}

function inSteps(reader: TableReader, key: string): { steps: number; value: Uint8Array | undefined } {
  const reading = valueInSteps(reader, 0, key);
  for (let steps = 0; ; steps += 1) {
    const step = reading.next();
    if (step.done === true) return { steps, value: step.value };
  }
}

const same = (found: Uint8Array | undefined, wanted: Uint8Array | undefined): boolean =>
  found === undefined || wanted === undefined ? found === wanted : Buffer.compare(found, wanted) === 0;

/** Keys in the table of the pieces. */
function pieces(): string[] {
  const file = new PageFile(path(), [PIECES], () => {});
  try {
    return [...file.rows(0)].map(({ key }) => key);
  } finally {
    file.close();
  }
}

/** What a check of the file finds. */
function damage(): string[] {
  const found: string[] = [];
  const file = new PageFile(path(), TABLES, (table, what) => {
    // Free pages at the end of a file need not be there.
    if (!what.startsWith('the file lacks')) found.push(`${table}: ${what}`);
  });
  try {
    for (const table of TABLES.keys()) for (const _ of file.rows(table));
    for (const _ of file.verifyPieces());
    for (const _ of file.verify());
  } finally {
    file.close();
  }
  return found;
}

/** A table that is changed through LMDB. */
interface Changed {
  put(key: string, value: Uint8Array): unknown;
  remove(key: string): unknown;
}

/** Opens the file of a closed shard without the shard. */
function openWithLmdb() {
  return open<Uint8Array, string>({
    path: folder,
    noSubdir: false,
    maxDbs: 32,
    safeRestore: true,
  } as never);
}

/** Changes the closed file through LMDB. */
async function change(
  work: (pieces: Changed, first: Changed, listed: Changed, system: Changed) => void,
): Promise<void> {
  await shard.close();
  const environment = openWithLmdb();
  const [table, first, listed, system] = [PIECES, 'first', LARGE_ROWS, SYSTEM].map(
    (name) => environment.openDB({ name, ...tableOptions }) as never,
  ) as [never, never, never, never];
  await environment.batch(() => work(table, first, listed, system));
  await environment.close();
  shard = new LmdbShard(folder, TABLES);
}

describe('a large value', () => {
  it.each([WHOLE_BYTES_MAX, WHOLE_BYTES_MAX + 1, PIECE_BYTES * 5, PIECE_BYTES * 5 + 1, 3_000_000])(
    'of %d bytes is what it was, for every reader, and after another opening',
    async (length) => {
      const value = patterned(length);
      const isLarge = length > WHOLE_BYTES_MAX;
      await apply(put('large', value), put('small', Buffer.from('s')), put('other', Buffer.from('o'), 1));
      for (let openings = 0; openings < 2; openings += 1) {
        const pinned = shard.snapshot();
        for (const reader of [shard, pinned]) {
          expect(same(reader.get(0, 'large'), value)).toBe(true);
          const stored = reader.stored?.(0, 'large');
          if (isLarge) expect(stored).toMatchObject({ length });
          else expect(same(stored as Uint8Array, value)).toBe(true);
          const read = inSteps(reader, 'large');
          expect(same(read.value, value)).toBe(true);
          expect(read.steps).toBe(isLarge ? Math.ceil(Math.ceil(length / PIECE_BYTES) / 2) - 1 : 0);
          const [row, ...rest] = [...reader.range(0, everything)];
          expect(row?.key).toBe('large');
          expect(same(row?.value, value)).toBe(true);
          expect(rest.map(({ key }) => key)).toEqual(['small']);
          const [found] = [...storedRows(reader, 0, everything)];
          expect(found?.value instanceof LargeValue).toBe(isLarge);
          const seen: (number | undefined)[] = [];
          visitRows(reader, 0, everything, (row) => seen.push(row.large?.length ?? row.length) > 0);
          expect(seen).toEqual([length, 1]);
          expect(reader.has?.(0, 'large')).toBe(true);
          expect(Buffer.from(reader.get(0, 'small') as Uint8Array).toString()).toBe('s');
        }
        pinned.close();
        await shard.close();
        shard = new LmdbShard(folder, TABLES);
      }
      expect(pieces()).toHaveLength(isLarge ? Math.ceil(length / PIECE_BYTES) : 0);
      expect(damage()).toEqual([]);
    },
  );

  it('is read from a file by the readers that do without a shard', async () => {
    const value = patterned(1_000_000);
    await apply(put('large', value), put('small', Buffer.from('s')));
    await shard.copyTo(join(folder, 'copy'));
    const copy = new ShardFile(join(folder, 'copy/data.mdb'), TABLES);
    const pages = new PageFile(path(), TABLES, () => expect.unreachable());
    for (const reader of [copy, pages]) {
      expect(same(reader.get(0, 'large'), value)).toBe(true);
      expect([...reader.rows(0)].map((row) => row.value.length)).toEqual([1_000_000, 1]);
      reader.close();
    }
  });

  it('gives its pieces back when it is replaced or removed, also within one application', async () => {
    await apply(put('a', patterned(400_000)), put('b', patterned(400_000)), put('c', patterned(400_000)));
    const count = Math.ceil(400_000 / PIECE_BYTES);
    expect(pieces()).toHaveLength(3 * count);
    await apply(put('a', Buffer.from('small')), remove('b'), put('c', patterned(300_000, 2)));
    expect(pieces()).toHaveLength(Math.ceil(300_000 / PIECE_BYTES));
    await apply(
      put('d', patterned(400_000)),
      put('d', patterned(300_000, 3)),
      put('e', patterned(400_000)),
      remove('e'),
    );
    expect(pieces()).toHaveLength(2 * Math.ceil(300_000 / PIECE_BYTES));
    expect(same(shard.get(0, 'd'), patterned(300_000, 3))).toBe(true);
    expect([shard.get(0, 'b'), shard.get(0, 'e')]).toEqual([undefined, undefined]);
    expect(damage()).toEqual([]);
  });

  it('stays what it was for whoever pinned it, also between two steps', async () => {
    const value = patterned(1_000_000);
    await apply(put('large', value));
    const pinned = shard.snapshot();
    const reading = valueInSteps(pinned, 0, 'large');
    reading.next();
    await apply(put('large', patterned(1_000_000, 7)));
    await apply(put('other', patterned(2_000_000, 9)));
    let step = reading.next();
    while (step.done !== true) step = reading.next();
    expect(same(step.value, value)).toBe(true);
    expect(same(pinned.get(0, 'large'), value)).toBe(true);
    pinned.close();
    expect(same(shard.get(0, 'large'), patterned(1_000_000, 7))).toBe(true);
  });

  it('may be one that looks like the row of a large value', async () => {
    await apply(put('large', patterned(400_000)));
    const stub = encodeStub(new LargeValue(1, 400_000), 0, 'stub');
    await apply(put('stub', stub), put('nearly', stub.subarray(1)));
    expect(same(shard.get(0, 'stub'), stub)).toBe(true);
    expect(same(shard.get(0, 'nearly'), stub.subarray(1))).toBe(true);
    expect(shard.peek(0, 'nearly')).toHaveLength(stub.length - 1);
    expect(shard.peek(0, 'large')).toMatchObject({ length: 400_000 });
    expect(damage()).toEqual([]);
    await apply(remove('stub'));
    expect(same(shard.get(0, 'large'), patterned(400_000))).toBe(true);
    expect(pieces()).toHaveLength(Math.ceil(400_000 / PIECE_BYTES));
  });

  it('gives its shard the format of its own; until then an earlier build serves it', async () => {
    const format = (): number | undefined => {
      const file = new PageFile(path(), TABLES, () => {});
      const found = file.format;
      file.close();
      return found;
    };
    await apply(put('small', patterned(WHOLE_BYTES_MAX)));
    expect(format()).toBe(1);
    await apply(put('large', patterned(WHOLE_BYTES_MAX + 1)));
    expect(format()).toBe(2);
    await apply(remove('large'));
    expect(format()).toBe(2);
  });

  it('of an earlier build, which stored it whole, is read, and replaced by pieces', async () => {
    await shard.close();
    const environment = openWithLmdb();
    const stub = encodeStub(new LargeValue(1, 400_000), 0, 'stub');
    const table = environment.openDB({ name: 'first', ...tableOptions });
    await environment.batch(() => {
      void table.put('large' as never, patterned(1_000_000) as never);
      void table.put('stub' as never, stub as never);
    });
    await environment.close();
    shard = new LmdbShard(folder, TABLES);
    expect(same(shard.get(0, 'large'), patterned(1_000_000))).toBe(true);
    // No earlier build wrote rows of large values.
    expect(same(shard.get(0, 'stub'), stub)).toBe(true);
    expect(inSteps(shard, 'large').steps).toBe(0);
    await apply(put('large', patterned(1_000_000, 2)));
    expect(same(shard.get(0, 'large'), patterned(1_000_000, 2))).toBe(true);
    expect(inSteps(shard, 'large').steps).toBeGreaterThan(4);
    await apply(put('large', Buffer.from('small')));
    expect(pieces()).toEqual([]);
  });

  it.each([0, 3, 15])('that lacks piece %d is damage, for every reader; others are read', async (index) => {
    await apply(put('large', patterned(1_000_000)), put('more', patterned(500_000)));
    await change((table) => table.remove(pieceKey(1, index)));
    const pinned = shard.snapshot();
    const lost = expect.objectContaining({ code: 'DATA_CORRUPTED' });
    for (const reader of [shard, pinned]) {
      expect(() => reader.get(0, 'large')).toThrow(lost);
      expect(() => inSteps(reader, 'large')).toThrow(lost);
      expect(() => [...reader.range(0, everything)]).toThrow(lost);
      expect(same(reader.get(0, 'more'), patterned(500_000))).toBe(true);
    }
    pinned.close();
    expect(damage()).toEqual([`first: Piece ${index} of the large value 1 is missing or damaged`]);
    // It can be replaced.
    await apply(put('large', patterned(600_000, 2)));
    expect(damage()).toEqual([]);
  });

  it.each([
    ['shorter', PIECE_BYTES - 1],
    ['longer', PIECE_BYTES + 1],
  ])('with a %s piece is damage, for every reader', async (_, length) => {
    await apply(put('large', patterned(1_000_000)));
    await change((table) => table.put(pieceKey(1, 3), Buffer.alloc(length)));
    const pinned = shard.snapshot();
    for (const reader of [shard, pinned]) {
      const lost = expect.objectContaining({ code: 'DATA_CORRUPTED' });
      expect(() => reader.get(0, 'large')).toThrow(lost);
      expect(() => inSteps(reader, 'large')).toThrow(lost);
    }
    pinned.close();
    expect(damage()).toEqual(['first: Piece 3 of the large value 1 is missing or damaged']);
  });

  /** The stored row of a large value. */
  const rowOf = (number: number, key: string): Buffer =>
    Buffer.from(encodeStub(new LargeValue(number, 400_000), 0, key));

  const damagedRows: readonly [string, () => Uint8Array][] = [
    [
      'the number of another value',
      () => {
        const row = rowOf(1, 'large');
        row.writeUIntBE(2, 8, 6);
        return row;
      },
    ],
    [
      'another length',
      () => {
        const row = rowOf(1, 'large');
        row.writeUInt32BE(399_999, 14);
        return row;
      },
    ],
    ['the row of another key', () => rowOf(2, 'more')],
    ['the row of another table', () => encodeStub(new LargeValue(1, 400_000), 1, 'large')],
  ];

  it.each(damagedRows)(
    'whose row is damaged (%s) is none that is served, and takes no pieces of others with it',
    async (_, row) => {
      // Of one length, so that each would be whole with the pieces of the other.
      await apply(put('large', patterned(400_000)), put('more', patterned(400_000, 9)));
      await change((_pieces, first) => first.put('large', row()));
      const lost = expect.objectContaining({ code: 'DATA_CORRUPTED' });
      const pinned = shard.snapshot();
      for (const reader of [shard, pinned]) {
        expect(() => reader.get(0, 'large')).toThrow(lost);
        expect(() => inSteps(reader, 'large')).toThrow(lost);
        expect(() => [...reader.range(0, everything)]).toThrow(lost);
        expect(() => [...storedRows(reader, 0, everything)]).toThrow(lost);
        expect(same(reader.get(0, 'more'), patterned(400_000, 9))).toBe(true);
      }
      expect(() => shard.peek(0, 'large')).toThrow(lost);
      pinned.close();
      expect(damage()).toContain('first: The row of a large value fails its checksum');
      await apply(put('large', Buffer.from('small')), remove('other'));
      expect(same(shard.get(0, 'more'), patterned(400_000, 9))).toBe(true);
      expect(damage()).toEqual([
        `${PIECES}: no row has the large value 1`,
        `${LARGE_ROWS}: the large value 1 is not in the row that is listed`,
      ]);
    },
  );

  it('is the value of one row', async () => {
    await apply(put('large', patterned(400_000)));
    await change((_, first) => first.put('other', encodeStub(new LargeValue(1, 400_000), 0, 'other')));
    expect(damage()).toContain('first: two rows have the large value 1');
  });

  it('is listed with its row, and its number is not above the newest', async () => {
    await apply(put('large', patterned(400_000)), put('more', patterned(400_000)));
    await change((_, __, listed) => listed.remove(numberKey(2)));
    expect(damage()).toEqual([`${LARGE_ROWS}: the row of the large value 2 is not listed`]);
    await change((_, __, listed) => listed.put(numberKey(2), Buffer.from(placeOf(0, 'none'), 'latin1')));
    expect(damage()).toEqual([
      `${LARGE_ROWS}: the large value 2 is not in the row that is listed`,
      `${LARGE_ROWS}: the row of the large value 2 is not listed`,
    ]);
    await change((_, __, listed, system) => {
      listed.put(numberKey(2), Buffer.from(placeOf(0, 'more'), 'latin1'));
      system.put(FORMAT_KEY, Uint8Array.of(1));
    });
    expect(damage()).toEqual([`${SYSTEM}: it has large values in pieces and format 1`]);
  });

  it('is learned in steps after an opening, and gives its pieces back whether it was or not', async () => {
    // Short ones that are stored in pieces.
    const stub = (number: number): Uint8Array => encodeStub(new LargeValue(number, 1), 0, 'any');
    const count = 3_001;
    await apply(...Array.from({ length: count }, (_, index) => put(`k${index}`, stub(index))));
    const reopen = async (): Promise<void> => {
      await shard.close();
      shard = new LmdbShard(folder, TABLES);
    };
    for (const learns of [false, true]) {
      await reopen();
      expect(shard.isLarge(0, 'k9')).toBe(false);
      if (learns) {
        expect([...shard.learnLargeRows()].length).toBeGreaterThan(count / 1_000);
        expect([...shard.learnLargeRows()]).toEqual([]);
        for (let index = 0; index < count; index += 1)
          expect(shard.isLarge(0, `k${index}`)).toBe(index !== 0);
        expect([shard.isLarge(1, 'k9'), shard.isLarge(0, 'none')]).toEqual([false, false]);
      }
      await apply(put(`k${Number(learns)}`, Buffer.from('small')), put(`k${2 + Number(learns)}`, stub(7)));
      expect([0, 1, 2, 3].map((index) => shard.isLarge(0, `k${index}`))).toEqual([
        false,
        !learns,
        true,
        true,
      ]);
    }
    expect(same(shard.get(0, 'k3'), stub(7))).toBe(true);
    const file = new PageFile(path(), [PIECES], () => {});
    expect(file.entriesOf(0)).toBe(count - 2);
    file.close();
    expect(damage()).toEqual([]);
  });

  it('is learned once, with a pause after each step, before an application', async () => {
    await apply(put('large', patterned(300_000)));
    await shard.close();
    shard = new LmdbShard(folder, TABLES);
    let pauses = 0;
    const clock = {
      ...systemClock,
      soon: (work: () => void) => {
        pauses += 1;
        systemClock.soon(work);
      },
    };
    for (let time = 0; time < 2; time += 1) {
      await applyMemtables(shard, [], at(), clock);
      expect([shard.isLarge(0, 'large'), pauses]).toEqual([true, 1]);
    }
  });

  it('in a list with a damaged page stops applications, and nothing is learned once it is closed', async () => {
    const stub = encodeStub(new LargeValue(1, 1), 0, 'any');
    await apply(...Array.from({ length: 2_000 }, (_, index) => put(`k${index}`, stub)));
    await shard.close();
    const bytes = readFileSync(path());
    const row = Buffer.from(numberKey(9) + placeOf(0, 'k8'), 'latin1');
    for (let found = bytes.indexOf(row); found >= 0; found = bytes.indexOf(row))
      bytes.fill(0xff, found - (found % 4_096), found - (found % 4_096) + 4_096);
    writeFileSync(path(), bytes);
    shard = new LmdbShard(folder, TABLES);
    const removed = new Memtable();
    removed.set(0, 'k8', null);
    const damaged = expect.objectContaining({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining(path()),
    });
    await expect(applyMemtables(shard, [removed], at(), systemClock)).rejects.toEqual(damaged);
    await expect(applyMemtables(shard, [], at(), systemClock)).rejects.toEqual(damaged);
    await shard.close();
    expect(() => [...shard.learnLargeRows()]).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
  });

  it('goes in an application of its own with few others', async () => {
    const count = 40;
    await apply(
      ...Array.from({ length: count }, (_, index) => put(`k${index + 10}`, patterned(300_000, index))),
    );
    await shard.close();
    shard = new LmdbShard(folder, TABLES);
    const removed = new Memtable();
    for (let index = 0; index < count; index += 1) removed.set(0, `k${index + 10}`, null);
    for (let index = 0; index < 4_000; index += 1) removed.set(1, `k${index}`, Buffer.from('small'));
    const sizes: number[] = [];
    const { apply: applied } = shard;
    shard.apply = (writes, position) => {
      sizes.push(writes.length);
      return applied.call(shard, writes, position);
    };
    sequence += 1;
    await applyMemtables(shard, [removed], at(), systemClock);
    expect(sizes.slice(0, 2)).toEqual([16, 16]);
    expect(sizes).toHaveLength(4);
    expect(pieces()).toEqual([]);
    expect(damage()).toEqual([]);
  });

  it.each([
    ['lost', undefined],
    ['too small', encodeLarge(1)],
    ['too short', Buffer.from('1')],
  ])('has no number again: with a %s number of the newest one nothing is opened', async (_, newest) => {
    await apply(put('large', patterned(400_000)), put('more', patterned(400_000)));
    await expect(
      change((__, ___, ____, system) => {
        if (newest === undefined) system.remove(LARGE_KEY);
        else system.put(LARGE_KEY, newest);
      }),
    ).rejects.toMatchObject({ code: 'DATA_CORRUPTED', message: expect.stringContaining(path()) });
    expect(damage()).toContain(
      `${SYSTEM}: its newest large value is ${newest?.length === 6 ? 1 : 0}, but it has 2`,
    );
    shard = new LmdbShard(join(folder, 'other'), TABLES);
  });

  it('of a length that no value has takes no memory', async () => {
    await apply(put('large', patterned(400_000)));
    await change((_, first) => first.put('large', encodeStub(new LargeValue(1, 0xffff_ffff), 0, 'large')));
    const lost = expect.objectContaining({ code: 'DATA_CORRUPTED' });
    expect(() => shard.get(0, 'large')).toThrow(lost);
    expect(() => inSteps(shard, 'large')).toThrow(lost);
    expect(damage()[0]).toContain('claims 4294967295 bytes');
  });

  it('leaves no pieces that a check does not find', async () => {
    await apply(put('large', patterned(400_000)));
    await change((table) => {
      table.put(pieceKey(1, Math.ceil(400_000 / PIECE_BYTES)), Buffer.from('behind the last one'));
      table.put(pieceKey(9, 0), Buffer.from('lost'));
      table.put('no number', Buffer.from('lost'));
    });
    const count = Math.ceil(400_000 / PIECE_BYTES);
    expect(damage()).toEqual([
      `${PIECES}: the large value 1 has only ${count} pieces`,
      `${PIECES}: no row has the large value 9`,
      `${PIECES}: a key is that of no piece: "no number"`,
    ]);
  });

  it('is not applied, nor anything with it, where what a row had cannot be read', async () => {
    const rows = Array.from({ length: 200 }, (_, index) =>
      put(`key${index + 100}`, Buffer.alloc(300, `row ${index} `)),
    );
    await apply(...rows, put('large', patterned(400_000), 1));
    await shard.close();
    const bytes = readFileSync(path());
    // The kind of a page of rows.
    bytes.writeUInt16LE(4, Math.floor(bytes.lastIndexOf('row 100 ') / 4096) * 4096 + 18);
    writeFileSync(path(), bytes);
    shard = new LmdbShard(folder, TABLES);
    const writes = [
      put('more', patterned(400_000), 1),
      put('small', Buffer.from('s'), 1),
      put('key200', Buffer.from('k')),
    ];
    await expect(
      shard.apply(writes, { sequence: 2, clock: { ms: 1_700_000_000_002, counter: 0 } }).flushed,
    ).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await shard.close();
    shard = new LmdbShard(folder, TABLES);
    expect([shard.get(1, 'more'), shard.get(1, 'small')]).toEqual([undefined, undefined]);
    expect(shard.position.sequence).toBe(1);
    expect(pieces()).toHaveLength(Math.ceil(400_000 / PIECE_BYTES));
  });

  it('with a damaged page of a piece is found by a check, and no part of it is served', async () => {
    const value = Buffer.alloc(400_000, 'needle-in-a-haystack ');
    await apply(put('large', value), put('small', Buffer.from('s')));
    await shard.close();
    const bytes = readFileSync(path());
    const page = bytes.indexOf('needle-in-a-haystack') - 24;
    expect(page % 4096).toBe(0);
    // The kind of the page.
    bytes.writeUInt16LE(2, page + 18);
    writeFileSync(path(), bytes);
    shard = new LmdbShard(join(folder, 'none'), TABLES);
    expect(damage().some((text) => text.startsWith('first: Piece'))).toBe(true);
  });
});

describe('large and small values', () => {
  it('are what a map has after any applications and openings', async () => {
    const length = fc.oneof(
      { weight: 3, arbitrary: fc.nat(100) },
      fc.integer({ min: WHOLE_BYTES_MAX - 2, max: WHOLE_BYTES_MAX + 2 }),
      fc.integer({ min: PIECE_BYTES * 4 - 1, max: PIECE_BYTES * 6 + 1 }),
    );
    const write = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      table: fc.nat(1),
      length: fc.option(length, { nil: undefined }),
      seed: fc.nat(200),
    });
    const application = fc.record({
      writes: fc.array(write, { maxLength: 5 }),
      opens: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(application, { maxLength: 8 }), async (applications) => {
        await shard.close();
        rmSync(folder, { recursive: true });
        shard = new LmdbShard(folder, TABLES);
        const wanted = TABLES.map(() => new Map<string, Buffer>());
        for (const { opens, writes } of applications) {
          await apply(
            ...writes.map(({ key, length: bytes, seed, table }) => {
              const value = bytes === undefined ? null : patterned(bytes, seed);
              if (value === null) wanted[table]?.delete(key);
              else wanted[table]?.set(key, value);
              return { table, key, value };
            }),
          );
          if (!opens) continue;
          await shard.close();
          shard = new LmdbShard(folder, TABLES);
        }
        for (const [table, rows] of wanted.entries()) {
          const found = [...shard.range(table, everything)];
          expect(found.map(({ key }) => key)).toEqual([...rows.keys()].sort());
          for (const { key, value } of found) expect(same(value, rows.get(key))).toBe(true);
        }
        const large = wanted
          .flatMap((rows) => [...rows.values()])
          .filter((value) => value.length > WHOLE_BYTES_MAX);
        expect(pieces()).toHaveLength(
          large.reduce((sum, value) => sum + Math.ceil(value.length / PIECE_BYTES), 0),
        );
        expect(damage()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
