import type { FieldFilter } from '#runtime/access/field-filter.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { getProperty } from '#runtime/content/values/property-path.ts';
import { PropertySelection } from '#runtime/content/values/property-selection.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type FoundNode, findNode } from '#runtime/tree/found-node.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { joinedMark, nodeTag, variantMark } from '#runtime/tree/node-tag.ts';
import { recordText } from '#runtime/tree/record/write-record.ts';
import { derivedProperty, renderNodeInSteps } from '#runtime/tree/render-node.ts';
import { shownRelations } from '#runtime/tree/shown-relations.ts';
import { Moment, restReader } from '#runtime/scan/moment.ts';
import type { BranchState } from '../branch-state.ts';
import { namesTag, type Unchanged } from '../condition-messages.ts';
import { LargePiece, settle, settleGrowing, settleLarge } from '../long-answer.ts';
import { knownType, learnType } from './known-types.ts';
import { isHidden, localeChain, localizedProperties } from './localize.ts';
import { schemaAt } from './moment-readers.ts';
import type { ReadNode, ReadProperty } from '../read-messages.ts';
import { NodeAccess, readsWhole } from './node-access.ts';
import { seenNodes } from './seen-nodes.ts';
import { type ShownNode, shownMark } from './shown-node.ts';
import { VisibleNodes } from './visible-nodes.ts';
import { treeAt } from '#runtime/tree/past-node-reader.ts';

/**
 * Memory of a large node while it is rendered or decoded, as a multiple of its record: the record, its text, the
 * result.
 */
export const COPIES = 3;

/** The place of a node that a query names. */
type NodeNamed = Pick<ReadNode, 'at' | 'place' | 'workspace'>;

/**
 * A node the caller may read. Yields where the work may pause, which it does only for a large node at an earlier
 * revision.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`
 */
export function* findReadable(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  { at, place, workspace }: NodeNamed,
): Generator<undefined, FoundNode> {
  const tree = treeAt(view, at);
  const id = 'path' in place ? tree.idAt(workspace, place.path) : place.id;
  const found = id === undefined ? undefined : yield* findNode(tree, workspace, id);
  if (found === undefined) {
    state.workspace(workspace);
    throw nodeNotFound(place);
  }
  const access = new NodeAccess(context, view);
  if (!access.readsAll(workspace)) {
    // What conditions look at of a large node was not kept.
    const record = found.record ?? (yield* tree.byIdInSteps(workspace, found.header.id));
    if (record === undefined || !access.mayRead(workspace, record)) throw nodeNotFound(place);
  }
  return found;
}

/**
 * Answers what is about one node that the caller may read: at once, unless the node is large and read at an earlier
 * revision.
 *
 * @throws {ServiceError} as {@link findReadable}
 */
export function withReadable<T>(
  state: BranchState,
  context: QueryContext,
  named: NodeNamed,
  answer: (found: FoundNode) => T | Promise<T>,
): T | Promise<T> {
  const found = settle(context, (view) => findReadable(state, context, view, named));
  return found instanceof Promise ? found.then(answer) : answer(found);
}

/**
 * One node. This is the hot path: at the head, without a locale and for a caller to whom no properties are hidden, it
 * takes two lookups and three copies of stored text.
 *
 * @see messages.ts, ReadNode
 */
export function readNode(
  state: BranchState,
  context: QueryContext,
  query: ReadNode,
): JsonText | Unchanged | Promise<JsonText | Unchanged> {
  if (isPlain(query)) {
    const found = presentNode(state, context, query);
    if (found instanceof JsonText) return found;
    if (found !== undefined)
      return settleLarge(
        context,
        found * COPIES,
        function* (view) {
          const begun = atMoment(view, query);
          const record = yield* readAgain(view, begun);
          return yield* renderedNode(state, context, view, begun, { record, mark: undefined });
        },
        'moving',
      );
  }
  const isWhole = query.fields === undefined && query.expand === undefined;
  return settleFound(state, context, query, isWhole ? renderedNode : renderedPart);
}

/** Whether the answer is the stored text of the node at the head. */
function isPlain({ at, expand, fields, lang, unless }: ReadNode): boolean {
  if (at !== undefined || lang !== undefined || unless !== undefined) return false;
  return fields === undefined && expand === undefined;
}

/**
 * How an answer differs from the whole stored node; undefined when it does not.
 *
 * @param expanded marks of the expanded references; undefined when none are expanded
 */
function variantOf(
  chain: readonly string[],
  fields: readonly string[] | undefined,
  expanded?: readonly string[],
): string | undefined {
  if (fields === undefined && expanded === undefined)
    return chain.length === 0 ? undefined : variantMark([chain]);
  const names = fields === undefined ? null : new PropertySelection(fields).names;
  return expanded === undefined ? variantMark([chain, names]) : variantMark([chain, names, expanded]);
}

