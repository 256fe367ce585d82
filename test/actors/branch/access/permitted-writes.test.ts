import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand, NodeWritten } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import { TENANT } from '#test/support/engine.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { BRANCH, openTestBranch } from '#test/support/test-branch.ts';
import { operations, outcomeOf } from './hidden-world.ts';

const everything = roleCaller([{ path: '**', operations }]);

describe('a write', () => {
  let branch: BranchFixture;
  let names = 0;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  /** A name that no test has used. */
  const fresh = (): string => {
    names += 1;
    return `n${names}`;
  };
  const create = (path: string, properties: JsonObject = {}) => branch.create(path, properties);
  const revision = async (): Promise<string> =>
    ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
  const newNode = (name: string, properties: JsonObject = {}, parentPath = '/'): BranchCommand => ({
    type: 'CreateNode',
    workspace,
    parentPath,
    node: { name, nodeType: 'svc:Folder', properties },
    deep: false,
  });

  /** Expects that a command is refused and changes nothing. */
  async function expectRefused(
    command: BranchCommand,
    permissions: Parameters<typeof roleCaller>[0],
    message = /^Permission denied: cannot /,
  ): Promise<void> {
    const before = await revision();
    await expect(branch.command(command, roleCaller(permissions))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringMatching(message) as string,
    });
    expect(await revision()).toBe(before);
  }

  it('of what is no property is refused where lists of properties decide', async () => {
    const listed = (operation: string) => [
      { path: '**', operations: ['read'] },
      { path: '**', operations: [operation], fields: ['title'] },
    ];
    const name = fresh();
    await create(`/${name}`, { title: 'x' });
    const place = { path: `/${name}` };
    const patch = { type: 'PatchNode', workspace, place, properties: {}, ownerId: 'ada' } as const;
    const update = {
      type: 'UpdateNode',
      workspace,
      place,
      properties: { title: 'y' },
      ownerId: 'ada',
    } as const;
    const made = newNode(fresh(), { title: 'x' }) as Extract<BranchCommand, { type: 'CreateNode' }>;
    const owned = { ...made, node: { ...made.node, ownerId: 'somebody' } };
    for (const command of [patch, update])
      await expectRefused(command, listed('update'), / the owner of node /);
    await expectRefused(owned, listed('create'), / the owner of node /);
    for (const change of ['hide', 'unhide'] as const)
      await expectRefused(
        { type: 'ChangeLocale', workspace, place, locale: 'de', change },
        listed('translate'),
        / the visibility in a locale of node /,
      );
    // An owner that stays is no change, and whoever may set all properties may set it.
    await branch.command(
      { ...patch, ownerId: null, properties: { title: 'z' } },
      roleCaller(listed('update')),
    );
    await branch.command(patch, everything);
    await branch.command(owned, everything);
  });

  it.each([
    ['node.created_by == auth.user_id', {}, true],
    ["node.status == 'draft'", { status: 'draft' }, true],
    ["node.status == 'draft'", { status: 'live' }, false],
    ["node.status == 'draft'", {}, false],
    ["node.path.descendantOf('/nowhere')", {}, false],
    ["node.created_by == 'somebody else'", {}, false],
  ])(
    'creates a node for which the condition holds: %s of %j [ACC-037]',
    async (condition, properties, isPermitted) => {
      const permissions = [{ path: '**', operations: ['create'], condition }];
      const command = newNode(fresh(), properties as JsonObject);
      if (isPermitted) await branch.command(command, roleCaller(permissions));
      else await expectRefused(command, permissions);
    },
  );

  it('tells whether a path or an id is taken only to who may create the node there', async () => {
    const name = fresh();
    await branch.command({
      ...(newNode(name) as Extract<BranchCommand, { type: 'CreateNode' }>),
      node: { id: `id-${name}`, name, nodeType: 'svc:Folder', properties: {} },
    });
    const condition = "node.status == 'draft'";
    const conditional = [{ path: '**', operations: ['create'], condition }];
    await expectRefused(newNode(name), conditional);
    await expectRefused(newNode(name), []);
    const withId = (id: string): BranchCommand => ({
      ...(newNode(fresh()) as Extract<BranchCommand, { type: 'CreateNode' }>),
      node: { id, name: fresh(), nodeType: 'svc:Folder', properties: {} },
    });
    await expectRefused(withId(`id-${name}`), conditional);
    const taken = branch.command(newNode(name, { status: 'draft' }), roleCaller(conditional));
    await expect(taken).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('to a node that may be read is refused without the permission, and changes nothing [ACC-038]', async () => {
    const path = `/${fresh()}`;
    await create(path, { title: 'x' });
    const patch = { type: 'PatchNode', workspace, place: { path }, properties: { title: 'y' } } as const;
    const permissions = [
      { path: '**', operations: ['read'] },
      { path: '**', operations: ['update'], condition: "node.title == 'y'" },
    ];
    await expectRefused(patch, permissions, new RegExp(`^Permission denied: cannot update node ${path}$`));
    expect((await branch.read(path)).version).toBe(1);
  });

  it('answers the node without properties to who may not read it', async () => {
    const caller = roleCaller([{ path: '**', operations: ['create'] }]);
    const { node } = (await branch.command(newNode(fresh(), { text: 'mine' }), caller)) as NodeWritten;
    expect(JSON.parse(node)).toMatchObject({ properties: { $supertypes: expect.any(Array) as unknown[] } });
    expect(node).not.toContain('mine');
  });

  it('of a tree needs the permission for each node, and does not name those below [ACC-039]', async () => {
    const top = `/${fresh()}`;
    await create(top);
    await create(`${top}/below`);
    await create(`${top}/below/kept`, { keep: true });
    const place = { path: top };
    const readable = { path: '**', operations: ['read'] };
    const unkept = { path: '**', operations, condition: '!node.keep' };
    for (const permissions of [[unkept], [readable, unkept]]) {
      const message = new RegExp(`node below ${top}(/renamed)?$|cannot \\w+ every node below`);
      await expectRefused({ type: 'DeleteNode', workspace, place }, permissions, message);
      await expectRefused(
        { type: 'PublishNode', workspace, place, publish: true, tree: true },
        permissions,
        message,
      );
      await expectRefused({ type: 'RenameNode', workspace, place, newName: fresh() }, permissions, message);
      await expectRefused(
        { type: 'MoveNode', workspace, place, targetPath: `/${fresh()}` },
        permissions,
        message,
      );
    }
    await branch.command({ type: 'DeleteNode', workspace, place }, everything);
  });

  it('does not name a published node that may not be read', async () => {
    const top = `/${fresh()}`;
    await create(top);
    await create(`${top}/concealed`, { keep: true });
    await branch.command({
      type: 'PublishNode',
      workspace,
      place: { path: `${top}/concealed` },
      publish: true,
      tree: false,
    });
    const caller = roleCaller([{ path: '**', operations, condition: '!node.keep' }]);
    for (const command of [
      { type: 'DeleteNode', workspace, place: { path: top } },
      { type: 'RenameNode', workspace, place: { path: top }, newName: fresh() },
      { type: 'MoveNode', workspace, place: { path: top }, targetPath: `/${fresh()}` },
    ] as const)
      expect(await outcomeOf(() => branch.command(command, caller))).not.toContain('concealed');
  });

  it('moves nodes only from where they may be deleted to where they may be created', async () => {
    const [from, to, top] = [`/${fresh()}`, `/${fresh()}`, fresh()];
    await create(from);
    await create(to);
    await create(`${from}/${top}`);
    await create(`${from}/${top}/below`);
    const move = {
      type: 'MoveNode',
      workspace,
      place: { path: `${from}/${top}` },
      targetPath: `${to}/${top}`,
    } as const;
    const read = { path: '**', operations: ['read'] };
    await expectRefused(move, [read, { path: `${to}/**`, operations }]);
    await expectRefused(move, [read, { path: `${from}/**`, operations }]);
    await expectRefused(move, [
      read,
      { path: `${from}/**`, operations: ['delete'] },
      { path: `${to}/*`, operations: ['create'] },
    ]);
    await branch.command(
      move,
      roleCaller([
        read,
        { path: `${from}/**`, operations: ['delete'] },
        { path: `${to}/**`, operations: ['create'] },
      ]),
    );
  });

  it('does not bring hidden nodes along to where they may be read', async () => {
    const [from, to] = [`/${fresh()}`, `/${fresh()}`];
    await create(from);
    await create(`${from}/concealed`);
    const permissions = [
      { path: from, operations },
      { path: `${to}/**`, operations },
    ];
    await expectRefused(
      { type: 'RenameNode', workspace, place: { path: from }, newName: to.slice(1) },
      permissions,
    );
    await expectRefused({ type: 'MoveNode', workspace, place: { path: from }, targetPath: to }, permissions);
  });

  it('copies nodes that may be read to where they may be created', async () => {
    const [from, to] = [`/${fresh()}`, `/${fresh()}`];
    await create(from);
    await create(`${from}/below`);
    await create(`${from}/hidden`, { keep: true });
    const read = { path: '**', operations: ['read'], condition: '!node.keep' };
    const copy = { type: 'CopyNode', workspace, place: { path: from }, targetPath: to, tree: true } as const;
    await expectRefused(copy, [read]);
    await expectRefused(copy, [read, { path: to, operations: ['create'] }]);
    const mine = { path: `${to}/**`, operations: ['create'], condition: 'node.created_by == auth.user_id' };
    await branch.command(copy, roleCaller([read, mine]));
    await branch.read(`${to}/below`);
    expect(await branch.isMissing(`${to}/hidden`)).toBe(true);
  });

  it('does not tell the id of a node that may not be read by a reference to its path', async () => {
    const hidden = `/${fresh()}`;
    await create(hidden, { keep: true });
    const caller = roleCaller([{ path: '**', operations, condition: '!node.keep' }]);
    const to = { 'svc:ref': hidden, 'svc:workspace': workspace };
    const { node } = (await branch.command(newNode(fresh(), { to }), caller)) as NodeWritten;
    expect((JSON.parse(node) as { properties: JsonObject }).properties.to).toEqual(to);
    const { node: open } = (await branch.command(newNode(fresh(), { to }), everything)) as NodeWritten;
    expect(open).toContain(`"svc:path":"${hidden}"`);
  });

  it('relates a node to one that may be read, with the permission on the source', async () => {
    const [source, target, hidden] = [`/${fresh()}`, `/${fresh()}`, `/${fresh()}`];
    await create(source);
    await create(target);
    await create(hidden, { keep: true });
    const add = (targetPath: string): BranchCommand => ({
      type: 'AddRelation',
      workspace,
      place: { path: source },
      targetWorkspace: workspace,
      targetPath,
      relationType: 'KNOWS',
      weight: null,
    });
    const read = { path: '**', operations: ['read'], condition: '!node.keep' };
    const onSource = { path: source, operations: ['relate'] };
    await expectRefused(add(target), [read, { path: target, operations }]);
    await branch.command(add(target), roleCaller([read, onSource]));
    await expect(branch.command(add(hidden), roleCaller([read, onSource]))).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
    const remove: BranchCommand = {
      type: 'RemoveRelation',
      workspace,
      place: { path: source },
      targetWorkspace: workspace,
      targetPath: target,
    };
    await expectRefused(remove, [read, onSource]);
    await branch.command(remove, roleCaller([read, { path: source, operations: ['unrelate'] }]));
  });

  it('removes a relation to a deleted node that could be read, and to no other one', async () => {
    const [source, seen, hidden] = [`/${fresh()}`, `/${fresh()}`, `/${fresh()}`];
    await create(source);
    await create(seen);
    await create(hidden, { keep: true });
    const related = (path: string) =>
      ({ workspace, place: { path: source }, targetWorkspace: workspace, targetPath: path }) as const;
    for (const path of [seen, hidden]) {
      await branch.command({ type: 'AddRelation', ...related(path), relationType: 'KNOWS', weight: null });
      await branch.command({ type: 'DeleteNode', workspace, place: { path } });
    }
    const caller = roleCaller([{ path: '**', operations, condition: '!node.keep' }]);
    const remove = (path: string) => branch.command({ type: 'RemoveRelation', ...related(path) }, caller);
    expect(await remove(hidden)).toEqual({ removed: false, revision: null });
    expect(await remove(seen)).toMatchObject({ removed: true });
  });

  it('of translations needs the permission to translate', async () => {
    const path = `/${fresh()}`;
    await create(path, { title: 'x' });
    const translate: BranchCommand = {
      type: 'TranslateNode',
      workspace,
      place: { path },
      locale: 'de',
      translations: { '/title': 'y' },
    };
    await expectRefused(translate, [{ path: '**', operations: ['read', 'update'] }]);
    await branch.command(translate, roleCaller([{ path: '**', operations: ['read', 'translate'] }]));
  });
});

it('that is repeated is answered with what may be read by then', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'grove-repeated-'));
  const branch = await openTestBranch(folder);
  try {
    for (const text of ['classified', 'classified '.repeat(200)]) {
      const name = `n${text.length}`;
      const node = { name, nodeType: 'test:Article', properties: { title: name, text } };
      const command = {
        type: 'CreateNode',
        workspace: 'content',
        parentPath: '/',
        node,
        deep: false,
      } as const;
      const send = async (permissions: Parameters<typeof roleCaller>[0]): Promise<NodeWritten> => {
        const caller = roleCaller(permissions, { tenant: TENANT });
        const idempotency = { key: name, requestHash: name };
        return (await branch.engine.host.command(BRANCH, command, { caller, idempotency })) as NodeWritten;
      };
      const first = await send([{ path: '**', operations }]);
      expect(first.node).toContain('classified');
      expect(await send([{ path: '**', operations }])).toEqual(first);
      const partly = await send([{ path: '**', operations, except_fields: ['text'] }]);
      expect(partly.node).toContain(`"title":"${name}"`);
      expect(partly.node).not.toContain('classified');
      const hidden = await send([{ path: '**', operations: ['create'] }]);
      expect(hidden.node).not.toContain('"title"');
    }
  } finally {
    await branch.engine.close();
    rmSync(folder, { recursive: true });
  }
});
