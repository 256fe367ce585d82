import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { type NodeHeader, ROOT_ID } from '#runtime/content/content-node.ts';
import { revisionMax } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import { bytesText } from '#runtime/shard/binary-key.ts';
import { BranchTable, nodeVersionsUpTo, pathVersionsUpTo } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/node-record.ts';
import type { BranchState } from './branch-state.ts';
import type { NodePlace } from './messages.ts';

/**
 * A node that is there or once was: what history and audit are about. A path means the node that stands there
 * now, else the one that stood there last. What decides on access is where the node is, or was last.
 *
 * @returns the newest state that is not a deletion
 * @throws {ServiceError} `NODE_NOT_FOUND`, also when it may not be read; `WORKSPACE_NOT_FOUND`
 */
export function requireKnownNode(
  state: BranchState,
  context: QueryContext,
  workspace: string,
  place: NodePlace,
): NodeHeader {
  state.workspace(workspace);
  const { view } = context;
  const id = 'id' in place ? place.id : lastIdAt(view, workspace, place.path);
  const header = id === undefined ? undefined : lastHeader(view, workspace, id);
  const named = 'id' in place ? place.id : place.path;
  if (header === undefined) throw nodeNotFound(named);
  const { path, nodeType } = header;
  // The refusal names what the caller asked for, not where the node has gone.
  if (!context.caller.policy.allows('read', { workspace, path, nodeType })) throw nodeNotFound(named);
  return header;
}

function lastIdAt(reader: TableReader, workspace: string, path: string): string | undefined {
  const present = new HeadNodeReader(reader).idAt(workspace, path);
  if (present !== undefined) return present === ROOT_ID ? undefined : present;
  const earlier = pathVersionsUpTo(workspace, path, revisionMax);
  for (const { value } of reader.range(BranchTable.pathVersions, earlier)) {
    if (value.length > 0) return bytesText(Buffer.from(value).latin1Slice());
  }
  return undefined;
}

function lastHeader(reader: TableReader, workspace: string, id: string): NodeHeader | undefined {
  const present = new HeadNodeReader(reader).byId(workspace, id);
  if (present !== undefined) return present.header;
  for (const { value } of reader.range(BranchTable.nodeVersions, nodeVersionsUpTo(workspace, id))) {
    if (value.length > 0) return new NodeRecord(value).header;
  }
  return undefined;
}
