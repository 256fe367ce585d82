import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { type NodeHeader, ROOT_ID } from '#runtime/content/content-node.ts';
import { decodeRevisionDescending, REVISION_BYTES, type Revision } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import { bytesText } from '#runtime/shard/binary-key.ts';
import { BranchTable, nodeVersionsUpTo, pathVersionsUpTo } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { type Interval, isWithin, readLineage } from '#runtime/tree/lineage.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/node-record.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { BranchState } from '../branch-state.ts';
import type { NodePlace } from '../read-messages.ts';
import { readerAt } from '../reads/moment-readers.ts';

/** The state in which a past node is looked up: the tree at a moment and the versions before it. */
interface Past {
  readonly view: TableReader;
  readonly tree: NodeReader;
  readonly moment: Revision;
  /**
   * The revisions that belong to the moment, without those of other lines and those of the source made after the fork.
   */
  readonly intervals: readonly Interval[];
}

/**
 * A node that exists or once existed, for history and audit. A path names the node that is there now, or else the last
 * one that was there. Access is decided by the current path of the node, or by its last one.
 *
 * @param at the moment to read at; absent: the head
 * @returns the newest state that is not a deletion
 * @throws {ServiceError} `NODE_NOT_FOUND`, also when it may not be read; `WORKSPACE_NOT_FOUND`
 */
export function requireKnownNode(
  state: BranchState,
  context: QueryContext,
  workspace: string,
  place: NodePlace,
  at: Revision | undefined,
): NodeHeader {
  state.workspace(workspace);
  const { view } = context;
  const moment = at ?? readBranchHead(view).head;
  const intervals = readLineage(view).intervals(moment);
  const past: Past = { view, tree: readerAt(view, at), moment, intervals };
  const id = 'id' in place ? place.id : lastIdAt(past, workspace, place.path);
  const header = id === undefined ? undefined : lastHeader(past, workspace, id);
  if (header === undefined) throw nodeNotFound(place);
  const { path, nodeType } = header;
  // The error names the node as the caller did and does not reveal its current path.
  if (!context.caller.policy.allows('read', { workspace, path, nodeType })) throw nodeNotFound(place);
  return header;
}

function lastIdAt(past: Past, workspace: string, path: string): string | undefined {
  const present = past.tree.idAt(workspace, path);
  if (present !== undefined) return present === ROOT_ID ? undefined : present;
  const earlier = pathVersionsUpTo(workspace, path, past.moment);
  const value = lastValue(past, BranchTable.pathVersions, earlier);
  return value === undefined ? undefined : bytesText(Buffer.from(value).latin1Slice());
}

function lastHeader(past: Past, workspace: string, id: string): NodeHeader | undefined {
  const present = past.tree.byId(workspace, id);
  if (present !== undefined) return present.header;
  const earlier = nodeVersionsUpTo(workspace, id, past.moment);
  const value = lastValue(past, BranchTable.nodeVersions, earlier);
  return value === undefined ? undefined : new NodeRecord(value).header;
}

/** The newest version of a key that is not a deletion. */
function lastValue({ intervals, view }: Past, table: number, range: Range): Uint8Array | undefined {
  for (const { key, value } of view.range(table, range)) {
    if (value.length === 0) continue;
    if (isWithin(view, intervals, decodeRevisionDescending(key, key.length - REVISION_BYTES))) return value;
  }
  return undefined;
}
