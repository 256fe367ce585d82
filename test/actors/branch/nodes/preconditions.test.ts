import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand, CommitOperation } from '#actors/branch/messages.ts';
import type { Expected } from '#actors/branch/condition-messages.ts';
import type { JsonText } from '#runtime/content/values/json-text.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

let branch: BranchFixture;
let path: string;
let count = 0;

beforeAll(async () => {
  branch = await openBranch();
});

afterAll(() => branch.close());

/** A node that nobody else looks at, with a sibling. */
async function freshNode(): Promise<{ readonly id: string; readonly version: number }> {
  count += 1;
  path = `/node-${count}`;
  await branch.create(`/sibling-${count}`);
  return await branch.create(path, { title: 'one' });
}

async function tagOf(place: string): Promise<string> {
  const query = { type: 'ReadNode', workspace: WORKSPACE, place: { path: place }, tagged: true } as const;
  return ((await branch.ask(query)) as JsonText).tag as string;
}

/** Commands that are addressed to a node: a new one does not compile until it is here. */
type Addressed = Extract<BranchCommand, { readonly expected?: Expected }>;
type AddressedByType = { readonly [T in Addressed['type']]: Extract<Addressed, { type: T }> };

/** Each of them, for the node at `path`. */
function addressed(): AddressedByType {
  const to = { workspace: WORKSPACE, place: { path } };
  const target = { targetWorkspace: WORKSPACE, targetPath: `/sibling-${count}` };
  return {
    UpdateNode: { ...to, type: 'UpdateNode', properties: { title: 'two' } },
    SetProperty: { ...to, type: 'SetProperty', property: ['title'], value: 'two' },
    PatchNode: { ...to, type: 'PatchNode', properties: { title: 'two' } },
    RemoveProperty: { ...to, type: 'RemoveProperty', property: ['title'] },
    DeleteNode: { ...to, type: 'DeleteNode' },
    RenameNode: { ...to, type: 'RenameNode', newName: `renamed-${count}` },
    MoveNode: { ...to, type: 'MoveNode', targetPath: `/sibling-${count}/moved` },
    CopyNode: { ...to, type: 'CopyNode', targetPath: `/copy-${count}`, tree: true },
    ReorderNode: { ...to, type: 'ReorderNode', targetPath: `/sibling-${count}`, position: 'before' },
    PublishNode: { ...to, type: 'PublishNode', publish: true, tree: false },
    CreateVersion: { ...to, type: 'CreateVersion' },
    RestoreVersion: { ...to, type: 'RestoreVersion', version: 1 },
    AddRelation: { ...to, ...target, type: 'AddRelation', relationType: 'r', weight: null },
    RemoveRelation: { ...to, ...target, type: 'RemoveRelation' },
    TranslateNode: { ...to, type: 'TranslateNode', locale: 'de', translations: { '/title': 'eins' } },
    ChangeLocale: { ...to, type: 'ChangeLocale', locale: 'fr', change: 'hide' },
    AcknowledgeStaleness: { ...to, type: 'AcknowledgeStaleness', locale: 'de', pointer: '/title' },
    CreateNode: {
      workspace: WORKSPACE,
      type: 'CreateNode',
      parentPath: path,
      node: { name: 'child', nodeType: 'svc:Folder', properties: {} },
      deep: false,
    },
    CommitOperations: {
      ...to,
      type: 'CommitOperations',
      commit: { message: 'all' },
      operations: [{ type: 'copy', sourcePath: path, targetParent: '/', newName: `again-${count}` }],
    },
  };
}

const names: readonly Addressed['type'][] = [
  'UpdateNode',
  'SetProperty',
  'PatchNode',
  'RemoveProperty',
  'DeleteNode',
  'RenameNode',
  'MoveNode',
  'CopyNode',
  'ReorderNode',
  'PublishNode',
  'CreateVersion',
  'RestoreVersion',
  'AddRelation',
  'RemoveRelation',
  'TranslateNode',
  'ChangeLocale',
  'AcknowledgeStaleness',
  'CreateNode',
  'CommitOperations',
];

function send(name: Addressed['type'], expected: Expected): Promise<unknown> {
  return branch.command({ ...addressed()[name], expected } as BranchCommand);
}

const refused = { code: 'PRECONDITION_FAILED' };

