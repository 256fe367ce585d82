import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import {
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('copying nodes', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Shelf', allowed_children: ['test:Book'] },
        { name: 'test:Book', properties: [{ name: 'isbn', type: 'String', unique: true }] },
        { name: 'test:Kit', initial_structure: { children: [{ name: 'part', node_type: 'svc:Folder' }] } },
      ],
    });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const copy = async (path: string, targetPath: string, more: { newName?: string; tree?: boolean } = {}) => {
    const { tree = false, ...name } = more;
    const place = { path };
    const written = await branch.command({ type: 'CopyNode', workspace, place, targetPath, tree, ...name });
    return { ...written, node: JSON.parse(written.node) as NodeObject };
  };
  const publish = (path: string) =>
    branch.command({ type: 'PublishNode', workspace, place: { path }, publish: true, tree: false });
  const translate = (path: string, translations: JsonObject) =>
    branch.command({ type: 'TranslateNode', workspace, place: { path }, locale: 'de', translations });

  it('makes a new node with fresh stamps and leaves the source as it was [CMD-019]', async () => {
    await branch.create('/page', { title: 'Home' }, 'svc:Page');
    await publish('/page');
    const source = await branch.read('/page');
    const { node, nodeId, revision } = await copy('/page', '/other');
    expect(node).toMatchObject({
      id: nodeId,
      path: '/other',
      name: 'other',
      version: 1,
      published_at: null,
      published_by: null,
      created_by: 'ada',
    });
    expect(node.properties).toEqual(source.properties);
    expect(node.id).not.toBe(source.id);
    expect(node.created_at >= source.updated_at).toBe(true);
    expect(revision).toMatch(/^\d+-\d+$/);
    expect(await branch.read('/page')).toEqual(source);
  });

  it('takes the target as the parent with a new name, as the full path without [CMD-020]', async () => {
    await branch.create('/copy-src');
    await branch.create('/copy-dest');
    const named = await copy('/copy-src', '/copy-dest', { newName: 'Copy Result' });
    expect(named.node).toMatchObject({ path: '/copy-dest/copy-result', parent: 'copy-dest' });
    const full = await copy('/copy-src', '/copy-dest/Full Path');
    expect(full.node.path).toBe('/copy-dest/full-path');
    const atRoot = await copy('/copy-src', '/', { newName: 'at-root' });
    expect(atRoot.node.path).toBe('/at-root');
    const again = copy('/copy-src', '/copy-dest', { newName: 'copy-result' });
    await expect(again).rejects.toEqual(failsWith('NODE_ALREADY_EXISTS'));
    await expect(copy('/copy-src', '/at-root')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(copy('/copy-src', '/')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('leaves children behind unless the tree is asked for', async () => {
    await branch.create('/family');
    await branch.create('/family/child');
    const { node } = await copy('/family', '/single');
    expect(node.has_children).toBe(false);
    expect(await branch.isMissing('/single/child')).toBe(true);
  });

  it('copies a subtree with new ids, in order, translations included [CMD-023] [CMD-024]', async () => {
    await branch.create('/src');
    await branch.create('/src/a', { description: 'A' });
    for (const name of ['b', 'c', 'd']) await branch.create(`/src/a/${name}`, { description: name });
    await branch.create('/src/a/c/x');
    const reorder = { type: 'ReorderNode', workspace, position: 'before' } as const;
    await branch.command({ ...reorder, place: { path: '/src/a/d' }, targetPath: '/src/a/b' });
    await translate('/src/a/c', { '/description': 'zeh' });
    await publish('/src/a/c');
    await branch.create('/dst');
    const { node } = await copy('/src/a', '/dst/a', { tree: true });
    expect(node).toMatchObject({ path: '/dst/a', has_children: true });
    expect(await branch.inOrder('/dst/a/b', '/dst/a/c', '/dst/a/d')).toEqual(['d', 'b', 'c']);
    for (const path of ['/a', '/a/b', '/a/c', '/a/c/x']) {
      const [source, copied] = [await branch.read(`/src${path}`), await branch.read(`/dst${path}`)];
      expect(copied.id).not.toBe(source.id);
      expect(copied).toMatchObject({ version: 1, published_at: null, translations: source.translations });
      expect(copied.properties).toEqual(source.properties);
    }
    const inGerman = { type: 'ReadNode', workspace, place: { path: '/dst/a/c' }, lang: 'de' } as const;
    expect(await branch.query(inGerman)).toMatchObject({ properties: { description: 'zeh' } });
  });

  it('keeps references and relations pointing to where the source points', async () => {
    await branch.create('/refs');
    const inner = await branch.create('/refs/inner');
    await branch.create('/refs/outer', { to: { 'svc:ref': '/refs/inner', 'svc:workspace': workspace } });
    await branch.command({
      type: 'AddRelation',
      workspace,
      place: { path: '/refs/outer' },
      targetWorkspace: workspace,
      targetPath: '/refs/inner',
      relationType: 'likes',
      weight: 2,
    });
    await copy('/refs', '/refs2', { tree: true });
    const copied = await branch.read('/refs2/outer');
    expect(copied.properties).toMatchObject({ to: { 'svc:ref': inner.id } });
    expect(copied.relations).toEqual([expect.objectContaining({ target: inner.id, weight: 2 })]);
  });

  it('brings no initial structure of its own: the copy is what the source is', async () => {
    await branch.create('/kit', {}, 'test:Kit');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/kit/part' } });
    const { node } = await copy('/kit', '/kit2', { tree: true });
    expect(node.has_children).toBe(false);
  });

  it('refuses to copy below the source or onto it [CMD-025]', async () => {
    await branch.create('/loop');
    await branch.create('/loop/b');
    for (const tree of [false, true]) {
      for (const target of ['/loop', '/loop/b', '/loop/new', '/loop/b/loop'])
        await expect(copy('/loop', target, { tree })).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    }
    const under = copy('/loop', '/loop', { newName: 'x', tree: true });
    await expect(under).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('does not find a parent that is missing [CMD-022]', async () => {
    await branch.create('/lone');
    await expect(copy('/lone', '/none/lone')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    await expect(copy('/lone', '/none', { newName: 'x' })).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
  });

  it('refuses types that the place does not take and values that must be unique', async () => {
    await branch.create('/shelf', {}, 'test:Shelf');
    await branch.create('/box');
    await branch.create('/book', { isbn: '1' }, 'test:Book');
    await branch.create('/blank', {}, 'test:Book');
    await expect(copy('/box', '/shelf/box')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(copy('/book', '/shelf/book')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    expect(await branch.isMissing('/shelf/book')).toBe(true);
    expect((await copy('/blank', '/shelf/blank')).node.parent).toBe('shelf');
  });

  it('refuses a node whose type is gone', async () => {
    await branch.command({ type: 'PutDefinition', kind: 'node_type', definition: { name: 'test:Gone' } });
    await branch.create('/gone', {}, 'test:Gone');
    await branch.command({ type: 'DeleteDefinition', kind: 'node_type', name: 'test:Gone' });
    await expect(copy('/gone', '/gone2')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('leaves out what the caller may not read, and asks for every copy', async () => {
    await branch.create('/acl');
    for (const path of ['/acl/open', '/acl/secret', '/acl/secret/x']) await branch.create(path);
    const attempt = (targetPath: string, allows: Parameters<typeof callerWith>[0]) =>
      branch.command(
        { type: 'CopyNode', workspace, place: { path: '/acl' }, targetPath, tree: true },
        callerWith(allows),
      );
    await attempt('/acl2', (_operation, { path }) => path !== '/acl/secret');
    expect(await branch.read('/acl2/open')).toMatchObject({ version: 1 });
    expect(await branch.isMissing('/acl2/secret')).toBe(true);
    const refused = attempt('/acl3', (operation, { path }) => operation === 'read' || path !== '/acl3/open');
    await expect(refused).rejects.toEqual(failsWith('PERMISSION_DENIED'));
    expect(await branch.isMissing('/acl3')).toBe(true);
  });
});
