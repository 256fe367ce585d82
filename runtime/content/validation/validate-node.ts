import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { ResolvedArchetype } from '../resolution/field-resolver.ts';
import { derivedNames } from '../definitions/derived-names.ts';
import { boundMessage, JSON_KEY_LENGTH_MAX, measureJson } from '../values/json-bounds.ts';
import { type JsonObject, type JsonValue, setKey } from '../values/json-value.ts';
import { normalizeProperties } from './normalize-node.ts';
import type { ResolvedSource } from '../resolution/schema-resolver.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';
import { Validation, type ValidationIssue } from './validation.ts';
import { CheckWork } from './check-work.ts';

/** The most properties a node may have. */
export const PROPERTY_COUNT_MAX = 4_096;
/** The largest set of properties, in units of {@link measureJson}; inline text of an upload may be 11 MB. */
export const PROPERTIES_SIZE_MAX = 16 * 1024 * 1024;

const noIssues: readonly ValidationIssue[] = Object.freeze([]);

/**
 * Removes `$supertypes` and `$mixins`, which reads derive from the type and which are never stored. So a node that was
 * read can be written back, to a strict type too.
 *
 * @returns the same object when neither is present
 * @see docs/interface/nodes.md#the-node-object
 */
export function stripDerived(properties: JsonObject): JsonObject {
  if (!derivedNames.some((name) => Object.hasOwn(properties, name))) return properties;
  const copy: Record<string, JsonValue> = { ...properties };
  for (const name of derivedNames) delete copy[name];
  return copy;
}

/**
 * Sets absent keys of a new node to the defaults and fixed values of its type and archetype. A null key is not absent.
 * Updates set no defaults: a key left out of a replacement is removed.
 *
 * @returns the same object when nothing was absent
 */
export function fillDefaults(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  properties: JsonObject,
): JsonObject {
  let copy: Record<string, JsonValue> | null = null;
  const fill = (defaults: ResolvedNodeType['defaults']): void => {
    for (const [name, value] of defaults) {
      if (Object.hasOwn(copy ?? properties, name)) continue;
      copy ??= { ...properties };
      setKey(copy, name, value);
    }
  };
  fill(type.defaults);
  if (archetype !== null) fill(archetype.defaults);
  return copy ?? properties;
}

/**
 * All errors in the properties of a node: bounds, required and undeclared properties, types and constraints of the node
 * type, fields of the archetype, elements. Uniqueness is not checked, because it needs the index.
 *
 * @param properties as a caller wrote them; derived keys and other written forms are allowed
 * @param budget of the request
 * @returns empty when nothing is wrong; at most `ISSUES_MAX`
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/nodes.md#checks-on-write
 */
export function validateProperties(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  properties: JsonObject,
  source: ResolvedSource,
  budget?: RequestBudget,
): readonly ValidationIssue[] {
  const normal = normalizeProperties(archetype, stripDerived(properties), source);
  return collectIssues(type, archetype, normal, new Validation(source, new CheckWork(budget)));
}

/**
 * Converts the properties a caller sent to their stored form, and refuses invalid ones. Uniqueness is not checked.
 *
 * @param mode `create` fills defaults
 * @param budget of the request that writes
 * @throws {ServiceError} `VALIDATION_FAILED`; `details.errors` lists every message; `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/nodes.md#checks-on-write
 */
export function prepareProperties(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  properties: JsonObject,
  source: ResolvedSource,
  mode: 'create' | 'update',
  budget?: RequestBudget,
): JsonObject {
  const given = stripDerived(properties);
  const filled = mode === 'create' ? fillDefaults(type, archetype, given) : given;
  const prepared = normalizeProperties(archetype, filled, source);
  const validation = new Validation(source, new CheckWork(budget));
  const issues = collectIssues(type, archetype, prepared, validation);
  if (issues.length > 0) throw validationFailed(issues);
  return prepared;
}

/** One error for a list of issues: it joins their messages and lists them in `details.errors`. */
export function validationFailed(issues: readonly ValidationIssue[]): ServiceError {
  const messages = issues.map((issue) => issue.message);
  return invalidFor(messages, `properties.${issues[0]?.property ?? ''}`);
}

