import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HostFixture } from '#test/support/host-fixture.ts';

let fixture: HostFixture;
let identities: MemberIdentities;

beforeEach(async () => {
  fixture = await HostFixture.open();
  const { host } = fixture;
  identities = new MemberIdentities(host, host);
  await new MemberProvisioning(host, host, systemRandom).bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
});

afterEach(() => fixture.close());

it('makes the identities of a tenant once, however many ask for them', async () => {
  expect(await fixture.host.exists('default/identities')).toBe(false);
  const made = await Promise.all(Array.from({ length: 4 }, () => identities.createIdentities('default')));
  expect(new Set(made)).toEqual(new Set(['default/identities']));
  const register = { type: 'RegisterIdentity', email: 'ann@example.org', passwordHash: null } as const;
  await fixture.command('default/identities', register);
  await identities.createIdentities('default');
  await expect(fixture.command('default/identities', register)).rejects.toMatchObject({
    code: 'EMAIL_EXISTS',
  });
});

it('makes none for a tenant that is not registered', async () => {
  for (const tenant of ['acme', 'default/blog', '..'])
    await expect(identities.createIdentities(tenant)).rejects.toMatchObject({ code: 'TENANT_NOT_FOUND' });
  expect(await fixture.host.namesUnder('acme')).toEqual([]);
});
