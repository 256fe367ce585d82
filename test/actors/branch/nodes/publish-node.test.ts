import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manualVersions } from '#runtime/tree/manual-version-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('publishing nodes', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Private', publishable: false },
        { name: 'test:Secret', extends: 'test:Private' },
        { name: 'test:Public', extends: 'test:Private', publishable: true, versionable: false },
        { name: 'test:Plain' },
      ],
    });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const send = (publish: boolean, path: string, tree = false, actor?: string) =>
    branch.command({
      type: 'PublishNode',
      workspace,
      place: { path },
      publish,
      tree,
      ...(actor === undefined ? {} : { commit: { actor } }),
    });
  const versions = (id: string) => branch.inspect((reader) => [...manualVersions(reader, workspace, id)]);

  it('sets both fields, and clears both again [CMD-032]', async () => {
    await branch.create('/page');
    await send(true, '/page');
    const published = await branch.read('/page');
    expect(published).toMatchObject({ published_by: 'ada', version: 2 });
    expect(published.published_at).toBe(published.updated_at);
    await send(false, '/page');
    expect(await branch.read('/page')).toMatchObject({ published_at: null, published_by: null, version: 3 });
  });

  it('covers the descendants in the tree form, in both directions [CMD-033]', async () => {
    for (const path of ['/tree', '/tree/a', '/tree/a/b']) await branch.create(path);
    await send(true, '/tree', true);
    for (const path of ['/tree', '/tree/a', '/tree/a/b'])
      expect(await branch.read(path)).toMatchObject({ published_by: 'ada' });
    await send(false, '/tree', true);
    for (const path of ['/tree', '/tree/a', '/tree/a/b'])
      expect(await branch.read(path)).toMatchObject({ published_at: null, published_by: null });
  });

  it('names the actor of the commit when there is one [CMD-034]', async () => {
    await branch.create('/by');
    await send(true, '/by', false, 'robot');
    expect(await branch.read('/by')).toMatchObject({ published_by: 'robot', updated_by: 'ada' });
  });

  it('keeps the state before it as a version [CMD-035]', async () => {
    const node = await branch.create('/kept', { description: 'draft' });
    await send(true, '/kept');
    expect(await versions(node.id)).toEqual([
      expect.objectContaining({
        number: 1,
        note: 'pre-publish',
        properties: { description: 'draft' },
        header: expect.objectContaining({ publishedAt: null }),
      }),
    ]);
  });

  it('publishes an already published node again', async () => {
    const node = await branch.create('/again');
    await send(true, '/again');
    const first = await branch.read('/again');
    await send(true, '/again');
    const second = await branch.read('/again');
    expect(second.version).toBe(first.version + 1);
    expect((second.published_at as string) >= (first.published_at as string)).toBe(true);
    expect(await versions(node.id)).toHaveLength(2);
  });

  it('has nothing to do for a node that is not published', async () => {
    await branch.create('/draft');
    await branch.create('/draft/x');
    expect(await send(false, '/draft')).toEqual({ revision: null });
    expect(await send(false, '/draft', true)).toEqual({ revision: null });
    expect(await branch.read('/draft')).toMatchObject({ version: 1 });
  });

  it('refuses a type that is not publishable, own or inherited; a tree passes over such nodes', async () => {
    await branch.create('/secret', {}, 'test:Secret');
    await branch.create('/secret/open', {}, 'test:Public');
    await branch.create('/secret/plain', {}, 'test:Plain');
    await expect(send(true, '/secret')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await send(true, '/secret', true);
    expect(await branch.read('/secret')).toMatchObject({ published_at: null, version: 1 });
    expect(await branch.read('/secret/open')).toMatchObject({ published_by: 'ada' });
    expect(await branch.read('/secret/plain')).toMatchObject({ published_by: 'ada' });
  });

  it('keeps no version for a type without versioning', async () => {
    const node = await branch.create('/unkept', {}, 'test:Public');
    await send(true, '/unkept');
    expect(await versions(node.id)).toEqual([]);
  });

  it('publishes a node whose type was deleted', async () => {
    await branch.command({ type: 'PutDefinition', kind: 'node_type', definition: { name: 'test:Gone' } });
    await branch.create('/gone', {}, 'test:Gone');
    await branch.command({ type: 'DeleteDefinition', kind: 'node_type', name: 'test:Gone' });
    await send(true, '/gone');
    expect(await branch.read('/gone')).toMatchObject({ published_by: 'ada' });
  });

  it('asks for update of every node it touches', async () => {
    await branch.create('/acl');
    await branch.create('/acl/x');
    const command = {
      type: 'PublishNode',
      workspace,
      place: { path: '/acl' },
      publish: true,
      tree: true,
    } as const;
    const caller = callerWith((operation, { path }) => operation !== 'update' || path === '/acl');
    await expect(branch.command(command, caller)).rejects.toEqual(failsWith('PERMISSION_DENIED'));
    expect(await branch.read('/acl')).toMatchObject({ published_at: null });
  });
});
