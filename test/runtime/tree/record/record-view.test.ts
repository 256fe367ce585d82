import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { PIECE_BYTES } from '#runtime/shard/large-value.ts';
import {
  COLUMN_ENDS_AT,
  OVERLAYS_END_AT,
  PROPERTIES_END_AT,
  RELATIONS_END_AT,
  TRANSLATIONS_END_AT,
} from '#runtime/tree/record/format-2.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { plainNumber } from '#runtime/tree/record/plain-number.ts';
import { WantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column, type TextColumn } from '#runtime/tree/record/record-layout.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';
import { shortText } from '#runtime/tree/record/short-text.ts';
import { anyJson, anyObject, headerOf } from '#test/support/node-headers.ts';
import { recordOfFormat1 } from '#test/support/record-format-1.ts';

const formats = [
  ['1', recordOfFormat1],
  ['2', (header, properties) => makeNodeRecord(header, properties).bytes],
] satisfies [string, typeof recordOfFormat1][];

const header = headerOf({
  name: 'träume',
  path: '/ä "b"/träume',
  ownerId: 'größe',
  translations: { de: { type: 'properties', data: { '/title': 'Tor' }, origins: {} } },
  relations: [{ target: 't', workspace: 'w', target_node_type: 'x', relation_type: 'r', weight: 1 }],
});
const properties: JsonObject = {
  title: 'größe',
  count: 12.5,
  open: true,
  none: null,
  list: [1, { a: 'b"' }],
};
const columns = Object.values(Column).filter((column): column is TextColumn => column !== Column.version);
const wanted = [...Object.keys(properties), 'absent'].map((name) => new WantedProperty(name));

/** Reads whatever a view has. */
function readAll(view: RecordView): void {
  for (const column of columns) {
    view.column(column);
    view.columnEquals(column, new WantedText('größe'));
    view.columnStartsWith(column, new WantedText('/ä'));
  }
  view.sinceKey();
  view.version();
  for (const each of wanted) {
    view.property(each);
    view.propertyText(each);
    view.propertyNumber(each);
  }
  void [view.hasRelations, view.hasTranslations];
}

/** @returns the code of the error that something throws */
function codeOf(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
}

describe.each(formats)('a view of records of format %s', (_, encode) => {
  it('finds no damage by itself, but throws nothing else, and copies no damaged record', () => {
    const bytes = encode(header, properties);
    const view = new RecordView();
    for (let at = 0; at < bytes.length; at += 1) {
      for (const bit of [0x01, 0x10, 0x80]) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ bit;
        expect(() => new NodeRecord(damaged)).toThrow(expect.objectContaining({ code: 'DATA_CORRUPTED' }));
        const code = codeOf(() => {
          view.point(damaged, damaged.length);
          readAll(view);
        });
        expect([undefined, 'DATA_CORRUPTED']).toContain(code);
        const whole = (use: () => void): string | undefined =>
          codeOf(() => {
            view.point(damaged, damaged.length);
            use();
          });
        expect([at, whole(() => view.verify())]).toEqual([at, 'DATA_CORRUPTED']);
        expect([at, whole(() => void view.record())]).toEqual([at, 'DATA_CORRUPTED']);
      }
    }
  });

  it('throws nothing else for any bytes either', () => {
    const bytes = encode(header, properties);
    const view = new RecordView();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 255 })), { maxLength: 40 }),
        fc.nat({ max: bytes.length }),
        (changes, length) => {
          const damaged = Buffer.from(bytes);
          for (const [at, byte] of changes) if (at > 0) damaged[at] = byte;
          const code = codeOf(() => {
            view.point(damaged, length);
            readAll(view);
          });
          expect([undefined, 'DATA_CORRUPTED']).toContain(code);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuses a record that was cut, also when its checksum is right', () => {
    const bytes = encode(header, properties);
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = Buffer.from(bytes.subarray(0, length));
      expect(() => new NodeRecord(cut)).toThrow(expect.objectContaining({ code: 'DATA_CORRUPTED' }));
      if (length > 5) cut.writeUInt32BE(crc32(cut.subarray(5)), 1);
      const view = new RecordView();
      const code = codeOf(() => {
        view.point(cut, length);
        readAll(view);
      });
      expect([undefined, 'DATA_CORRUPTED']).toContain(code);
    }
  });

  it('finds a property wherever it is in the next record', () => {
    const all = ['title', 'count', 'other', 'svc:ref'].map((name) => new WantedProperty(name));
    const names = ['title', 'count', 'other', 'svc:ref'];
    const some = fc
      .shuffledSubarray(names)
      .chain((keys) =>
        fc
          .tuple(...keys.map(() => anyJson))
          .map((values) => Object.fromEntries(keys.map((key, i) => [key, values[i]]))),
      );
    fc.assert(
      fc.property(fc.array(fc.oneof(some, anyObject(anyJson, 6)), { maxLength: 8 }), (rows) => {
        const view = new RecordView();
        for (const row of rows as readonly JsonObject[]) {
          const bytes = encode(headerOf(), row);
          view.point(bytes, bytes.length);
          for (const [index, name] of names.entries())
            expect(view.property(all[index] as WantedProperty)).toEqual(
              Object.hasOwn(row, name) ? row[name] : undefined,
            );
        }
      }),
    );
  });
});

