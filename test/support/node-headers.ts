import fc from 'fast-check';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';

/** Texts with escapes, astral characters, lone surrogates and names that objects already have. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ maxLength: 20, unit: 'binary' }),
  fc.string({
    maxLength: 8,
    unit: fc.constantFrom('"', '\\', '\n', 'a', 'ü', '€', '🌳', '\ud800', '\udfff', 'n'),
  }),
  fc.constantFrom('', 'null', '__proto__', 'constructor', 'toJSON', 'svc:ref', '"svc:ref"'),
);

const timestamp = fc
  .date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  .map((date) => date.toISOString());

const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });

const relation: fc.Arbitrary<Relation> = fc.record({
  target: anyText,
  workspace: anyText,
  target_node_type: anyText,
  relation_type: anyText,
  weight: orNull(fc.double({ noNaN: true, noDefaultInfinity: true }).map((weight) => weight + 0)),
});

/** A JSON value in the form in which a stored one comes back. */
export const anyJson: fc.Arbitrary<JsonValue> = fc
  .oneof(
    anyText,
    fc.integer(),
    fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
    fc.bigInt({ min: 2n ** 60n, max: 2n ** 90n }),
  )
  .map((value) => parseExactJson(JSON.stringify(value)) as JsonValue);

/** An object with any keys, in any order. */
export function anyObject(value: fc.Arbitrary<JsonValue>, most: number): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(anyText, value), { maxLength: most }).map((entries) => {
    const object: Record<string, JsonValue> = {};
    for (const [key, each] of entries) setKey(object, key, each);
    return object;
  });
}

/** Values of the translated properties of some locales. */
const translations: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.constantFrom('de', 'en', 'fr-CA'),
  fc
    .dictionary(fc.constantFrom('/title', '/ü', '/list/0', '/a"b'), anyJson)
    .map((data) => ({ type: 'properties', data, origins: {} })),
  { minKeys: 1 },
);

/** Any header of a node, also with texts that no route accepts. */
export const anyHeader: fc.Arbitrary<NodeHeader> = fc.record({
  id: anyText,
  name: anyText,
  path: fc.array(anyText, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join('/')}`),
  nodeType: fc.constantFrom('svc:Folder', 'test:Article', 'a'.repeat(255)),
  archetype: orNull(anyText),
  parentId: anyText,
  orderKey: anyText,
  version: fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 32 - 1)),
  createdAt: timestamp,
  createdBy: anyText,
  updatedAt: timestamp,
  updatedBy: anyText,
  publishedAt: orNull(timestamp),
  publishedBy: orNull(anyText),
  ownerId: orNull(anyText),
  translations: orNull(translations),
  relations: fc.array(relation, { maxLength: 3 }),
  revision: fc
    .tuple(fc.nat({ max: 2 ** 48 - 1 }), fc.nat({ max: 2 ** 32 - 1 }))
    .map(([ms, counter]) => `${ms}-${counter}`),
  operation: fc.constantFrom('added', 'modified', 'deleted', 'reordered'),
  changedLocale: orNull(anyText),
});

/** A usual header. */
export function headerOf(fields: Partial<NodeHeader> = {}): NodeHeader {
  return {
    id: 'n1',
    name: 'one',
    path: '/one',
    nodeType: 'test:Article',
    archetype: null,
    parentId: 'root',
    orderKey: 'a0',
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    createdBy: 'ann',
    updatedAt: '2026-01-01T00:00:00.000Z',
    updatedBy: 'ann',
    publishedAt: null,
    publishedBy: null,
    ownerId: null,
    translations: null,
    relations: [],
    revision: '1700000000000-0',
    operation: 'added',
    changedLocale: null,
    ...fields,
  };
}
