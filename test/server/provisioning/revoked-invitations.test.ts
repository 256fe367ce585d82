import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CreateNode, PatchNode } from '#actors/branch/messages.ts';
import type { UserNode } from '#actors/branch/user-messages.ts';
import type { Identity, Registered } from '#actors/identities/messages.ts';
import type { AccessEntry, AccessPage, AccessStatus } from '#actors/identities/people-messages.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { RepositoryMembers } from '#protocols/rest/people/repository-members.ts';
import { TenantPeople } from '#protocols/rest/people/tenant-people.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberRepositoryUsers } from '#server/provisioning/repository-users.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const tenant = 'default';
const identities = 'default/identities';

/** More messages than the use of an invitation takes. */
const MESSAGES_MAX = 40;

let fixture: HostFixture;
let ann: Identity;
/** The repository of a test. */
let site: string;

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
  await makeSite('site');
});

async function makeSite(name: string): Promise<void> {
  site = name;
  const { host } = fixture;
  const settings = { defaultBranch: 'main', defaultLanguage: 'en', supportedLanguages: [] };
  await new MemberProvisioning(host, host, systemRandom).createRepository(
    tenant,
    { repositoryId: site, description: null, ...settings },
    { caller: callers.admin },
  );
}

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

async function invite(role = 'editor'): Promise<AccessEntry> {
  const command = {
    type: 'InviteToRepository',
    repository: await members().partOf(tenant, site),
    email: ann.email,
    roles: [role],
    message: null,
    days: 7,
    by: 'boss',
  };
  return await fixture.command(identities, command);
}

async function userNodes(): Promise<readonly UserNode[]> {
  const { actor } = await directory().besideContent(tenant, site, 'main');
  const query = { type: 'FindUsers', by: { userId: ann.identity_id } };
  return await fixture.query<Promise<readonly UserNode[]>>(actor, query);
}

