import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { keyRanges } from '#runtime/index/key-range.ts';
import {
  becomes,
  begun,
  decodeTypeCount,
  encodeTypeCount,
  hasAllIn,
  type IndexFields,
  settled,
} from '#runtime/tree/index-catalog.ts';
import { CREATED_AT_INDEX, UPDATED_AT_INDEX } from '#runtime/tree/index-name.ts';

const since = '1700000000000-0';

function rowOf(json: unknown): Buffer {
  const text = JSON.stringify(json);
  const bytes = Buffer.alloc(8 + text.length);
  bytes.writeDoubleBE(3, 0);
  bytes.write(text, 8);
  return bytes;
}

/** How builds with the earlier form of the row read it. */
function readByEarlierBuild(bytes: Uint8Array): readonly string[] {
  const [properties] = JSON.parse(Buffer.from(bytes).toString('utf8', 8)) as [string[], string[]];
  return properties;
}

describe('a row of the catalog', () => {
  it('of an earlier build has indexes that find scalars and get the other rows later', () => {
    const { count, fields, isOlder } = decodeTypeCount(rowOf([['p'], ['u']]));
    expect([count, isOlder, fields.properties, fields.uniques]).toEqual([3, true, [], ['u']]);
    const building = [CREATED_AT_INDEX, UPDATED_AT_INDEX];
    expect(fields.pending).toMatchObject({ upgrading: ['p'], building, after: '' });
    const finds = (value: JsonValue): boolean => hasAllIn(fields, 'p', keyRanges({ operator: 'eq', value }));
    expect([1, 'x', true].map((value) => finds(value))).toEqual([true, true, true]);
    expect([null, [], {}, 'x\0', '\u0001'].map((value) => finds(value))).toEqual([
      ...[false, false, false],
      ...[false, false],
    ]);
    // A zero character behind the cut changes the hash.
    expect(finds(`${'x'.repeat(2_000)}\0`)).toBe(false);
    expect(settled(fields)).toEqual({ properties: [...building, 'p'], uniques: ['u'] });
  });

  it('stops earlier builds once this one has written it', () => {
    const older = decodeTypeCount(rowOf([['p'], []]));
    expect(() => readByEarlierBuild(encodeTypeCount(older))).toThrow(TypeError);
    expect(decodeTypeCount(encodeTypeCount(older))).toEqual({ ...older, isOlder: false });
  });

  it('keeps what is pending, and begins again when more is', () => {
    const none: IndexFields = { properties: [], uniques: [] };
    const wanted: IndexFields = { properties: ['p'], uniques: [] };
    const first = begun(none, wanted, since);
    expect(first.pending).toEqual({ building: ['p'], upgrading: [], dropping: [], after: '', since });
    expect([becomes(first, wanted), becomes(first, none)]).toEqual([true, false]);
    const later: IndexFields = { ...first, pending: { ...first.pending!, after: '/m' } };
    expect(begun(later, { ...wanted, uniques: ['u'] }, '9-9').pending).toEqual(later.pending);
    const both = begun(later, { properties: ['p', 'q'], uniques: [] }, '9-9');
    expect(both.pending).toMatchObject({ building: ['p', 'q'], after: '', since: '9-9' });
    const dropped = begun(both, { properties: ['q'], uniques: [] }, '9-10');
    expect(dropped.pending).toMatchObject({ building: ['q'], dropping: ['p'] });
    expect(begun(dropped, wanted, '9-11').pending).toMatchObject({ building: ['p'], dropping: ['q'] });
    expect(settled(dropped)).toEqual({ properties: ['q'], uniques: [] });
    expect(decodeTypeCount(encodeTypeCount({ count: 1, fields: dropped })).fields).toEqual(dropped);
  });
});
