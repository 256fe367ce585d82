import type { RecordAdminAction } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/**
 * Records in the audit trail of the caller's tenant what an administrator has just done. Changes of accounts, keys and the
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
  const command: RecordAdminAction = { type: 'RecordAdminAction', ...action };
  try {
    await router.command(actorId(request.principal.tenant, 'tenant'), command, { caller: callerOf(request) });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.entry.status < 500) throw error;
  }
}