/** The parts of an answer that do not come from the record. */
interface InspectedNode {
  readonly type: ResolvedNodeType | undefined;
  readonly hasChildren: boolean;
  /** See `localeChain`. */
  readonly chain: readonly string[];
  /** Undefined: the stored relations. */
  readonly relations: readonly Relation[] | undefined;
  /** Mark of the omitted relations. */
  readonly hidden: string | undefined;
  readonly tag: string;
}

/**
 * @param shownMark see `ShownNode.mark`
 * @returns yields where the work may pause, which it does only for a node with relations, or with children of which the
 *   caller may not read all
 * @throws {ServiceError} `NODE_NOT_FOUND` if the node is hidden in the locale
 */
function* inspected(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  query: ReadNode | ReadProperty,
  header: NodeHeader,
  shownMark: string | undefined,
): Generator<undefined, InspectedNode> {
  const { at, lang, place, workspace } = query;
  const type = schemaAt(state, view, workspace, at).nodeType(header.nodeType);
  const access = new NodeAccess(context, view);
  const moment = new Moment(view, at);
  const hasChildren = yield* access.hasChildren(moment, workspace, header.id);
  const chain = lang === undefined ? [] : localeChain(state, lang);
  if (isHidden({ header }, chain)) throw nodeNotFound(place);
  const variant = variantOf(chain, 'fields' in query ? query.fields : undefined);
  const related = { header, hasRelations: header.relations.length > 0 };
  const shown = yield* shownRelations(
    related,
    (name, id) => seenNodes(moment.tree, access)(name, id),
    access.marked(related),
  );
  const hidden = joinedMark(shown?.mark, shownMark);
  const tag = nodeTag(header.revision, type, hasChildren, hidden, variant);
  restReader(view);
  return { type, hasChildren, chain, relations: shown?.relations, hidden, tag };
}

/** Renders a node with only some of its properties, or with references expanded. */
function* renderedPart(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  query: ReadNode,
  { mark, record }: ShownNode,
): Generator<undefined, JsonText | Unchanged> {
  const { header } = record;
  const found = yield* inspected(state, context, view, query, header, mark);
  const { chain, hasChildren, hidden, tag, type } = found;
  if (query.expand === undefined && namesTag(query.unless, tag)) return { unchanged: tag };
  const nodes = new VisibleNodes(state, context, view, query);
  const text = yield* nodes.textInSteps({ record, hasChildren });
  if (query.expand === undefined) return new JsonText(text, query.tagged && tag);
  const variant = variantOf(chain, query.fields, nodes.expandedMarks);
  const whole = nodeTag(record.revision, type, hasChildren, hidden, variant);
  return namesTag(query.unless, whole) ? { unchanged: whole } : new JsonText(text, query.tagged && whole);
}

function* renderedNode(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  query: ReadNode,
  { mark, record }: ShownNode,
): Generator<undefined, JsonText | Unchanged> {
  const { unless, workspace } = query;
  const found = yield* inspected(state, context, view, query, record.header, mark);
  const { chain, hasChildren, relations, tag, type } = found;
  if (namesTag(unless, tag)) return { unchanged: tag };
  const properties = yield* localizedProperties(record, chain);
  const shown = properties === undefined ? {} : { properties };
  const text = yield* renderNodeInSteps(record, { workspace, hasChildren, type, relations, ...shown });
  return new JsonText(text, query.tagged && tag);
}

/**
 * @returns the text of a node; for a large one the length of its record, in bytes; undefined when there is none, when the
 *   caller may not read it, and when it takes more to tell: about its children, relations or hidden properties, or by
 *   permissions that take more work than those of a row in place
 */
function presentNode(
  state: BranchState,
  context: QueryContext,
  query: ReadNode,
): JsonText | number | undefined {
  const { place, tagged, workspace } = query;
  const { view } = context;
  const { policy } = context.caller;
  const reader = new HeadNodeReader(view);
  const id = 'path' in place ? reader.idAt(workspace, place.path) : place.id;
  if (id === undefined) return undefined;
  // The record's bytes are valid until the next read, so it is read last and copied before its type is looked up.
  const hasChildren = reader.hasChildren(workspace, id);
  const schema = schemaAt(state, view, workspace, undefined);
  const peeked = reader.peekById(workspace, id);
  if (peeked === undefined) return undefined;
  const scope = policy.readScope(workspace);
  let part: FieldFilter | undefined;
  if (!readsWhole(policy, workspace)) {
    // The general way asks about a large node, and which of the children may be read.
    if (peeked instanceof LargeValue || peeked.isLarge || (hasChildren && !scope.isAll)) return undefined;
    const access = new NodeAccess(context, view);
    if (!scope.isAll && access.mayReadInPlace(workspace, peeked) !== true) return undefined;
    const shown = access.shownInPlace(workspace, peeked);
    if (shown === undefined) return undefined;
    if (!shown.isAll) {
      // Of the relations and translations some may have to be left out as well.
      if (peeked.hasRelations || peeked.hasTranslations) return undefined;
      part = shown;
    }
  }
  if (peeked instanceof LargeValue) return peeked.length;
  if (peeked.isLarge) return peeked.bytes.length;
  const record = peeked.hasRelations ? relatedNode(reader, peeked, policy) : peeked;
  if (record === undefined) return undefined;
  const { nodeType } = record;
  const known = knownType(schema, workspace, nodeType);
  if (known === undefined) {
    // To look it up may read something else; then the record is read again.
    learnType(schema, workspace, nodeType, schema.nodeType(nodeType));
    return presentNode(state, context, query);
  }
  const revision = tagged === true ? record.revision : undefined;
  const names: string[] = [];
  const isShown = part && ((name: string): boolean => part.has(name) && names.push(name) > 0);
  const text = recordText(record, known.added, hasChildren, isShown);
  const mark = part && joinedMark(undefined, shownMark(names));
  return new JsonText(text, revision && nodeTag(revision, known.type, hasChildren, mark));
}

