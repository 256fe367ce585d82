import { describe, expect, it } from 'vitest';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  definitionNetChange,
  isTakenAlong,
  netChange,
  sameContent,
  sameDefinition,
} from '#runtime/tree/net-change.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { plainHeader } from '#test/support/plain-header.ts';

function state(change: Partial<NodeHeader> = {}, properties: JsonObject = { title: 'A', n: 1 }): NodeRecord {
  return makeNodeRecord({ ...plainHeader, ...change }, properties);
}

const overlay = (value: string, hash: string, at = '2026-01-01T00:00:00.000Z'): JsonObject => ({
  type: 'properties',
  data: { '/title': value },
  origins: { '/title': { hash, translated_at: at } },
});
const relation = (target: string, weight: number | null = null): Relation => ({
  target,
  workspace: 'content',
  target_node_type: 'svc:Page',
  relation_type: 'see',
  weight,
});

describe('two states of a node have the same content', () => {
  it('when only revision, version, stamps, order of keys or order of relations differ', () => {
    const one = state({ relations: [relation('x'), relation('y')], publishedAt: plainHeader.createdAt });
    const other = state(
      {
        relations: [relation('y'), relation('x')],
        revision: '9-9',
        version: 7,
        updatedAt: '2026-02-02T00:00:00.000Z',
        updatedBy: 'grace',
        createdAt: '2026-02-02T00:00:00.000Z',
        createdBy: 'grace',
        publishedAt: '2026-02-02T00:00:00.000Z',
        publishedBy: 'grace',
        operation: 'modified',
        orderKey: 'W',
      },
      { n: 1, title: 'A' },
    );
    expect(sameContent(one, other)).toBe(true);
  });

  it('when both are absent, not when one is', () => {
    expect(sameContent(undefined, undefined)).toBe(true);
    expect(sameContent(state(), undefined)).toBe(false);
    expect(sameContent(undefined, state())).toBe(false);
  });

  it.each<[string, NodeRecord]>([
    ['a property', state({}, { title: 'B', n: 1 })],
    ['a missing property', state({}, { title: 'A' })],
    ['null in place of nothing', state({}, { title: 'A', n: 1, more: null })],
    ['the path', state({ path: '/b', name: 'b' })],
    ['the parent', state({ parentId: 'p' })],
    ['the type', state({ nodeType: 'svc:Folder' })],
    ['the archetype', state({ archetype: 'Hero' })],
    ['the owner', state({ ownerId: 'ada' })],
    ['being published', state({ publishedAt: plainHeader.createdAt, publishedBy: 'ada' })],
    ['a relation', state({ relations: [relation('x')] })],
    ['a translation', state({ translations: { de: overlay('Ä', 'h') } })],
  ])('not when %s differs', (_what, other) => {
    expect(sameContent(state(), other)).toBe(false);
    expect(sameContent(other, state())).toBe(false);
  });

  it('not when a relation has another weight', () => {
    expect(
      sameContent(state({ relations: [relation('x', 1)] }), state({ relations: [relation('x', 2)] })),
    ).toBe(false);
  });

  it('when a locale has the same values, translated at any time', () => {
    const one = state({ translations: { de: overlay('Ä', 'h') } });
    expect(
      sameContent(one, state({ translations: { de: overlay('Ä', 'h', '2027-01-01T00:00:00.000Z') } })),
    ).toBe(true);
    expect(sameContent(one, state({ translations: { de: overlay('Ö', 'h') } }))).toBe(false);
    expect(sameContent(one, state({ translations: { de: overlay('Ä', 'of another source') } }))).toBe(false);
  });

  it('not when a locale is hidden in one of them, nor when hiding covers something else', () => {
    const shown = state({ translations: { de: overlay('Ä', 'h') } });
    const hidden = state({ translations: { de: { type: 'hidden', covers: overlay('Ä', 'h') } } });
    const bare = state({ translations: { de: { type: 'hidden' } } });
    expect(sameContent(shown, hidden)).toBe(false);
    expect(sameContent(hidden, bare)).toBe(false);
    expect(sameContent(bare, state({ translations: { de: { type: 'hidden' } } }))).toBe(true);
  });
});

