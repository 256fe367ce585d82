import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OwnAccess } from '#actors/branch/access-messages.ts';
import type { BranchCommand } from '#actors/branch/messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily } from '#test/support/branch-family.ts';

const ACCESS = 'svc:access_control';
const tenant = 'default';

let family: BranchFamily;

beforeEach(async () => {
  family = await BranchFamily.open();
  await write('/page', 'svc:Folder', { title: 'a' }, 'content');
});

afterEach(() => family.close());

describe('the permissions of an identity', () => {
  it('are those of the roles of its user node [ACC-007] [ACC-016]', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    expect(await sees(ann)).toBe(false);
    await user('ann', { roles: ['unknown', 'reader'] });
    expect(await sees(ann)).toBe(true);
    expect(await sees(identity('i-bob'))).toBe(false);
  });

  it('are those of its groups and of inherited roles [ACC-018]', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await role('member', [], { inherits: ['reader'] });
    await set('/roles/reader', { inherits: ['member'] });
    await write('/groups/staff', 'svc:Group', { group_id: 'staff', name: 'staff', roles: ['member'] });
    await user('ann', { groups: ['/groups/staff'] });
    expect(await sees(ann)).toBe(true);
  });

  it('are found in steps where they have many conditions', async () => {
    const many = Array.from({ length: 300 }, (_, index) => ({
      path: `/p${index}/**`,
      operations: ['read'],
      condition: `node.created_by == auth.user_id && node.title != '${index}'`,
    }));
    await role('reader', [...many, { path: '/page', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    expect(await sees(ann)).toBe(true);
    expect(await sees(ann)).toBe(true);
  });

  it('end with the next request after a role is taken away, changed or removed [ACC-008]', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    expect(await sees(ann)).toBe(true);
    await set('/users/internal/ann', { roles: [] });
    expect(await sees(ann)).toBe(false);
    await set('/users/internal/ann', { roles: ['reader'] });
    expect(await sees(ann)).toBe(true);
    await set('/roles/reader', { permissions: [] });
    expect(await sees(ann)).toBe(false);
    await set('/roles/reader', { permissions: [{ path: '**', operations: ['read'] }] });
    expect(await sees(ann)).toBe(true);
    await family.command('main', { type: 'DeleteNode', workspace: ACCESS, place: { path: '/roles/reader' } });
    expect(await sees(ann)).toBe(false);
  });

  it('decide about the answer to a write when it is repeated', async () => {
    const operations = ['create', 'read'];
    await role('writer', [{ path: '**', operations }]);
    await user('ann', { roles: ['writer'] });
    const node = { name: 'made', nodeType: 'svc:Folder', properties: { title: 'a title' } };
    const command = { type: 'CreateNode', workspace: 'content', parentPath: '/', node, deep: false } as const;
    const send = async (): Promise<string> => {
      const idempotency = { key: 'k', requestHash: 'h' };
      const delivery = { caller: ann, idempotency };
      const answer = await family.fixture.host.command(family.actor('main'), command, delivery);
      return (answer as { node: string }).node;
    };
    const first = await send();
    expect(first).toContain('a title');
    expect(await send()).toBe(first);
    await set('/roles/writer', { permissions: [{ path: '**', operations, except_fields: ['title'] }] });
    expect(await send()).not.toContain('a title');
    await set('/roles/writer', { permissions: [{ path: '**', operations }] });
    expect(await send()).toBe(first);
  });

  it('end when the user is not active or may not log in', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    for (const [off, on] of [
      [{ status: 'inactive' }, { status: 'active' }],
      [{ can_login: false }, { can_login: true }],
    ] as const) {
      await set('/users/internal/ann', off);
      expect(await sees(ann)).toBe(false);
      await set('/users/internal/ann', on);
      expect(await sees(ann)).toBe(true);
    }
  });

  it('follow a head that was moved back, and forward again', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann');
    const before = await family.head('main');
    await set('/users/internal/ann', { roles: ['reader'] });
    const after = await family.head('main');
    expect(await sees(ann)).toBe(true);
    await family.command('main', { type: 'MoveHead', revision: before });
    expect(await sees(ann)).toBe(false);
    await family.command('main', { type: 'MoveHead', revision: after });
    expect(await sees(ann)).toBe(true);
  });

  it('are none where two user nodes have its id', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    await user('ann-2', { user_id: 'i-ann', roles: ['reader'] });
    expect(await sees(ann)).toBe(false);
  });

  it('are not those of a node in the home of a user, which does not disturb the own one either', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('mal');
    const home = '/users/internal/mal';
    await write(`${home}/outbox/m`, 'svc:Message', {
      message_type: 'x',
      body: {},
      sender_id: 'x',
      status: 'pending',
    });
    await write(`${home}/outbox/m/t`, 'svc:AIThought');
    const planted = { user_id: 'i-ann', email: 'planted@example.com', display_name: 'x', roles: ['reader'] };
    await write(`${home}/outbox/m/t/u`, 'svc:User', planted);
    expect(await sees(ann)).toBe(false);
    await user('ann', { roles: ['reader'] });
    expect(await sees(ann)).toBe(true);
    await expect(read('/page', 'content', 'main', acting(`${home}/outbox/m/t/u`))).rejects.toMatchObject({
      code: 'USER_NODE_NOT_FOUND',
    });
  });

  it('do not come from a node outside of the users', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await write('/ann', 'svc:User', {
      user_id: 'i-ann',
      email: 'ann@example.com',
      display_name: 'Ann',
      roles: ['reader'],
    });
    expect(await sees(ann)).toBe(false);
  });

  it('are those of branch main on every branch', async () => {
    await role('reader', [
      { path: '**', operations: ['read'], branch_pattern: 'feature' },
      { path: '**', operations: ['read'], branch_pattern: 'old' },
    ]);
    await user('ann', { roles: ['reader'] });
    await family.fork('feature', 'main');
    await family.fork('other', 'main');
    await family.command('feature', {
      type: 'SetProperty',
      workspace: ACCESS,
      place: { path: '/users/internal/ann' },
      property: ['roles'],
      value: [],
    });
    expect([await sees(ann), await sees(ann, 'feature'), await sees(ann, 'other')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('permit no writes beyond them, and permit those they have', async () => {
    await role('writer', [
      { path: '**', operations: ['read'] },
      { path: '/mine/**', workspace: 'content', operations: ['create', 'update'] },
    ]);
    await user('ann', { roles: ['writer'] });
    await write('/mine', 'svc:Folder', {}, 'content');
    const create = (parentPath: string) =>
      commandAs(ann, {
        type: 'CreateNode',
        workspace: 'content',
        parentPath,
        node: { name: 'new', nodeType: 'svc:Folder', properties: {} },
        deep: false,
      });
    await expect(create('/')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await create('/mine');
    expect(await read('/mine/new')).toMatchObject({ created_by: 'i-ann' });
  });

  it('never make an administrator, whatever the roles are', async () => {
    await user('ann', { roles: ['system_admin'] });
    expect(await sees(ann)).toBe(true);
    const definition = { name: 'a:Thing' };
    await expect(
      commandAs(ann, { type: 'PutDefinition', kind: 'node_type', definition }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('are none in another tenant', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    expect(await sees(identity('i-ann', 'other'))).toBe(false);
  });

  it('are told to itself, with its home and user node', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    expect(await ownAccess(ann)).toBeNull();
    await user('ann', { roles: ['reader', 'unknown'] });
    expect(await ownAccess(ann)).toMatchObject({
      roles: ['reader'],
      groups: [],
      home: '/users/internal/ann',
      userNode: {
        path: '/users/internal/ann',
        nodeType: 'svc:User',
        workspace: ACCESS,
        properties: { user_id: 'i-ann', email: 'ann@example.com' },
      },
    });
    expect(await ownAccess(anonymous(true))).toBeNull();
    await set('/users/internal/ann', { status: 'inactive' });
    expect(await ownAccess(ann)).toBeNull();
  });
});

describe('an administrator who acts as a user', () => {
  it('has the permissions of that user, who is named by id, path or address', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    await user('bob');
    const { id } = await read('/users/internal/ann', ACCESS);
    for (const name of [id, '/users/internal/ann', 'ann@example.com'])
      expect(await sees(acting(name as string))).toBe(true);
    expect(await sees(acting('/users/internal/bob'))).toBe(false);
  });

  it('finds the address of a user in another case', async () => {
    await role('reader', [{ path: '**', operations: ['read'] }]);
    await user('ann', { roles: ['reader'] });
    await user('Bob', { roles: ['reader'], email: 'Bob@Example.com' });
    for (const name of ['Ann@Example.COM', 'Bob@Example.com']) expect(await sees(acting(name))).toBe(true);
    // The node that has the spelling counts.
    await user('shouting', { email: 'ANN@EXAMPLE.COM' });
    expect(await sees(acting('ANN@EXAMPLE.COM'))).toBe(false);
    expect(await sees(acting('Ann@Example.COM'))).toBe(true);
  });

  it('is refused where nobody has that name', async () => {
    await write('/users/internal/team', 'svc:AclFolder');
    for (const name of [
      'nobody',
      '/users/internal/nobody',
      'nobody@example.com',
      '/users/internal/team',
      '/page',
    ])
      await expect(read('/page', 'content', 'main', acting(name))).rejects.toMatchObject({
        code: 'USER_NODE_NOT_FOUND',
      });
  });
});

describe('anonymous callers', () => {
  it('find no branch where they have no access', async () => {
    await expect(read('/page', 'content', 'main', anonymous(false))).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
    });
  });

  it('have the roles of the anonymous user where they have access [ACC-002]', async () => {
    await role('guest', [{ path: '/page', operations: ['read'] }]);
    expect(await sees(anonymous(true))).toBe(false);
    await set('/users/system/anonymous', { roles: ['guest'] });
    expect(await sees(anonymous(true))).toBe(true);
  });

  it('have access where the repository says so, whatever the tenant says [ACC-009]', async () => {
    await set('/roles/anonymous', { permissions: [{ path: '**', operations: ['read'] }] });
    await write(
      '/config/repos/site',
      'svc:RepoAuthConfig',
      { repo_id: 'site', anonymous_enabled: true },
      'svc:system',
    );
    expect(await sees(anonymous(false))).toBe(true);
    await set('/config/repos/site', { anonymous_enabled: false }, 'svc:system');
    await expect(read('/page', 'content', 'main', anonymous(true))).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
    });
  });
});

