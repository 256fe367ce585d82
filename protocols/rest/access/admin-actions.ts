import type { RecordAdminAction } from '#actors/tenant/messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { AdminPrincipal, ImpersonatingPrincipal, Principal } from '#runtime/access/principal.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
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

/**
 * Records in the audit trail of the caller's tenant what an administrator, or an identity that decides, has just done. Changes of accounts, keys and the
 * registry of repositories record themselves, together with the change; this is for what other actors have changed. It
 * is done already, so a trail that cannot be written at present, for example on a full disk, is no error.
 *
 * @see docs/interface/accounts.md#audit-trail
 */
export async function recordAdminAction(
  { router }: Pick<RestContext, 'router'>,
  request: RestRequest,
  action: Omit<RecordAdminAction, 'type'>,
): Promise<void> {
  const { principal } = request;
  const details = { ...action.details, ...identityDetails(principal) };
  const by = principal.kind === 'identity' ? { identityId: principal.identityId } : {};
  const command: RecordAdminAction = { type: 'RecordAdminAction', ...action, details, ...by };
  try {
    const sender = administrativeCaller(request);
    const caller =
      principal.kind === 'impersonating' ? { ...sender, ...administratorBehind(principal) } : sender;
    await router.command(actorId(principal.tenant, 'tenant'), command, { caller });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.entry.status < 500) throw error;
  }
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
function administratorBehind({
  tenant,
  userId,
  username,
}: ImpersonatingPrincipal): Pick<Caller, 'principal' | 'policy'> {
  const principal: AdminPrincipal = { kind: 'admin', tenant, userId, username, accessFlags: noFlags };
  return { principal, policy: policyFor(principal, tenant) };
}

/** What tells in an entry which identity acted, because the engine has sent the command, or as whom; nothing for other callers. */
export function identityDetails(principal: Principal): JsonObject {
  if (principal.kind === 'impersonating') return { impersonating: principal.user };
  return principal.kind === 'identity'
    ? { identity_id: principal.identityId, identity_email: principal.email }
    : {};
}
