import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { BranchState } from '../branch-state.ts';
import type { Granted, ReadGrants } from '#runtime/access/roles/granted.ts';
import type { OwnAccess, ReadOwnAccess } from '../access-messages.ts';
import { requireEngine } from '../pair/pair-queries.ts';
import { ACCESS_WORKSPACE } from './user-places.ts';

/** What a caller may do in the repository. @see access-messages.ts, ReadGrants */
export function readGrants(
  state: BranchState,
  context: QueryContext,
  { principal }: ReadGrants,
): Granted | Generator<undefined, Granted> {
  requireEngine(context);
  return state.access.granted(context.view, principal);
}

/** What the caller has in the repository. @see access-messages.ts, ReadOwnAccess */
export async function readOwnAccess(
  state: BranchState,
  context: QueryContext,
  _query: ReadOwnAccess,
): Promise<OwnAccess | null> {
  const { principal } = context.caller;
  if (principal.kind !== 'identity') return null;
  return await runInSlices(context, ownAccess(state, context, principal));
}

function* ownAccess(
  { access }: BranchState,
  { view }: QueryContext,
  principal: Parameters<typeof access.granted>[1] & { readonly kind: 'identity' },
): Generator<undefined, OwnAccess | null> {
  const found = access.granted(view, principal);
  const { grants } = 'next' in found ? yield* found : found;
  const record = yield* access.userNode(view, principal.identityId);
  if (record === undefined || grants === undefined || grants.caller.home !== record.path) return null;
  const { groups, roles } = grants.caller;
  const { id, nodeType, path } = record;
  const properties = yield* record.decode();
  return {
    roles,
    groups,
    home: path,
    userNode: { id, path, nodeType, workspace: ACCESS_WORKSPACE, properties },
  };
}
