import { firstAdmin } from '#server/registry/first-admin.ts';
import type { MemberEnvironment } from './member.ts';
import type { MemberServices } from './open-services.ts';

/** Creates the system tenant with its first account if there is none, and completes tenants whose creation began. */
export async function bootstrap(
  { log, options, print, random }: MemberEnvironment,
  { hasher, provisioning }: MemberServices,
): Promise<void> {
  const { adminPassword } = options.server;
  const firstLines: string[] = [];
  const isNew = await provisioning.bootstrap(() =>
    firstAdmin(adminPassword, hasher, random, (text) => firstLines.push(text)),
  );
  // Only now: of several members that start at once one creates the account, and the passwords of the others are
  // invalid.
  if (isNew) {
    log.info('first administrator created');
    for (const line of firstLines) print(line);
  } else if (adminPassword !== undefined)
    log.warn(
      'SVC_ADMIN_PASSWORD changes nothing: the account admin exists and keeps its password; unset the variable, and set another password with: npm run reset-password',
    );
  for (const tenant of await provisioning.finishTenants())
    log.warn('unfinished creation of a tenant completed', { tenant });
}

/** Removes the remains of interrupted creations and removals. Only for a member that has all actors itself. */
export async function removeInterrupted(
  { log }: MemberEnvironment,
  { provisioning }: MemberServices,
): Promise<void> {
  const onFailure = (owner: string, error: unknown): void =>
    log.error('leftover files kept: the registry that could list them is not available', { owner, error });
  const onUnread = (path: string, error: unknown): void =>
    log.warn(
      'intent files cannot be read: give the user of the server the right to read this path, or move it out of the data directory',
      { path, error },
    );
  for (const leftover of await provisioning.sweep(onFailure, onUnread))
    log.warn('leftover files of an unfinished creation or removal removed', { leftover });
}
