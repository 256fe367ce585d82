import { invalid } from '#runtime/errors/service-error.ts';
import { DefinitionReader, wrongType } from './definition-reader.ts';
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, setKey } from './json-value.ts';
import { sanitizeName } from './path.ts';
import type { ResolvedSource } from './schema-resolver.ts';
import { isNodeTypeName } from './type-name.ts';
import type { ResolvedNodeType, SchemaSource } from './type-resolver.ts';

/** How deep initial nodes may nest, in levels. */
export const INITIAL_DEPTH_MAX = 20;
/** The most nodes one creation may bring along. */
export const INITIAL_NODES_MAX = 1_000;

/** A child as a definition lists it; absent keys were not given. The name is already clean. */
export interface InitialChild {
  readonly name: string;
  readonly node_type: string;
  readonly archetype?: string;
  readonly properties?: JsonObject;
  readonly translations?: JsonObject;
  readonly children?: readonly InitialChild[];
}

/** A node to be created along with its parent, everything its own type brings included. */
export interface InitialNode {
  /** Clean. */
  readonly name: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly properties: JsonObject;
  readonly translations: JsonObject | null;
  readonly children: readonly InitialNode[];
}

/** What a new node of a type, or a new workspace, starts with. @see Supplement 3.5 */
export interface InitialStructure {
  /** Fills absent properties of the new node. */
  readonly properties?: JsonObject;
  readonly children?: readonly InitialChild[];
}

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
  return Object.freeze({
    name: sanitizeName(reader.string('name')),
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

function namedTypes(structure: InitialStructure | null): readonly string[] {
  const found = new Set<string>();
  const visit = (nodes: readonly InitialChild[] | undefined): void => {
    for (const node of nodes ?? []) {
      found.add(node.node_type);
      visit(node.children);
    }
  };
  visit(structure?.children);
  return [...found];
}

/**
 * The children a new node of a type brings along, whole: the types of those children bring theirs.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when a type does not exist, or the tree has no end or too many nodes
 * @see Supplement 3.5
 */
export function planInitialChildren(type: ResolvedNodeType, source: ResolvedSource): readonly InitialNode[] {
  return planInitialStructure(type.initialStructure, source);
}

/** As {@link planInitialChildren}, for the structure of a workspace. */
export function planInitialStructure(
  structure: InitialStructure | null,
  source: ResolvedSource,
): readonly InitialNode[] {
  const children = structure?.children ?? [];
  return children.length === 0 ? [] : planLevel(children, source, 1, { left: INITIAL_NODES_MAX });
}

function planLevel(
  children: readonly InitialChild[],
  source: ResolvedSource,
  depth: number,
  count: { left: number },
): readonly InitialNode[] {
  if (children.length > 0 && depth > INITIAL_DEPTH_MAX) {
    throw invalid(`Initial structure nests deeper than ${INITIAL_DEPTH_MAX} levels`);
  }
  return children.map((child) => {
    count.left -= 1;
    if (count.left < 0) throw invalid(`Initial structure has more than ${INITIAL_NODES_MAX} nodes`);
    const type = source.nodeType(child.node_type);
    if (type === undefined)
      throw invalid(`Invalid initial structure: NodeType '${child.node_type}' not found`);
    // What is listed explicitly wins over what the child's own type would bring under the same name.
    const listed = child.children ?? [];
    const names = new Set(listed.map((each) => each.name));
    const brought = (type.initialStructure?.children ?? []).filter((each) => !names.has(each.name));
    return {
      name: child.name,
      node_type: child.node_type,
      archetype: child.archetype ?? null,
      properties: child.properties ?? {},
      translations: child.translations ?? null,
      children: planLevel([...listed, ...brought], source, depth + 1, count),
    };
  });
}

/**
 * Checks that a definition's initial structure names only types that exist. Runs when the definition is saved.
 *
 * @param ownName the type that is being saved: it may name itself (which creation then refuses as endless)
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see Supplement 3.5
 */
export function requireInitialTypes(
  structure: InitialStructure | null,
  ownName: string,
  source: SchemaSource,
): void {
  for (const name of namedTypes(structure)) {
    if (name === ownName || source.nodeType(name) !== undefined) continue;
    throw invalid(`Invalid initial structure: NodeType '${name}' not found`, { field: 'initial_structure' });
  }
}
