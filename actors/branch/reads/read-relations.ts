import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { hasNode } from '#runtime/tree/node-reader.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { answerScan, silently } from '../long-answer.ts';
import type { JsonAnswer, ReadRelations } from '../messages.ts';
import type { NodeName } from './incoming-edges.ts';
import { namingNodes } from './naming-nodes.ts';
import { withReadable } from './read-node.ts';
import { VisibleNodes } from './visible-nodes.ts';

/** A node that may have relations to the requested node. */
interface Incoming {
  readonly workspace: string;
  readonly record: NodeRecord;
}

/**
 * Relations from and to a node. Relations whose other end does not exist or may not be read are omitted; the caller
 * cannot distinguish the two.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`
 * @see messages.ts, ReadRelations; docs/interface/nodes.md#relations
 */
export function readRelations(
  state: BranchState,
  context: QueryContext,
  query: ReadRelations,
): JsonAnswer | Promise<JsonAnswer> {
  const { workspace, at } = query;
  state.workspace(workspace);
  return withReadable(state, context, query, ({ header: { id, relations } }) =>
    answerScan(
      context,
      (reader) => {
        const moment = new Moment(reader, at);
        const ends = new RelationEnds(state, context, reader, at);
        return relationsText(ends, moment, relations, { workspace, id });
      },
      // Of an earlier revision all nodes may have to be read.
      at !== undefined,
    ),
  );
}

function* relationsText(
  ends: RelationEnds,
  moment: Moment,
  outgoing: readonly Relation[],
  target: NodeName,
): Generator<string, void> {
  let opening = '{"outgoing":[';
  for (const relation of outgoing) {
    const isVisible = yield* silently(ends.isVisible(relation.workspace, relation.target));
    moment.rest();
    if (isVisible) {
      yield opening + JSON.stringify(relation);
      opening = ',';
    } else yield '';
  }
  yield opening === ',' ? '],' : `${opening}],`;
  opening = '"incoming":[';
  for (const source of incoming(moment, target)) {
    if (source === undefined || !ends.shows(source.workspace, source.record)) {
      yield '';
      continue;
    }
    for (const relation of relationsTo(source.record, target)) {
      const entry = { source_workspace: source.workspace, source_node_id: source.record.id, relation };
      yield opening + JSON.stringify(entry);
      opening = ',';
    }
  }
  yield opening === ',' ? ']}' : `${opening}]}`;
}

/** The visible other ends of relations, which may be in any workspace. */
class RelationEnds {
  readonly #state: BranchState;
  readonly #context: QueryContext;
  readonly #reader: TableReader;
  readonly #at: Revision | undefined;
  readonly #nodes = new Map<string, VisibleNodes>();

  constructor(state: BranchState, context: QueryContext, reader: TableReader, at: Revision | undefined) {
    this.#state = state;
    this.#context = context;
    this.#reader = reader;
    this.#at = at;
  }

  /** Whether there is such a node and the caller may read it. */
  *isVisible(workspace: string, id: string): Generator<undefined, boolean> {
    const nodes = this.#nodesOf(workspace);
    if (nodes.seesAll) return yield* hasNode(nodes.tree, workspace, id);
    const record = yield* nodes.tree.byIdInSteps(workspace, id);
    return record !== undefined && nodes.visible(record) !== undefined;
  }

  /** Whether the caller may read a node. */
  shows(workspace: string, record: NodeRecord): boolean {
    return this.#nodesOf(workspace).visible(record) !== undefined;
  }

  #nodesOf(workspace: string): VisibleNodes {
    let nodes = this.#nodes.get(workspace);
    if (nodes === undefined) {
      const selection = this.#at === undefined ? { workspace } : { workspace, at: this.#at };
      nodes = new VisibleNodes(this.#state, this.#context, this.#reader, selection);
      this.#nodes.set(workspace, nodes);
    }
    return nodes;
  }
}

function relationsTo(record: NodeRecord, { id, workspace }: NodeName): readonly Relation[] {
  return record.header.relations.filter((edge) => edge.target === id && edge.workspace === workspace);
}

/** The nodes that may have relations to a node, in the order of workspace and id. Yields undefined where it may pause. */
function* incoming(moment: Moment, target: NodeName): Generator<Incoming | undefined, void> {
  let last: string | undefined;
  if (moment.at === undefined) {
    const end = yield* incomingNow(moment, target);
    if (end === undefined) return;
    last = end === '' ? undefined : end;
  }
  yield* namingNodes(moment, target, last);
}

/** @returns the last source, or an empty text, when the branch got another head meanwhile: the table is that of the head */
function* incomingNow(
  moment: Moment,
  { id, workspace }: NodeName,
): Generator<Incoming | undefined, string | undefined> {
  const range = underParts(workspace, textBytes(id), 'relation');
  let last = '';
  for (const { key } of rowsInBatches(moment.reader, BranchTable.references, range)) {
    if (moment.at !== undefined) return last;
    const [sourceWorkspace, sourceBytes] = key.slice(range.start.length).split(END) as [string, string];
    const source = sourceWorkspace + END + sourceBytes;
    // Relations of one source are adjacent.
    if (source === last) continue;
    const record = yield* moment.tree.byIdInSteps(sourceWorkspace, bytesText(sourceBytes));
    last = source;
    if (record === undefined) continue;
    moment.rest();
    yield undefined;
    yield { workspace: sourceWorkspace, record };
  }
  return moment.at === undefined ? undefined : last;
}
