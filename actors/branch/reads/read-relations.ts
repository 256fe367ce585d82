import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import { REVISION_BYTES, type Revision } from '#runtime/content/revision.ts';
import { bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, nodeKey, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type NodeRecord, recordInSteps } from '#runtime/tree/record/node-record.ts';
import { hasNode } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { valueInSteps, wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import { rowsInBatches, storedRowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { answerText, silently } from '../long-answer.ts';
import type { JsonAnswer, ReadRelations } from '../messages.ts';
import { withReadable } from './read-node.ts';
import { VisibleNodes } from './visible-nodes.ts';

/** A node with a relation to the requested node. */
interface Incoming {
  readonly workspace: string;
  readonly id: string;
  readonly relations: readonly Relation[];
}

const everything = { start: '', end: '\u00ff' };

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
    answerText(
      context,
      (reader) => {
        const ends = new RelationEnds(state, context, reader, at);
        const incoming =
          at === undefined ? incomingNow(reader, workspace, id) : incomingAt(reader, workspace, id, at);
        return relationsText(ends, relations, incoming);
      },
      // Edges of earlier revisions are not indexed: this is a full scan.
      at !== undefined,
    ),
  );
}

function* relationsText(
  ends: RelationEnds,
  outgoing: readonly Relation[],
  incoming: Iterable<Incoming | undefined>,
): Generator<string, void> {
  let opening = '{"outgoing":[';
  for (const relation of outgoing) {
    if (yield* silently(ends.isVisible(relation.workspace, relation.target))) {
      yield opening + JSON.stringify(relation);
      opening = ',';
    } else yield '';
  }
  yield opening === ',' ? '],' : `${opening}],`;
  opening = '"incoming":[';
  for (const source of incoming) {
    if (source === undefined || !(yield* silently(ends.isVisible(source.workspace, source.id)))) {
      yield '';
      continue;
    }
    for (const relation of source.relations) {
      const entry = { source_workspace: source.workspace, source_node_id: source.id, relation };
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

  *isVisible(workspace: string, id: string): Generator<undefined, boolean> {
    let nodes = this.#nodes.get(workspace);
    if (nodes === undefined) {
      const selection = this.#at === undefined ? { workspace } : { workspace, at: this.#at };
      nodes = new VisibleNodes(this.#state, this.#context, this.#reader, selection);
      this.#nodes.set(workspace, nodes);
    }
    if (nodes.seesAll) return yield* hasNode(nodes.tree, workspace, id);
    const record = yield* nodes.tree.byIdInSteps(workspace, id);
    return record !== undefined && nodes.visible(record) !== undefined;
  }
}

function relationsTo(record: NodeRecord, workspace: string, id: string): readonly Relation[] {
  return record.header.relations.filter((edge) => edge.target === id && edge.workspace === workspace);
}

function* incomingNow(
  reader: TableReader,
  workspace: string,
  id: string,
): Generator<Incoming | undefined, void> {
  const range = underParts(workspace, textBytes(id), 'relation');
  let before = '';
  for (const { key } of rowsInBatches(reader, BranchTable.references, range)) {
    const [sourceWorkspace, sourceBytes] = key.slice(range.start.length).split(END) as [string, string];
    const source = nodeKey(sourceWorkspace, bytesText(sourceBytes));
    // Relations of one source are adjacent.
    if (source === before) continue;
    before = source;
    const bytes = yield* valueInSteps(reader, BranchTable.nodes, source);
    if (bytes === undefined) continue;
    const relations = relationsTo(yield* recordInSteps(bytes), workspace, id);
    yield undefined;
    yield { workspace: sourceWorkspace, id: bytesText(sourceBytes), relations };
  }
}

/**
 * Scans every stored state of all nodes for states that name the requested node, and reads each node found at the
 * revision: whether a state belongs to the revision depends on its ancestors. The cost grows with all stored states.
 */
function* incomingAt(
  reader: TableReader,
  workspace: string,
  id: string,
  at: Revision,
): Generator<Incoming | undefined, void> {
  const tree = new PastNodeReader(reader, at);
  // The id as encoded in the JSON of a header; most records are skipped without decoding.
  const mark = Buffer.from(JSON.stringify(id).slice(1, -1));
  const names = ({ buffer, byteLength, byteOffset }: Uint8Array): boolean =>
    Buffer.from(buffer, byteOffset, byteLength).includes(mark);
  const look = function* (node: string): Generator<undefined, Incoming | undefined> {
    // The row that names it may be large.
    yield;
    const [source, sourceBytes] = node.split(END) as [string, string];
    const record = yield* tree.byIdInSteps(source, bytesText(sourceBytes));
    const relations = record === undefined ? [] : relationsTo(record, workspace, id);
    return record === undefined || relations.length === 0
      ? undefined
      : { workspace: source, id: record.id, relations };
  };
  for (const { key, value } of storedRowsInBatches(reader, BranchTable.nodes, everything))
    yield names(yield* wholeInSteps(reader, value)) ? yield* look(key) : undefined;
  let looked = '';
  for (const { key, value } of storedRowsInBatches(reader, BranchTable.nodeVersions, everything)) {
    const node = key.slice(0, key.length - REVISION_BYTES - 1);
    if (node === looked || !names(yield* wholeInSteps(reader, value))) {
      yield undefined;
      continue;
    }
    looked = node;
    yield undefined;
    // If the current state names it too, it was handled above.
    const present = yield* valueInSteps(reader, BranchTable.nodes, node);
    yield present !== undefined && names(present) ? undefined : yield* look(node);
  }
}
