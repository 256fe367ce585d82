import { KnownNames } from '#runtime/errors/known-names.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { DefinitionReader, wrongType } from './definition-reader.ts';
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, setKey } from '../values/json-value.ts';
import { sanitizeName } from '../path.ts';
import { isNodeTypeName } from './type-name.ts';

/** Limit of nesting of initial nodes, in levels. */
export const INITIAL_DEPTH_MAX = 20;
/** Limit of initial nodes in one creation. */
export const INITIAL_NODES_MAX = 1_000;

/** A child in a definition. Keys not given are absent; the name is already sanitized. */
export interface InitialChild {
  readonly name: string;
  readonly node_type: string;
  readonly archetype?: string;
  readonly properties?: JsonObject;
  readonly translations?: JsonObject;
  readonly children?: readonly InitialChild[];
}

/**
 * Initial content of a new node of a type, or of a new workspace. @see docs/interface/node-types.md#initial-structure
 */
export interface InitialStructure {
  /** Defaults of absent properties of the new node. */
  readonly properties?: JsonObject;
  readonly children?: readonly InitialChild[];
}

/** Fields of an initial structure. */
export const initialStructureFields: KnownNames = new KnownNames(['properties', 'children']);

const childFields: Readonly<Record<keyof InitialChild, true>> = {
  name: true,
  node_type: true,
  archetype: true,
  properties: true,
  translations: true,
  children: true,
};

/** Fields of a node of an initial structure. */
export const initialChildFields: KnownNames = new KnownNames(Object.keys(childFields));

/**
 * Reads `initial_structure`: an object, or the legacy bare array of children. A child is an object or the tuple
 * `[name, node_type, rest?]`.
 *
 * @returns null when absent
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseInitialStructure(reader: DefinitionReader): InitialStructure | null {
  const raw = reader.raw('initial_structure');
  if (raw === undefined) return null;
  const at = reader.place('initial_structure');
  const count = { left: INITIAL_NODES_MAX };
  if (isJsonArray(raw)) return Object.freeze({ children: parseChildren(raw, at, 1, count) });
  const structure = new DefinitionReader(raw, at);
  const properties = structure.optionalObject('properties');
  const children = structure.optionalArray('children');
  structure.refuseOthers(initialStructureFields);
  return Object.freeze({
    ...(properties === null ? {} : { properties }),
    ...(children === null ? {} : { children: parseChildren(children, `${at}.children`, 1, count) }),
  });
}

function parseChildren(
  list: readonly JsonValue[],
  at: string,
  depth: number,
  count: { left: number },
): readonly InitialChild[] {
  if (depth > INITIAL_DEPTH_MAX) {
    throw invalid(`${at}: initial structure nests deeper than ${INITIAL_DEPTH_MAX} levels`, { field: at });
  }
  const names = new Set<string>();
  return list.map((item, index) => {
    const child = parseChild(item, `${at}.${index}`, depth, count);
    if (names.has(child.name))
      throw invalid(`${at}: initial structure names '${child.name}' twice`, { field: at });
    names.add(child.name);
    return child;
  });
}

function parseChild(item: JsonValue, at: string, depth: number, count: { left: number }): InitialChild {
  count.left -= 1;
  if (count.left < 0)
    throw invalid(`initial structure has more than ${INITIAL_NODES_MAX} nodes`, { field: at });
  const reader = new DefinitionReader(isJsonArray(item) ? fromTuple(item, at) : item, at);
  const nodeType = reader.string('node_type');
  if (!isNodeTypeName(nodeType)) {
    throw reader.badValue(
      'node_type',
      `invalid initial structure: '${nodeType.slice(0, 80)}' is not a node type name`,
    );
  }
  const archetype = reader.optionalString('archetype');
  const properties = reader.optionalObject('properties');
  const translations = reader.optionalObject('translations');
  const children = reader.optionalArray('children');
  const name = sanitizeName(reader.string('name'));
  reader.refuseOthers(initialChildFields);
  return Object.freeze({
    name,
    node_type: nodeType,
    ...(archetype === null ? {} : { archetype }),
    ...(properties === null ? {} : { properties }),
    ...(translations === null ? {} : { translations }),
    ...(children === null ? {} : { children: parseChildren(children, `${at}.children`, depth + 1, count) }),
  });
}

function fromTuple(tuple: readonly JsonValue[], at: string): JsonObject {
  const [name, nodeType, rest] = tuple;
  if (rest !== undefined && !isJsonObject(rest)) throw wrongType(`${at}.2`, 'an object', rest);
  const child: Record<string, JsonValue> = { ...rest };
  if (name !== undefined) setKey(child, 'name', name);
  if (nodeType !== undefined) setKey(child, 'node_type', nodeType);
  return child;
}
