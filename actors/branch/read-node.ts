import { authorize } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/json-text.ts';
import type { JsonObject, JsonValue } from '#runtime/content/json-value.ts';
import { getProperty } from '#runtime/content/property-path.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { ResolvedSource } from '#runtime/content/schema-resolver.ts';
import type { ResolvedNodeType } from '#runtime/content/type-resolver.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader, type NodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import { derivedProperty, derivedTypeText, renderNodeInSteps } from '#runtime/tree/render-node.ts';
import type { BranchState } from './branch-state.ts';
import { settle, settleLarge } from './long-answer.ts';
import { localeChain, localizedProperties } from './localize.ts';
import type { NodePlace, ReadNode, ReadProperty } from './messages.ts';

/** What a large node takes while it is rendered or decoded, in times of its record: that, its text, and what is made of it. */
export const COPIES = 3;

/** The tree a query looks at: the head, or an earlier revision. */
export function readerAt(view: TableReader, at: Revision | undefined): NodeReader {
  return at === undefined ? new HeadNodeReader(view) : new PastNodeReader(view, at);
}

/**
 * The schema a query renders with: types as the workspace pins them, at an earlier revision those of then. Use it
 * within the same turn of the event loop.
 *
 * @throws {ServiceError} `WORKSPACE_NOT_FOUND`
 */
export function schemaAt(
  state: BranchState,
  reader: TableReader,
  workspace: string,
  at: Revision | undefined,
): ResolvedSource {
  const pins = state.workspace(workspace).config.node_type_pins;
  return state.querySchemas.get(reader, at === undefined ? { pins } : { at, pins });
}

/**
 * A node the caller may read.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`
 */
export function requireReadable(
  state: BranchState,
  context: QueryContext,
  reader: NodeReader,
  workspace: string,
  place: NodePlace,
): NodeRecord {
  const record = 'path' in place ? reader.byPath(workspace, place.path) : reader.byId(workspace, place.id);
  if (record === undefined) {
    state.workspace(workspace);
    throw nodeNotFound(place);
  }
  const { path, nodeType } = record.header;
  authorize(context.caller.policy, 'read', { workspace, path, nodeType }, place);
  return record;
}

/**
 * One node. The hot path of the product: at the head, without a locale and without restrictions, two look-ups
 * and three copies of stored text.
 *
 * @see messages.ts, ReadNode
 */
export function readNode(
  state: BranchState,
  context: QueryContext,
  query: ReadNode,
): JsonText | Promise<JsonText> {
  const { workspace } = query;
  if (query.at === undefined && query.lang === undefined && context.caller.policy.unrestricted) {
    const found = presentNode(state, context.view, workspace, query.place);
    if (typeof found === 'string') return new JsonText(found);
    if (found !== undefined) return settleRecord(state, context, query, found, renderedNode);
  }
  const record = requireRecord(state, context, context.view, query);
  if (record.isLarge) return settleRecord(state, context, query, record.bytes.length, renderedNode);
  return settle(context, (view) => renderedNode(state, view, query, record));
}

function* renderedNode(
  state: BranchState,
  view: TableReader,
  query: ReadNode,
  record: NodeRecord,
): Generator<undefined, JsonText> {
  const { workspace } = query;
  const reader = readerAt(view, query.at);
  const type = schemaAt(state, view, workspace, query.at).nodeType(record.nodeType);
  const hasChildren = reader.hasChildren(workspace, record.header.id);
  const chain = query.lang === undefined ? undefined : localeChain(state, query.lang);
  if (chain !== undefined && record.isLarge) yield* record.decode();
  const properties = chain === undefined ? undefined : localizedProperties(record, chain);
  if (properties === 'hidden') throw nodeNotFound(query.place);
  const shown = properties === undefined ? {} : { properties };
  return new JsonText(yield* renderNodeInSteps(record, { workspace, hasChildren, type, ...shown }));
}

/** @returns the text of a node; of a large one the length of its record, in bytes; undefined when there is none */
function presentNode(
  state: BranchState,
  view: TableReader,
  workspace: string,
  place: NodePlace,
): string | number | undefined {
  const reader = new HeadNodeReader(view);
  const id = 'path' in place ? reader.idAt(workspace, place.path) : place.id;
  if (id === undefined) return undefined;
  // The record's bytes last until the next read, so it is read last, and copied before its type is looked up.
  const hasChildren = reader.hasChildren(workspace, id);
  const schema = schemaAt(state, view, workspace, undefined);
  const typeText = (nodeType: string): string => derivedTypeText(schema.nodeType(nodeType));
  const record = reader.glance(workspace, id);
  return record?.isLarge === true
    ? record.bytes.length
    : record?.render({ workspace, hasChildren, typeText });
}

function requireRecord(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  { at, place, workspace }: ReadNode | ReadProperty,
): NodeRecord {
  return requireReadable(state, context, readerAt(view, at), workspace, place);
}

/** What is made of one record, in steps. */
type RecordSteps<Query, T> = (
  state: BranchState,
  view: TableReader,
  query: Query,
  record: NodeRecord,
) => Generator<undefined, T>;

/**
 * Makes something of a large record when there is room. The record is read again then: whoever waits must hold nothing
 * of it, and this function sees its length alone.
 */
function settleRecord<Query extends ReadNode | ReadProperty, T>(
  state: BranchState,
  context: QueryContext,
  query: Query,
  bytes: number,
  steps: RecordSteps<Query, T>,
): T | Promise<T> {
  return settleLarge(context, bytes * COPIES, (view) =>
    steps(state, view, query, requireRecord(state, context, view, query)),
  );
}

/** One property value. @see messages.ts, ReadProperty */
export function readProperty(
  state: BranchState,
  context: QueryContext,
  query: ReadProperty,
): { value: JsonValue } | Promise<{ value: JsonValue }> {
  const record = requireRecord(state, context, context.view, query);
  if (record.isLarge) return settleRecord(state, context, query, record.bytes.length, foundValue);
  return settle(context, (view) => foundValue(state, view, query, record));
}

function* foundValue(
  state: BranchState,
  view: TableReader,
  query: ReadProperty,
  record: NodeRecord,
): Generator<undefined, { value: JsonValue }> {
  const chain = query.lang === undefined ? undefined : localeChain(state, query.lang);
  const type = schemaAt(state, view, query.workspace, query.at).nodeType(record.header.nodeType);
  const stored = yield* record.decode();
  const localized = chain === undefined ? undefined : localizedProperties(record, chain);
  if (localized === 'hidden') throw nodeNotFound(query.place);
  const value = valueAt(localized ?? stored, type, query.property);
  if (value !== undefined) return { value };
  throw new ServiceError(
    'NOT_FOUND',
    `Node '${record.header.path}' has no property '${query.property.join('.')}'`,
  );
}

function valueAt(
  properties: JsonObject,
  type: ResolvedNodeType | undefined,
  path: readonly string[],
): JsonValue | undefined {
  const derived = path.length === 1 ? derivedProperty(type, path[0] as string) : undefined;
  return derived ?? getProperty(properties, path);
}
