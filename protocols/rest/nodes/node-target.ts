import type { NodePlace } from '#actors/branch/read-messages.ts';
import { type NodeAddress, parseNodeAddress } from '#runtime/content/node-address.ts';
import { likelyBranchOf } from '../access/branch-access.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/** A request to a node address, with the branch it leads to. */
export interface NodeTarget {
  readonly context: RestContext;
  readonly request: RestRequest;
  readonly branch: FoundBranch;
  readonly workspace: string;
  readonly address: NodeAddress;
}

/** The node an address names. */
export function placeOf({ id, path }: NodeAddress): NodePlace {
  return id === null ? { path: path ?? '/' } : { id };
}

/** Whether an address is of a node itself, to which `?command=` can be added. */
export function isOfNode({ form }: NodeAddress): boolean {
  return form === 'node' || form === 'listing';
}

/**
 * Looks up what a writing request addresses.
 *
 * @throws {ServiceError} `INVALID_PATH`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`, `READ_ONLY_REVISION`
 */
export async function targetOf(context: RestContext, request: RestRequest): Promise<NodeTarget> {
  const address = parseNodeAddress(request.param('path'));
  const workspace = request.segment('workspace');
  return { context, request, branch: await likelyBranchOf(context, request, 'write'), workspace, address };
}