/** The status of the node, and whether the person has the role of the invitations. */
async function standing(): Promise<readonly unknown[]> {
  return (await userNodes()).map(({ roles, status }) => [status, roles.includes('editor')]);
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

/** Roles of each node of the person, besides that of everybody. */
async function rolesGiven(): Promise<readonly (readonly string[])[]> {
  return (await userNodes()).map(({ roles }) => roles.filter((role) => role !== 'authenticated_user'));
}

/** The roles of the invitations with a status. */
async function listed(status: AccessStatus): Promise<readonly (readonly string[])[]> {
  const repository = await members().partOf(tenant, site);
  const query = { type: 'ListAccess', repository, status, offset: 0, limit: 100 };
  const { entries } = await fixture.query<Promise<AccessPage>>(identities, query);
  return entries.map(({ requested_roles: roles }) => roles);
}

/**
 * Logs an invited person in, and has something happen before a message of the login: before each one in turn, each time in
 * another repository.
 */
async function atEachMessage(
  happens: (invited: AccessEntry) => Promise<unknown>,
  check: (at: number) => Promise<void>,
): Promise<void> {
  for (let at = 1; ; at += 1) {
    expect(at).toBeLessThan(MESSAGES_MAX);
    await makeSite(`site-${at}`);
    const invited = await invite();
    const { sent, users } = logins(at, () => happens(invited));
    await users.findOrMake(tenant, site, ann).catch((error: Error) => expect(error.message).toBe('died'));
    if (sent() < at) break;
    await check(at);
  }
}

const logIn = () => logins().users.findOrMake(tenant, site, ann);

describe('an invitation that is used', () => {
  it('is the one that was replaced, or the new one, but never what is neither [ACCESSREQ-010]', async () => {
    const ends = new Set<string>();
    await atEachMessage(
      () => invite('author'),
      async (at) => {
        const [roles] = await rolesGiven();
        ends.add(String(roles));
        if (String(roles) === 'editor') {
          // It was taken before, so the new one is for the next login.
          expect([at, await listed('invited')]).toEqual([at, [['author']]]);
          await logIn();
          expect([at, await rolesGiven()]).toEqual([at, [['editor', 'author']]]);
        } else expect([at, roles]).toEqual([at, ['author']]);
        expect([at, await listed('invited'), await listed('active')]).toEqual([at, [], [['author']]]);
      },
    );
    expect([...ends].sort()).toEqual(['author', 'editor']);
  });

  it('is not withdrawn any more, and one that was withdrawn is not used [ACCESSREQ-010]', async () => {
    const ends = new Set<string>();
    let end = '';
    await atEachMessage(
      async ({ id, repository }) => {
        const deny = { type: 'DecideAccess', repository, id, decision: 'denied', reason: null, by: 'boss' };
        end = await fixture.command(identities, deny).then(
          () => 'withdrawn',
          (error: ServiceError) => error.code,
        );
      },
      async (at) => {
        ends.add(end);
        // Whoever is not invited gets the default role here.
        const role = end === 'withdrawn' ? 'viewer' : 'editor';
        await logIn();
        expect([at, end, await rolesGiven()]).toEqual([at, end, [[role]]]);
        expect([at, await listed('invited')]).toEqual([at, []]);
      },
    );
    expect([...ends].sort()).toEqual(['CONFLICT', 'withdrawn']);
  });

  it('is used once by two logins of the person, which both find its node', async () => {
    let other: unknown;
    await atEachMessage(
      async () => {
        other = await logIn();
      },
      async (at) => {
        expect([at, await rolesGiven()]).toEqual([at, [['editor']]]);
        expect([at, other]).toMatchObject([at, { path: '/users/internal/ann-at-example-org' }]);
        expect([at, await listed('invited'), await listed('active')]).toEqual([at, [], [['editor']]]);
      },
    );
    await makeSite('crowd');
    await invite();
    const found = await Promise.all(Array.from({ length: 4 }, logIn));
    expect(found.map((user) => user?.path)).toEqual(
      Array.from({ length: 4 }, () => '/users/internal/ann-at-example-org'),
    );
    expect([await rolesGiven(), await listed('active')]).toEqual([[['editor']], [['editor']]]);
  });

  it('is not lost with a login that dies', async () => {
    await atEachMessage(
      () => Promise.reject(new Error('died')),
      async (at) => {
        await logIn();
        expect([at, await rolesGiven()]).toEqual([at, [['editor']]]);
        expect([at, await listed('invited'), await listed('active')]).toEqual([at, [], [['editor']]]);
      },
    );
  });
});

it('access that is granted while the person logs in for the first time has its roles', async () => {
  for (let at = 1; ; at += 1) {
    expect(at).toBeLessThan(MESSAGES_MAX);
    await makeSite(`site-${at}`);
    const { sent, users } = logins(at, logIn);
    await users.admit(tenant, site, ann, ['editor'], 'boss');
    if (sent() < at) break;
    const [roles] = await rolesGiven();
    expect([at, roles]).toEqual([at, expect.arrayContaining(['editor'])]);
  }
});

/** A command to branch `main` of the repository. */
async function change(command: PatchNode | CreateNode): Promise<unknown> {
  const { actor } = await directory().besideContent(tenant, site, 'main');
  return await fixture.command(actor, command);
}

describe('a person who is let in without a decision', () => {
  const enter = (users = logins().users): Promise<boolean> =>
    users.admitOpenly(tenant, site, ann, 'the person');

  it('is in, the first time and again', async () => {
    expect([await enter(), await enter()]).toEqual([true, true]);
    expect(await standing()).toEqual([['active', false]]);
  });

  it('stays out once access was revoked, also when the account was switched off and on since', async () => {
    await enter();
    await revoke();
    expect(await enter()).toBe(false);
    const [node] = await userNodes();
    for (const status of ['inactive', 'active'])
      await change({
        type: 'PatchNode',
        workspace: 'svc:access_control',
        place: { id: (node as UserNode).id },
        properties: { status },
      });
    expect(await enter()).toBe(false);
    expect(await userNodes()).toMatchObject([{ canLogin: false }]);
    // A decision lets the person in again.
    await grant();
    expect(await enter()).toBe(true);
  });

  it('stays out when access is revoked meanwhile, wherever that comes in between', async () => {
    for (let at = 1; ; at += 1) {
      expect(at).toBeLessThan(MESSAGES_MAX);
      await grant();
      const { sent, users } = logins(at, revoke);
      await enter(users);
      if (sent() < at) break;
      expect([at, await userNodes()]).toMatchObject([at, [{ status: 'inactive', canLogin: false }]]);
    }
  });
});

describe('a node with the address of a person', () => {
  /** Prepared by an administrator for the owner of the address. */
  async function prepare(name = 'prepared', properties: object = {}): Promise<string> {
    await change({
      type: 'CreateNode',
      workspace: 'svc:access_control',
      parentPath: '/users/internal',
      deep: true,
      node: {
        name,
        nodeType: 'svc:User',
        properties: { email: ann.email, display_name: 'Prepared', roles: ['editor'], ...properties },
      },
    });
    return `/users/internal/${name}`;
  }

  it('is not given by a grant to somebody who has not proven the address', async () => {
    await prepare();
    const unproven = { ...ann, email_verified: false };
    const conflict = expect.objectContaining({ code: 'CONFLICT' });
    await expect(logins().users.admit(tenant, site, unproven, [], 'boss')).rejects.toEqual(conflict);
    await expect(logins().users.requireAdmissible(tenant, site, unproven)).rejects.toEqual(conflict);
    expect(await userNodes()).toEqual([]);
    await logins().users.requireAdmissible(tenant, site, ann);
    await grant();
    expect(await standing()).toEqual([['active', true]]);
  });

  it('is claimed by a login only as it was read', async () => {
    for (let at = 1; ; at += 1) {
      expect(at).toBeLessThan(MESSAGES_MAX);
      await makeSite(`claimed-${at}`);
      const path = await prepare();
      const { sent, users } = logins(at, async () => {
        const taken = { user_id: 'somebody-else' };
        await change({
          type: 'PatchNode',
          workspace: 'svc:access_control',
          place: { path },
          properties: taken,
        }).catch(() => {});
      });
      await users.findOrMake(tenant, site, ann).catch(() => {});
      if (sent() < at) break;
      // Whoever came last has it, and never the login after the other.
      expect([at, await userNodes()]).toEqual([at, []]);
    }
  });

  it('in the home of a user is linked to nobody', async () => {
    const path = await prepare('host', { email: 'host@example.org' });
    await change({
      type: 'CreateNode',
      workspace: 'svc:access_control',
      parentPath: `${path}/below`,
      deep: true,
      node: {
        name: 'inner',
        nodeType: 'svc:User',
        properties: { email: 'inner@example.org', display_name: 'Inner', roles: [] },
      },
    });
    await expect(
      members().link(tenant, site, `${path}/below/inner`, ann.identity_id, 'boss'),
    ).rejects.toMatchObject({ code: 'USER_NODE_NOT_FOUND' });
    expect(await userNodes()).toEqual([]);
  });

  it('is never one of two that are linked to a person at once', async () => {
    const [one, two] = [
      await prepare('one', { email: 'one@example.org' }),
      await prepare('two', { email: 'two@example.org' }),
    ];
    const link = (path: string) =>
      members()
        .link(tenant, site, path, ann.identity_id, 'boss')
        .then(
          () => 'linked',
          ({ code }: ServiceError) => code,
        );
    const outcomes = await Promise.all([link(one), link(two)]);
    const linked = outcomes.filter((outcome) => outcome === 'linked').length;
    expect(linked).toBeLessThan(2);
    expect(await userNodes()).toHaveLength(linked);
    expect(outcomes.filter((outcome) => outcome !== 'linked')).toEqual(
      Array.from({ length: 2 - linked }, () => 'IDENTITY_ALREADY_LINKED'),
    );
  });
});
