import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { changeBySql } from '#test/support/sql-garden.ts';
import { workloadCount } from '#test/support/workload-count.ts';

/**
 * Definitions as the routes take them, written as statements of SQL as well: both ways lead to the same definition. The
 * statements are made of the JSON here, by a second reading of the page on them.
 */

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
  await branch.command({
    type: 'PutDefinition',
    kind: 'mixin',
    definition: { name: 'fz:Mixed', properties: [{ name: 'mixed', type: 'URL' }] },
  });
});
afterAll(() => branch.close());

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const list = (texts: JsonValue | undefined): string =>
  `(${((texts ?? []) as string[]).map(quoted).join(', ')})`;

const names = ['a', 'order', 'Required', 'ünder', '_x'];
const scalar = fc.constantFrom('String', 'Number', 'Boolean', 'Date', 'URL', 'Reference', 'Composite');
const type: fc.Arbitrary<JsonObject> = fc.letrec<{ type: JsonObject }>((tie) => ({
  type: fc.oneof(
    { depthIdentifier: 'type', maxDepth: 3 },
    scalar.map((each): JsonObject => ({ type: each })),
    tie('type').map((items): JsonObject => ({ type: 'Array', items })),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...names), tie('type')), {
        minLength: 1,
        maxLength: 3,
        selector: ([name]) => name,
      })
      .map((keys): JsonObject => ({ type: 'Object', structure: Object.fromEntries(keys) })),
  ),
})).type;

const defaults: Readonly<Record<string, JsonValue>> = {
  String: "it's",
  Number: -2.5,
  Boolean: false,
  Array: [],
};

const property = (name: string): fc.Arbitrary<JsonObject> =>
  fc
    .record({
      shape: type,
      flags: fc.subarray(['required', 'unique', 'is_translatable', 'allow_additional_properties']),
      index: fc.subarray(['Fulltext', 'Vector', 'Property']),
      hasDefault: fc.boolean(),
      meta: fc.subarray(['label', 'description', 'order']),
    })
    .map(({ flags, hasDefault, index, meta, shape }): JsonObject => {
      const given = defaults[String(shape.type)];
      return {
        name,
        ...shape,
        ...Object.fromEntries(flags.map((flag) => [flag, true])),
        ...(index.length === 0 ? {} : { index }),
        ...(hasDefault && given !== undefined ? { default: given } : {}),
        ...(meta.length === 0
          ? {}
          : { meta: Object.fromEntries(meta.map((key) => [key, key === 'order' ? 3 : `the ${key}`])) }),
      };
    });

/** A type as the dialect writes it. */
function typeSql(json: JsonObject): string {
  if (json.type === 'Array') return `Array OF ${typeSql(json.items as JsonObject)}`;
  if (json.type !== 'Object') return String(json.type);
  const keys = Object.entries(json.structure as Record<string, JsonObject>);
  return `Object { ${keys.map(([name, inner]) => `"${name}" ${typeSql(inner)}`).join(', ')} }`;
}

const words: Readonly<Record<string, string>> = {
  required: 'REQUIRED',
  unique: 'UNIQUE',
  is_translatable: 'TRANSLATABLE',
  allow_additional_properties: 'ALLOW_ADDITIONAL_PROPERTIES',
};
const indexWords: Readonly<Record<string, string>> = {
  Fulltext: 'FULLTEXT',
  Vector: 'VECTOR',
  Property: 'PROPERTY_INDEX',
};

function defaultSql(value: JsonValue): string {
  if (Array.isArray(value)) return "'[]'::jsonb";
  return typeof value === 'string' ? quoted(value) : String(value).toUpperCase();
}

