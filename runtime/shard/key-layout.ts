import {
  decodeRevision,
  encodeRevision,
  encodeRevisionDescending,
  REVISION_BYTES,
  type Revision,
  revisionMax,
} from '#runtime/content/revision.ts';
import {
  AFTER_END,
  boundedPart,
  bytesText,
  END,
  NAME_PART_BYTES,
  sortableUint32,
  sortableUint48,
  textBytes,
  uint48,
  VALUE_PART_BYTES,
} from './binary-key.ts';
import type { Range } from './shard.ts';

/** Bytes of a number at the end of a key. */
const NUMBER_BYTES = 4;

/**
 * The tables of a branch and the byte layout of their keys. `·` is a zero byte, `~rev` a revision with inverted bits
 * (newest first), `rev` a revision in ascending order (ten bytes each).
 *
 * | Table | Key | Value |
 * |---|---|---|
 * | nodes | workspace·id | node record, present state |
 * | nodeVersions | workspace·id·~rev | node record as written at rev; empty = deleted at rev |
 * | paths | workspace·path | since rev, then id |
 * | pathVersions | workspace·path·~rev | id bound at rev; empty = unbound at rev |
 * | children | workspace·parentId·orderKey | since rev, then id |
 * | childVersions | workspace·parentId·orderKey·~rev | id placed at rev; empty = removed at rev |
 * | parents | workspace·parentId | number of children, rev since which there are any, order key of the last one |
 * | parentVersions | workspace·parentId·~rev | one byte: had children from rev on; empty = had none from rev on |
 * | types | workspace·nodeType·path | id |
 * | counts | workspace·nodeType | number of nodes, then JSON of the indexed properties and of pending indexes |
 * | properties | workspace·index·value·id | empty; the index is a property, or `ff` and the name of another index |
 * | uniques | workspace·nodeType·property·valueHash | id |
 * | references | workspace·id·kind·sourceWorkspace·sourceId·detail | JSON of a relation; empty for a property |
 * | revisions | rev | JSON row of the revision record |
 * | revisionChanges | rev chunk | JSON row of changes |
 * | definitions | kind·name | definition record, present state |
 * | definitionVersions | kind·name·~rev | definition record as written at rev; empty = deleted at rev |
 * | manualVersions | workspace·id·number | JSON row of a manual version |
 * | audit | workspace·id·rev number | JSON row of an audit entry |
 * | ancestry | rev | JSON row of parents and home of a revision that came in by a merge |
 * | feed | sequence (six bytes) | JSON row of an entry of the change feed |
 * | consumers | name | JSON row of a consumer of the feed: its position and state |
 * | projections | name·key | JSON row of a projection: an index that follows the feed, see runtime/projection |
 *
 * A version table holds superseded states only: the present state is in the head table, and moves to the version table
 * when it is replaced. So a create writes one copy, and a read at the head never reads history. `path` is in byte order
 * of the path text, so a subtree is one range and listings sort by path. Paths longer than the maximum key length are
 * truncated and hashed ({@link boundedPart}).
 *
 * @see docs/decisions/0003-head-and-version-tables.md
 */
export const BranchTable = {
  nodes: 3,
  nodeVersions: 4,
  paths: 5,
  pathVersions: 6,
  children: 7,
  childVersions: 8,
  parents: 9,
  types: 10,
  counts: 11,
  properties: 12,
  uniques: 13,
  references: 14,
  revisions: 15,
  revisionChanges: 16,
  definitions: 17,
  definitionVersions: 18,
  manualVersions: 19,
  audit: 20,
  parentVersions: 21,
  ancestry: 22,
  feed: 23,
  consumers: 24,
  projections: 25,
} as const;

/** Names of the branch tables in the order of their numbers. */
export const branchTableNames: readonly string[] = Object.keys(BranchTable);

/** Every key that starts with the given parts. */
export function underParts(...parts: readonly string[]): Range {
  const prefix = parts.join(END);
  return { start: prefix + END, end: prefix + AFTER_END };
}

/** Key of a node in `nodes`. */
export function nodeKey(workspace: string, id: string): string {
  return workspace + END + textBytes(id);
}

/** Key of a version in `nodeVersions`. */
export function nodeVersionKey(workspace: string, id: string, since: Revision): string {
  return workspace + END + textBytes(id) + END + encodeRevisionDescending(since);
}

/** Versions of a node written at or before a revision, newest first. */
export function nodeVersionsUpTo(workspace: string, id: string, at: Revision = revisionMax): Range {
  const prefix = workspace + END + textBytes(id);
  return { start: prefix + END + encodeRevisionDescending(at), end: prefix + AFTER_END };
}

/** Key of a path in `paths`. */
export function pathKey(workspace: string, path: string): string {
  return workspace + END + boundedPart(path);
}

/** Key of a path binding in `pathVersions`. */
export function pathVersionKey(workspace: string, path: string, since: Revision): string {
  return workspace + END + boundedPart(path) + END + encodeRevisionDescending(since);
}

/** Versions of a row made at or before a revision, newest first. @param key of the row in its head table */
export function versionsUpTo(key: string, at: Revision): Range {
  return { start: key + END + encodeRevisionDescending(at), end: key + AFTER_END };
}

/** Bindings of a path made at or before a revision, newest first. */
export function pathVersionsUpTo(workspace: string, path: string, at: Revision): Range {
  return versionsUpTo(pathKey(workspace, path), at);
}

/** Key of a child in `children`. */
export function childKey(workspace: string, parentId: string, orderKey: string): string {
  return workspace + END + textBytes(parentId) + END + orderKey;
}

