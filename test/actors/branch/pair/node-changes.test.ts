import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ANSWER_CHARACTERS_MAX,
  ChangeTexts,
  ENTRY_CHANGES_MAX,
  ENTRY_CHARACTERS_MAX,
  VALUE_BYTES_MAX,
} from '#actors/branch/pair/change-texts.ts';
import { definitionChanges, nodeChanges, type SeesTarget } from '#actors/branch/pair/node-changes.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import type { ValueChange } from '#runtime/content/values/value-changes.ts';
import { definitionNetChange, type NetChange, netChange } from '#runtime/tree/net-change.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import { type AppliedChange, applyChanges } from '#test/support/apply-changes.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { plainHeader } from '#test/support/plain-header.ts';

/** As it comes from the disk: nothing of it is decoded. */
function state(fields: Partial<NodeHeader> = {}, properties: JsonObject = { title: 'A' }): NodeRecord {
  return new NodeRecord(makeNodeRecord({ ...plainHeader, ...fields }, properties).bytes);
}

const seesAll: SeesTarget = sees(() => true);

/** Sees relations by their target. */
function sees(isSeen: (target: string) => boolean): SeesTarget {
  return function* ({ target }) {
    yield;
    return isSeen(target);
  };
}

function changeOf(before: NodeRecord | undefined, after: NodeRecord | undefined): NetChange {
  return netChange('content', 'n1', before, after) as NetChange;
}

/** As an answer has them: a side without a value has no key. */
function found(changes: Iterable<ValueChange | undefined>): readonly AppliedChange[] {
  return [...changes].flatMap((change) => {
    if (change === undefined) return [];
    const { after, before, path } = change;
    return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
  });
}

const changed = (before: NodeRecord | undefined, after: NodeRecord | undefined) =>
  found(nodeChanges(changeOf(before, after), seesAll));

const overlay = (data: JsonObject, hash: string) => ({
  type: 'properties',
  data,
  origins: Object.fromEntries(
    Object.keys(data).map((key) => [key, { hash, translated_at: '2026-01-01T00:00:00.000Z' }]),
  ),
});

const relation = (target: string, weight: number | null = null): Relation => ({
  target,
  workspace: 'content',
  target_node_type: 'svc:Page',
  relation_type: 'see',
  weight,
});

