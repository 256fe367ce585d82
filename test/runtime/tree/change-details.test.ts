import { describe, expect, it } from 'vitest';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  changeDetails,
  PROPERTIES_COMPARED_MAX,
  PROPERTIES_NAMED_MAX,
  PROPERTY_NAMES_LENGTH_MAX,
} from '#runtime/tree/change-details.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { plainHeader } from '#test/support/plain-header.ts';

const header: NodeHeader = { ...plainHeader, path: '/p/a', parentId: 'p' };

function state(change: Partial<NodeHeader> = {}, properties: JsonObject = { title: 'A', n: 1 }): NodeRecord {
  return makeNodeRecord({ ...header, ...change }, properties);
}

const relation = (target: string, weight: number | null = null): Relation => ({
  target,
  workspace: 'content',
  target_node_type: 'svc:Page',
  relation_type: 'see',
  weight,
});
const overlay = (value: string): JsonObject => ({
  type: 'properties',
  data: { '/title': value },
  origins: { '/title': { hash: 'h', translated_at: '2026-01-01T00:00:00.000Z' } },
});
const published = { publishedAt: header.createdAt, publishedBy: 'ada' };
const base = state();

/** Many properties, with values of one length. */
function many(count: number, value: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value]));
}

describe('the details of a change', () => {
  it.each([
    ['nothing', {}, { kinds: [] }],
    ['a write without a difference', { version: 2 }, { kinds: ['updated'] }],
    ['another name', { name: 'b', path: '/p/b', version: 2 }, { kinds: ['renamed'], pathBefore: '/p/a' }],
    ['another parent', { parentId: 'q', path: '/q/a' }, { kinds: ['moved'], pathBefore: '/p/a' }],
    ['an ancestor of another name', { path: '/q/a' }, { kinds: ['moved'], pathBefore: '/p/a' }],
    ['another parent of the same path', { parentId: 'q' }, { kinds: ['moved'] }],
    ['another place under another parent', { parentId: 'q', orderKey: 'W' }, { kinds: ['moved'] }],
    [
      'another name and parent',
      { name: 'b', parentId: 'q', path: '/q/b' },
      { kinds: ['renamed', 'moved'], pathBefore: '/p/a' },
    ],
    ['another place among its siblings', { orderKey: 'W' }, { kinds: ['reordered'] }],
    ['its publication', { ...published, version: 2 }, { kinds: ['published'] }],
    ['another type', { nodeType: 'svc:Folder' }, { kinds: ['updated'], typeBefore: 'svc:Page' }],
    ['another archetype', { archetype: 'x' }, { kinds: ['updated'] }],
    ['another owner', { ownerId: 'x' }, { kinds: ['updated'] }],
    ['a relation more', { relations: [relation('x')] }, { kinds: ['relation_added'] }],
    [
      'translations',
      { translations: { fr: overlay('b'), de: overlay('a') } },
      { kinds: ['updated'], locales: ['de', 'fr'] },
    ],
  ] as const)('tell %s', (_what, change, details) => {
    expect(changeDetails(base, state(change as Partial<NodeHeader>))).toEqual(details);
  });

  it('tell what a created and a deleted node has', () => {
    const rich = state({ ...published, relations: [relation('x')], translations: { de: overlay('a') } });
    expect(changeDetails(undefined, base)).toEqual({ kinds: ['created'] });
    expect(changeDetails(base, undefined)).toEqual({ kinds: ['deleted'] });
    const locales = ['de'];
    expect(changeDetails(undefined, rich)).toEqual({
      kinds: ['created', 'published', 'relation_added'],
      locales,
    });
    expect(changeDetails(rich, undefined)).toEqual({
      kinds: ['deleted', 'unpublished', 'relation_removed'],
      locales,
    });
    expect(changeDetails(undefined, undefined)).toEqual({ kinds: [] });
  });

  it('tell only a change of the status as one of it', () => {
    expect(changeDetails(state(published), base)).toEqual({ kinds: ['unpublished'] });
    const again = state({ publishedAt: '2027-01-01T00:00:00.000Z', publishedBy: 'ada', version: 2 });
    expect(changeDetails(state(published), again)).toEqual({ kinds: ['updated'] });
  });

  it('compare relations in any order', () => {
    const [x, y, z] = [relation('x'), relation('y'), relation('z')];
    const kinds = (old: readonly Relation[], next: readonly Relation[]): readonly string[] =>
      changeDetails(state({ relations: old }), state({ relations: next })).kinds;
    expect(kinds([x, y, z], [z, x, y])).toEqual([]);
    expect(kinds([x, y, z], [x, z])).toEqual(['relation_removed']);
    expect(kinds([x, y], [x, z])).toEqual(['relation_added', 'relation_removed']);
    expect(kinds([x, y], [y, x, z])).toEqual(['relation_added']);
    expect(kinds([x], [relation('x', 2)])).toEqual(['relation_added', 'relation_removed']);
  });

  it('name the properties whose stored texts differ', () => {
    const names = (old: JsonObject, next: JsonObject): unknown =>
      changeDetails(state({}, old), state({}, next)).properties;
    expect(names({ a: 1, b: 2, c: 3 }, { a: 1, b: 5, d: 3 })).toEqual(['b', 'd', 'c']);
    expect(names({ 'ä"\u0000': 1, é: 'ü' }, { 'ä"\u0000': 2, é: 'ü' })).toEqual(['ä"\u0000']);
    expect(names({}, { a: null })).toEqual(['a']);
    expect(names({ a: { x: 1 } }, { a: { x: [] } })).toEqual(['a']);
    expect(names({ a: 1, b: 2 }, { b: 2, a: 1 })).toBeUndefined();
    expect(changeDetails(state({}, { a: 1 }), state({}, {})).kinds).toEqual(['updated', 'property_changed']);
  });

  it('name any of the properties when there are too many', () => {
    const details = (old: JsonObject, next: JsonObject): unknown =>
      changeDetails(state({}, old), state({}, next));
    const kinds = ['updated', 'property_changed'];
    const named = many(PROPERTIES_NAMED_MAX, 1);
    expect(details(named, many(PROPERTIES_NAMED_MAX, 2))).toEqual({
      kinds,
      properties: Object.keys(named),
    });
    expect(details(many(PROPERTIES_NAMED_MAX + 1, 1), many(PROPERTIES_NAMED_MAX + 1, 2))).toEqual({
      kinds,
      properties: null,
      propertyCount: PROPERTIES_NAMED_MAX + 1,
    });
    expect(details({}, { ['x'.repeat(PROPERTY_NAMES_LENGTH_MAX + 1)]: 1 })).toEqual({
      kinds,
      properties: null,
      propertyCount: 1,
    });
    const most = many(PROPERTIES_COMPARED_MAX, 1);
    expect(details(most, { ...most, p7: 2 })).toEqual({ kinds, properties: ['p7'] });
    const more = many(PROPERTIES_COMPARED_MAX + 1, 1);
    expect(details(more, { ...more, p7: 2 })).toEqual({ kinds, properties: null });
    expect(details(more, { ...more })).toEqual({ kinds: [] });
  });
});
