import { isFlagDeclined } from '../resolution/declined-flag.ts';
import type { InitialChild } from '../definitions/initial-structure.ts';
import { jsonEquals, type JsonValue } from '../values/json-value.ts';
import type { NodeType } from '../definitions/node-type.ts';
import type { PropertySchema } from '../definitions/property-schema.ts';
import { newSchemaRecord } from '../definitions/schema-record.ts';
import { type ResolvedSource, SchemaResolver } from '../resolution/schema-resolver.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';
import { builtInNodeTypes } from './node-types.ts';

const shippedRecords: ReadonlyMap<string, NodeType> = new Map(
  builtInNodeTypes.map(({ definition }) => [definition.name, newSchemaRecord(definition, 'shipped', '')]),
);

const shippedTypes = new SchemaResolver({
  nodeType: (name) => shippedRecords.get(name),
  archetype: () => undefined,
  elementType: () => undefined,
});

/** Whether this build ships a node type with this name. */
export function isShipped(name: string): boolean {
  return shippedRecords.has(name);
}

/**
 * The parts of a shipped type that a definition lacks or narrows, both with everything they inherit. The product and
 * existing content rely on a shipped type, so others may extend it but not reduce it: a property keeps its type, rules
 * and indexes, optional properties and allowed children stay so, and flags stay on. Texts, icons, defaults and
 * additions may be changed.
 *
 * @param name of a shipped type
 * @param source of the type with this name and its ancestors
 * @returns for a person, one sentence part each; empty when nothing is missing, and for a type that is not shipped
 * @throws {ServiceError} `VALIDATION_FAILED` when the type cannot be resolved
 * @see docs/interface/built-ins.md#changing-built-in-types
 */
export function missingParts(name: string, source: Pick<ResolvedSource, 'nodeType'>): readonly string[] {
  const shipped = shippedTypes.nodeType(name);
  if (shipped === undefined) return [];
  const given = source.nodeType(name);
  if (given === undefined) return ['it is missing'];
  return [
    ...missingProperties(shipped, given),
    ...missingFlags(shipped, given),
    ...declinedFlags(name, source),
    ...missingRelatives(shipped, given),
    ...missingChildren(shipped, given),
  ];
}

function* missingProperties(shipped: ResolvedNodeType, given: ResolvedNodeType): Generator<string, void> {
  for (const schema of shipped.properties) {
    const kept = given.byName.get(schema.name)?.schema;
    if (kept === undefined) yield `property '${schema.name}' is missing`;
    else yield* missingRules(schema, kept, `property '${schema.name}'`);
  }
  for (const { name, required } of given.properties) {
    if (required === true && !shipped.byName.has(name)) yield `the added property '${name}' is required`;
  }
}

/** The rules that existing values of a property rely on. */
function* missingRules(
  shipped: PropertySchema,
  given: PropertySchema,
  what: string,
): Generator<string, void> {
  if (given.type !== shipped.type) yield `${what} is not of type ${shipped.type}`;
  for (const rule of ['required', 'unique'] as const) {
    if ((given[rule] ?? false) === (shipped[rule] ?? false)) continue;
    yield `${what} is ${given[rule] === true ? '' : 'not '}${rule}`;
  }
  for (const rule of ['constraints', 'value', 'is_translatable'] as const) {
    if (!jsonEquals(ruleOf(given, rule), ruleOf(shipped, rule))) yield `${what} differs in ${rule}`;
  }
  if (shipped.default !== undefined && (given.default ?? given.value) === undefined)
    yield `${what} has no default`;
  if (given.allow_additional_properties === false && shipped.allow_additional_properties !== false)
    yield `${what} takes no additional keys`;
  for (const kind of shipped.index ?? []) {
    if (given.index?.includes(kind) !== true) yield `${what} has no ${kind} index`;
  }
  if (shipped.items !== undefined) {
    if (given.items === undefined) yield `${what} says nothing of its items`;
    else yield* missingRules(shipped.items, given.items, `the items of ${what}`);
  } else if (given.items !== undefined) yield `${what} restricts its items`;
  for (const [key, schema] of Object.entries(shipped.structure ?? {})) {
    const kept = given.structure?.[key];
    if (kept === undefined) yield `${what} has no key '${key}'`;
    else yield* missingRules(schema, kept, `key '${key}' of ${what}`);
  }
  for (const [key, schema] of Object.entries(given.structure ?? {})) {
    if (schema.required === true && shipped.structure?.[key] === undefined)
      yield `the added key '${key}' of ${what} is required`;
  }
}

function ruleOf(schema: PropertySchema, rule: 'constraints' | 'value' | 'is_translatable'): JsonValue {
  return (schema[rule] ?? null) as JsonValue;
}

function* missingFlags(shipped: ResolvedNodeType, given: ResolvedNodeType): Generator<string, void> {
  if (given.nodeType.is_mixin !== shipped.nodeType.is_mixin) yield 'it is a mixin';
  for (const flag of ['strict', 'immutable'] as const) {
    if (given[flag] !== shipped[flag]) yield `it is ${given[flag] ? '' : 'not '}${flag}`;
  }
  for (const flag of ['auditable', 'indexable'] as const) {
    if (shipped[flag] && !given[flag]) yield `it is not ${flag}`;
  }
  for (const kind of shipped.indexTypes) {
    if (!given.indexTypes.includes(kind)) yield `its nodes have no ${kind} index`;
  }
}

/** A flag that is not set anywhere leaves the decision to the user, so it counts as on. */
function* declinedFlags(name: string, source: Pick<ResolvedSource, 'nodeType'>): Generator<string, void> {
  for (const flag of ['versionable', 'publishable'] as const) {
    if (isFlagDeclined(name, flag, source) && !isFlagDeclined(name, flag, shippedTypes))
      yield `it is not ${flag}`;
  }
}

function* missingRelatives(shipped: ResolvedNodeType, given: ResolvedNodeType): Generator<string, void> {
  for (const name of shipped.inheritanceChain) {
    if (!given.inheritanceChain.includes(name)) yield `it does not extend '${name}'`;
  }
  for (const name of shipped.mixins) {
    if (!given.mixins.includes(name)) yield `it does not mix in '${name}'`;
  }
}

function* missingChildren(shipped: ResolvedNodeType, given: ResolvedNodeType): Generator<string, void> {
  if (!given.allowsAnyChild) {
    if (shipped.allowsAnyChild) yield 'it does not allow children of every type';
    for (const name of shipped.allowsAnyChild ? [] : shipped.allowedChildren) {
      if (!given.allowedChildren.includes(name)) yield `it does not allow children of type '${name}'`;
    }
  }
  yield* missingInitial(shipped.initialStructure?.children, given.initialStructure?.children, '');
}

function* missingInitial(
  shipped: readonly InitialChild[] | undefined,
  given: readonly InitialChild[] | undefined,
  under: string,
): Generator<string, void> {
  for (const { children, name, node_type: type } of shipped ?? []) {
    const kept = given?.find((each) => each.name === name);
    const path = `${under}/${name}`;
    if (kept?.node_type !== type) yield `a new node has no '${path}' of type '${type}'`;
    else yield* missingInitial(children, kept.children, path);
  }
}
