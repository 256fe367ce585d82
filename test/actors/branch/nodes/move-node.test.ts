import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATH_BYTES_MAX } from '#runtime/content/path.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { readChanges, readRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('renaming and moving nodes', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Shelf', allowed_children: ['test:Book'] },
        { name: 'test:Book', properties: [{ name: 'isbn', type: 'String', unique: true }] },
      ],
      workspaces: {
        books: {
          allowed_node_types: ['test:Shelf', 'test:Book'],
          allowed_root_node_types: ['test:Shelf'],
        },
      },
    });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const rename = (path: string, newName: string) =>
    branch.command({ type: 'RenameNode', workspace, place: { path }, newName });
  const move = (path: string, targetPath: string) =>
    branch.command({ type: 'MoveNode', workspace, place: { path }, targetPath });

  it('keeps the ids of a renamed subtree and moves its paths [CMD-013]', async () => {
    const [top, child, leaf] = [
      await branch.create('/ren'),
      await branch.create('/ren/b'),
      await branch.create('/ren/b/c'),
    ];
    const { revision } = await rename('/ren', ' Re Named ');
    expect(await branch.isMissing('/ren')).toBe(true);
    expect(await branch.isMissing('/ren/b/c')).toBe(true);
    expect(await branch.read('/re-named')).toMatchObject({ id: top.id, name: 're-named', version: 2 });
    expect(await branch.read('/re-named/b')).toMatchObject({ id: child.id, parent: 're-named' });
    expect(await branch.read('/re-named/b/c')).toMatchObject({ id: leaf.id, parent: 'b' });
    expect(revision).toMatch(/^\d+-\d+$/);
  });

  it('moves a subtree to a full new path, behind the children that are there [CMD-014]', async () => {
    const source = await branch.create('/from');
    const inner = await branch.create('/from/inner');
    await branch.create('/to');
    await branch.create('/to/first');
    await move('/from', '/to/From Here');
    expect(await branch.read('/to/from-here')).toMatchObject({ id: source.id, parent: 'to' });
    expect(await branch.read('/to/from-here/inner')).toMatchObject({ id: inner.id });
    expect(await branch.isMissing('/from')).toBe(true);
    expect(await branch.inOrder('/to/from-here', '/to/first')).toEqual(['first', 'from-here']);
    await branch.create('/to/third');
    expect(await branch.inOrder('/to/third', '/to/from-here')).toEqual(['from-here', 'third']);
  });

  it('changes version and stamps of the top only, and lists every node as modified [REV-017]', async () => {
    await branch.create('/stamp');
    await branch.create('/stamp/x');
    const before = await branch.read('/stamp/x');
    const { revision } = await rename('/stamp', 'stamped');
    expect(await branch.read('/stamped')).toMatchObject({ version: 2 });
    expect(await branch.read('/stamped/x')).toEqual({ ...before, path: '/stamped/x', parent: 'stamped' });
    const changes = await branch.inspect((reader) => {
      const record = readRevision(reader, parseRevision(revision as string));
      return record === undefined ? [] : readChanges(reader, record);
    });
    expect(changes.map(({ operation, path }) => [operation, path])).toEqual([
      ['modified', '/stamped'],
      ['modified', '/stamped/x'],
    ]);
  });

  it('shows the old paths at a revision before the move [REV-028]', async () => {
    await branch.create('/past');
    const { revision } = await branch.command({
      type: 'CreateNode',
      workspace,
      parentPath: '/past',
      node: { name: 'x', nodeType: 'svc:Folder', properties: { description: 'old' } },
      deep: false,
    });
    const at = parseRevision(revision);
    await rename('/past', 'present');
    expect(await branch.read('/past/x', at)).toMatchObject({ parent: 'past', name: 'x' });
    expect(await branch.isMissing('/present/x', at)).toBe(true);
    expect(await branch.isMissing('/past/x')).toBe(true);
  });

  it('keeps its place among its siblings when it is renamed', async () => {
    for (const name of ['one', 'two', 'three']) await branch.create(`/${name}`);
    await rename('/two', 'zwei');
    await move('/one', '/eins');
    expect(await branch.inOrder('/three', '/zwei', '/eins')).toEqual(['eins', 'zwei', 'three']);
  });

  it('refuses a name a sibling has; both stay as they were [CMD-012]', async () => {
    await branch.create('/taken');
    await branch.create('/taken/a');
    await branch.create('/taken/b');
    const before = [await branch.read('/taken/a'), await branch.read('/taken/b')];
    await expect(rename('/taken/a', 'b')).rejects.toEqual(failsWith('NODE_ALREADY_EXISTS'));
    await expect(rename('/taken', 'to')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    expect([await branch.read('/taken/a'), await branch.read('/taken/b')]).toEqual(before);
  });

  it('takes the name a node has for done', async () => {
    await branch.create('/same');
    expect(await rename('/same', 'Same')).toEqual({ revision: null });
    expect(await branch.read('/same')).toMatchObject({ version: 1 });
  });

  it('takes the place a node has for done, also when it is published [CMD-051]', async () => {
    await branch.create('/stay');
    const { id } = await branch.create('/stay/here');
    await branch.command({
      type: 'PublishNode',
      workspace,
      place: { path: '/stay/here' },
      publish: true,
      tree: false,
    });
    const before = await branch.read('/stay/here');
    for (const target of ['/stay/here', '/stay/ Here ']) {
      expect(await move('/stay/here', target)).toEqual({ revision: null });
    }
    expect(await rename('/stay/here', 'here')).toEqual({ revision: null });
    expect(await branch.read('/stay/here')).toEqual(before);
    const operations = [{ type: 'move', nodeId: id, newPath: '/stay/here' }] as const;
    const commit = { message: 'nothing' };
    expect(await branch.command({ type: 'CommitOperations', workspace, commit, operations })).toEqual({
      revision: null,
      operations_count: 1,
    });
  });

  it('refuses names that are none', async () => {
    await branch.create('/nameless');
    for (const name of ['bad/name', '   ', '..', 'Ü'])
      await expect(rename('/nameless', name)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('refuses an occupied path and changes nothing [CMD-015]', async () => {
    await branch.create('/occ');
    await branch.create('/occ/a');
    await branch.create('/mover');
    await expect(move('/mover', '/occ/a')).rejects.toEqual(failsWith('NODE_ALREADY_EXISTS'));
    await expect(move('/occ/a', '/mover')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    expect(await branch.read('/mover')).toMatchObject({ version: 1 });
  });

  it('refuses to move a node into itself or below itself [CMD-016]', async () => {
    await branch.create('/ring');
    await branch.create('/ring/b');
    for (const target of ['/ring/ring', '/ring/a', '/ring/b/ring', '/ring/none/ring'])
      await expect(move('/ring', target)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await move('/ring/b', '/ringb');
    expect(await branch.read('/ringb')).toMatchObject({ parent: '/' });
  });

  it('does not find a parent that is missing [CMD-017]', async () => {
    await branch.create('/orphan');
    await expect(move('/orphan', '/nowhere/orphan')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    await expect(move('/nobody', '/somebody')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
  });

  it('refuses a type that the new parent or the workspace root does not take [CMD-018]', async () => {
    await branch.create('/shelf', {}, 'test:Shelf');
    await branch.create('/folder');
    await branch.create('/book', { isbn: '1' }, 'test:Book');
    await expect(move('/folder', '/shelf/folder')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await move('/book', '/shelf/book');
    expect(await branch.read('/shelf/book')).toMatchObject({ parent: 'shelf' });
  });

  it('asks the lists of the workspace again [WSP-016]', async () => {
    const at = { workspace: 'books', deep: false } as const;
    const shelf = { name: 'shelf', nodeType: 'test:Shelf', properties: {} };
    const book = { name: 'book', nodeType: 'test:Book', properties: {} };
    await branch.command({ type: 'CreateNode', ...at, parentPath: '/', node: shelf });
    await branch.command({ type: 'CreateNode', ...at, parentPath: '/shelf', node: book });
    const place = { path: '/shelf/book' };
    const toRoot = { workspace: 'books', place, targetPath: '/book' };
    const refused = failsWith('VALIDATION_FAILED');
    await expect(branch.command({ type: 'MoveNode', ...toRoot })).rejects.toEqual(refused);
    await expect(branch.command({ type: 'CopyNode', ...toRoot, tree: false })).rejects.toEqual(refused);
    await expect(branch.command({ type: 'CopyNode', ...toRoot, tree: true })).rejects.toEqual(refused);
  });

  it('refuses while the node or something below it is published [NODE-066]', async () => {
    await branch.create('/pub');
    await branch.create('/pub/deep');
    const publish = (publish: boolean) =>
      branch.command({ type: 'PublishNode', workspace, place: { path: '/pub/deep' }, publish, tree: false });
    await publish(true);
    const refused = { code: 'VALIDATION_FAILED', message: expect.stringContaining('unpublish it first') };
    for (const path of ['/pub', '/pub/deep']) {
      await expect(rename(path, 'other')).rejects.toEqual(expect.objectContaining(refused));
      await expect(move(path, '/other')).rejects.toEqual(expect.objectContaining(refused));
      await expect(branch.command({ type: 'DeleteNode', workspace, place: { path } })).rejects.toEqual(
        expect.objectContaining(refused),
      );
    }
    await publish(false);
    await rename('/pub', 'public');
    expect(await branch.read('/public/deep')).toMatchObject({ published_at: null });
  });

  it('keeps unique values and lets no other node take them', async () => {
    await branch.create('/lib');
    await branch.create('/lib/a', { isbn: '978' }, 'test:Book');
    await rename('/lib', 'library');
    await expect(branch.create('/library/b', { isbn: '978' }, 'test:Book')).rejects.toEqual(
      failsWith('VALIDATION_FAILED'),
    );
  });

  it('refuses a move that would make any path of the subtree too long', async () => {
    const long = 'n'.repeat(250);
    let path = '';
    for (let depth = 0; depth < 32; depth++) {
      path = `${path}/${long}`;
      await branch.create(path);
    }
    expect(path.length).toBeLessThan(PATH_BYTES_MAX);
    await branch.create(`/${long.slice(1)}m`);
    const deeper = `/${long.slice(1)}m/${long}`;
    await expect(move(`/${long}`, deeper)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    expect(await branch.isMissing(deeper)).toBe(true);
    expect(await branch.read(path)).toMatchObject({ version: 1 });
  });

  it('moves and deletes a tree 500 levels deep [LIST-026]', async () => {
    let path = '/deep';
    await branch.create(path);
    for (let depth = 1; depth < 500; depth++) {
      path += '/d';
      await branch.create(path);
    }
    await rename('/deep', 'deeper');
    expect(await branch.read(path.replace('/deep', '/deeper'))).toMatchObject({ version: 1 });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/deeper' } });
    expect(await branch.isMissing('/deeper')).toBe(true);
  });

  it('asks for deletion of every node and creation at every new path', async () => {
    await branch.create('/mine');
    await branch.create('/mine/secret');
    await branch.create('/mine/secret/x');
    const attempt = (allows: Parameters<typeof callerWith>[0]) =>
      branch.command(
        { type: 'MoveNode', workspace, place: { path: '/mine' }, targetPath: '/yours' },
        callerWith(allows),
      );
    const denied = failsWith('PERMISSION_DENIED');
    await expect(attempt((operation) => operation !== 'delete')).rejects.toEqual(denied);
    await expect(
      attempt((operation, { path }) => operation !== 'delete' || !path.endsWith('/x')),
    ).rejects.toEqual(denied);
    await expect(
      attempt((operation, { path }) => operation !== 'create' || path !== '/yours/secret'),
    ).rejects.toEqual(denied);
    await expect(attempt((operation) => operation !== 'read')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    expect(await attempt(() => true)).toMatchObject({ revision: expect.any(String) });
  });

  it('is still there after closing and opening', async () => {
    await branch.create('/lasting');
    await branch.create('/lasting/x');
    await rename('/lasting', 'lasted');
    await branch.reopen();
    expect(await branch.read('/lasted/x')).toMatchObject({ parent: 'lasted' });
    expect(await branch.isMissing('/lasting')).toBe(true);
  });
});

describe('the bound on nodes of one commit', () => {
  it('refuses a subtree that is too large for every operation', async () => {
    const branch = await openBranch({ commitNodesMax: 60 });
    try {
      await branch.create('/big');
      for (let index = 0; index < 60; index++) await branch.create(`/big/n${index}`);
      const place = { path: '/big' };
      const large = failsWith('COMMIT_TOO_LARGE');
      await expect(branch.command({ type: 'RenameNode', workspace, place, newName: 'x' })).rejects.toEqual(
        large,
      );
      await expect(branch.command({ type: 'DeleteNode', workspace, place })).rejects.toEqual(large);
      await expect(
        branch.command({ type: 'CopyNode', workspace, place, targetPath: '/copy', tree: true }),
      ).rejects.toEqual(large);
      await expect(
        branch.command({ type: 'PublishNode', workspace, place, publish: true, tree: true }),
      ).rejects.toEqual(large);
      expect(await branch.inspect(findDamage)).toEqual([]);
      await branch.command({ type: 'DeleteNode', workspace, place: { path: '/big/n3' } });
      await branch.command({ type: 'RenameNode', workspace, place, newName: 'x' });
      expect(await branch.read('/x/n59')).toMatchObject({ parent: 'x' });
    } finally {
      await branch.close();
    }
  });
});