describe('the changes of a node', () => {
  it('are its fields and properties, by their places in the node object', () => {
    const after = state(
      {
        name: 'b',
        path: '/c/b',
        parentId: 'n2',
        nodeType: 'svc:Post',
        archetype: 'site:Big',
        orderKey: 'W',
        ownerId: 'ada',
        publishedAt: '2026-02-02T00:00:00.000Z',
        publishedBy: 'bob',
        version: 7,
        updatedBy: 'bob',
      },
      { title: 'B' },
    );
    expect(changed(state(), after)).toEqual([
      { path: '/name', before: 'a', after: 'b' },
      { path: '/path', before: '/a', after: '/c/b' },
      { path: '/node_type', before: 'svc:Page', after: 'svc:Post' },
      { path: '/archetype', before: null, after: 'site:Big' },
      { path: '/order_key', before: 'V', after: 'W' },
      { path: '/owner_id', before: null, after: 'ada' },
      { path: '/parent', before: '/', after: 'c' },
      { path: '/published_at', before: null, after: '2026-02-02T00:00:00.000Z' },
      { path: '/published_by', before: null, after: 'bob' },
      { path: '/properties/title', before: 'A', after: 'B' },
    ]);
  });

  it('name the path alone of a node that was taken along, and the parent if it is another node at that path', () => {
    expect(changed(state({ path: '/x/y/a' }), state({ path: '/z/y/a' }))).toEqual([
      { path: '/path', before: '/x/y/a', after: '/z/y/a' },
    ]);
    expect(changed(state({ path: '/x/a', parentId: 'n2' }), state({ path: '/x/a', parentId: 'n3' }))).toEqual(
      [{ path: '/parent', before: 'x', after: 'x' }],
    );
  });

  it('leave out the stamps of a node that stays published', () => {
    const one = state({ publishedAt: '2026-01-01T00:00:00.000Z', publishedBy: 'ada' });
    const other = state({ publishedAt: '2026-02-02T00:00:00.000Z', publishedBy: 'bob', archetype: 'x:Y' });
    expect(changed(one, other)).toEqual([{ path: '/archetype', before: null, after: 'x:Y' }]);
  });

  it('are all it has where it was added or deleted, without what is null', () => {
    const translations = { de: overlay({ '/title': 'Ä' }, '1') };
    const node = state(
      { path: '/c/a', parentId: 'n2', translations, relations: [relation('x')] },
      { n: null },
    );
    const fields = { name: 'a', path: '/c/a', node_type: 'svc:Page', order_key: 'V', parent: 'c' };
    const values: readonly (readonly [string, JsonValue])[] = [
      ...Object.entries(fields).map(([name, value]) => [`/${name}`, value] as const),
      ['/properties/n', null],
      ['/translations/de/title', 'Ä'],
      ['/relations', { ...relation('x') }],
    ];
    expect(changed(undefined, node)).toEqual(values.map(([path, after]) => ({ path, after })));
    expect(changed(node, undefined)).toEqual(values.map(([path, before]) => ({ path, before })));
  });

  it('are the values of each locale, by the names they have in the node object', () => {
    const one = state({
      translations: {
        de: overlay({ '/title': 'alt', '/hero/text': 'gleich', '/a~1b': 1 }, '1'),
        fr: overlay({ '/title': 'vieux' }, '1'),
        it: { type: 'hidden' },
      },
    });
    const other = state({
      translations: {
        de: overlay({ '/title': 'neu', '/hero/text': 'gleich', '/a~1b': 2 }, '1'),
        es: overlay({ '/title': 'nuevo' }, '1'),
        it: overlay({ '/title': 'ecco' }, '1'),
      },
    });
    expect(changed(one, other)).toEqual([
      { path: '/translations/de/title', before: 'alt', after: 'neu' },
      { path: '/translations/de/a~1b', before: 1, after: 2 },
      { path: '/translations/es/title', after: 'nuevo' },
      { path: '/translations/fr/title', before: 'vieux' },
      { path: '/translations/it/type', before: 'hidden' },
      { path: '/translations/it/title', after: 'ecco' },
    ]);
  });

  it('name a value that was translated again to the same text, and a locale that hides another translation', () => {
    const of = (hash: string, value: string) => ({
      de: overlay({ '/title': 'gleich', '/hero/text': 'gleich' }, hash),
      it: { type: 'hidden', covers: overlay({ '/title': value }, hash) },
    });
    expect(changed(state({ translations: of('1', 'a') }), state({ translations: of('2', 'b') }))).toEqual([
      { path: '/translations/de/title', before: 'gleich', after: 'gleich' },
      { path: '/translations/de/~1hero~1text', before: 'gleich', after: 'gleich' },
      { path: '/translations/it/type', before: 'hidden', after: 'hidden' },
    ]);
  });

  it('are the relations that were added, removed or got another weight, in any order', () => {
    const one = state({ relations: [relation('kept'), relation('gone'), relation('heavier', 1)] });
    const other = state({ relations: [relation('new'), relation('heavier', 2), relation('kept')] });
    expect(changed(one, other)).toEqual([
      { path: '/relations', before: { ...relation('gone') } },
      { path: '/relations', before: { ...relation('heavier', 1) }, after: { ...relation('heavier', 2) } },
      { path: '/relations', after: { ...relation('new') } },
    ]);
  });

  it('leave out relations whose target the caller may not know', () => {
    const one = state({ relations: [relation('a'), relation('b')] });
    const other = state({ relations: [relation('c'), relation('d')] });
    const some = sees((target) => target === 'a' || target === 'd');
    const targets = found(nodeChanges(changeOf(one, other), some)).map(
      ({ after, before }) => ((before ?? after) as JsonObject).target,
    );
    expect(targets).toEqual(['a', 'd']);
  });

  it('make the node object that is there now of the one that was there', () => {
    const key = fc.constantFrom('a', 'b', 'type', '__proto__', '/', '~0', '');
    const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
    const object = fc.array(fc.tuple(key, value), { maxLength: 4 }).map(objectOf);
    const data = fc
      .array(fc.tuple(fc.constantFrom('/a', '/b', '/type', '/a/b', '/~1', '/~0'), value), {
        minLength: 1,
        maxLength: 4,
      })
      .map(objectOf);
    const hash = fc.constantFrom('1', '2');
    const locale = fc.oneof(
      fc.tuple(data, hash).map(([values, from]) => overlay(values, from) as JsonValue),
      fc.constant<JsonValue>({ type: 'hidden' }),
      fc
        .tuple(data, hash)
        .map(([values, from]): JsonValue => ({ type: 'hidden', covers: overlay(values, from) })),
    );
    const node = fc.record({
      fields: fc.record({
        name: fc.constantFrom('a', 'b'),
        path: fc.constantFrom('/a', '/c/a'),
        archetype: fc.constantFrom(null, 'x:Y'),
        ownerId: fc.constantFrom(null, 'ada'),
        orderKey: fc.constantFrom('V', 'W'),
        translations: fc
          .dictionary(fc.constantFrom('de', 'fr'), locale)
          .map((all) => (empty(all) ? null : all)),
      }),
      properties: object,
    });
    fc.assert(
      fc.property(fc.option(node), fc.option(node), (one, other) => {
        const [before, after] = [one, other].map((each) => each && state(each.fields, each.properties));
        const change = netChange('content', 'n1', before ?? undefined, after ?? undefined);
        if (change === undefined || change.operation === 'reordered') return;
        const changes = found(nodeChanges(change, seesAll));
        expect(changes.length).toBeGreaterThan(0);
        const old = asRead(before ?? undefined);
        for (const { path } of changes) makeRoom(old, path);
        const made = applyChanges(old, changes) as { translations: JsonObject };
        const shown = Object.entries(made.translations).filter(([, values]) => !empty(values as object));
        const now = { ...made, translations: Object.fromEntries(shown) };
        expect(withoutNull(now)).toEqual(withoutNull(asRead(after ?? undefined)));
      }),
      { numRuns: workloadCount(2_000) },
    );
  });
});

