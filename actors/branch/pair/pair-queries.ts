import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { storedText } from '#runtime/shard/binary-key.ts';
import { BranchTable, uniqueKey } from '#runtime/shard/key-layout.ts';
import { LargeValue, PartRead } from '#runtime/shard/large-value.ts';
import { readFurther } from '#runtime/shard/value-in-steps.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readAncestor } from '#runtime/tree/ancestry-store.ts';
import { readLineage } from '#runtime/tree/lineage.ts';
import { StateAt } from '#runtime/tree/state-at.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { GraphRecord } from '#runtime/tree/revision-graph.ts';
import { readChangePart, readRevision } from '#runtime/tree/revision-store.ts';
import { type StoredDefinition, type StoredKind, storedDefinition } from '#runtime/tree/schema-store.ts';
import type { BranchState } from '../branch-state.ts';
import {
  type ChangedPart,
  type ChangesPlace,
  type DefinitionAddress,
  HalfRead,
  type NodeAddress,
  type ReadChanged,
  type ReadDefinitionStates,
  type ReadGraph,
  type ReadRecordPart,
  type ReadStates,
  type ReadUniqueHolder,
  type RecordPart,
} from '../pair-messages.ts';

/**
 * Queries that branches of a repository answer for each other. Every answer is bounded and computed without a pause.
 */

/** Most revisions in one answer. */
export const GRAPH_PAGE = 64;

/** Most revisions whose changes one query may request. */
export const CHANGED_REVISIONS_MAX = 64;

/** After this many nodes, no further part of changes is added to an answer. */
const CHANGED_NODES_PAGE = 1000;

/** Most nodes or definitions one query may request. */
export const STATES_MAX = 64;

/** @see pair-messages.ts, ReadGraph */
export function readGraph(_state: BranchState, context: QueryContext, query: ReadGraph): GraphRecord[] {
  requireEngine(context);
  const records: GraphRecord[] = [];
  for (let next: string | null = query.revision; next !== null && records.length < GRAPH_PAGE; ) {
    const record: GraphRecord | undefined = readAncestor(context.view, parseRevision(next));
    if (record === undefined) break;
    records.push(record);
    next = record.parent;
  }
  return records;
}

/** @see pair-messages.ts, ReadChanged */
export function readChanged(_state: BranchState, context: QueryContext, query: ReadChanged): ChangedPart {
  requireEngine(context);
  requireAtMost(query.revisions, CHANGED_REVISIONS_MAX);
  return changedPart(context.view, query.revisions, query.from);
}

/** @see pair-messages.ts, ReadRecordPart */
export function readRecordPart(
  state: BranchState,
  context: QueryContext,
  query: ReadRecordPart,
): RecordPart | undefined {
  requireEngine(context);
  const { view } = context;
  const revision = parseRevision(query.revision);
  const record = readRevision(view, revision);
  if (record === undefined) return undefined;
  const branch = record.branch ?? readLineage(view).branchOf(revision) ?? state.name;
  return { record, branch, changes: readChangePart(view, record, query.part) };
}

/** @see pair-messages.ts, ReadStates */
export function readStates(
  _state: BranchState,
  context: QueryContext,
  query: ReadStates,
): NodeStates | HalfRead | undefined {
  requireEngine(context);
  requireAtMost(query.nodes, STATES_MAX);
  return statesAt(context.view, parseRevision(query.at), query.nodes, query.half);
}

/** @see pair-messages.ts, ReadDefinitionStates */
export function readDefinitionStates(
  _state: BranchState,
  context: QueryContext,
  query: ReadDefinitionStates,
): DefinitionStates | undefined {
  requireEngine(context);
  requireAtMost(query.definitions, STATES_MAX);
  return definitionStatesAt(context.view, parseRevision(query.at), query.definitions);
}

/** @see pair-messages.ts, ReadUniqueHolder */
export function readUniqueHolder(
  _state: BranchState,
  context: QueryContext,
  query: ReadUniqueHolder,
): string | undefined {
  requireEngine(context);
  return uniqueHolder(context.view, query);
}

/** The node that has a value of a unique property. */
export function uniqueHolder(
  reader: TableReader,
  { nodeType, property, value, workspace }: Omit<ReadUniqueHolder, 'type'>,
): string | undefined {
  const bytes = reader.get(BranchTable.uniques, uniqueKey(workspace, nodeType, property, value));
  return bytes === undefined ? undefined : storedText(bytes);
}