describe('the net change of a node', () => {
  const change = (before: NodeRecord | undefined, after: NodeRecord | undefined) =>
    netChange('content', 'n1', before, after);

  it('is none when nothing is left of it', () => {
    expect(change(undefined, undefined)).toBeUndefined();
    expect(change(state(), state({ revision: '5-0', version: 3 }))).toBeUndefined();
  });

  it('is an addition, a deletion or a modification', () => {
    expect(change(undefined, state())).toMatchObject({ operation: 'added', isNode: true, locales: [] });
    expect(change(state(), undefined)).toMatchObject({ operation: 'deleted', isNode: true });
    expect(change(state(), state({ path: '/b' }))).toMatchObject({ operation: 'modified', isNode: true });
  });

  it('keeps what happened to the node apart from what happened to its locales', () => {
    const translated = state({ translations: { de: overlay('Ä', 'h'), fr: overlay('À', 'h') } });
    const changed = state({
      translations: { de: overlay('Ö', 'h'), fr: overlay('À', 'h'), it: overlay('I', 'h') },
    });
    expect(change(translated, changed)).toMatchObject({
      operation: 'modified',
      isNode: false,
      locales: ['de', 'it'],
      isReordered: false,
    });
    expect(change(translated, state({ translations: null }))).toMatchObject({ locales: ['de', 'fr'] });
  });

  it('is a mere reorder when only the place among the same siblings differs', () => {
    expect(change(state(), state({ orderKey: 'W' }))).toMatchObject({
      operation: 'reordered',
      isNode: false,
      isReordered: true,
    });
    expect(change(state(), state({ orderKey: 'W' }, { title: 'B', n: 1 }))).toMatchObject({
      operation: 'modified',
      isReordered: true,
    });
    expect(change(state(), state({ orderKey: 'W', parentId: 'p', path: '/p/a' }))).toMatchObject({
      operation: 'modified',
      isReordered: false,
    });
  });
});

describe('the net change of a definition', () => {
  const stored = (definition: Record<string, unknown>) =>
    ({ since: '1-0', definition: { name: 't', ...definition } }) as never;

  it('is none when it was written again as it is', () => {
    const before = stored({ id: '1', version: 1, updated_at: 'x', strict: true, published_at: null });
    expect(sameDefinition(before, stored({ id: '2', version: 2, updated_at: 'y', strict: true }))).toBe(true);
    expect(definitionNetChange('node_type', 't', before, before)).toBeUndefined();
    expect(definitionNetChange('node_type', 't', undefined, undefined)).toBeUndefined();
  });

  it('is an addition, a deletion or a modification', () => {
    const one = stored({ strict: true });
    expect(definitionNetChange('node_type', 't', undefined, one)?.operation).toBe('added');
    expect(definitionNetChange('node_type', 't', one, undefined)?.operation).toBe('deleted');
    expect(definitionNetChange('node_type', 't', one, stored({ strict: false }))?.operation).toBe('modified');
    expect(
      definitionNetChange('node_type', 't', one, stored({ strict: true, published_at: 'x' }))?.operation,
    ).toBe('modified');
  });
});

describe('a node is taken along', () => {
  const below = state({ path: '/p/a', parentId: 'p' });

  it('when its path alone differs', () => {
    expect(isTakenAlong(below, state({ path: '/q/a', parentId: 'p', version: 4, revision: '9-9' }))).toBe(
      true,
    );
    expect(isTakenAlong(below, below)).toBe(false);
  });

  it.each([
    ['its parent', { parentId: 'q' }],
    ['its name', { name: 'b', path: '/p/b' }],
    ['its place', { orderKey: 'W' }],
    ['a locale', { translations: { de: overlay('Eins', 'h') } }],
    ['its archetype', { archetype: 'x' }],
  ])('but not when %s differs', (_what, change: Partial<NodeHeader>) => {
    expect(isTakenAlong(below, state({ path: '/q/a', parentId: 'p', ...change }))).toBe(false);
  });

  it('nor when its properties do', () => {
    expect(isTakenAlong(below, state({ path: '/q/a', parentId: 'p' }, { title: 'B' }))).toBe(false);
  });
});
