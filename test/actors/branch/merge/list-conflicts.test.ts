import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConflictList, MergeConflict, MergeResult } from '#actors/branch/merge-messages.ts';
import type { BranchCommand } from '#actors/branch/messages.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';

const workspace = WORKSPACE;

describe('the conflicts of two branches', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  /** A branch with `/a/a1`, `/b`, `/c`, and a fork of it; ids are names. */
  async function pair(): Promise<[target: string, source: string]> {
    names += 1;
    const [target, source] = [`target-${names}`, `source-${names}`];
    await family.fork(target, 'main');
    for (const path of ['/a', '/a/a1', '/b', '/c']) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      await family.create(target, path, name, name);
    }
    await family.fork(source, target);
    return [target, source];
  }

  const list = (target: string, source: string): Promise<ConflictList> =>
    family.query(target, { type: 'ListConflicts', source: family.actor(source) });
  const conflicts = async (target: string, source: string): Promise<readonly MergeConflict[]> =>
    (await list(target, source)).conflicts;
  const kinds = async (target: string, source: string) =>
    (await conflicts(target, source)).map(({ conflict_type, node_id, path }) => [
      node_id,
      path,
      conflict_type,
    ]);

  const move = (branch: string, path: string, targetPath: string) =>
    family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });
  const reorder = (branch: string, path: string, targetPath: string) => {
    const command: BranchCommand = {
      type: 'ReorderNode',
      workspace,
      place: { path },
      targetPath,
      position: 'before',
    };
    return family.command(branch, command);
  };
  const translate = (branch: string, path: string, locale: string, title: string) => {
    const translations = { '/title': title };
    const command: BranchCommand = {
      type: 'TranslateNode',
      workspace,
      place: { path },
      locale,
      translations,
    };
    return family.command(branch, command);
  };
  const changeLocale = (branch: string, locale: string, change: 'hide' | 'delete-translation') =>
    family.command(branch, { type: 'ChangeLocale', workspace, place: { path: '/b' }, locale, change });
  const define = (branch: string, name: string, property: string) => {
    const definition = { name, properties: [{ name: property, type: 'String' }] };
    return family.command(branch, { type: 'PutDefinition', kind: 'node_type', definition });
  };

  /** The places of three states; nothing is published unless a test says so. */
  const places = (base: string | null, target: string | null, source: string | null) => ({
    base_path: base,
    target_path: target,
    source_path: source,
    base_published: base === null ? null : false,
    target_published: target === null ? null : false,
    source_published: source === null ? null : false,
  });

  it('name a node both changed, with the three property sets the right way round [MERGE-003, MERGE-018]', async () => {
    const [target, source] = await pair();
    const common = await family.head(target);
    await family.update(target, '/a/a1', 'ours');
    await family.update(source, '/a/a1', 'theirs');
    const heads = [await family.head(target), await family.head(source)];
    const expected = {
      node_id: 'a1',
      workspace,
      path: '/a/a1',
      conflict_type: 'BothModified',
      base_properties: { title: 'a1' },
      target_properties: { title: 'ours' },
      source_properties: { title: 'theirs' },
      ...places('/a/a1', '/a/a1', '/a/a1'),
    };
    expect(await list(target, source)).toEqual({
      target_head: heads[0],
      source_head: heads[1],
      common_ancestor: common,
      conflicts: [expected],
    });
    expect(await conflicts(source, target)).toEqual([
      { ...expected, target_properties: { title: 'theirs' }, source_properties: { title: 'ours' } },
    ]);
    expect([await family.head(target), await family.head(source)]).toEqual(heads);
  });

  it('are none where each changed something else, one reordered what the other edited, or both did the same [MERGE-012]', async () => {
    const [target, source] = await pair();
    await family.update(target, '/a', 'ours');
    await family.update(source, '/a/a1', 'theirs');
    await reorder(source, '/a', '/c');
    await reorder(source, '/c', '/b');
    await reorder(target, '/c', '/a');
    for (const branch of [target, source]) {
      await family.rename(branch, '/b', 'b2');
      await family.update(branch, '/b2', 'same');
      await family.delete(branch, '/c');
      await define(branch, 'test:Same', 'one');
      await family.create(branch, '/new', 'same', 'new');
    }
    expect(await conflicts(target, source)).toEqual([]);
    expect(await conflicts(source, target)).toEqual([]);
  });

  it('report which side deleted what the other one changed, in nested values as well [MERGE-004, MERGE-011]', async () => {
    const [target, source] = await pair();
    await family.delete(target, '/a');
    await family.update(source, '/a/a1', 'theirs');
    await family.delete(source, '/b');
    await family.update(target, '/b', 'ours');
    expect(await conflicts(target, source)).toEqual([
      {
        node_id: 'a1',
        workspace,
        path: '/a/a1',
        conflict_type: 'ModifiedBySourceDeletedByTarget',
        base_properties: { title: 'a1' },
        target_properties: null,
        source_properties: { title: 'theirs' },
        ...places('/a/a1', null, '/a/a1'),
      },
      {
        node_id: 'b',
        workspace,
        path: '/b',
        conflict_type: 'DeletedBySourceModifiedByTarget',
        base_properties: { title: 'b' },
        target_properties: { title: 'ours' },
        source_properties: null,
        ...places('/b', '/b', null),
      },
    ]);
  });

  it('show where the node is in all three states, and whether it is published there [MERGE-030]', async () => {
    const [target, source] = await pair();
    const publish = (branch: string, path: string, on: boolean) =>
      family.command(branch, { type: 'PublishNode', workspace, place: { path }, publish: on, tree: false });
    await publish(target, '/b', true);
    await family.command(source, {
      type: 'MergeBranch',
      source: family.actor(target),
      sourceName: target,
      strategy: 'ThreeWay',
      dryRun: false,
    });
    await move(target, '/c', '/a/c');
    await family.rename(source, '/c', 'elsewhere');
    await publish(target, '/b', false);
    await family.update(source, '/b', 'theirs');
    const sets = (title: string) => ({ base_properties: { title }, target_properties: { title } });
    expect(await conflicts(target, source)).toEqual([
      {
        node_id: 'c',
        workspace,
        path: '/a/c',
        conflict_type: 'BothModified',
        ...sets('c'),
        source_properties: { title: 'c' },
        ...places('/c', '/a/c', '/elsewhere'),
      },
      {
        node_id: 'b',
        workspace,
        path: '/b',
        conflict_type: 'BothModified',
        ...sets('b'),
        source_properties: { title: 'theirs' },
        ...places('/b', '/b', '/b'),
        base_published: true,
        source_published: true,
      },
    ]);
  });

  it('name the deleted parent of a node that was added or moved below it [MERGE-017]', async () => {
    const [target, source] = await pair();
    await family.delete(target, '/a');
    await family.create(source, '/a/child', '', 'child');
    expect(await kinds(target, source)).toEqual([['a', '/a', 'ModifiedBySourceDeletedByTarget']]);
    expect(await kinds(source, target)).toEqual([['a', '/a', 'DeletedBySourceModifiedByTarget']]);
    const [second, other] = await pair();
    await family.delete(second, '/b');
    await move(other, '/c', '/b/c');
    expect(await kinds(second, other)).toEqual([['b', '/b', 'ModifiedBySourceDeletedByTarget']]);
    expect(await kinds(other, second)).toEqual([['b', '/b', 'DeletedBySourceModifiedByTarget']]);
  });

  it('are BothAdded for two new nodes at one path, and for one id made twice [MERGE-029]', async () => {
    const [target, source] = await pair();
    await family.create(target, '/new', 'ours', 'mine');
    await family.create(source, '/new', 'theirs', 'yours');
    await family.create(source, '/new/below', '', 'below');
    await family.create(target, '/one', 'ours', 'twice');
    await family.create(source, '/other', 'theirs', 'twice');
    const expected = { workspace, conflict_type: 'BothAdded', base_properties: null };
    const sets = { target_properties: { title: 'ours' }, source_properties: { title: 'theirs' } };
    expect(await conflicts(target, source)).toEqual([
      { ...expected, ...sets, node_id: 'mine', path: '/new', ...places(null, '/new', '/new') },
      { ...expected, ...sets, node_id: 'twice', path: '/one', ...places(null, '/one', '/other') },
    ]);
  });

  it('are BothModified where a node was moved to a place the other side took', async () => {
    const [target, source] = await pair();
    await family.rename(target, '/b', 'place');
    await family.create(source, '/place', 'theirs', 'yours');
    await family.create(target, '/taken', 'ours', 'mine');
    await family.rename(source, '/c', 'taken');
    expect(await conflicts(target, source)).toMatchObject(
      [
        {
          node_id: 'c',
          path: '/c',
          conflict_type: 'BothModified',
          base_properties: { title: 'c' },
          source_properties: { title: 'c' },
        },
        { node_id: 'b', path: '/place', conflict_type: 'BothModified', base_properties: { title: 'b' } },
      ].toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    );
  });

  it('are none where the source takes a place it has itself emptied', async () => {
    const [target, source] = await pair();
    await family.delete(source, '/b');
    await family.rename(source, '/c', 'b');
    await family.update(target, '/a', 'ours');
    expect(await conflicts(target, source)).toEqual([]);
    expect(await conflicts(source, target)).toEqual([]);
  });

  it('are BothModified for moves that make each the ancestor of the other [MERGE-029]', async () => {
    const [target, source] = await pair();
    await move(target, '/b', '/c/b');
    await move(source, '/c', '/b/c');
    expect(await kinds(target, source)).toEqual([
      ['c', '/c', 'BothModified'],
      ['b', '/c/b', 'BothModified'],
    ]);
    expect(await kinds(source, target)).toEqual([
      ['b', '/b', 'BothModified'],
      ['c', '/b/c', 'BothModified'],
    ]);
  });

  it('find a cycle that runs through a node neither side moved', async () => {
    const [target, source] = await pair();
    await move(target, '/b', '/a/a1/b');
    await move(source, '/a', '/b/a');
    expect(await kinds(target, source)).toEqual([
      ['a', '/a', 'BothModified'],
      ['b', '/a/a1/b', 'BothModified'],
    ]);
  });

  it('count a moved folder as a change of what is inside', async () => {
    const [target, source] = await pair();
    await family.rename(source, '/a', 'moved');
    await family.update(target, '/a/a1', 'ours');
    expect(await kinds(target, source)).toEqual([['a1', '/a/a1', 'BothModified']]);
  });

  it('keep locales apart from each other and from the node, and name the locale [MERGE-016]', async () => {
    const [target, source] = await pair();
    await translate(target, '/b', 'de', 'Unser');
    await translate(source, '/b', 'fr', 'Le');
    await family.update(source, '/b', 'theirs');
    expect(await conflicts(target, source)).toEqual([]);
    await translate(source, '/b', 'de', 'Euer');
    const expected = {
      node_id: 'b',
      workspace,
      path: '/b',
      conflict_type: 'BothAdded',
      base_properties: null,
      target_properties: { '/title': 'Unser' },
      source_properties: { '/title': 'Euer' },
      translation_locale: 'de',
    };
    expect(await conflicts(target, source)).toEqual([expected]);
    await changeLocale(source, 'de', 'hide');
    expect(await conflicts(target, source)).toEqual([
      { ...expected, conflict_type: 'DeletedBySourceModifiedByTarget', source_properties: null },
    ]);
    await changeLocale(source, 'de', 'delete-translation');
    expect(await conflicts(target, source)).toEqual([]);
  });

  it('name a schema definition both changed by its kind and name', async () => {
    const [target, source] = await pair();
    await define(target, 'test:Page', 'ours');
    await define(source, 'test:Page', 'theirs');
    await define(source, 'test:Other', 'theirs');
    expect(await conflicts(target, source)).toMatchObject([
      {
        node_id: 'node_type:test:Page',
        workspace: null,
        path: '/node_type/test:Page',
        conflict_type: 'BothModified',
        base_properties: null,
        target_properties: { name: 'test:Page', properties: [{ name: 'ours' }] },
        source_properties: { name: 'test:Page', properties: [{ name: 'theirs' }] },
      },
    ]);
  });

  it('do not come back once a merge decided about them', async () => {
    const [target, source] = await pair();
    await family.update(target, '/b', 'ours');
    await family.update(source, '/b', 'theirs');
    await family.bringOver(target, source, 'other');
    expect(await conflicts(target, source)).toEqual([]);
    expect(await conflicts(source, target)).toEqual([]);
    await family.update(source, '/b', 'theirs again');
    expect(await conflicts(target, source)).toEqual([]);
    await family.update(target, '/b', 'ours again');
    expect(await kinds(target, source)).toEqual([['b', '/b', 'BothModified']]);
  });

  it('are none after crossed merges about what one side only changed since', async () => {
    const [one, two] = await pair();
    const merge = (target: string, source: string) =>
      family.command<MergeResult>(target, {
        type: 'MergeBranch',
        source: family.actor(source),
        sourceName: source,
        strategy: 'ThreeWay',
        dryRun: false,
      });
    await translate(one, '/b', 'de', 'Unser');
    await family.update(two, '/b', 'theirs');
    await family.create(two, '/a/new', '', 'new');
    await family.rename(one, '/a', 'z');
    await reorder(one, '/c', '/b');
    await family.fork(`${one}-before`, one);
    expect(await merge(one, two)).toMatchObject({ success: true });
    expect(await merge(two, `${one}-before`)).toMatchObject({ success: true });
    expect(await family.diff(one, two)).toMatchObject({ added: [], modified: [], deleted: [] });
    await family.update(one, '/b', 'ours');
    await translate(one, '/b', 'de', 'Neu');
    await family.update(one, '/z/new', 'ours');
    expect(await family.diff(one, two)).toMatchObject({
      modified: [{ path: '/b' }, { path: '/z/new' }],
    });
    for (const [target, source] of [
      [one, two],
      [two, one],
    ] as const) {
      expect(await conflicts(target, source)).toEqual([]);
    }
  });

  it('are not listed without a login', async () => {
    const [target, source] = await pair();
    const query = { type: 'ListConflicts', source: family.actor(source) } as const;
    const refused = family.query(target, query, callers.anonymous);
    await expect(refused).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});