function propertySql(json: JsonObject): string {
  const { label, description, order } = (json.meta ?? {}) as Record<string, string | number | undefined>;
  const parts = [`"${String(json.name)}" ${typeSql(json)}`];
  for (const [key, word] of Object.entries(words)) if (json[key] === true) parts.push(word);
  for (const index of (json.index ?? []) as string[]) parts.push(String(indexWords[index]));
  if (json.default !== undefined) parts.push(`DEFAULT ${defaultSql(json.default)}`);
  if (label !== undefined) parts.push(`LABEL ${quoted(String(label))}`);
  if (description !== undefined) parts.push(`DESCRIPTION ${quoted(String(description))}`);
  if (order !== undefined) parts.push(`ORDER ${order}`);
  return parts.join(' ');
}

const flagNames = ['versionable', 'publishable', 'auditable', 'indexable', 'strict'];
const propertiesOf = (all: readonly string[]) =>
  fc.subarray([...all]).chain((some) => fc.tuple(...some.map(property)));

const definition: fc.Arbitrary<JsonObject> = fc.record(
  {
    extends: fc.constantFrom('svc:Folder', 'svc:Page'),
    mixins: fc.constant(['fz:Mixed']),
    description: fc.constantFrom('', "it's"),
    icon: fc.constant('leaf'),
    properties: propertiesOf(names),
    allowed_children: fc.constantFrom(['svc:Page'], ['svc:Page', 'svc:Folder']),
    required_nodes: fc.constant(['x']),
    compound_indexes: fc.constant([
      { name: 'i', columns: [{ property: 'a', ascending: false, column_type: 'String' }] },
    ]),
    ...Object.fromEntries(flagNames.map((flag) => [flag, fc.constant(true)])),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

function clauseSql(key: string, value: JsonValue): string {
  if (value === true) return key.toUpperCase();
  if (key === 'properties') return `PROPERTIES (${(value as JsonObject[]).map(propertySql).join(', ')})`;
  if (key === 'compound_indexes') return "COMPOUND_INDEX 'i' ON (a DESC)";
  return Array.isArray(value)
    ? `${key.toUpperCase()} ${list(value)}`
    : `${key.toUpperCase()} ${quoted(String(value))}`;
}

/** An action on a definition, as a statement has it and as it changes the JSON. */
interface Step {
  readonly sql: string;
  readonly apply: (json: JsonObject) => JsonObject;
}

const listOf = (json: JsonObject): readonly JsonObject[] => (json.properties ?? []) as JsonObject[];

/** For a definition with properties of these names. */
function stepsFor(existing: readonly string[], free: readonly string[]): fc.Arbitrary<Step> {
  const one = <T>(from: readonly T[], make: (value: T) => fc.Arbitrary<Step>): fc.Arbitrary<Step>[] =>
    from.length === 0 ? [] : [fc.constantFrom(...from).chain(make)];
  return fc.oneof(
    ...one(free, (name) =>
      property(name).map((json) => ({
        sql: `ADD PROPERTY ${propertySql(json)}`,
        apply: (before) => ({ ...before, properties: [...listOf(before), json] }),
      })),
    ),
    ...one(existing, (name) =>
      property(name).map((json) => ({
        sql: `MODIFY PROPERTY ${propertySql(json)}`,
        apply: (before) => ({
          ...before,
          properties: listOf(before).map((each) =>
            each.name === name
              ? { ...json, ...(each.constraints === undefined ? {} : { constraints: each.constraints }) }
              : each,
          ),
        }),
      })),
    ),
    ...one(existing, (name) =>
      fc.constant({
        sql: `DROP PROPERTY "${name}"`,
        apply: (before) => ({
          ...before,
          properties: listOf(before).filter((each) => each.name !== name),
        }),
      }),
    ),
    fc.tuple(fc.constantFrom(...flagNames), fc.boolean()).map(
      ([flag, isOn]): Step => ({
        sql: `SET ${flag.toUpperCase()} = ${isOn}`,
        apply: (before) => ({ ...before, [flag]: isOn }),
      }),
    ),
    fc.constantFrom('svc:Page', null).map(
      (parent): Step => ({
        sql: `SET EXTENDS = ${parent === null ? 'NULL' : quoted(parent)}`,
        apply: (before) => ({ ...before, extends: parent }),
      }),
    ),
    fc.constantFrom([], ['svc:Folder']).map(
      (children): Step => ({
        sql: `SET ALLOWED_CHILDREN = ${list(children)}`,
        apply: (before) => ({ ...before, allowed_children: children }),
      }),
    ),
    fc
      .constantFrom('new', '')
      .map((icon): Step => ({ sql: `SET ICON = ${quoted(icon)}`, apply: (before) => ({ ...before, icon }) })),
  );
}

const stamps = new Set(['id', 'name', 'created_at', 'updated_at', 'previous_version']);

async function stored(name: string): Promise<JsonObject> {
  const read = (await branch.query({ type: 'ReadDefinition', kind: 'node_type', name })) as JsonObject;
  return Object.fromEntries(Object.entries(read).filter(([key]) => !stamps.has(key)));
}

const put = (name: string, json: JsonObject) =>
  branch.command({ type: 'PutDefinition', kind: 'node_type', definition: { ...json, name } });

/** A definition, and several steps that fit it one after the other. */
const story = definition.chain((json) => {
  const here = listOf(json).map((each) => String(each.name));
  const there = names.filter((name) => !here.includes(name));
  // Each step for a property of its own, so that all of them fit in any order.
  return fc
    .tuple(fc.constant(json), fc.array(stepsFor(here.slice(0, 1), there.slice(0, 1)), { maxLength: 1 }))
    .chain(([first, some]) =>
      fc
        .array(stepsFor(here.slice(1, 2), there.slice(1, 2)), { maxLength: 1 })
        .map((more) => ({ json: first, steps: [...some, ...more] })),
    );
});

it('a CREATE and an ALTER lead to the definition of the routes [SQL-080]', async () => {
  await fc.assert(
    fc.asyncProperty(story, fc.boolean(), async ({ json, steps }, constrains) => {
      const clauses = Object.entries(json)
        .filter(([, value]) => !Array.isArray(value) || value.length > 0)
        .map(([key, value]) => clauseSql(key, value));
      // Indexed unless it is made of others.
      const isOwn = json.extends === undefined && json.mixins === undefined;
      const asRest: JsonObject = isOwn ? { ...json, indexable: true } : json;
      await changeBySql(branch, `CREATE NODETYPE 'fz:Sql' ${clauses.join(' ')}`);
      await put('fz:Rest', asRest);
      try {
        const created = await stored('fz:Sql');
        expect(columnTypesAside(created)).toEqual(columnTypesAside(await stored('fz:Rest')));
        const constrained: JsonObject = constrains ? withConstraints(created) : created;
        for (const name of ['fz:Sql', 'fz:Rest']) await put(name, constrained);
        if (steps.length === 0) return;
        const after = steps.reduce((before, step) => step.apply(before), constrained);
        await changeBySql(branch, `ALTER NODETYPE 'fz:Sql' ${steps.map((step) => step.sql).join(' ')}`);
        await put('fz:Rest', after);
        expect(await stored('fz:Sql')).toEqual(await stored('fz:Rest'));
      } finally {
        await changeBySql(branch, "DROP NODETYPE 'fz:Sql'");
        await branch.command({ type: 'DeleteDefinition', kind: 'node_type', name: 'fz:Rest' });
      }
    }),
    { numRuns: workloadCount(120) },
  );
});

/** The dialect takes the type of a column of an index from the property. */
function columnTypesAside(json: JsonObject): JsonValue {
  const indexes = (json.compound_indexes ?? []) as { columns: JsonObject[] }[];
  return {
    ...json,
    compound_indexes: indexes.map((index) => ({
      ...index,
      columns: index.columns.map(({ ascending, property: name }) => ({ ascending, name })),
    })) as unknown as JsonValue,
  };
}

function withConstraints(json: JsonObject): JsonObject {
  const properties = listOf(json).map((each) => ({ ...each, constraints: { maxItems: 9 } }));
  return { ...json, properties };
}