const ann = identity('i-ann');

function caller(principal: Principal): Caller {
  return { principal, policy: policyFor(principal, tenant) };
}

function identity(identityId: string, of = tenant): Caller {
  return caller({ kind: 'identity', tenant: of, identityId, sessionId: 's', email: 'ann@example.com' });
}

function acting(user: string): Caller {
  return caller({ kind: 'impersonating', tenant, userId: 'u', username: 'ada', user });
}

function anonymous(isEnabled: boolean): Caller {
  return caller({ kind: 'anonymous', tenant, isEnabled });
}

async function write(
  path: string,
  nodeType: string,
  properties: JsonObject = {},
  workspace = ACCESS,
): Promise<void> {
  const slash = path.lastIndexOf('/');
  await family.command('main', {
    type: 'CreateNode',
    workspace,
    parentPath: path.slice(0, slash) || '/',
    node: { name: path.slice(slash + 1), nodeType, properties },
    deep: false,
  });
}

async function set(path: string, properties: JsonObject, workspace = ACCESS): Promise<void> {
  await family.command('main', { type: 'PatchNode', workspace, place: { path }, properties });
}

function role(id: string, permissions: readonly JsonObject[], more: JsonObject = {}): Promise<void> {
  return write(`/roles/${id}`, 'svc:Role', { role_id: id, name: id, permissions, ...more });
}

function user(name: string, more: JsonObject = {}): Promise<void> {
  const own = { user_id: `i-${name}`, email: `${name}@example.com`, display_name: name };
  return write(`/users/internal/${name}`, 'svc:User', { ...own, ...more });
}

function commandAs(as: Caller, command: BranchCommand): Promise<unknown> {
  return family.fixture.command(family.actor('main'), command, as);
}

function read(path: string, workspace = 'content', branch = 'main', as?: Caller): Promise<JsonObject> {
  return family.query(branch, { type: 'ReadNode', workspace, place: { path } }, as);
}

function ownAccess(as: Caller): Promise<OwnAccess | null> {
  return family.query('main', { type: 'ReadOwnAccess' }, as);
}

async function sees(as: Caller, branch = 'main'): Promise<boolean> {
  return read('/page', 'content', branch, as).then(
    () => true,
    (error: { code?: string }) => {
      expect(error.code).toBe('NODE_NOT_FOUND');
      return false;
    },
  );
}
