import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  type BranchFixture,
  type NodeObject,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { operations } from './hidden-world.ts';

const ACCESS = 'svc:access_control';

describe('a condition that follows relations', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    const anything = { allowed_node_types: [], allowed_root_node_types: [] };
    branch = await openBranch({ workspaces: { [ACCESS]: anything, other: anything } });
    for (const name of ['ada', 'bob', 'cleo', 'dan']) {
      await createUser(`/users/${name}`, `user-${name}`, name);
      await create(workspace, `/of-${name}`, `of-${name}`, 'svc:Folder', { title: name }, name);
    }
    await relate(ACCESS, '/users/ada', ACCESS, '/users/bob', 'KNOWS');
    await relate(ACCESS, '/users/bob', ACCESS, '/users/cleo', 'KNOWS');
    await relate(ACCESS, '/users/dan', ACCESS, '/users/ada', 'TRUSTS');
    await relate(workspace, '/of-dan', ACCESS, '/users/ada', 'SHOWN_TO');
  });
  afterAll(() => branch.close());

  async function create(
    at: string,
    path: string,
    id: string,
    nodeType: string,
    properties: JsonObject,
    identity = 'ada',
  ): Promise<void> {
    const users = { path: '**', operations: ['create'], node_types: ['svc:User'] };
    const fields = ['user_id', 'email', 'display_name'];
    const caller = roleCaller(
      [
        { path: '**', operations },
        { ...users, fields },
      ],
      { identity },
    );
    const slash = path.lastIndexOf('/');
    const node = { id, name: path.slice(slash + 1), nodeType, properties };
    const parentPath = path.slice(0, slash) || '/';
    await branch.command({ type: 'CreateNode', workspace: at, parentPath, node, deep: false }, caller);
  }

  function createUser(path: string, id: string, identity: string): Promise<void> {
    const properties = { user_id: identity, email: `${id}@example.org`, display_name: id };
    return create(ACCESS, path, id, 'svc:User', properties);
  }

  function relate(from: string, path: string, to: string, target: string, type: string): Promise<unknown> {
    return branch.command({
      type: 'AddRelation',
      workspace: from,
      place: { path },
      targetWorkspace: to,
      targetPath: target,
      relationType: type,
      weight: null,
    });
  }

  const callerWith = (condition: string, identity = 'ada'): Caller =>
    roleCaller([{ path: '**', operations, condition }], { identity });

  async function readable(condition: string, identity?: string): Promise<readonly string[]> {
    const caller = callerWith(condition, identity);
    const place = { path: '/' };
    const listed = (await branch.query(
      { type: 'ListChildren', workspace, place, scope: 's' },
      caller,
    )) as readonly NodeObject[];
    const names = listed.map(({ name }) => name).filter((name) => name.startsWith('of-'));
    for (const name of ['of-ada', 'of-bob', 'of-cleo', 'of-dan']) {
      const read = branch.query({ type: 'ReadNode', workspace, place: { id: name } }, caller);
      const isRead = await read.then(
        () => true,
        () => false,
      );
      expect([condition, name, isRead]).toEqual([condition, name, names.includes(name)]);
    }
    return names;
  }

  it('lists each node as it is read alone where it decides which properties are shown', async () => {
    const hiding = { path: '**', operations: ['read'], except_fields: ['title'] };
    const condition = "node.created_by RELATES auth.local_user_id VIA 'KNOWS'";
    const caller = roleCaller([hiding, { path: '/of-*', operations: ['read'], condition }], {
      identity: 'ada',
    });
    const place = { path: '/' };
    const listed = (await branch.query(
      { type: 'ListChildren', workspace, place, scope: 's' },
      caller,
    )) as readonly NodeObject[];
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(['of-ada', 'of-bob']));
    for (const node of listed) {
      const read = await branch.query({ type: 'ReadNode', workspace, place: { id: node.id } }, caller);
      expect(node).toEqual(read);
    }
    // Bob is known to the caller.
    const titled = listed.filter(({ properties }) => properties.title !== undefined);
    expect(titled.map(({ name }) => name)).toEqual(['of-bob']);
  });

  it.each([
    ["node.created_by RELATES auth.local_user_id VIA 'KNOWS'", ['of-bob']],
    ["node.created_by RELATES auth.local_user_id VIA 'KNOWS' DEPTH 1..2", ['of-ada', 'of-bob', 'of-cleo']],
    [
      "node.created_by RELATES auth.local_user_id VIA 'KNOWS' DEPTH 1..2 DIRECTION INCOMING",
      ['of-bob', 'of-cleo'],
    ],
    ["node.created_by RELATES auth.local_user_id VIA 'TRUSTS' DIRECTION OUTGOING", ['of-dan']],
    ["node.created_by RELATES auth.local_user_id VIA 'TRUSTS' DIRECTION INCOMING", []],
    ["node.created_by RELATES auth.user_id VIA ['KNOWS', 'TRUSTS']", ['of-bob', 'of-dan']],
    ["node.id RELATES auth.local_user_id VIA 'SHOWN_TO'", ['of-dan']],
    ["!(node.created_by RELATES auth.local_user_id VIA 'KNOWS')", ['of-ada', 'of-cleo', 'of-dan']],
    ["node.owner_id RELATES auth.local_user_id VIA 'KNOWS'", []],
  ])('decides reads and listings: %s [REL-008]', async (condition, expected) => {
    expect(await readable(condition)).toEqual(expected);
  });

  it('decides writes', async () => {
    const caller = callerWith(
      "node.created_by RELATES auth.local_user_id VIA 'KNOWS' || node.name == 'of-ada'",
    );
    const patch = (path: string): Promise<unknown> =>
      branch.command({ type: 'PatchNode', workspace, place: { path }, properties: { x: 1 } }, caller);
    await patch('/of-bob');
    await expect(patch('/of-cleo')).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  });

  it('decides about a large node that an index does not tell apart from others', async () => {
    const title = 'z'.repeat(300_000);
    const definition = {
      name: 'test:Long',
      properties: [{ name: 'title', type: 'String', index: ['Property'] }],
    };
    await branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
    for (const identity of ['bob', 'cleo'])
      await create(workspace, `/long-${identity}`, `long-${identity}`, 'test:Long', { title }, identity);
    for (let index = 0; index < 20; index += 1)
      await create(workspace, `/short-${index}`, `short-${index}`, 'test:Long', { title: 'a' });
    const caller = callerWith("node.created_by RELATES auth.local_user_id VIA 'KNOWS'");
    const filter = { node_type: { eq: 'test:Long' }, 'properties.title': { gt: title.slice(1) } };
    for (const more of [{}, { order_by: { 'properties.title': 'asc' } }] as const) {
      const found = await branch.query(
        { type: 'RunDslQuery', workspace, filter: { ...filter, ...more } },
        caller,
      );
      expect(found).toMatchObject({ items: [{ name: 'long-bob' }], page: { total: 1 } });
    }
  });

  it('does not take a node with a chosen id for a user', async () => {
    const condition = "node.created_by RELATES auth.local_user_id VIA 'KNOWS'";
    // Dan makes nodes with the ids of the user and of the identity of cleo, and relates them to himself.
    for (const id of ['user-cleo', 'cleo']) {
      const at = id === 'cleo' ? ACCESS : workspace;
      await create(at, `/forged-${id}`, id, 'svc:Folder', {}, 'dan');
      await relate(at, `/forged-${id}`, ACCESS, '/users/dan', 'KNOWS');
    }
    expect(await readable(condition, 'dan')).not.toContain('of-cleo');
  });

  it('takes a node for a user only where users are, and none of several with one identity', async () => {
    const condition = "node.created_by RELATES auth.local_user_id VIA 'KNOWS'";
    await create(workspace, '/of-eve', 'of-eve', 'svc:Folder', {}, 'eve');
    await createUser('/eve', 'user-eve-outside', 'eve');
    await relate(ACCESS, '/eve', ACCESS, '/users/dan', 'KNOWS');
    expect(await readable(condition, 'dan')).not.toContain('of-eve');
    await createUser('/users/eve', 'user-eve', 'eve');
    await relate(ACCESS, '/users/eve', ACCESS, '/users/dan', 'KNOWS');
    expect(await readable(condition, 'dan')).toContain('of-eve');
    await createUser('/users/eve-2', 'user-eve-2', 'eve');
    expect(await readable(condition, 'dan')).not.toContain('of-eve');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/of-eve' } });
  });

  it('follows the relations of the head, at every revision', async () => {
    const condition = "node.created_by RELATES auth.local_user_id VIA 'KNOWS'";
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
    const [ms, counter] = head.split('-').map(Number) as [number, number];
    await branch.command({
      type: 'RemoveRelation',
      workspace: ACCESS,
      place: { path: '/users/ada' },
      targetWorkspace: ACCESS,
      targetPath: '/users/bob',
    });
    expect(await readable(condition)).toEqual([]);
    const read = branch.query(
      { type: 'ReadNode', workspace, place: { path: '/of-bob' }, at: { ms, counter } },
      callerWith(condition),
    );
    await expect(read).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  });

  it('does not hold where too many relations would have to be followed', async () => {
    await create(ACCESS, '/known', 'user-known', 'svc:Folder', {});
    const fans = Array.from({ length: 450 }, (_, index) => `fan-${index}`);
    await Promise.all(fans.map((id) => create(ACCESS, `/${id}`, id, 'svc:Folder', {})));
    await Promise.all(fans.map((id) => relate(ACCESS, `/${id}`, ACCESS, '/known', 'FOLLOWS')));
    const at = (depth: number): string =>
      `'user-known' RELATES auth.local_user_id VIA 'FOLLOWS' DEPTH ${depth}`;
    expect(await readable(`!(${at(1)})`)).toHaveLength(4);
    expect(await readable(`!(${at(3)})`)).toEqual([]);
  });
});
