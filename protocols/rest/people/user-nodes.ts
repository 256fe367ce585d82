import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { PatchNode } from '#actors/branch/messages.ts';
import type { FindUsers, UserNode } from '#actors/branch/user-messages.ts';
import type { UserStatus } from '#actors/identities/people-messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Workspace of the nodes of users. */
const WORKSPACE = 'svc:access_control';

/** Attempts at a node that others change at the same time. */
const ATTEMPTS_MAX = 5;

/** The nodes of an identity in a branch, mostly one. */
export async function userNodesOf(
  router: Pick<Router, 'query'>,
  branch: ActorId,
  tenant: string,
  identityId: string,
): Promise<readonly UserNode[]> {
  const query: FindUsers = { type: 'FindUsers', by: { userId: identityId } };
  return (await router.query(branch, query, engineCaller(tenant))) as readonly UserNode[];
}

/**
 * Whether somebody has ended what a person may do in a repository: then only a decision lets the person in again. Activating the
 * account sets the status of a node, and leaves the rest.
 */
export function isSuspended({ canLogin, status }: Pick<UserNode, 'canLogin' | 'status'>): boolean {
  return !canLogin || (status !== null && status !== 'active');
}

/** Whether a node is that of an account that was removed. It counts for nobody, and no other account gets it. */
export function isRemoved({ status, userId }: Pick<UserNode, 'status' | 'userId'>): boolean {
  return userId !== null && status === 'deleted';
}

/** The error for a person with the address of such a node. @returns `CONFLICT` */
export function addressOfRemoved({ path }: Pick<UserNode, 'path'>): ServiceError {
  return new ServiceError(
    'CONFLICT',
    `The user node '${path}' has the address, and its account was removed: remove the node, or give it another address`,
  );
}

/** Properties that a status sets of a node; undefined when there is nothing to be set. */
export function statusPatch(status: UserStatus, stored: string | null): JsonObject | undefined {
  const current = stored ?? 'active';
  // A person that was removed does not come back; another one may have the address.
  if (current === status || current === 'deleted') return undefined;
  return { status };
}

/**
 * Changes the nodes of an identity in a branch, each only as it was read.
 *
 * @param patchOf what to set; undefined: nothing
 * @returns how many nodes were changed
 * @throws {ServiceError} `PRECONDITION_FAILED` when others change a node all the time
 */
export async function patchUserNodes(
  router: Pick<Router, 'query' | 'command'>,
  { actor, tenant }: { readonly actor: ActorId; readonly tenant: string },
  identityId: string,
  patchOf: (node: UserNode) => JsonObject | undefined,
  commit: CommitInfo,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      let changed = 0;
      for (const node of await userNodesOf(router, actor, tenant, identityId)) {
        const properties = patchOf(node);
        if (properties === undefined) continue;
        await patchUserNode(router, { actor, tenant }, node, properties, commit);
        changed += 1;
      }
      return changed;
    } catch (error) {
      if (!isOvertaken(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** Changes a node as it was read. @throws {ServiceError} `PRECONDITION_FAILED`, `NODE_NOT_FOUND` */
export async function patchUserNode(
  router: Pick<Router, 'command'>,
  { actor, tenant }: { readonly actor: ActorId; readonly tenant: string },
  { id, version }: Pick<UserNode, 'id' | 'version'>,
  properties: JsonObject,
  commit: CommitInfo,
): Promise<void> {
  const command: PatchNode = {
    type: 'PatchNode',
    workspace: WORKSPACE,
    place: { id },
    properties,
    expected: { version },
    commit,
  };
  await router.command(actor, command, { caller: engineCaller(tenant) });
}

/** Whether a node has changed since it was read. */
export function isOvertaken(error: unknown): boolean {
  return (
    error instanceof ServiceError && (error.code === 'PRECONDITION_FAILED' || error.code === 'NODE_NOT_FOUND')
  );
}