function empty(object: object): boolean {
  return Object.keys(object).length === 0;
}

function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  return Object.fromEntries(entries);
}

/** Makes the locale of a change. */
function makeRoom(node: Record<string, JsonValue>, path: string): void {
  const locale = /^\/translations\/(\w+)\//.exec(path)?.[1];
  if (locale !== undefined) (node.translations as Record<string, JsonValue>)[locale] ??= {};
}

/** A node that is not there, and then is, has no field that is null. */
function withoutNull(node: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== null));
}

/** The fields of a node object. */
function asRead(record: NodeRecord | undefined): Record<string, JsonValue> {
  if (record === undefined) return { properties: {}, translations: {} };
  const { archetype, name, nodeType, orderKey, ownerId, path, translations } = record.header;
  return {
    archetype,
    owner_id: ownerId,
    name,
    path,
    parent: parentName(path),
    node_type: nodeType,
    order_key: orderKey,
    properties: structuredClone(record.properties),
    translations: translations === null ? {} : structuredClone(translationsField(translations)),
  };
}

describe('the changes of a definition', () => {
  const stored = (definition: JsonObject): StoredDefinition<StoredKind> =>
    ({ since: '1-0', definition: { id: 'x', name: 'x:Y', version: 1, ...definition } }) as never;
  const changesOf = (before: JsonObject | undefined, after: JsonObject | undefined) => {
    const states = [before, after].map((each) => each && stored(each));
    const change = definitionNetChange('node_type', 'x:Y', states[0], states[1]);
    return found(definitionChanges(change as NonNullable<typeof change>));
  };

  it('are places in it, items of lists being known by their names', () => {
    const [a, b] = [
      { name: 'a', type: 'String' },
      { name: 'b', type: 'Number' },
    ];
    const before = { strict: false, properties: [a], version: 1, updated_at: '1' };
    const after = { strict: true, properties: [{ ...a, required: true }, b], version: 2, updated_at: '2' };
    expect(changesOf(before, after)).toEqual([
      { path: '/strict', before: false, after: true },
      { path: '/properties/0/required', after: true },
      { path: '/properties/1', after: b },
    ]);
    expect(changesOf({ properties: [a, b] }, { properties: [b, a] })).toEqual([
      { path: '/properties', before: [a, b], after: [b, a] },
    ]);
  });

  it('are all its fields where it was added or deleted, and that it is published', () => {
    expect(changesOf(undefined, { strict: true, published_at: 't' })).toEqual([
      { path: '/name', after: 'x:Y' },
      { path: '/strict', after: true },
      { path: '/published_at', after: 't' },
    ]);
    expect(changesOf({ published_at: 't' }, { published_at: null })).toEqual([
      { path: '/published_at', before: 't', after: null },
    ]);
    expect(changesOf({ strict: true }, undefined)).toEqual([
      { path: '/name', before: 'x:Y' },
      { path: '/strict', before: true },
    ]);
  });
});