/** One error for a list of messages, which is in `details.errors`. @param field what they are about */
export function invalidFor(messages: readonly string[], field: string): ServiceError {
  const shown = messages.slice(0, 5).join('; ');
  const more = messages.length > 5 ? ` (and ${messages.length - 5} more)` : '';
  return invalid(shown + more, { field, details: { errors: messages } });
}

/**
 * The archetype of a node, checked against the node's type.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when it does not exist or is for another node type
 * @see docs/interface/node-types.md#archetypes
 */
export function requireArchetype(
  name: string,
  type: ResolvedNodeType,
  source: ResolvedSource,
): ResolvedArchetype {
  const archetype = source.archetype(name);
  if (archetype === undefined) throw invalid(`Archetype not found: '${name}'`, { field: 'archetype' });
  if (archetype.baseNodeType !== null && archetype.baseNodeType !== type.name) {
    throw invalid(
      `Archetype '${name}' is for nodes of type '${archetype.baseNodeType}', not of type '${type.name}'`,
      { field: 'archetype' },
    );
  }
  return archetype;
}

/** Refuses a mixin, because no node can have one as its type. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireInstantiable({ name, nodeType }: ResolvedNodeType): void {
  if (nodeType.is_mixin !== true) return;
  throw invalid(`'${name}' is a mixin and cannot be the type of a node`, { field: 'node_type' });
}

/** Checks the properties in one pass. It allocates only one `Validation` unless there are errors. */
function collectIssues(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  properties: JsonObject,
  validation: Validation,
): readonly ValidationIssue[] {
  for (const name of type.required) {
    if (!Object.hasOwn(properties, name)) {
      validation.enter(name);
      validation.add(`Missing required property '${name}' for NodeType '${type.name}'`);
      validation.leave();
    }
  }
  let count = 0;
  let size = 0;
  for (const key in properties) {
    count += 1;
    size += checkProperty(type, archetype, key, properties[key]!, validation) + key.length;
  }
  if (count > PROPERTY_COUNT_MAX) validation.add(`A node has at most ${PROPERTY_COUNT_MAX} properties`);
  if (size > PROPERTIES_SIZE_MAX)
    validation.add(`The properties are larger than ${PROPERTIES_SIZE_MAX} characters`);
  if (archetype !== null) checkArchetypeRequired(archetype, properties, validation);
  return validation.issues.length === 0 ? noIssues : validation.issues;
}

/**
 * Checks one property: its bounds, and the rules of the node type and the archetype.
 *
 * @returns the size of the value, as {@link measureJson} measures it
 */
export function checkProperty(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  key: string,
  value: JsonValue,
  validation: Validation,
): number {
  validation.enter(key);
  const measured = measureJson(value);
  if (measured < 0) validation.report(boundMessage(measured));
  else if (key.length > JSON_KEY_LENGTH_MAX) validation.add('A property name is too long');
  else {
    const property = type.byName.get(key);
    if (property === undefined) checkDeclared(type, archetype, key, validation);
    else property.check(value, validation);
    archetype?.byName.get(key)?.check(value, validation);
  }
  validation.leave();
  return measured;
}

/** Reports a property that a strict type or a strict archetype does not declare. */
export function checkDeclared(
  type: ResolvedNodeType,
  archetype: ResolvedArchetype | null,
  key: string,
  validation: Validation,
): void {
  if (type.byName.has(key)) return;
  if (type.strict) validation.add(`Undefined property '${key}' in strict mode for NodeType '${type.name}'`);
  if (archetype?.strict === true && !archetype.byName.has(key))
    validation.add(`Undefined property '${key}' in strict mode for Archetype '${archetype.name}'`);
}

function checkArchetypeRequired(
  archetype: ResolvedArchetype,
  properties: JsonObject,
  validation: Validation,
): void {
  for (const name of archetype.required) {
    if (Object.hasOwn(properties, name)) continue;
    validation.enter(name);
    validation.add(`Missing required property '${name}' for Archetype '${archetype.name}'`);
    validation.leave();
  }
}
