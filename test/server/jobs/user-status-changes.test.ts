import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UserNode } from '#actors/branch/user-messages.ts';
import type { Registered } from '#actors/identities/messages.ts';
import type { StatusChange } from '#actors/identities/people-messages.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { UserStatusChanges } from '#server/jobs/user-status-changes.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const identities = 'default/identities';
const repositories = ['a', 'b', 'c', 'd', 'e'];

/** What happens to a message before it is sent; it may throw. */
type Before = (actor: string, type: string) => void;

let fixture: HostFixture;
let ann: string;
let ben: string;

beforeEach(async () => {
  fixture = await HostFixture.open();
  const { host } = fixture;
  const provisioning = new MemberProvisioning(host, host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  await new MemberIdentities(host, host).createIdentities('default');
  ann = await register('ann');
  ben = await register('ben');
  for (const repositoryId of repositories) {
    const settings = { defaultBranch: 'main', defaultLanguage: 'en', supportedLanguages: [] };
    await provisioning.createRepository(
      'default',
      { repositoryId, description: null, ...settings },
      { caller: callers.admin },
    );
    // Not everybody is in every repository.
    if (repositoryId !== 'c') await addUser(repositoryId, 'ann', ann);
    await addUser(repositoryId, 'ben', ben);
  }
});

afterEach(() => fixture.close());

async function register(name: string): Promise<string> {
  const command = { type: 'RegisterIdentity', email: `${name}@example.org`, passwordHash: null };
  return (await fixture.command<Registered>(identities, command)).identity.identity_id;
}

async function branchOf(repository: string): Promise<string> {
  return (await directory().besideContent('default', repository, 'main')).actor;
}

function directory(): RepositoryDirectory {
  const { host } = fixture;
  return new RepositoryDirectory(host, new LazyUpgrades(host, systemClock, silentLog));
}

async function addUser(repository: string, name: string, userId: string): Promise<void> {
  const properties = { user_id: userId, email: `${name}@example.org`, display_name: name };
  await fixture.command(await branchOf(repository), {
    type: 'CreateNode',
    workspace: 'svc:access_control',
    parentPath: '/users/internal',
    deep: true,
    node: { name, nodeType: 'svc:User', properties },
  } as never);
}

/** Carries changes out over a router. */
function carrier(before: Before = () => undefined): UserStatusChanges {
  const { host } = fixture;
  const router: Router = {
    query(actor, query, caller) {
      before(actor, (query as { readonly type: string }).type);
      return host.query(actor, query, caller);
    },
    async command(actor, command, delivery) {
      before(actor, (command as { readonly type: string }).type);
      return await host.command(actor, command, delivery);
    },
  };
  return new UserStatusChanges({
    router,
    directory: directory(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    repositoriesPerNote: 2,
  });
}

const activate = (isActive: boolean): Promise<unknown> =>
  fixture.command(identities, {
    type: 'UpdateIdentity',
    identityId: ann,
    changes: { is_active: isActive },
  } as never);

const changes = (): readonly StatusChange[] => fixture.query(identities, { type: 'ListStatusChanges' });

/** The statuses of the nodes of an identity, by repository. */
async function statuses(userId = ann): Promise<readonly (string | null)[]> {
  const found: (string | null)[] = [];
  for (const repository of repositories) {
    const query = { type: 'FindUsers', by: { userId } };
    const nodes = await fixture.query<readonly UserNode[]>(await branchOf(repository), query);
    found.push(nodes[0]?.status ?? null);
  }
  return found;
}

const inAll = (status: string): readonly (string | null)[] => [status, status, null, status, status];

describe('a change of the status of a person', () => {
  it('reaches the node in every repository, and nobody else [IDADMIN-005, IDADMIN-006]', async () => {
    const carried = carrier();
    for (const [isActive, status] of [
      [false, 'inactive'],
      [true, 'active'],
    ] as const) {
      await activate(isActive);
      carried.notice(identities);
      await carried.settled();
      expect([await statuses(), changes()]).toEqual([inAll(status), []]);
    }
    await fixture.command(identities, { type: 'DeleteIdentity', identityId: ann } as never);
    carried.notice(identities);
    await carried.settled();
    expect([await statuses(), changes()]).toEqual([inAll('deleted'), []]);
    expect(await statuses(ben)).toEqual(repositories.map(() => 'active'));
  });

  it('goes on where it was after a crash, and does nothing twice [IDADMIN-007]', async () => {
    await activate(false);
    let patches = 0;
    const first = carrier((_, type) => {
      if (type !== 'PatchNode') return;
      patches += 1;
      // With the third repository the process ends.
      if (patches === 3) throw new Error('crashed');
      if (patches === 2) first.close();
    });
    first.notice(identities);
    await first.settled();
    expect(await statuses()).toEqual(['inactive', 'inactive', null, 'active', 'active']);
    expect(changes()).toMatchObject([{ done: 2, after: expect.stringMatching(/^b~/) }]);
    await fixture.reopen();
    const written: string[] = [];
    const second = carrier((actor, type) => {
      if (type === 'PatchNode') written.push(actor.split('/')[1]?.split('~')[0] as string);
    });
    await second.takeUp(() => false);
    await second.settled();
    expect(written).toEqual([]);
    await second.takeUp((actor) => actor === identities);
    await second.settled();
    expect(written).toEqual(['d', 'e']);
    expect([await statuses(), changes()]).toEqual([inAll('inactive'), []]);
  });

  it('is held up by no repository that cannot be reached, which is tried again [IDADMIN-007]', async () => {
    await activate(false);
    const broken = await branchOf('b');
    let failures = 0;
    const order: string[] = [];
    const carried = carrier((actor, type) => {
      if (type === 'EndStatusChange') order.push(type);
      if (type !== 'PatchNode') return;
      if (actor === broken && failures < 1) {
        failures += 1;
        throw new Error('no owner');
      }
      order.push(actor.split('/')[1]?.split('~')[0] as string);
    });
    carried.notice(identities);
    await carried.settled();
    expect(order).toEqual(['a', 'd', 'e', 'b', 'EndStatusChange']);
    expect([await statuses(), changes()]).toEqual([inAll('inactive'), []]);
  });

  it('gives way to a newer one that comes while it is carried out', async () => {
    await activate(false);
    let activated: Promise<unknown> | undefined;
    const carried = carrier((_, type) => {
      if (type !== 'PatchNode' || activated !== undefined) return;
      activated = activate(true);
      carried.notice(identities);
    });
    carried.notice(identities);
    await carried.settled();
    await activated;
    expect([await statuses(), changes()]).toEqual([inAll('active'), []]);
  });

  it('does not give back what was revoked, nor a node of somebody who was removed', async () => {
    const actor = await branchOf('a');
    const patch = (properties: object): Promise<unknown> =>
      fixture.command(actor, {
        type: 'PatchNode',
        workspace: 'svc:access_control',
        place: { path: '/users/internal/ann' },
        properties,
      } as never);
    await patch({ status: 'inactive', can_login: false });
    await activate(false);
    await activate(true);
    const carried = carrier();
    carried.notice(identities);
    await carried.settled();
    const read = fixture.query<{ readonly value: unknown }>(actor, {
      type: 'ReadProperty',
      workspace: 'svc:access_control',
      place: { path: '/users/internal/ann' },
      property: ['can_login'],
    } as never);
    expect([(await statuses())[0], read.value]).toEqual(['active', false]);
    await patch({ status: 'deleted' });
    await activate(false);
    carried.notice(identities);
    await carried.settled();
    expect((await statuses())[0]).toBe('deleted');
  });
});
