import { JSON_DEPTH_MAX } from './json-bounds.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
  withoutKey,
} from './json-value.ts';

/** A reference found in the properties of a node. */
export interface FoundReference {
  /** JSON pointer to it within the properties, with indexes for array items. */
  readonly pointer: string;
  /** An id, or a path (leading `/`) that could not be resolved. */
  readonly ref: string;
  /** Null: the workspace of the node itself. */
  readonly workspace: string | null;
  /** The target's path when it was written as a path. */
  readonly path: string | null;
}

/** The key under which a read returns the target node of a reference. It is derived and never stored. */
export const EXPANDED_KEY = 'svc:node';

/** The target of a reference. */
export interface ReferenceTarget {
  /** An id, or a path (leading `/`) that could not be resolved. */
  readonly ref: string;
  /** Null: the workspace of the node itself. */
  readonly workspace: string | null;
}

/** The target of an object that is a reference; undefined for any other object. */
export function referenceTarget(object: JsonObject): ReferenceTarget | undefined {
  const ref = targetOf(object);
  return ref === null ? undefined : { ref, workspace: textOf(object, 'svc:workspace') };
}

/**
 * A changed object without the path of the former target (`svc:path`), if the change makes it a reference to another node.
 * Id and path would name two nodes otherwise. The workspace is part of the target.
 *
 * @param after has no `svc:path` that the change gave it
 * @returns the same object when the target stays
 */
export function withoutFormerPath(before: JsonObject, after: JsonObject): JsonObject {
  const former = referenceTarget(before);
  const present = referenceTarget(after);
  const isSame = former?.ref === present?.ref && former?.workspace === present?.workspace;
  return isSame ? after : withoutKey(after, 'svc:path');
}

const none: readonly FoundReference[] = Object.freeze([]);

function targetOf(object: JsonObject): string | null {
  const ref = ownValue(object, 'svc:ref');
  return typeof ref === 'string' && ref !== '' ? ref : null;
}

function textOf(object: JsonObject, key: string): string | null {
  const value = ownValue(object, key);
  return typeof value === 'string' ? value : null;
}

/**
 * All references in the properties, at any depth, in document order. References are recognized by their shape, not by
 * the type of the property.
 *
 * @see docs/interface/nodes.md#references
 */
export function findReferences(properties: JsonObject): readonly FoundReference[] {
  const found: FoundReference[] = [];
  collect(properties, '', found, 0);
  return found.length === 0 ? none : found;
}

function collect(
  value: JsonObject | readonly JsonValue[],
  pointer: string,
  found: FoundReference[],
  depth: number,
) {
  if (depth > JSON_DEPTH_MAX) return;
  if (isJsonArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item = value[index]!;
      if (typeof item === 'object' && item !== null) collect(item, `${pointer}/${index}`, found, depth + 1);
    }
    return;
  }
  const reference = depth === 0 ? undefined : referenceIn(value, pointer);
  if (reference !== undefined) {
    found.push(reference);
    return;
  }
  for (const key in value) {
    const item = value[key]!;
    if (typeof item === 'object' && item !== null) {
      collect(item, `${pointer}/${escapePointer(key)}`, found, depth + 1);
    }
  }
}

function referenceIn(value: JsonObject, pointer: string): FoundReference | undefined {
  const ref = targetOf(value);
  if (ref === null) return undefined;
  return { pointer, ref, workspace: textOf(value, 'svc:workspace'), path: textOf(value, 'svc:path') };
}

/** Values visited between two yields. */
const VALUES_PER_STEP = 4_096;

/**
 * As {@link findReferences}, in steps, for reads of large nodes. Writes do not use it, because it is slower for the
 * usual small properties.
 *
 * @returns the references in document order; yields undefined between steps
 */
export function eachReference(properties: JsonObject): Generator<FoundReference | undefined, void> {
  return visit(properties, '', 0, { values: 0 });
}

function* visit(
  value: JsonObject | readonly JsonValue[],
  pointer: string,
  depth: number,
  visited: { values: number },
): Generator<FoundReference | undefined, void> {
  if (depth > JSON_DEPTH_MAX) return;
  const isList = isJsonArray(value);
  const reference = isList || depth === 0 ? undefined : referenceIn(value, pointer);
  if (reference !== undefined) {
    yield reference;
    return;
  }
  // The keys of an array are its indexes, in order.
  for (const key of isList ? value.keys() : Object.keys(value)) {
    visited.values += 1;
    if (visited.values % VALUES_PER_STEP === 0) yield undefined;
    const item = (value as JsonObject)[key] as JsonValue;
    if (typeof item !== 'object' || item === null) continue;
    const step = typeof key === 'number' ? key : escapePointer(key);
    yield* visit(item as JsonObject | readonly JsonValue[], `${pointer}/${step}`, depth + 1, visited);
  }
}

function escapePointer(key: string): string {
  return key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;
}

/**
 * Replaces paths in references by ids: the id goes to `svc:ref`, the path to `svc:path`. A path that cannot be resolved
 * stays unchanged. Nodes that a read added to references are removed, so that the result of a read can be written back.
 *
 * @param resolve from a path and workspace (null: the node's own) to the id of the node there
 * @returns the same object when nothing was replaced
 * @see docs/interface/nodes.md#references
 */
export function rewriteReferences(
  properties: JsonObject,
  resolve: (path: string, workspace: string | null) => string | undefined,
): JsonObject {
  return rewrite(properties, resolve, 0) as JsonObject;
}

/** As {@link rewriteReferences}, for a value within the properties. */
export function rewriteReferencesIn(value: JsonValue, resolve: Resolve): JsonValue {
  return rewriteItem(value, resolve, 0);
}

type Resolve = (path: string, workspace: string | null) => string | undefined;

function rewrite(value: JsonObject | readonly JsonValue[], resolve: Resolve, depth: number): JsonValue {
  if (depth > JSON_DEPTH_MAX) return value;
  if (isJsonArray(value)) {
    let list: JsonValue[] | null = null;
    for (let index = 0; index < value.length; index += 1) {
      const changed = rewriteItem(value[index]!, resolve, depth);
      if (changed === value[index]) continue;
      list ??= [...value];
      list[index] = changed;
    }
    return list ?? value;
  }
  const ref = depth === 0 ? null : targetOf(value);
  if (ref !== null) return rewriteReference(value, ref, resolve);
  let copy: Record<string, JsonValue> | null = null;
  for (const key in value) {
    const item = value[key]!;
    const changed = rewriteItem(item, resolve, depth);
    if (changed === item) continue;
    copy ??= { ...value };
    setKey(copy, key, changed);
  }
  return copy ?? value;
}

function rewriteItem(item: JsonValue, resolve: Resolve, depth: number): JsonValue {
  return isJsonObject(item) || isJsonArray(item) ? rewrite(item, resolve, depth + 1) : item;
}

function rewriteReference(given: JsonObject, ref: string, resolve: Resolve): JsonObject {
  const reference = withoutKey(given, EXPANDED_KEY);
  if (!ref.startsWith('/')) return reference;
  const id = resolve(ref, textOf(reference, 'svc:workspace'));
  return id === undefined ? reference : { ...reference, 'svc:ref': id, 'svc:path': ref };
}
