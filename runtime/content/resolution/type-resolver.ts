import { invalid } from '#runtime/errors/service-error.ts';
import type { Archetype } from '../definitions/archetype.ts';
import type { ElementType } from '../definitions/element-type.ts';
import type { InitialStructure } from '../definitions/initial-structure.ts';
import type { JsonObject, JsonValue } from '../values/json-value.ts';
import { type CompoundIndex, type NodeType, overriddenDefault } from '../definitions/node-type.ts';
import { compileProperty, type ResolvedProperty } from '../validation/property-check.ts';
import { type IndexKind, indexKinds, type PropertySchema } from '../definitions/property-schema.ts';

/** Limit of levels of inheritance and mixins. @see docs/interface/node-types.md#inheritance */
export const TYPE_DEPTH_MAX = 20;

/** The pins of a workspace. */
export interface Pinned {
  /** The revision a node type is pinned to; undefined when it is not pinned. Absent without pins. */
  pinOf?(name: string): string | undefined;
}

/** Source of schema definitions: one branch at one revision. Names are exact. */
export interface SchemaSource extends Pinned {
  nodeType(name: string): NodeType | undefined;
  archetype(name: string): Archetype | undefined;
  elementType(name: string): ElementType | undefined;
}

/** A property with its own index. */
export interface IndexedProperty {
  readonly name: string;
  readonly kinds: readonly IndexKind[];
}

/**
 * A node type with everything it inherits, and with the computed data that every write needs. Frozen; valid until a
 * type changes.
 */
export interface ResolvedNodeType {
  readonly name: string;
  readonly nodeType: NodeType;
  /** Sorted by name. */
  readonly properties: readonly PropertySchema[];
  readonly byName: ReadonlyMap<string, ResolvedProperty>;
  readonly required: readonly string[];
  readonly unique: readonly string[];
  readonly indexed: readonly IndexedProperty[];
  /** Its own and inherited ones; of several with one name, the nearest. */
  readonly compoundIndexes: readonly CompoundIndex[];
  /** Names of the properties of type Reference. */
  readonly references: readonly string[];
  /** Defaults of absent keys of a new node. */
  readonly defaults: readonly (readonly [name: string, value: JsonValue])[];
  /** The union over the chain. */
  readonly allowedChildren: readonly string[];
  readonly allowsAnyChild: boolean;
  /** All applied mixins, in order of application; on the wire `$mixins`. */
  readonly mixins: readonly string[];
  /** From this type to the root ancestor. */
  readonly inheritanceChain: readonly string[];
  /** The chain without this type, nearest first; on the wire `$supertypes`. */
  readonly supertypes: readonly string[];
  readonly strict: boolean;
  readonly versionable: boolean;
  readonly immutable: boolean;
  readonly publishable: boolean;
  readonly auditable: boolean;
  readonly indexable: boolean;
  /** Kinds of indexes that contain its nodes. */
  readonly indexTypes: readonly IndexKind[];
  /** Its own, else that of the nearest ancestor with one. */
  readonly initialStructure: InitialStructure | null;
}

/** One type merged with its ancestors and mixins, not yet compiled. */
interface Merged {
  readonly nodeType: NodeType;
  readonly properties: ReadonlyMap<string, PropertySchema>;
  readonly compoundIndexes: ReadonlyMap<string, CompoundIndex>;
  readonly allowedChildren: ReadonlySet<string>;
  readonly mixins: ReadonlySet<string>;
  readonly chain: readonly NodeType[];
  readonly indexable: boolean;
  readonly indexTypes: readonly IndexKind[];
}

/**
 * The message for a missing node type. It mentions a pin of the workspace, because the type may exist at the head.
 *
 * @param source where it was looked up
 */
export function missingNodeType(name: string, source: Pinned): string {
  return `NodeType '${name}' not found${pinned(name, source)}`;
}

function pinned(name: string, source: Pinned): string {
  const pin = source.pinOf?.(name);
  if (pin === undefined) return '';
  return ` at revision '${pin}', to which 'node_type_pins' of the workspace pins it; pin it to a revision that has it, or to null`;
}

/**
 * Merges a node type with its ancestors and mixins. Later definitions replace earlier ones, in this order: the parent
 * chain from the root down, mixins in their order, own properties, `overrides` (which replace defaults).
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when the type, a parent or a mixin does not exist, for a cycle of types,
 *   or more levels than {@link TYPE_DEPTH_MAX}
 * @see docs/interface/node-types.md#inheritance
 */
