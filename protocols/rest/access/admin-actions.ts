import { createHash } from 'node:crypto';
import {
  AUDIT_DETAIL_CHARACTERS_MAX,
  type RecordAdminAction,
  type RecordAdminActions,
} from '#actors/tenant/messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import {
  type AdminPrincipal,
  type ImpersonatingPrincipal,
  type Principal,
  principalKey,
} from '#runtime/access/principal.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { shortDetails } from '#runtime/content/values/short-details.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/** Flags open interfaces, and nothing that is sent within the server depends on them. */
const noFlags = Object.freeze({
  console_login: false,
  cli_access: false,
  api_access: false,
  pgwire_access: false,
  can_impersonate: false,
});

/** What was done, for the audit trail. */
export type NotedAdminAction = RecordAdminActions['actions'][number];

/**
 * Records in the audit trail of the caller's tenant what an administrator, or an identity that decides, has just done. Changes of accounts, keys and the
 * registry of repositories record themselves, together with the change; this is for what other actors have changed. It
 * is done already, so a trail that refuses the entry, or cannot be written at present, for example on a full disk, is no error.
 *
 * @param change the key under which the change was made, if a repetition of the request does not make it again: then its
 *   entry is not made again either
 * @see docs/interface/accounts.md#audit-trail
 */
export async function recordAdminAction(
  context: Pick<RestContext, 'router'>,
  request: RestRequest,
  action: NotedAdminAction,
  change?: IdempotencyKey,
): Promise<void> {
  const name = change && ['request', principalKey(request.principal), change.key, change.requestHash];
  await recordAdminActions(context, request, [action], name);
}

/**
 * As {@link recordAdminAction}, for several that were done together.
 *
 * @param change names the change among all of the tenant, for ever; absent: the request cannot be repeated without making
 *   another one
 */
export async function recordAdminActions(
  { router }: Pick<RestContext, 'router'>,
  request: RestRequest,
  actions: readonly NotedAdminAction[],
  change: readonly string[] | undefined,
): Promise<void> {
  const { principal } = request;
  const tenant = actorId(principal.tenant, 'tenant');
  const command = recordingOf(principal, actions);
  const caller = recorderOf(principal);
  const idempotency = change && { key: keyOfEntries(change), requestHash: '' };
  const refusalOf = async (delivery: Delivery): Promise<ServiceError | undefined> => {
    try {
      await router.command(tenant, command, delivery);
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
  };
  const refusal = await refusalOf(idempotency === undefined ? { caller } : { caller, idempotency });
  // The tenant keeps no more keys: an entry twice is better than none.
  if (idempotency !== undefined && refusal?.code === 'RATE_LIMITED') await refusalOf({ caller });
}

function recordingOf(
  principal: Principal,
  given: readonly NotedAdminAction[],
): RecordAdminAction | RecordAdminActions {
  const by = principal.kind === 'identity' ? { identityId: principal.identityId } : {};
  const actions = given.map((action) => {
    const details = { ...action.details, ...identityDetails(principal) };
    // The tenant would do the same, and the command might be too large until then.
    return { ...action, details: shortDetails(details, AUDIT_DETAIL_CHARACTERS_MAX) };
  });
  const [first, ...more] = actions;
  assert(first !== undefined, 'something was done');
  // Members of an older version know the command for one.
  return more.length === 0
    ? { type: 'RecordAdminAction', ...first, ...by }
    : { type: 'RecordAdminActions', actions, ...by };
}

/** Who sends the entries. The change is made, so they are recorded also for a client that waits no longer. */
function recorderOf(principal: Principal): Caller {
  const { tenant } = principal;
  if (principal.kind === 'identity') return engineCaller(tenant);
  const acting = principal.kind === 'impersonating' ? administratorBehind(principal) : principal;
  return { principal: acting, policy: policyFor(acting, tenant) };
}

/** A key that no client can send, because it has a character that is not printable. */
function keyOfEntries(change: readonly string[]): string {
  return `\u0001entries:${createHash('sha256').update(JSON.stringify(change)).digest('base64url')}`;
}

/**
 * The sender of a command of a caller who was found to administer. The actors know nothing of administrators among
 * identities, so the engine sends their commands.
 */
export function administrativeCaller(request: RestRequest): Caller {
  const { principal } = request;
  return principal.kind === 'identity' ? engineCaller(principal.tenant) : callerOf(request);
}

/** The administrator who acts with the permissions of somebody else: the trail names who has acted. */
function administratorBehind({ tenant, userId, username }: ImpersonatingPrincipal): AdminPrincipal {
  return { kind: 'admin', tenant, userId, username, accessFlags: noFlags };
}

/** What tells in an entry which identity acted, because the engine has sent the command, or as whom; nothing for other callers. */
export function identityDetails(principal: Principal): JsonObject {
  if (principal.kind === 'impersonating') return { impersonating: principal.user };
  return principal.kind === 'identity'
    ? { identity_id: principal.identityId, identity_email: principal.email }
    : {};
}
