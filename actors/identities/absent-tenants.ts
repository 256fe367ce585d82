import { defaultAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { emailKeyOf, parseEmail } from '#runtime/access/identity/email-address.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { CountAbsentLink, CountAbsentLogin, FindAbsentLock } from './absent-messages.ts';
import type { LinkRequested } from './link-messages.ts';
import { count, type CountedRequests, ofAddress, ofClient, requireRoom } from './link-requests.ts';
import { LoginAttempts } from './login-attempts.ts';
import { requirePlace, secondsOf } from './logins.ts';
import type { FailedLogin } from './messages.ts';

/** @see absent-messages.ts, FindAbsentLock */
export function findAbsentLock(
  reader: TableReader,
  { email, place, tenant }: FindAbsentLock,
  nowMs: number,
): number {
  const bounded = requirePlace(place);
  const key = emailKeyOf(email);
  if (key === undefined) return 0;
  const attempts = new LoginAttempts(reader, keyIn(tenant, key), false, nowMs);
  return secondsOf(attempts.lockedMs(bounded, defaultAuthConfiguration));
}

/** @see absent-messages.ts, CountAbsentLogin */
export function countAbsentLogin(turn: Turn, { email, place, tenant }: CountAbsentLogin): FailedLogin {
  const bounded = requirePlace(place);
  const key = emailKeyOf(email);
  if (key === undefined) return { outcome: 'counted', retryAfterSeconds: 0 };
  const attempts = new LoginAttempts(turn, keyIn(tenant, key), false, turn.wallMs);
  const lockedMs = attempts.lockedMs(bounded, defaultAuthConfiguration);
  if (lockedMs > 0) return { outcome: 'locked', retryAfterSeconds: secondsOf(lockedMs) };
  attempts.failed(turn, bounded, defaultAuthConfiguration);
  return { outcome: 'counted', retryAfterSeconds: 0 };
}

/** @see absent-messages.ts, CountAbsentLink */
export function countAbsentLink(turn: Turn, { email, place, tenant }: CountAbsentLink): LinkRequested {
  const { key } = parseEmail(email);
  // Not counted with the clients of the tenant: names of tenants are endless, and theirs would be forgotten.
  const subjects: readonly CountedRequests[] = [
    { ...ofAddress(keyIn(tenant, key)), kind: 'other-requests' },
    { ...ofClient(place), kind: 'other-requests' },
  ];
  for (const subject of subjects) requireRoom(turn, subject);
  for (const subject of subjects) count(turn, subject);
  return { minutes: defaultAuthConfiguration.magic_link.token_ttl_minutes };
}

/**
 * No address of the tenant of the actor has this key, because none has a control character. What was counted for that tenant
 * while it had no identities counts on.
 */
function keyIn(tenant: string, emailKey: string): string {
  return tenant === SYSTEM_TENANT ? emailKey : `${tenant}\0${emailKey}`;
}
