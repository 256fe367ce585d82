import { Buffer } from 'node:buffer';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bytesText } from '#runtime/shard/binary-key.ts';
import { BranchTable, uniqueKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readAncestor } from '#runtime/tree/ancestry-store.ts';
import { isWithin, readLineage } from '#runtime/tree/lineage.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { GraphRecord } from '#runtime/tree/revision-graph.ts';
import { readChangePart, readRevision } from '#runtime/tree/revision-store.ts';
import { type StoredDefinition, type StoredKind, storedDefinition } from '#runtime/tree/schema-store.ts';
import type { BranchState } from '../branch-state.ts';
import type {
  ChangedPart,
  ChangesPlace,
  DefinitionAddress,
  NodeAddress,
  ReadChanged,
  ReadDefinitionStates,
  ReadGraph,
  ReadRecordPart,
  ReadStates,
  ReadUniqueHolder,
  RecordPart,
} from '../pair-messages.ts';

/** What one branch tells another one of the same repository. Every answer is bounded and comes at once. */

/** Revisions in one answer. */
export const GRAPH_PAGE = 64;

/** Revisions one may ask for the changes of at a time. */
export const CHANGED_REVISIONS_MAX = 64;

/** Nodes after which an answer takes no further part of changes. */
const CHANGED_NODES_PAGE = 1000;

/** Nodes or definitions one may ask for at a time. */
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
): NodeStates | undefined {
  requireEngine(context);
  requireAtMost(query.nodes, STATES_MAX);
  return statesAt(context.view, parseRevision(query.at), query.nodes);
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

/** The node that has a value of a property that is unique. */
export function uniqueHolder(
  reader: TableReader,
  { nodeType, property, value, workspace }: Omit<ReadUniqueHolder, 'type'>,
): string | undefined {
  const bytes = reader.get(BranchTable.uniques, uniqueKey(workspace, nodeType, property, value));
  return bytes === undefined ? undefined : bytesText(Buffer.from(bytes).latin1Slice());
}

/** Bytes of nodes after which an answer takes no further one: reading and checking them cannot be interrupted. */
const STATES_BYTES_MAX = 512 * 1024;

/** Nodes in the order they were asked for; undefined where there was none. Large ones may be fewer than were asked for. */
export type NodeStates = readonly (NodeRecord | undefined)[];

/** Definitions in the order they were asked for; undefined where there was none. */
export type DefinitionStates = readonly (StoredDefinition<StoredKind> | undefined)[];

/**
 * Some nodes as of a revision: the first of those asked for, and as many of the others as are small together.
 *
 * @returns undefined when the branch does not hold the content of the revision
 */
export function statesAt(
  reader: TableReader,
  at: Revision,
  nodes: readonly NodeAddress[],
): NodeStates | undefined {
  if (!holds(reader, at)) return undefined;
  const tree = new PastNodeReader(reader, at);
  const states: (NodeRecord | undefined)[] = [];
  let bytes = 0;
  for (const { workspace, id } of nodes) {
    if (bytes > STATES_BYTES_MAX) break;
    const state = tree.byId(workspace, id);
    bytes += state?.bytes.length ?? 0;
    states.push(state);
  }
  return states;
}

/** As {@link statesAt}, of definitions. */
export function definitionStatesAt(
  reader: TableReader,
  at: Revision,
  definitions: readonly DefinitionAddress[],
): DefinitionStates | undefined {
  if (!holds(reader, at)) return undefined;
  return definitions.map(({ kind, name }) => storedDefinition(reader, kind, name, at));
}

/** Some of what revisions changed, from a place on. Revisions that the branch did not make are passed over. */
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
  return isWithin(reader, readLineage(reader).intervals(at), at) && readRevision(reader, at) !== undefined;
}

/** Branches say everything to each other; what a person may see of it is decided by the one that was asked. */
export function requireEngine({ caller }: QueryContext): void {
  if (caller.principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

function requireAtMost(items: readonly unknown[], most: number): void {
  if (items.length > most) throw new ServiceError('VALIDATION_FAILED', `At most ${most} at a time`);
}