describe('a view of a record whose places lead out of it', () => {
  const corrupted = expect.objectContaining({ code: 'DATA_CORRUPTED' });

  /** A record before another one, with another number at a place. */
  function led(bytes: Buffer, at: number, to: number): Buffer {
    const memory = Buffer.concat([bytes, bytes]);
    memory.writeUInt32BE(to, at);
    return memory;
  }

  it.each([
    ['properties', PROPERTIES_END_AT],
    ['translations', TRANSLATIONS_END_AT],
    ['relations', RELATIONS_END_AT],
    ['overlays', OVERLAYS_END_AT],
    ['last column', COLUMN_ENDS_AT + 4 * Column.archetype],
  ])('refuses the end of its %s', (_, at) => {
    const { bytes } = makeNodeRecord(header, properties);
    const view = new RecordView();
    for (const to of [bytes.length + 8, 2 ** 32 - 1])
      expect(() => view.point(led(bytes, at, to), bytes.length)).toThrow(corrupted);
    if (at !== OVERLAYS_END_AT) return;
    expect(() => view.point(led(bytes, at, bytes.length - 1), bytes.length)).toThrow(corrupted);
  });

  it.each([9, 13, 17, 21])('refuses the end at %d of format 1', (at) => {
    const bytes = recordOfFormat1(header, properties);
    const view = new RecordView();
    expect(() => view.point(led(bytes, at, bytes.length), bytes.length)).toThrow(corrupted);
  });

  it('refuses a column that ends before it begins, or in the properties', () => {
    const { bytes } = makeNodeRecord(headerOf(), properties);
    const view = new RecordView();
    for (const to of [0, bytes.length, bytes.length + 8, 2 ** 32 - 1]) {
      view.point(led(bytes, COLUMN_ENDS_AT + 4 * Column.path, to), bytes.length);
      expect(() => view.column(Column.path)).toThrow(corrupted);
      expect(view.columnEquals(Column.path, new WantedText('/one'))).toBe(false);
    }
  });
});

