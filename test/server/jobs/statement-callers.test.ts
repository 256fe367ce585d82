import { expect, it } from 'vitest';
import type { Principal } from '#runtime/access/principal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { StatementCallers } from '#server/jobs/statement-callers.ts';
import { adminOf } from '#test/support/host-fixture.ts';

const job = { signal: new AbortController().signal, tenant: 'default' };

/** Every account has the access it had, and anonymous access is as it is told. */
function callers(isAnonymousEnabled = false): StatementCallers {
  return new StatementCallers({
    admins: { present: (principal) => Promise.resolve(adminOf(principal.tenant, principal.userId)) },
    identities: { present: () => Promise.resolve() },
    anonymous: { isEnabled: () => isAnonymousEnabled },
  });
}

it('a caller of another tenant has no access: a repository was restored elsewhere with its jobs', async () => {
  const elsewhere: readonly Principal[] = [
    adminOf('other'),
    { kind: 'identity', tenant: 'other', identityId: 'ada', sessionId: 's', email: 'ada@example.org' },
    { kind: 'system', tenant: 'other' },
  ];
  for (const principal of elsewhere)
    await expect(callers().callerOf(job, principal)).rejects.toMatchObject({ code: 'TENANT_MISMATCH' });
});

it('a caller without access any more has none, also an administrator who acts as a user', async () => {
  const refuse = (): Promise<never> => Promise.reject(new ServiceError('ACCOUNT_DISABLED'));
  const without = new StatementCallers({
    admins: { present: refuse },
    identities: { present: refuse },
    anonymous: { isEnabled: () => true },
  });
  const admin = adminOf('default');
  const { tenant, userId, username } = admin;
  const refused: readonly Principal[] = [
    admin,
    { kind: 'impersonating', tenant, userId, username, user: '/users/ada' },
    { kind: 'identity', tenant, identityId: 'ada', sessionId: 's', email: 'ada@example.org' },
  ];
  for (const principal of refused)
    await expect(without.callerOf(job, principal)).rejects.toMatchObject({ code: 'ACCOUNT_DISABLED' });
});

it('an administrator has the flags of the account, and its permissions', async () => {
  const { policy, principal, signal } = await callers().callerOf(job, {
    ...adminOf('default'),
    username: 'old',
  });
  expect(principal).toEqual(adminOf('default'));
  expect(policy.unrestricted).toBe(true);
  expect(signal).toBe(job.signal);
});

it('an anonymous caller has the access that anonymous callers have at present', async () => {
  for (const isEnabled of [true, false]) {
    const anonymous = { kind: 'anonymous', tenant: 'default', isEnabled: !isEnabled } as const;
    const { policy, principal } = await callers(isEnabled).callerOf(job, anonymous);
    expect(principal).toEqual({ ...anonymous, isEnabled });
    expect(policy.unrestricted).toBe(false);
  }
});
