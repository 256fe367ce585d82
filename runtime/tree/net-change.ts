import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { type JsonObject, jsonEquals, ownValue } from '#runtime/content/values/json-value.ts';
import {
  type Overlay,
  overlayOf,
  type PropertiesOverlay,
} from '#runtime/content/translations/translation.ts';
import type { NodeRecord } from './record/node-record.ts';
import type { StoredDefinition, StoredKind } from './schema-store.ts';

/**
 * The net change of a node between two states, whatever happened in between. `reordered` when only its position among
 * its siblings differs.
 */
export interface NetChange {
  readonly workspace: string;
  readonly nodeId: string;
  readonly operation: 'added' | 'modified' | 'deleted' | 'reordered';
  /** Absent when the node did not exist. */
  readonly before: NodeRecord | undefined;
  /** Absent when the node was deleted. */
  readonly after: NodeRecord | undefined;
  /** Whether the node itself differs, see {@link sameNode}; always true for an added or deleted node. */
  readonly isNode: boolean;
  /** Locales whose overlay differs, sorted; all locales of an added or deleted node. */
  readonly locales: readonly string[];
  /** Whether its position among the same siblings differs. */
  readonly isReordered: boolean;
}

/**
 * The net change between two states of a node; undefined when they are equal.
 *
 * @see docs/decisions/0009-net-changes.md
 */
export function netChange(
  workspace: string,
  nodeId: string,
  before: NodeRecord | undefined,
  after: NodeRecord | undefined,
): NetChange | undefined {
  const locales = differingLocales(before, after);
  if (before === undefined || after === undefined) {
    if (before === after) return undefined;
    const operation = before === undefined ? 'added' : 'deleted';
    return { workspace, nodeId, operation, before, after, isNode: true, locales, isReordered: false };
  }
  const isNode = !sameNode(before, after);
  const isReordered = before.parentId === after.parentId && before.orderKey !== after.orderKey;
  const isModified = isNode || locales.length > 0;
  if (!isModified && !isReordered) return undefined;
  const operation = isModified ? 'modified' : 'reordered';
  return { workspace, nodeId, operation, before, after, isNode, locales, isReordered };
}

/**
 * Whether two states of a node have the same content, translations included. Two branches whose states of a node have
 * the same content have made an identical net change.
 *
 * Not compared: revision, version, author and time, and the position among siblings, which never conflicts.
 */
export function sameContent(a: NodeRecord | undefined, b: NodeRecord | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return sameNode(a, b) && differingLocales(a, b).length === 0;
}

/**
 * Whether two states have the same content but for translations: type, archetype, parent and path, properties,
 * relations in any order, owner, and whether the node is published (not by whom and when).
 */
export function sameNode(a: NodeRecord, b: NodeRecord): boolean {
  return a.path === b.path && sameOwnContent(a, b);
}

/**
 * Whether two states of a node differ only in the path, because an ancestor was moved or renamed.
 */
export function isTakenAlong(a: NodeRecord, b: NodeRecord): boolean {
  if (a.path === b.path || a.parentId !== b.parentId || a.name !== b.name) return false;
  return a.orderKey === b.orderKey && sameOwnContent(a, b) && differingLocales(a, b).length === 0;
}

/** As {@link sameNode}, without comparing paths. */
export function sameOwnContent(a: NodeRecord, b: NodeRecord): boolean {
  return sameHeader(a.header, b.header) && sameProperties(a, b);
}

/** Whether two states have equal properties. For large ones call {@link prepareComparison} first. */
export function sameProperties(a: NodeRecord, b: NodeRecord): boolean {
  // Equal values can differ only in the order of their keys, so their texts have the same length.
  if (!haveTextsOfOneLength(a, b)) return false;
  return a.hasSamePropertyText(b) || jsonEquals(a.properties, b.properties);
}

function haveTextsOfOneLength(a: NodeRecord, b: NodeRecord): boolean {
  return a.propertyBytes().text.length === b.propertyBytes().text.length;
}

/**
 * Decodes what a comparison of states needs. Large properties are decoded only when their stored texts do not decide
 * whether they are equal.
 *
 * @returns a generator that yields only for large states
 */