describe('the text of changes', () => {
  const textOf = (writer: ChangeTexts, before: JsonObject, after: JsonObject) => {
    const change = changeOf(state({}, before), state({}, after));
    return JSON.parse(`{"entry":1${atOnce(writer.of(nodeChanges(change, seesAll)))}}`) as {
      readonly changes: readonly Readonly<Record<string, JsonValue>>[];
      readonly truncated?: boolean;
    };
  };

  it('has values up to their bound, and of larger ones the size of their JSON in bytes', () => {
    const writer = new ChangeTexts();
    const most = 'ä'.repeat(VALUE_BYTES_MAX / 2 - 1);
    const entry = textOf(writer, { a: most, b: 'x', c: most }, { a: `${most}!`, b: [`${most}ä`, 1] });
    expect(entry).toEqual({
      entry: 1,
      changes: [
        { path: '/properties/a', before: most, after_bytes: VALUE_BYTES_MAX + 1 },
        { path: '/properties/b', before: 'x', after_bytes: VALUE_BYTES_MAX + 6 },
        { path: '/properties/c', before: most },
      ],
    });
    expect(writer.isTruncated).toBe(false);
  });

  it('has a limited number of changes of an entry, and then reports that there are more', () => {
    const numbered = (count: number, value: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value]));
    const writer = new ChangeTexts();
    const whole = textOf(writer, numbered(ENTRY_CHANGES_MAX, 1), numbered(ENTRY_CHANGES_MAX, 2));
    expect([whole.changes.length, whole.truncated]).toEqual([ENTRY_CHANGES_MAX, undefined]);
    expect(writer.isTruncated).toBe(false);
    const more = textOf(writer, numbered(ENTRY_CHANGES_MAX + 1, 1), numbered(ENTRY_CHANGES_MAX + 1, 2));
    expect([more.changes.length, more.truncated]).toEqual([ENTRY_CHANGES_MAX, true]);
    expect(writer.isTruncated).toBe(true);
  });

  it('has so many characters of an entry, and of all of them together', () => {
    const long = (value: string) =>
      Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`p${index}`, value.repeat(VALUE_BYTES_MAX - 2)]),
      );
    const writer = new ChangeTexts();
    let characters = 0;
    let entries = 0;
    while (!writer.isFull) {
      const entry = textOf(writer, long('a'), long('b'));
      const length = JSON.stringify(entry.changes).length;
      expect(entry.truncated).toBe(true);
      expect(length).toBeLessThanOrEqual(ENTRY_CHARACTERS_MAX + 100);
      characters += length;
      entries += 1;
    }
    expect(characters).toBeLessThanOrEqual(ANSWER_CHARACTERS_MAX + 2 * ENTRY_CHARACTERS_MAX);
    expect(entries).toBeGreaterThanOrEqual(ANSWER_CHARACTERS_MAX / ENTRY_CHARACTERS_MAX);
    expect(textOf(writer, { a: 1 }, { a: 2 })).toEqual({ entry: 1, changes: [], truncated: true });
  });

  it('of large nodes is made in steps', () => {
    const list = Array.from({ length: 40_000 }, (_, index) => ({ index, text: `text ${index}` }));
    const change = changeOf(state({}, { list, n: 1 }), state({}, { list: [...list, { index: -1 }], n: 2 }));
    let steps = 0;
    const work = new ChangeTexts().of(nodeChanges(change, seesAll));
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps += 1;
    expect(JSON.parse(`{"e":1${step.value}}`)).toMatchObject({
      changes: [
        { path: '/properties/list', before_bytes: expect.any(Number), after_bytes: expect.any(Number) },
        {},
      ],
    });
    expect(steps).toBeGreaterThan(50);
  });
});
