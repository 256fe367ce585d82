import { requireLogin } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { NetChange } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { BranchPair } from './branch-pair.ts';
import { definitionId, definitionPath } from './definition-names.ts';
import { type DiffDetails, diffDetails, ROOM_BYTES } from './diff-details.ts';
import { type DefinitionDiffEntry, type DiffEntries, type DiffEntry, operations } from './diff-entries.ts';
import type { BranchState } from '../branch-state.ts';
import { settle, settleLarge } from '../long-answer.ts';
import type { DiffBranch, JsonAnswer } from '../messages.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';

/** Entries rendered between two pauses; a difference with no more entries is answered as one text. */
const ENTRIES_PER_PIECE = 500;

interface Difference {
  readonly commonAncestor: string;
  readonly entries: DiffEntries;
  /** Absent if not requested. */
  readonly details: DiffDetails | undefined;
}

/**
 * The net changes of this branch since its common ancestor with another branch, without changes that were undone since
 * or that a merge took from the other branch. Moves and renames count for every node of the subtree. A new position
 * among the same siblings does not count. Nodes the caller may not read are omitted; any caller with a login may read
 * schema definitions.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login; `VALIDATION_FAILED` when they have diverged too far
 * @see messages.ts, DiffBranch; docs/interface/branches.md#differences
 */
export function diffBranch(
  state: BranchState,
  context: QueryContext,
  query: DiffBranch,
): JsonAnswer | Promise<JsonAnswer> {
  requireLogin(context.caller.principal);
  const work = (reader: TableReader) => compared(state, context, reader, query);
  const difference =
    query.detail === undefined
      ? settle(context, work, 'moving')
      : settleLarge(context, ROOM_BYTES, work, 'moving');
  const answer = (found: Difference): JsonAnswer => answerOf(context, found);
  return difference instanceof Promise ? difference.then(answer) : answer(difference);
}

function* compared(
  state: BranchState,
  context: QueryContext,
  reader: TableReader,
  { base, at, baseAt, detail }: DiffBranch,
): Generator<undefined, Difference> {
  const access = new NodeAccess(context, reader);
  const pair = yield* BranchPair.of(state, reader, base, { own: new Moment(reader, at).at, other: baseAt });
  const nodes: DiffEntry[] = [];
  for (const change of pair.changes('own')) {
    if (change === undefined || change.operation === 'reordered') {
      yield;
      continue;
    }
    const { workspace, nodeId, operation } = change;
    const shown = shownState(change);
    const isSeen = access.mayRead(workspace, shown);
    // A decision may take some milliseconds.
    yield;
    if (!isSeen) continue;
    const { path } = shown;
    nodes.push({ node_id: nodeId, workspace, path, operation });
  }
  const sorted = yield* sortInSlices(nodes, byPlace);
  const entries = { nodes: sorted, definitions: yield* changedDefinitions(pair) };
  const details = detail === undefined ? undefined : yield* diffDetails(pair, access, entries);
  return { commonAncestor: formatRevision(pair.commonAncestor), entries, details };
}

function* changedDefinitions(pair: BranchPair): Generator<undefined, readonly DefinitionDiffEntry[]> {
  const found: DefinitionDiffEntry[] = [];
  for (const change of pair.definitionChanges('own')) {
    if (change === undefined) {
      yield;
      continue;
    }
    const { kind, name, operation } = change;
    const named = { node_id: definitionId(change), workspace: null, path: definitionPath(change) };
    found.push({ ...named, operation, kind, name });
  }
  return yield* sortInSlices(found, (a, b) => (a.path < b.path ? -1 : 1));
}

function shownState({ before, after }: NetChange): NodeRecord {
  return (after ?? before) as NodeRecord;
}

function byPlace(a: DiffEntry, b: DiffEntry): number {
  if (a.workspace !== b.workspace) return a.workspace < b.workspace ? -1 : 1;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.node_id < b.node_id ? -1 : 1;
}

function answerOf(context: QueryContext, difference: Difference): JsonAnswer {
  const { definitions, nodes } = difference.entries;
  if (nodes.length + definitions.length <= ENTRIES_PER_PIECE)
    return new JsonText([...pieces(difference)].join(''));
  return { chunks: chunksOf(context, difference) };
}

async function* chunksOf(context: QueryContext, difference: Difference): AsyncGenerator<string, void> {
  for (const piece of pieces(difference)) {
    yield piece;
    const wait = context.pause();
    if (wait !== undefined) await wait;
  }
}

function* pieces({ commonAncestor, details, entries }: Difference): Generator<string, void> {
  yield `{"common_ancestor":${JSON.stringify(commonAncestor)}`;
  for (const operation of operations) {
    const listed = entries.nodes.filter((entry) => entry.operation === operation);
    yield* listPieces(operation, listed, details);
  }
  yield* listPieces('definitions', entries.definitions, details);
  yield details === undefined ? '}' : `,"truncated":${details.isTruncated}}`;
}

function* listPieces(
  name: string,
  listed: readonly (DiffEntry | DefinitionDiffEntry)[],
  details: DiffDetails | undefined,
): Generator<string, void> {
  let opening = `,"${name}":[`;
  for (let start = 0; start < listed.length; start += ENTRIES_PER_PIECE) {
    const part = listed.slice(start, start + ENTRIES_PER_PIECE);
    yield opening + (details === undefined ? JSON.stringify(part).slice(1, -1) : detailedText(part, details));
    opening = ',';
  }
  yield listed.length === 0 ? `${opening}]` : ']';
}

function detailedText(part: readonly (DiffEntry | DefinitionDiffEntry)[], details: DiffDetails): string {
  return part.map((entry) => `${JSON.stringify(entry).slice(0, -1)}${details.of(entry)}}`).join(',');
}