export function* prepareComparison(states: readonly (NodeRecord | undefined)[]): Generator<undefined, void> {
  const large = states.filter((state) => state?.isLarge === true) as NodeRecord[];
  for (const [index, state] of large.entries()) {
    for (const other of large.slice(index + 1)) {
      if (other === state || !haveTextsOfOneLength(state, other)) continue;
      if (!state.hasSamePropertyText(other)) {
        yield* state.decode();
        yield* other.decode();
      }
      yield;
    }
  }
}

function sameHeader(a: NodeHeader, b: NodeHeader): boolean {
  return (
    a.parentId === b.parentId &&
    a.nodeType === b.nodeType &&
    a.archetype === b.archetype &&
    a.ownerId === b.ownerId &&
    (a.publishedAt === null) === (b.publishedAt === null) &&
    sameRelations(a.relations, b.relations)
  );
}

function sameRelations(a: readonly Relation[], b: readonly Relation[]): boolean {
  if (a.length !== b.length) return false;
  if (a.length === 0) return true;
  const texts = new Set(a.map(relationText));
  return b.every((relation) => texts.has(relationText(relation)));
}

function relationText(relation: Relation): string {
  const { workspace, target, target_node_type, relation_type, weight } = relation;
  return JSON.stringify([workspace, target, target_node_type, relation_type, weight]);
}

/** Locales whose overlay differs between two states, sorted. */
export function differingLocales(a: NodeRecord | undefined, b: NodeRecord | undefined): readonly string[] {
  const first = a?.header.translations ?? null;
  const second = b?.header.translations ?? null;
  if (first === second) return [];
  const locales = new Set([...Object.keys(first ?? {}), ...Object.keys(second ?? {})]);
  return [...locales].filter((locale) => !sameOverlay(first, second, locale)).sort();
}

/**
 * Whether two nodes have an equal overlay for a locale: the same values translated from the same source values, or both
 * hidden. The time of translation is not compared.
 */
function sameOverlay(a: JsonObject | null, b: JsonObject | null, locale: string): boolean {
  const first = overlayOf(a, locale);
  const second = overlayOf(b, locale);
  if (first === second) return true;
  if (first === undefined || second === undefined) return false;
  return first.type === second.type && sameValues(valuesOf(first), valuesOf(second));
}

function valuesOf(overlay: Overlay): PropertiesOverlay | undefined {
  return overlay.type === 'hidden' ? overlay.covers : overlay;
}

function sameValues(a: PropertiesOverlay | undefined, b: PropertiesOverlay | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    jsonEquals(a.data, b.data) &&
    Object.keys(a.data).every((pointer) => originHash(a, pointer) === originHash(b, pointer))
  );
}

function originHash({ origins }: PropertiesOverlay, pointer: string): unknown {
  const origin = ownValue(origins, pointer);
  return (origin as { readonly hash: string | null } | undefined)?.hash;
}

/** The net change of a schema definition between two states. */
export interface DefinitionNetChange {
  readonly kind: StoredKind;
  readonly name: string;
  readonly operation: 'added' | 'modified' | 'deleted';
  readonly before: StoredDefinition<StoredKind> | undefined;
  readonly after: StoredDefinition<StoredKind> | undefined;
}

/** The net change between two states of a definition; undefined when they are equal. */
export function definitionNetChange(
  kind: StoredKind,
  name: string,
  before: StoredDefinition<StoredKind> | undefined,
  after: StoredDefinition<StoredKind> | undefined,
): DefinitionNetChange | undefined {
  if (sameDefinition(before, after)) return undefined;
  const operation = before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified';
  return { kind, name, operation, before, after };
}

/** Fields that every write of a definition sets. */
const stampFields = new Set([
  'id',
  'version',
  'created_at',
  'updated_at',
  'published_at',
  'published_by',
  'previous_version',
]);

/** Whether two states have equal definitions and publication status; ids, versions and stamps are not compared. */
export function sameDefinition(
  a: StoredDefinition<StoredKind> | undefined,
  b: StoredDefinition<StoredKind> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return jsonEquals(definedBy(a), definedBy(b));
}

/** The compared part of a definition: its fields without ids, versions and stamps, and whether it is published. */
export function definedBy({ definition }: StoredDefinition<StoredKind>): JsonObject {
  const fields = Object.entries(definition as unknown as JsonObject).filter(
    ([name, value]) => value !== undefined && !stampFields.has(name),
  );
  return Object.fromEntries([...fields, ['is_published', (definition.published_at ?? null) !== null]]);
}