describe('a view of the first piece of a large record', () => {
  const large = { ...properties, text: 'x'.repeat(1024 * 1024) };
  // Longer than texts that the interface accepts.
  const wide = headerOf({
    path: `/${'"ä'.repeat(3_000)}`,
    ownerId: '\u0001'.repeat(1_024),
    createdBy: '\u0001'.repeat(1_024),
    updatedBy: '\u0001'.repeat(1_024),
    publishedBy: '\u0001'.repeat(1_024),
  });

  it.each([
    ['a usual header', header],
    ['a long header', wide],
  ])('has the columns of a node with %s, and no properties', (_, each) => {
    const { bytes } = makeNodeRecord(each, large);
    const view = new RecordView();
    view.point(Buffer.from(bytes.subarray(0, PIECE_BYTES)), PIECE_BYTES, bytes.length);
    expect([view.isWhole, view.hasColumns]).toEqual([false, true]);
    expect(columns.map((column) => view.column(column))).toEqual(
      columns.map((column) => {
        const whole = new RecordView();
        whole.point(bytes, bytes.length);
        return whole.column(column);
      }),
    );
    expect(view.column(Column.path)).toBe(each.path);
    expect(view.columnEquals(Column.path, new WantedText(each.path))).toBe(true);
    expect([view.version(), view.hasTranslations]).toEqual([each.version, each.translations !== null]);
    for (const use of [
      () => view.property(new WantedProperty('title')),
      () => view.record(),
      () => view.verify(),
    ])
      expect(use).toThrow(/whole/);
  });

  it('says when the columns are not in it', () => {
    const old = recordOfFormat1(header, large);
    const view = new RecordView();
    view.point(old, PIECE_BYTES, old.length);
    expect([view.isWhole, view.hasColumns]).toEqual([false, false]);
    expect(() => view.column(Column.path)).toThrow(/columns/);
    expect(() => view.version()).toThrow(/columns/);
    const { bytes } = makeNodeRecord(headerOf({ ownerId: 'x'.repeat(PIECE_BYTES) }), large);
    view.point(bytes, PIECE_BYTES, bytes.length);
    expect(view.hasColumns).toBe(false);
  });
});

describe('a plain number', () => {
  const parsed = (text: string): number | undefined => plainNumber(Buffer.from(text), 0, text.length);

  it('is what JSON.parse returns', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        const count = text.replace(/\D/g, '').length;
        expect(parsed(text)).toBe(count > 15 ? undefined : JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = JSON.stringify(value);
        expect([undefined, JSON.parse(text)]).toContain(parsed(text));
      }),
    );
  });

  it.each(['', '-', '"1"', '1e5', 'true', 'null', '[1]', '1.2.3', '1-2'])('is not %s', (text) => {
    expect(parsed(text)).toBeUndefined();
  });
});

describe('a view of memory of LMDB', () => {
  let folder: string;
  let shard: LmdbShard;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'record-view-'));
    shard = new LmdbShard(folder, ['nodes']);
  });

  afterEach(async () => {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('reads one record after the other, and keeps copies of them', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => ({
      header: headerOf({ id: `n${index}`, path: `/one/ü${index}`, ownerId: index % 3 === 0 ? '"' : null }),
      properties: { number: index, text: 'x'.repeat(index) },
    }));
    const writes = rows.map(({ header: each, properties: values }, index) => ({
      table: 0,
      key: `k${index}`,
      value: formats[index % 2]?.[1](each, values) as Buffer,
    }));
    await shard.apply(writes, { sequence: 1, clock: { ms: 1, counter: 0 } }).flushed;
    const view = new RecordView();
    const number = new WantedProperty('number');
    const kept: NodeRecord[] = [];
    for (const [index, row] of rows.entries()) {
      const found = shard.peek(0, `k${index}`) as Buffer;
      view.point(found, found.length);
      expect([view.column(Column.path), view.column(Column.ownerId), view.propertyNumber(number)]).toEqual([
        row.header.path,
        row.header.ownerId,
        index,
      ]);
      view.verify();
      kept.push(view.record());
    }
    expect(kept.map((record) => ({ header: record.header, properties: record.properties }))).toEqual(rows);
  });
});

describe('a short text', () => {
  const read = (text: string): string => {
    const bytes = Buffer.from(`"${text}"`);
    return shortText(bytes, 1, bytes.length - 1);
  };

  it('is that of its bytes, whatever was read before', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.string({ maxLength: 12, unit: 'grapheme' }),
      fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', 'ü', 'Ã', '¼') }),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 50 }), (texts) => {
        for (const each of [...texts, ...texts]) expect(read(each)).toBe(each);
      }),
    );
  });

  it('is not another one that has the codes of its bytes as characters', () => {
    for (let number = 0; number < 20_000; number += 1) {
      read(`${number}Ã¼`);
      expect(read(`${number}ü`)).toBe(`${number}ü`);
    }
  });
});