/** Children of a parent whose order key is at least `from` (all of them by default). */
export function childrenFrom(workspace: string, parentId: string, from = ''): Range {
  const prefix = workspace + END + textBytes(parentId);
  return { start: prefix + END + from, end: prefix + AFTER_END };
}

/** Key of a placement in `childVersions`. */
export function childVersionKey(
  workspace: string,
  parentId: string,
  orderKey: string,
  since: Revision,
): string {
  return workspace + END + textBytes(parentId) + END + orderKey + END + encodeRevisionDescending(since);
}

/** Placements at one place made at or before a revision, newest first. */
export function childVersionsUpTo(
  workspace: string,
  parentId: string,
  orderKey: string,
  at: Revision,
): Range {
  const prefix = childKey(workspace, parentId, orderKey);
  return { start: prefix + END + encodeRevisionDescending(at), end: prefix + AFTER_END };
}

/** Key of a parent in `parents`. */
export function parentKey(workspace: string, parentId: string): string {
  return workspace + END + textBytes(parentId);
}

/** Key of a change between having children and having none, in `parentVersions`. */
export function parentVersionKey(workspace: string, parentId: string, since: Revision): string {
  return workspace + END + textBytes(parentId) + END + encodeRevisionDescending(since);
}

/** Changes between having children and having none made at or before a revision, newest first. */
export function parentVersionsUpTo(workspace: string, parentId: string, at: Revision): Range {
  const prefix = workspace + END + textBytes(parentId);
  return { start: prefix + END + encodeRevisionDescending(at), end: prefix + AFTER_END };
}

/** Key of a node in `types`. */
export function typeKey(workspace: string, nodeType: string, path: string): string {
  return workspace + END + nodeType + END + boundedPart(path);
}

/** Key of a counter in `counts`. */
export function countKey(workspace: string, nodeType: string): string {
  return workspace + END + nodeType;
}

/**
 * Key of an entry in `properties`; `value` is a key of a value, see runtime/index/index-key.ts, or of several, each of which
 * may contain {@link END}.
 */
export function propertyKey(workspace: string, index: string, value: string, id: string): string {
  return propertyPrefix(workspace, index) + value + END + textBytes(id);
}

/** Key of a value in `uniques`; `valueHash` is hex. */
export function uniqueKey(workspace: string, nodeType: string, property: string, valueHash: string): string {
  return workspace + END + nodeType + END + boundedPart(property, NAME_PART_BYTES) + END + valueHash;
}

/** No UTF-8 text has this byte, so no property has a part that begins with it. */
const OTHER_INDEX = '\u00ff';

/** Prefix of the keys of an index in `properties`. @param index its name, see runtime/tree/index-name.ts */
export function propertyPrefix(workspace: string, index: string): string {
  const part = index.startsWith(END)
    ? OTHER_INDEX + boundedPart(index.slice(END.length), NAME_PART_BYTES)
    : boundedPart(index, NAME_PART_BYTES);
  return workspace + END + part + END;
}

/** Reads a key of `properties`: the key of the value, and the id. @param prefix that of its index */
export function readPropertyKey(
  key: string,
  prefix: string,
): { readonly value: string; readonly id: string } {
  const last = key.lastIndexOf(END);
  return { value: key.slice(prefix.length, last), id: bytesText(key.slice(last + END.length)) };
}

/** Key of an edge in `references`, under the node it points to. */
export function referenceKey(
  workspace: string,
  id: string,
  kind: 'property' | 'relation',
  sourceWorkspace: string,
  sourceId: string,
  detail: string,
): string {
  const end = boundedPart(detail, VALUE_PART_BYTES);
  return [workspace, textBytes(id), kind, sourceWorkspace, textBytes(sourceId), end].join(END);
}

/** Key of a record in `revisions`. */
export const revisionKey = encodeRevision;

/** Key of a revision in `ancestry`. */
export const ancestryKey = encodeRevision;

/** Key of an entry in `feed`. */
export function feedKey(sequence: number): string {
  return sortableUint48(sequence);
}

/** The sequence number in a key of `feed`. */
export function feedSequence(key: string): number {
  return uint48(key);
}

/** Key of a chunk in `revisionChanges`. */
export function revisionChangesKey(revision: Revision, chunk: number): string {
  return encodeRevision(revision) + sortableUint32(chunk);
}

/** Key of a definition in `definitions`. */
export function definitionKey(kind: string, name: string): string {
  return kind + END + boundedPart(name);
}

/** Key of a version in `definitionVersions`. */
export function definitionVersionKey(kind: string, name: string, since: Revision): string {
  return kind + END + boundedPart(name) + END + encodeRevisionDescending(since);
}

/** Versions of a definition written at or before a revision, newest first. */
export function definitionVersionsUpTo(kind: string, name: string, at: Revision): Range {
  const prefix = kind + END + boundedPart(name);
  return { start: prefix + END + encodeRevisionDescending(at), end: prefix + AFTER_END };
}

/** Key of a manual version in `manualVersions`. */
export function manualVersionKey(workspace: string, id: string, number: number): string {
  return workspace + END + textBytes(id) + END + sortableUint32(number);
}

/** Key of an entry in `audit`. */
export function auditKey(workspace: string, id: string, revision: Revision, number: number): string {
  return workspace + END + textBytes(id) + END + encodeRevision(revision) + sortableUint32(number);
}

/** The revision in a key of `audit`. */
export function auditRevision(key: string): Revision {
  return decodeRevision(key, key.length - NUMBER_BYTES - REVISION_BYTES);
}