/** Most relations whose targets are looked up without a pause. */
const QUICK_RELATIONS = 64;

/**
 * A node with relations, over its own copy of the bytes.
 *
 * @returns undefined if it has many relations, or one whose target does not exist or has to be looked at
 */
function relatedNode(
  reader: HeadNodeReader,
  peeked: NodeRecord,
  policy: QueryContext['caller']['policy'],
): NodeRecord | undefined {
  const { header } = peeked;
  if (header.relations.length > QUICK_RELATIONS) return undefined;
  const { bytes } = peeked;
  const record = new NodeRecord(Buffer.from(bytes.subarray(0, bytes.length)), header);
  const isShown = ({ target, workspace }: Relation): boolean =>
    (policy.unrestricted || policy.readScope(workspace).isAll) && reader.has(workspace, target);
  return header.relations.every(isShown) ? record : undefined;
}

/** Computes a result from one node, in steps. */
type RecordSteps<Query, T> = (
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  query: Query,
  shown: ShownNode,
) => Generator<undefined, T>;

/**
 * Looks a node up and processes it: a large one when there is room. Its record is read again then, because a waiting
 * request must not keep it in memory.
 */
function settleFound<Query extends ReadNode | ReadProperty, T>(
  state: BranchState,
  context: QueryContext,
  query: Query,
  steps: RecordSteps<Query, T>,
): T | Unchanged | Promise<T | Unchanged> {
  const work = function* (view: TableReader): Generator<LargePiece | undefined, T | Unchanged> {
    const { bytes, header, record } = yield* findReadable(state, context, view, query);
    const { workspace } = query;
    const access = new NodeAccess(context, view);
    if (record !== undefined)
      return yield* steps(state, context, view, query, yield* access.shown(workspace, record));
    const isExpanded = 'expand' in query && query.expand !== undefined;
    // Where properties may be hidden, the tag depends on them.
    const isTagged = access.scope(workspace).fields === undefined;
    if (query.unless !== undefined && !isExpanded && isTagged) {
      const { tag } = yield* inspected(state, context, view, query, header, undefined);
      if (namesTag(query.unless, tag)) return { unchanged: tag };
    }
    restReader(view);
    yield new LargePiece(bytes * COPIES);
    const begun = atMoment(view, query);
    const again = yield* readAgain(view, begun);
    return yield* steps(state, context, view, begun, yield* access.shown(workspace, again));
  };
  return settleGrowing(context, work, 'moving');
}

/** A query about the state with which its read began, when the reader has gone over to another snapshot. */
function atMoment<Query extends NodeNamed>(view: TableReader, query: Query): Query {
  const { at } = new Moment(view, query.at);
  return at === undefined ? query : { ...query, at };
}

/** Reads a large node that was found before, in steps of its own. @throws {ServiceError} `NODE_NOT_FOUND` */
export function* readAgain(
  view: TableReader,
  { at, place, workspace }: NodeNamed,
): Generator<undefined, NodeRecord> {
  yield;
  const tree = treeAt(view, at);
  const id = 'path' in place ? tree.idAt(workspace, place.path) : place.id;
  const record = id === undefined ? undefined : yield* tree.byIdInSteps(workspace, id);
  if (record === undefined) throw nodeNotFound(place);
  return record;
}

/** A value with the tag of its node. */
interface TaggedValue {
  readonly value: JsonValue;
  readonly tag: string;
}

/** One property value. @see messages.ts, ReadProperty */
export function readProperty(
  state: BranchState,
  context: QueryContext,
  query: ReadProperty,
): TaggedValue | Unchanged | Promise<TaggedValue | Unchanged> {
  return settleFound(state, context, query, foundValue);
}

function* foundValue(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  query: ReadProperty,
  { mark, record }: ShownNode,
): Generator<undefined, TaggedValue | Unchanged> {
  const { chain, tag, type } = yield* inspected(state, context, view, query, record.header, mark);
  const shown = (yield* localizedProperties(record, chain)) ?? (yield* record.decode());
  const value = valueAt(shown, type, query.property);
  if (value !== undefined) return namesTag(query.unless, tag) ? { unchanged: tag } : { value, tag };
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
