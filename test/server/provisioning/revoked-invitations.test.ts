import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UserNode } from '#actors/branch/user-messages.ts';
import type { Identity, Registered } from '#actors/identities/messages.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { RepositoryMembers } from '#protocols/rest/people/repository-members.ts';
import { TenantPeople } from '#protocols/rest/people/tenant-people.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberRepositoryUsers } from '#server/provisioning/repository-users.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const tenant = 'default';
const identities = 'default/identities';
const site = 'site';

/** More messages than the use of an invitation takes. */
const MESSAGES_MAX = 40;

let fixture: HostFixture;
let ann: Identity;

beforeEach(async () => {
  fixture = await HostFixture.open();
  const { host } = fixture;
  const provisioning = new MemberProvisioning(host, host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  await new MemberIdentities(host, host).createIdentities(tenant);
  const register = { type: 'RegisterIdentity', email: 'ann@example.org', passwordHash: null };
  const { identity } = await fixture.command<Registered>(identities, register);
  const changes = { email_verified: true };
  await fixture.command(identities, {
    type: 'UpdateIdentity',
    identityId: identity.identity_id,
    changes,
  } as never);
  ann = { ...identity, ...changes };
  const settings = { defaultBranch: 'main', defaultLanguage: 'en', supportedLanguages: [] };
  await provisioning.createRepository(
    tenant,
    { repositoryId: site, description: null, ...settings },
    { caller: callers.admin },
  );
});

afterEach(() => fixture.close());

function directory(): RepositoryDirectory {
  const { host } = fixture;
  return new RepositoryDirectory(host, new LazyUpgrades(host, systemClock, silentLog));
}

/** Logins; something happens before one of their messages. */
function logins(
  at = Number.POSITIVE_INFINITY,
  before: () => Promise<unknown> = () => Promise.resolve(),
): { readonly users: MemberRepositoryUsers; readonly sent: () => number } {
  const { host } = fixture;
  let sent = 0;
  const pass = async (): Promise<void> => {
    sent += 1;
    if (sent === at) await before();
  };
  const router: Router = {
    async query(actor, query, caller) {
      await pass();
      return await host.query(actor, query, caller);
    },
    async command(actor, command, delivery) {
      await pass();
      return await host.command(actor, command, delivery);
    },
  };
  return {
    users: new MemberRepositoryUsers(router, directory(), new TenantPeople(router)),
    sent: () => sent,
  };
}

function members(): RepositoryMembers {
  return new RepositoryMembers(fixture.host, directory(), logins().users);
}

const revoke = (): Promise<void> => {
  const commit = { message: 'Access revoked', actor: 'boss' };
  return members().suspend(tenant, site, ann.identity_id, commit, (part) =>
    new TenantPeople(fixture.host).endInvitation(tenant, part, ann.identity_id, null, 'boss'),
  );
};

async function invite(): Promise<void> {
  await fixture.command(identities, {
    type: 'InviteToRepository',
    repository: await members().partOf(tenant, site),
    email: ann.email,
    roles: ['editor'],
    message: null,
    days: 7,
    by: 'boss',
  } as never);
}

/** The status of the node, and whether the person has the role of the invitations. */
async function standing(): Promise<readonly unknown[]> {
  const { actor } = await directory().besideContent(tenant, site, 'main');
  const query = { type: 'FindUsers', by: { userId: ann.identity_id } };
  const nodes = await fixture.query<Promise<readonly UserNode[]>>(actor, query);
  return nodes.map(({ roles, status }) => [status, roles.includes('editor')]);
}

const grant = (): Promise<void> => members().admit(tenant, site, ann, [], 'boss');

describe('an invitation that is used while access is revoked', () => {
  it('gives no access after the revocation, wherever that comes in between [ACCESSREQ-006]', async () => {
    await grant();
    for (let at = 1; ; at += 1) {
      expect(at).toBeLessThan(MESSAGES_MAX);
      await grant();
      await invite();
      const { sent, users } = logins(at, revoke);
      await users.findOrMake(tenant, site, ann);
      if (sent() < at) break;
      expect([at, await standing()]).toEqual([at, [['inactive', expect.any(Boolean)]]]);
      // Nor does the next login.
      await logins().users.findOrMake(tenant, site, ann);
      expect([at, await standing()]).toEqual([at, [['inactive', expect.any(Boolean)]]]);
    }
  });

  it('gives access when it was made again after the revocation [ACCESSREQ-007]', async () => {
    for (let at = 1; ; at += 1) {
      expect(at).toBeLessThan(MESSAGES_MAX);
      await grant();
      await revoke();
      await invite();
      const { sent, users } = logins(at, async () => {
        await revoke();
        await invite();
      });
      await users.findOrMake(tenant, site, ann);
      if (sent() < at) break;
      await logins().users.findOrMake(tenant, site, ann);
      expect([at, await standing()]).toEqual([at, [['active', true]]]);
    }
  });
});
