import type { FieldFilter } from '#runtime/access/field-filter.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { propertyOfPointer } from '#runtime/content/translations/shown-translations.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { FoundNode } from '#runtime/tree/found-node.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { BranchState } from '../branch-state.ts';
import { answerPage, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer } from '../messages.ts';
import type { ListIncomingReferences } from '../read-messages.ts';
import {
  edgesAt,
  edgesNow,
  type EdgeWindow,
  type FindSource,
  type IncomingEdge,
  isEdgePlace,
  type NodeName,
} from './incoming-edges.ts';
import { type CursorBinding, formatBoundCursor, parseBoundCursor } from './listing-cursor.ts';
import { NodeAccess } from './node-access.ts';
import { withReadable } from './read-node.ts';

/** Most entries on a page. */
const PAGE_MAX = 1000;

/**
 * The references and relations that point to a node, from all workspaces. Entries whose source the caller may not read are
 * omitted.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`, `INVALID_CURSOR`
 * @see docs/interface/reading.md#incoming-references
 */
export function listIncomingReferences(
  state: BranchState,
  context: QueryContext,
  query: ListIncomingReferences,
): JsonAnswer | Promise<JsonAnswer> {
  state.workspace(query.workspace);
  return withReadable(state, context, query, (found) => referencesTo(context, query, found));
}

function referencesTo(
  context: QueryContext,
  { at, cursor, limit: wanted, scope, workspace }: ListIncomingReferences,
  { header: { id }, record }: FoundNode,
): JsonAnswer | Promise<JsonAnswer> {
  const moment = at === undefined ? null : formatRevision(at);
  const binding = ['incoming references', scope, workspace, id, moment];
  const after = cursor === undefined ? undefined : parseBoundCursor(binding, cursor, isEdgePlace);
  const limit = Math.min(Math.max(Math.trunc(wanted), 1), PAGE_MAX);
  const work = function* (reader: TableReader): Generator<Piece, void> {
    const moment = new Moment(reader, at);
    // A large node was looked up just now, and the first row may be large.
    if (record === undefined) yield '';
    const sources = new Sources(moment, new NodeAccess(context, reader));
    // One more than requested shows whether anything follows.
    const window = { target: { workspace, id }, after, most: limit + 1 };
    const edges = context.caller.policy.unrestricted
      ? edgesIn(sources, window)
      : shownEdges(sources, window, context.budget);
    yield* pageText(sources, edges, limit, binding);
  };
  return answerPage(context, work, 'moving');
}

/** Edges in the order of their places; the results are those of {@link edgesNow}, and of {@link edgesAt} in the past. */
function edgesIn(
  sources: Sources,
  window: EdgeWindow,
): Generator<IncomingEdge | undefined, string | undefined> {
  const { moment } = sources;
  const find: FindSource = function* (source) {
    return (yield* sources.find(source))?.record;
  };
  return moment.at === undefined ? edgesNow(moment, window, find) : edgesAt(moment, window, find);
}

/** Edges that are looked at before the next ones are looked up. */
const EDGES_PART = 1_000;

/** Estimated nanoseconds to look at the source of an edge. */
const SOURCE_WORK = 20_000;

/**
 * The edges that the caller may see. A page has as many of them as were asked for, and a cursor names the place of one: the
 * place of another would tell the id of a node that may not be read.
 */
function* shownEdges(
  sources: Sources,
  window: EdgeWindow,
  budget: RequestBudget,
): Generator<IncomingEdge | undefined, undefined> {
  let { after } = window;
  for (;;) {
    let looked = 0;
    const edges = edgesIn(sources, { ...window, after, most: EDGES_PART });
    let step = edges.next();
    for (; step.done !== true; step = edges.next()) {
      const edge = step.value;
      if (edge === undefined) {
        yield undefined;
        continue;
      }
      looked += 1;
      after = edge.place;
      budget.spend(SOURCE_WORK);
      const source = yield* sources.find(edge.source);
      sources.moment.rest();
      yield source !== undefined && isShownEdge(edge, source) ? edge : undefined;
    }
    if (step.value === undefined && looked < EDGES_PART) return undefined;
    after = step.value ?? after;
    yield undefined;
  }
}

/** A source node of edges, as it is shown. */
interface Source {
  readonly record: NodeRecord;
  readonly text: string;
  /** The properties that are shown: references in others are not told. */
  readonly fields: FieldFilter;
}

/** The source nodes of edges. Edges of one node are adjacent, so the last node is cached. */
class Sources {
  readonly moment: Moment;
  readonly #access: NodeAccess;
  #last: NodeName | undefined;
  #found: Source | undefined;

  constructor(moment: Moment, access: NodeAccess) {
    this.moment = moment;
    this.#access = access;
  }

  /** @returns undefined for a node that does not exist or may not be read */
  *find(name: NodeName): Generator<undefined, Source | undefined> {
    if (this.#last?.id !== name.id || this.#last.workspace !== name.workspace) {
      this.#found = yield* this.#read(name);
      this.#last = name;
    }
    return this.#found;
  }

  *#read({ id, workspace }: NodeName): Generator<undefined, Source | undefined> {
    const record = yield* this.moment.tree.byIdInSteps(workspace, id);
    if (record === undefined || !this.#access.mayRead(workspace, record)) return undefined;
    const { name, nodeType, path } = record;
    const text = JSON.stringify({ id, workspace, path, name, node_type: nodeType });
    return { record, text, fields: this.#access.shownFields(workspace, record) };
  }
}

/** @param edges one more than fits on the page */
function* pageText(
  sources: Sources,
  edges: Generator<IncomingEdge | undefined, string | undefined>,
  limit: number,
  binding: CursorBinding,
): Generator<Piece, void> {
  let opening = '{"items":[';
  let taken = 0;
  let last: string | undefined;
  let step = edges.next();
  for (; step.done !== true; step = edges.next()) {
    const edge = step.value;
    if (edge === undefined) {
      yield '';
      continue;
    }
    if (taken === limit) break;
    taken += 1;
    last = edge.place;
    const source = yield* silently(sources.find(edge.source));
    sources.moment.rest();
    yield source === undefined ? '' : opening + entryText(edge, source);
    if (source !== undefined) opening = ',';
  }
  const next = step.done === true ? step.value : last;
  const cursor = next === undefined ? null : formatBoundCursor(binding, next);
  yield `${opening === ',' ? ']' : `${opening}]`},"next_cursor":${JSON.stringify(cursor)},"total":null}`;
}

function isShownEdge(edge: IncomingEdge, { fields }: Source): boolean {
  return edge.kind === 'relation' || fields.isAll || fields.has(propertyOfPointer(edge.pointer));
}

function entryText(edge: IncomingEdge, { text }: Source): string {
  const start = `{"kind":"${edge.kind}","source":${text}`;
  if (edge.kind === 'property') return `${start},"pointer":${JSON.stringify(edge.pointer)}}`;
  const { relation_type, weight } = edge.relation;
  return `${start},"relation_type":${JSON.stringify(relation_type)},"weight":${JSON.stringify(weight)}}`;
}