describe('a command that expects something of its node', () => {
  it('is any of these', () => {
    expect(Object.keys(addressed()).sort()).toEqual([...names].sort());
  });

  it.each(names)(
    '%s is refused when that is not so, and nothing changes [ETAG-003, ETAG-005]',
    async (name) => {
      await freshNode();
      await branch.command(addressed().TranslateNode);
      await branch.command(addressed().CreateVersion);
      const tag = await tagOf(path);
      const before = await branch.read(path);
      const details = { version: 2, etag: `"${tag}"` };
      for (const expected of [
        { match: ['other'] },
        { match: [] },
        { match: [`${tag}.variant1`] },
        { noneMatch: ['x', tag] },
        { noneMatch: '*' },
        { version: 1 },
        { match: [tag], version: 3 },
      ] as const) {
        await expect(send(name, expected), JSON.stringify(expected)).rejects.toMatchObject({
          ...refused,
          details,
        });
      }
      expect(await branch.read(path)).toEqual(before);
      expect(await tagOf(path)).toBe(tag);
    },
  );

  it.each(names)('%s is carried out when it is [ETAG-003, ETAG-005]', async (name) => {
    for (const makeExpected of [
      (tag: string): Expected => ({ match: ['x', tag] }),
      (): Expected => ({ match: '*' }),
      (tag: string): Expected => ({ match: [tag], noneMatch: ['x'], version: 2 }),
    ]) {
      await freshNode();
      await branch.command(addressed().TranslateNode);
      await branch.command(addressed().CreateVersion);
      await expect(send(name, makeExpected(await tagOf(path)))).resolves.toBeDefined();
    }
  });

  it('is answered as one without conditions where there is no node, or none for the caller [ETAG-007]', async () => {
    await freshNode();
    const nowhere = { path: '/no/such/node' };
    for (const expected of [{ match: '*' }, { match: ['x'] }, { version: 1 }] as const) {
      for (const type of ['DeleteNode', 'CreateVersion'] as const) {
        const command: BranchCommand = { type, workspace: WORKSPACE, place: nowhere, expected };
        await expect(branch.command(command)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
      }
      const hidden = callerWith(() => false);
      const readable = callerWith((operation) => operation === 'read');
      const command: BranchCommand = { type: 'DeleteNode', workspace: WORKSPACE, place: { path }, expected };
      await expect(branch.command(command, hidden)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
      await expect(branch.command(command, readable)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    }
  });

  it('may address the root, which has neither tag nor version, or a parent that does not exist yet', async () => {
    const create = (parentPath: string, name: string, deep: boolean, expected: Expected) =>
      branch.command({
        type: 'CreateNode',
        workspace: WORKSPACE,
        parentPath,
        node: { name, nodeType: 'svc:Folder', properties: {} },
        deep,
        expected,
      });
    await expect(create('/', 'root-any', false, { match: '*' })).resolves.toBeDefined();
    await expect(create('/', 'root-none', false, { noneMatch: ['x'] })).resolves.toBeDefined();
    await expect(create('/', 'root-tag', false, { match: ['x'] })).rejects.toMatchObject(refused);
    await expect(create('/', 'root-not', false, { noneMatch: '*' })).rejects.toMatchObject(refused);
    await expect(create('/', 'root-version', false, { version: 1 })).rejects.toMatchObject(refused);
    await expect(create('/deep', 'a', false, { match: '*' })).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
    await expect(create('/deep', 'a', true, { match: '*' })).rejects.toMatchObject(refused);
    expect(await branch.isMissing('/deep')).toBe(true);
    await expect(create('/deep', 'a', true, { noneMatch: '*' })).resolves.toBeDefined();
    await expect(create('/deep', 'b', true, { noneMatch: '*' })).rejects.toMatchObject(refused);
    const nowhere = { type: 'CreateNode', workspace: 'nowhere', parentPath: '/deep/x', deep: true } as const;
    const node = { name: 'n', nodeType: 'svc:Folder', properties: {} };
    await expect(branch.command({ ...nowhere, node, expected: { match: '*' } })).rejects.toMatchObject({
      code: 'WORKSPACE_NOT_FOUND',
    });
  });
});

describe('an operation of a commit', () => {
  const commit = (...operations: readonly CommitOperation[]) =>
    branch.command({
      type: 'CommitOperations',
      workspace: WORKSPACE,
      commit: { message: 'several' },
      operations,
    });

  it('expects the version that its node has at that point of the commit [ETAG-005]', async () => {
    const { id: nodeId } = await freshNode();
    await commit(
      { type: 'update', nodeId, properties: { a: 1 }, version: 1 },
      { type: 'update', nodeId, properties: { b: 2 }, version: 2 },
      { type: 'copy', sourcePath: path, targetParent: '/', newName: `op-copy-${count}`, version: 3 },
      { type: 'rename', nodeId, newName: `op-${count}`, version: 3 },
      { type: 'move', nodeId, newPath: `/sibling-${count}/op`, version: 4 },
      { type: 'delete', nodeId, version: 5 },
    );
    expect((await branch.read(`/op-copy-${count}`)).properties).toMatchObject({ title: 'one', a: 1, b: 2 });
  });

  it('refuses the whole commit otherwise, and reports which operation failed [ETAG-005]', async () => {
    const { id: nodeId } = await freshNode();
    for (const operation of [
      { type: 'update', nodeId, properties: {}, version: 1 },
      { type: 'delete', nodeId, version: 1 },
      { type: 'rename', nodeId, newName: 'x', version: 1 },
      { type: 'move', nodeId, newPath: `/sibling-${count}/op`, version: 1 },
      { type: 'copy_tree', sourcePath: path, targetParent: '/', newName: 'x', version: 1 },
    ] as const) {
      const first = { type: 'update', nodeId, properties: { a: 1 } } as const;
      await expect(commit(first, operation)).rejects.toMatchObject({
        ...refused,
        details: { operation: 1, version: 2 },
      });
    }
    expect(await branch.read(path)).toMatchObject({ version: 1 });
  });
});