/** After this many bytes of nodes, no further node is added to an answer: reading and checking them does not pause. */
const STATES_BYTES_MAX = 512 * 1024;

/** Nodes in the requested order; undefined for a missing one. If nodes are large, there may be fewer than requested. */
export type NodeStates = readonly (NodeRecord | undefined)[];

/** Definitions in the requested order; undefined for a missing one. */
export type DefinitionStates = readonly (StoredDefinition<StoredKind> | undefined)[];

/**
 * Nodes as of a revision: the first requested one, and as many of the others as fit within the byte bound.
 *
 * @param half what the call before returned, for the same nodes
 * @returns undefined when the branch does not have the content of the revision; a {@link HalfRead} when the function is
 *   to be called again, after a pause
 */
export function statesAt(
  reader: TableReader,
  at: Revision,
  nodes: readonly NodeAddress[],
  half?: HalfRead,
): NodeStates | HalfRead | undefined {
  if (!holds(reader, at)) return undefined;
  const tree = new PastNodeReader(reader, at);
  const states = [...(half?.states ?? [])];
  let { present: known, reading } = half ?? {};
  let bytes = 0;
  /** Reads on in a large value. Undefined: it is not complete. */
  const read = (
    found: NodeRecord | LargeValue | undefined,
  ): { readonly record: NodeRecord | undefined } | undefined => {
    if (!(found instanceof LargeValue)) return { record: found };
    if (reading?.large.number !== found.number) reading = new PartRead(found);
    if (!readFurther(reader, reading)) return undefined;
    const { whole } = reading;
    reading = undefined;
    return { record: new NodeRecord(whole) };
  };
  for (const { workspace, id } of nodes.slice(states.length)) {
    if (bytes > STATES_BYTES_MAX) break;
    const wasKnown = known !== undefined;
    const present = wasKnown ? { record: known } : read(tree.quickPresent(workspace, id));
    if (present === undefined) return new HalfRead(states, undefined, reading);
    const { record } = present;
    if (tree.isDecidedBy(record)) states.push(record);
    else if (!wasKnown && record?.isLarge === true) return new HalfRead(states, record, undefined);
    else {
      const earlier = read(tree.quickBehind(record, workspace, id));
      if (earlier === undefined) return new HalfRead(states, record, reading);
      states.push(earlier.record);
      bytes += record?.bytes.length ?? 0;
    }
    bytes += states.at(-1)?.bytes.length ?? 0;
    known = undefined;
  }
  return states;
}

/** As {@link statesAt}, for definitions. */
export function definitionStatesAt(
  reader: TableReader,
  at: Revision,
  definitions: readonly DefinitionAddress[],
): DefinitionStates | undefined {
  if (!holds(reader, at)) return undefined;
  return definitions.map(({ kind, name }) => storedDefinition(reader, kind, name, at));
}

/** A part of the changes of revisions, from a position on. Revisions that the branch did not make are skipped. */
export function changedPart(
  reader: TableReader,
  revisions: readonly string[],
  from: ChangesPlace,
): ChangedPart {
  const nodes: NodeAddress[] = [];
  const definitions: DefinitionAddress[] = [];
  let { revision, part } = from;
  while (revision < revisions.length && nodes.length < CHANGED_NODES_PAGE) {
    const record = readRevision(reader, parseRevision(revisions[revision] as string));
    const changes = record === undefined ? undefined : readChangePart(reader, record, part);
    if (part === 0) for (const { kind, name } of record?.definitions ?? []) definitions.push({ kind, name });
    for (const { workspace, node_id: id } of changes ?? []) nodes.push({ workspace, id });
    if (changes === undefined) {
      revision += 1;
      part = 0;
    } else part += 1;
  }
  return { nodes, definitions, next: revision < revisions.length ? { revision, part } : null };
}

/** Whether a branch has the content as of a revision: it made it, or inherited it as a fork. */
function holds(reader: TableReader, at: Revision): boolean {
  if (at.ms === 0 && at.counter === 0) return true;
  return new StateAt(reader, at).belongs(at) && readRevision(reader, at) !== undefined;
}

/**
 * Branches answer each other without restrictions; the branch that received the user's request checks what the user may
 * see.
 */
export function requireEngine({ caller }: Pick<QueryContext, 'caller'>): void {
  if (caller.principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

function requireAtMost(items: readonly unknown[], most: number): void {
  if (items.length > most) throw new ServiceError('VALIDATION_FAILED', `At most ${most} at a time`);
}
