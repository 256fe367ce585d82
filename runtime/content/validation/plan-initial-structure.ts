import { invalid } from '#runtime/errors/service-error.ts';
import {
  INITIAL_DEPTH_MAX,
  INITIAL_NODES_MAX,
  type InitialChild,
  type InitialStructure,
} from '../definitions/initial-structure.ts';
import type { JsonObject } from '../values/json-value.ts';
import type { ResolvedSource } from '../resolution/schema-resolver.ts';
import { missingNodeType, type ResolvedNodeType, type SchemaSource } from '../resolution/type-resolver.ts';

/** A node to be created with its parent, including the children of its own type. */
export interface InitialNode {
  /** Sanitized. */
  readonly name: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly properties: JsonObject;
  readonly translations: JsonObject | null;
  readonly children: readonly InitialNode[];
}

/**
 * All nodes created with a new node of a type, including those of the types of its children.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when a type does not exist, or the tree is infinite or has too many nodes
 * @see docs/interface/node-types.md#initial-structure
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
      throw invalid(`Invalid initial structure: ${missingNodeType(child.node_type, source)}`);
    // An explicitly listed child replaces the one with the same name from the child's own type.
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
 * Checks that a definition's initial structure names only existing types. Runs when the definition is saved.
 *
 * @param ownName the type that is being saved: it may name itself (which creation then refuses as infinite)
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/node-types.md#initial-structure
 */
export function requireInitialTypes(
  structure: InitialStructure | null,
  ownName: string,
  source: SchemaSource,
): void {
  for (const name of namedTypes(structure)) {
    if (name === ownName || source.nodeType(name) !== undefined) continue;
    throw invalid(`Invalid initial structure: ${missingNodeType(name, source)}`, {
      field: 'initial_structure',
    });
  }
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