export function resolveNodeType(name: string, source: SchemaSource): ResolvedNodeType {
  const nodeType = source.nodeType(name);
  if (nodeType === undefined) throw invalid(missingNodeType(name, source), { field: 'node_type' });
  const merged = mergeNodeType(nodeType, source, [], new Map());
  const properties = [...merged.properties.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const byName = new Map(properties.map((schema) => [schema.name, compileProperty(schema)]));
  const chain = merged.chain.map((type) => type.name);
  const allowedChildren = [...merged.allowedChildren];
  const initialStructure =
    merged.chain.find((type) => type.initial_structure !== null)?.initial_structure ?? null;
  return Object.freeze({
    name,
    nodeType,
    properties: Object.freeze(properties),
    byName,
    required: names(properties, (schema) => schema.required === true),
    unique: names(properties, (schema) => schema.unique === true),
    indexed: Object.freeze(indexedOf(properties)),
    compoundIndexes: Object.freeze([...merged.compoundIndexes.values()]),
    references: names(properties, (schema) => schema.type === 'Reference'),
    defaults: Object.freeze(defaultsOf(properties, initialStructure)),
    allowedChildren: Object.freeze(allowedChildren),
    allowsAnyChild: allowedChildren.length === 0 || allowedChildren.includes('*'),
    mixins: Object.freeze([...merged.mixins]),
    inheritanceChain: Object.freeze(chain),
    supertypes: Object.freeze(chain.slice(1)),
    strict: inheritedFlag(merged.chain, 'strict'),
    versionable: inheritedFlag(merged.chain, 'versionable'),
    immutable: inheritedFlag(merged.chain, 'immutable'),
    publishable: inheritedFlag(merged.chain, 'publishable'),
    auditable: inheritedFlag(merged.chain, 'auditable'),
    indexable: merged.indexable,
    indexTypes: Object.freeze(merged.indexTypes),
    initialStructure,
  });
}

/** The answer of `…/resolved`. @see docs/interface/node-types.md#routes-of-definitions */
export function resolvedNodeTypeJson(resolved: ResolvedNodeType): {
  readonly node_type: NodeType;
  readonly resolved_properties: readonly PropertySchema[];
  readonly resolved_allowed_children: readonly string[];
  readonly resolved_mixins: readonly string[];
  readonly inheritance_chain: readonly string[];
} {
  return {
    node_type: resolved.nodeType,
    resolved_properties: resolved.properties,
    resolved_allowed_children: resolved.allowedChildren,
    resolved_mixins: resolved.mixins,
    inheritance_chain: resolved.inheritanceChain,
  };
}

/**
 * @param trail the types that are being merged, outermost first
 * @param done types merged already: a mixin reached in two ways is merged once, which bounds the cost of a lattice
 */
function mergeNodeType(
  nodeType: NodeType,
  source: SchemaSource,
  trail: readonly string[],
  done: Map<string, Merged>,
): Merged {
  const known = done.get(nodeType.name);
  if (known !== undefined) return known;
  const inner = requireTrail('NodeType', nodeType.name, trail);
  const related = (name: string, verb: string): Merged => {
    const found = source.nodeType(name);
    if (found === undefined)
      throw invalid(
        `NodeType '${nodeType.name}' ${verb} '${name}', which does not exist${pinned(name, source)}`,
      );
    return mergeNodeType(found, source, inner, done);
  };
  const parent = nodeType.extends === null ? null : related(nodeType.extends, 'extends');
  const mixins = nodeType.mixins.map((name) => related(name, 'mixes in'));
  const bases = parent === null ? mixins : [parent, ...mixins];

  const properties = new Map<string, PropertySchema>();
  for (const base of bases) for (const [name, schema] of base.properties) properties.set(name, schema);
  for (const schema of nodeType.properties) properties.set(schema.name, schema);
  for (const [name, schema] of properties) {
    const value = overriddenDefault(nodeType, name);
    if (value !== undefined) properties.set(name, Object.freeze({ ...schema, default: value }));
  }
  const merged: Merged = {
    nodeType,
    properties,
    compoundIndexes: new Map([
      ...bases.flatMap((base) => [...base.compoundIndexes]),
      ...nodeType.compound_indexes.map((index) => [index.name, index] as const),
    ]),
    allowedChildren: new Set([
      ...bases.flatMap((base) => [...base.allowedChildren]),
      ...nodeType.allowed_children,
    ]),
    mixins: new Set([
      ...bases.flatMap((base) => [...base.mixins]),
      ...mixins.map((mixin) => mixin.nodeType.name),
    ]),
    chain: [nodeType, ...(parent?.chain ?? [])],
    indexable: nodeType.indexable ?? bases.every((base) => base.indexable),
    indexTypes:
      nodeType.index_types ??
      indexKinds.filter((kind) => bases.every((base) => base.indexTypes.includes(kind))),
  };
  done.set(nodeType.name, merged);
  return merged;
}

/**
 * Enters a type while parents and mixins are followed.
 *
 * @returns the longer trail
 * @throws {ServiceError} `VALIDATION_FAILED` for a cycle or too many levels
 */
export function requireTrail(kind: string, name: string, trail: readonly string[]): readonly string[] {
  const inner = [...trail, name];
  if (trail.includes(name)) throw invalid(`${kind} '${name}' inherits from itself: ${inner.join(' -> ')}`);
  if (inner.length > TYPE_DEPTH_MAX) {
    throw invalid(`${kind} '${inner[0]}' inherits over more than ${TYPE_DEPTH_MAX} levels`);
  }
  return inner;
}

type Flag = 'strict' | 'versionable' | 'immutable' | 'publishable' | 'auditable';

/** The flag of the nearest type in the chain that sets it. */
function inheritedFlag(chain: readonly NodeType[], flag: Flag): boolean {
  return chain.find((type) => type[flag] !== null)?.[flag] ?? false;
}

function names(
  properties: readonly PropertySchema[],
  test: (schema: PropertySchema) => boolean,
): readonly string[] {
  return Object.freeze(properties.filter(test).map((schema) => schema.name));
}

function indexedOf(properties: readonly PropertySchema[]): IndexedProperty[] {
  return properties
    .filter((schema) => schema.index !== undefined && schema.index.length > 0)
    .map((schema) => Object.freeze({ name: schema.name, kinds: schema.index! }));
}

function defaultsOf(
  properties: readonly PropertySchema[],
  initial: InitialStructure | null,
): (readonly [string, JsonValue])[] {
  const defaults = new Map<string, JsonValue>(Object.entries((initial?.properties ?? {}) as JsonObject));
  for (const schema of properties) {
    const value = schema.value ?? schema.default;
    if (value !== undefined && !defaults.has(schema.name)) defaults.set(schema.name, value);
  }
  return [...defaults];
}
