import type { NodePlace } from '#actors/branch/read-messages.ts';
import { type NodeAddress, parseNodeAddress } from '#runtime/content/node-address.ts';
import { likelyBranchOf } from '../access/branch-access.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/** A request to a node address, with its branch. */
export interface NodeTarget {
  readonly context: RestContext;
  readonly request: RestRequest;
  readonly branch: FoundBranch;
  readonly workspace: string;
  readonly address: NodeAddress;
}

/** The place of the node in an address. */
export function placeOf({ id, path }: NodeAddress): NodePlace {
  return id === null ? { path: path ?? '/' } : { id };
}

/** Whether an address denotes a node itself, where `?command=` is allowed. */
export function isOfNode({ form }: NodeAddress): boolean {
  return form === 'node' || form === 'listing';
}

/**
 * Resolves the address of a write.
 *
 * @throws {ServiceError} `INVALID_PATH`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`, `READ_ONLY_REVISION`
 */
export async function targetOf(context: RestContext, request: RestRequest): Promise<NodeTarget> {
  const address = parseNodeAddress(request.param('path'));
  const workspace = request.segment('workspace');
  return { context, request, branch: await likelyBranchOf(context, request, 'write'), workspace, address };
}
