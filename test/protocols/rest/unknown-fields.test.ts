import { describe, expect, it } from 'vitest';
import { archetypeFields } from '#runtime/content/definitions/archetype.ts';
import { constraintFields } from '#runtime/content/definitions/constraints.ts';
import { elementTypeFields } from '#runtime/content/definitions/element-type.ts';
import { fieldConfigFields, fieldFields, fieldTypes } from '#runtime/content/definitions/field-schema.ts';
import {
  initialChildFields,
  initialStructureFields,
} from '#runtime/content/definitions/initial-structure.ts';
import {
  compoundIndexFields,
  indexColumnFields,
  nodeTypeFields,
} from '#runtime/content/definitions/node-type.ts';
import { propertyFields } from '#runtime/content/definitions/property-schema.ts';
import { translationConfigFields } from '#runtime/content/translations/translation-config.ts';
import { workspaceConfigFields, workspaceFields } from '#runtime/content/definitions/workspace-definition.ts';
import type { KnownNames } from '#runtime/errors/known-names.ts';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import { contentSchemas } from '#protocols/rest/content-schemas.ts';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only refusals are looked at; behind them the handlers have nothing to work with.
const routes = memberRoutes({} as RoutesContext);
const withBodies = routes.filter(({ body }) => body === 'json' || body === 'optional-json');

/** Whose body depends on the address, which is read by conditions of its own, and which take any. */
const open = [
  'logInAdmin',
  'changeAdminPassword',
  'logInIdentity',
  'refreshSession',
  'changeIdentityPassword',
  'createNode',
  'updateNode',
  'queryNodesByDsl',
];

function isOpen(operationId: string): boolean {
  return open.includes(operationId.replace(/(AtRevision|InRepository)$/, ''));
}

function propertiesOf(schema: unknown): Readonly<Record<string, JsonSchema>> {
  return (schema as { properties: Readonly<Record<string, JsonSchema>> }).properties;
}

function named(name: string): JsonSchema {
  return contentSchemas[name] as JsonSchema;
}

function requestOf(operationId: string): JsonSchema {
  return routes.find((route) => route.operationId === operationId)?.docs.requestSchema as JsonSchema;
}

async function refusal(route: RestRoute, body: unknown): Promise<string> {
  try {
    await route.handler({ route, queryString: '', query: parseQuery(''), body } as never);
    return 'taken';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the bodies of the routes of a member', () => {
  it.each(
    withBodies.filter(({ operationId }) => !isOpen(operationId)).map((route) => [route.operationId, route]),
  )('%s refuses what its documentation does not have', async (_, route) => {
    expect(route.docs.requestSchema).toMatchObject({ additionalProperties: false });
    const { required = [] } = route.docs.requestSchema as { readonly required?: readonly string[] };
    const body = { ...Object.fromEntries(required.map((name) => [name, null])), nonsense: 1 };
    expect(await refusal(route, body)).toMatch(/^Unknown field 'nonsense'; /);
  });

  it('say of every object that has properties whether it has others', () => {
    const unsaid: string[] = [];
    const visit = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties, additionalProperties } = value as JsonSchema;
      const isObject = typeof properties === 'object' && !at.endsWith('.properties');
      if (isObject && additionalProperties === undefined) unsaid.push(at);
      for (const [key, inner] of Object.entries(value)) visit(inner, `${at}.${key}`);
    };
    for (const { docs, operationId } of withBodies) {
      if (!isOpen(operationId)) visit(docs.requestSchema, operationId);
    }
    for (const [name, schema] of Object.entries(contentSchemas)) {
      if (name.endsWith('Body') || name === 'Commit') visit(schema, name);
    }
    expect(unsaid).toEqual([]);
  });
});

describe('the description of a definition has the fields that are read', () => {
  const { anyOf } = named('InitialStructureBody') as { readonly anyOf: readonly JsonSchema[] };
  const index = named('CompoundIndexBody');
  const column = (propertiesOf(index).columns as { readonly items: JsonSchema }).items;
  const ofFields = fieldTypes.flatMap((type): [string, unknown, KnownNames][] => [
    [type, named(`${type}Body`), fieldFields[type]],
    [`the config of a ${type}`, propertiesOf(named(`${type}Body`)).config, fieldConfigFields[type]],
  ]);

  it.each<[string, unknown, KnownNames]>([
    ['a node type', named('NodeTypeBody'), nodeTypeFields],
    ['an archetype', named('ArchetypeBody'), archetypeFields],
    ['an element type', named('ElementTypeBody'), elementTypeFields],
    ['a property', named('PropertyBody'), propertyFields],
    ['constraints', named('ConstraintsBody'), constraintFields],
    ['a compound index', index, compoundIndexFields],
    ['a column of one', column, indexColumnFields],
    ['an initial structure', anyOf[0], initialStructureFields],
    ['a node of one', named('InitialChildBody'), initialChildFields],
    ['a workspace', requestOf('putWorkspace'), workspaceFields],
    ['the configuration of one', requestOf('putWorkspaceConfig'), workspaceConfigFields],
    ['languages', requestOf('updateTranslationConfig'), translationConfigFields],
    ...ofFields,
  ])('of %s', (_, schema, known) => {
    const properties = Object.entries(propertiesOf(schema));
    const aliases = properties.flatMap(([, property]) => (property['x-aliases'] ?? []) as string[]);
    const readOnly = properties.filter(([, property]) => property.readOnly === true).map(([name]) => name);
    const counted = properties.map(([name]) => name).filter((name) => !readOnly.includes(name));
    expect(counted.toSorted()).toEqual(known.names.toSorted());
    expect([...counted, ...aliases, ...readOnly].toSorted()).toEqual(known.all.toSorted());
  });
});
