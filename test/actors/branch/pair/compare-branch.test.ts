import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { policyThat } from '#test/support/policy-that.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

describe('comparing branches', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  /** A branch with some content, and a fork of it. */
  async function pair(): Promise<[main: string, fork: string, forkedAt: string]> {
    names += 1;
    const [main, fork] = [`main-${names}`, `fork-${names}`];
    await family.fork(main, 'main');
    for (const path of ['/a', '/a/b', '/a/b/c', '/d']) await family.create(main, path);
    await family.fork(fork, main);
    return [main, fork, await family.head(main)];
  }

  const paths = (entries: readonly { readonly path: string }[]) => entries.map(({ path }) => path);

  it('counts the revisions of each side and names the last shared one [BR-031]', async () => {
    const [main, fork, forkedAt] = await pair();
    expect(await family.compare(fork, main)).toEqual({ ahead: 0, behind: 0, common_ancestor: forkedAt });
    await family.create(fork, '/x');
    await family.create(fork, '/y');
    expect(await family.compare(fork, main)).toEqual({ ahead: 2, behind: 0, common_ancestor: forkedAt });
    expect(await family.compare(main, fork)).toEqual({ ahead: 0, behind: 2, common_ancestor: forkedAt });
    await family.create(main, '/z');
    expect(await family.compare(fork, main)).toEqual({ ahead: 2, behind: 1, common_ancestor: forkedAt });
    expect(await family.compare(fork, fork)).toMatchObject({ ahead: 0, behind: 0 });
  });

  it('answers the ancestor 0-0 for branches that share nothing, an empty one among them', async () => {
    names += 1;
    const empty = `empty-${names}`;
    await family.createEmpty(empty);
    const { behind } = await family.compare(empty, 'main');
    expect(behind).toBeGreaterThan(0);
    expect(await family.compare(empty, 'main')).toEqual({ ahead: 0, behind, common_ancestor: '0-0' });
    expect(await family.compare(empty, empty)).toEqual({ ahead: 0, behind: 0, common_ancestor: '0-0' });
    expect(await family.diff(empty, 'main')).toEqual({
      common_ancestor: '0-0',
      added: [],
      modified: [],
      deleted: [],
      definitions: [],
    });
  });

  it('moves the common ancestor with merges in either direction [BR-034]', async () => {
    const [main, fork] = await pair();
    const one = await family.create(fork, '/x');
    const merge = await family.bringOver(main, fork);
    expect(await family.compare(fork, main)).toEqual({ ahead: 0, behind: 1, common_ancestor: one });
    await family.create(fork, '/y');
    await family.bringOver(fork, main);
    expect(await family.compare(fork, main)).toEqual({ ahead: 2, behind: 0, common_ancestor: merge });
  });

  it('follows a head that was moved back, and written on from there', async () => {
    const [main, fork, forkedAt] = await pair();
    const one = await family.create(fork, '/x');
    await family.create(fork, '/y');
    await family.command(fork, { type: 'MoveHead', revision: one });
    expect(await family.compare(fork, main)).toMatchObject({ ahead: 1 });
    await family.create(fork, '/z');
    expect(await family.compare(fork, main)).toEqual({ ahead: 2, behind: 0, common_ancestor: forkedAt });
    expect(paths((await family.diff(fork, main)).added)).toEqual(['/x', '/z']);
  });

  it('lists net changes with the path a node has, a deleted one the path it had [BR-033]', async () => {
    const [main, fork, forkedAt] = await pair();
    await family.create(fork, '/x', 'X', 'node-x');
    await family.create(fork, '/gone');
    await family.delete(fork, '/gone');
    await family.update(fork, '/a/b/c', 'changed');
    await family.update(fork, '/a', 'changed');
    await family.update(fork, '/a', '');
    await family.delete(fork, '/d');
    const found = await family.diff(fork, main);
    expect(found).toMatchObject({
      common_ancestor: forkedAt,
      deleted: [{ path: '/d', operation: 'deleted' }],
    });
    expect(found.added).toEqual([{ node_id: 'node-x', workspace, path: '/x', operation: 'added' }]);
    expect(paths(found.modified)).toEqual(['/a/b/c']);
    expect(found.modified[0]?.operation).toBe('modified');
    expect(await family.diff(main, fork)).toMatchObject({ added: [], modified: [], deleted: [] });
  });

  it('has every node of a subtree that was renamed, and nothing for one made again as it was', async () => {
    const [main, fork] = await pair();
    await family.rename(fork, '/a', 'moved');
    const kept = { properties: { title: '' }, id: 'kept' };
    await family.create(main, '/kept', kept.properties.title, kept.id);
    await family.bringOver(fork, main);
    await family.delete(fork, '/kept');
    await family.create(fork, '/kept', kept.properties.title, kept.id);
    expect(paths((await family.diff(fork, main)).modified)).toEqual(['/moved', '/moved/b', '/moved/b/c']);
    await family.update(fork, '/kept', 'other');
    expect(paths((await family.diff(fork, main)).modified)).toContain('/kept');
  });

  it('leaves out a mere reorder, and has a node whose translation alone changed [BR-033]', async () => {
    const [main, fork] = await pair();
    const place = { path: '/d' };
    await family.command(fork, {
      type: 'ReorderNode',
      workspace,
      place,
      targetPath: '/a',
      position: 'before',
    });
    expect(await family.diff(fork, main)).toMatchObject({ added: [], modified: [], deleted: [] });
    const translations = { '/title': 'T' };
    await family.command(fork, { type: 'TranslateNode', workspace, place, locale: 'de', translations });
    expect(paths((await family.diff(fork, main)).modified)).toEqual(['/d']);
  });

  it('does not report again what a merge brought over [BR-034]', async () => {
    const [main, fork] = await pair();
    await family.create(main, '/from-main');
    await family.update(main, '/a', 'of main');
    await family.create(fork, '/x');
    await family.bringOver(fork, main);
    expect(await family.diff(fork, main)).toMatchObject({
      added: [{ path: '/x' }],
      modified: [],
      deleted: [],
    });
    await family.bringOver(main, fork);
    expect(await family.diff(fork, main)).toMatchObject({ added: [], modified: [], deleted: [] });
    await family.update(fork, '/x', 'later');
    expect(await family.diff(fork, main)).toMatchObject({
      added: [],
      modified: [{ path: '/x' }],
      deleted: [],
    });
  });

  it('finds what two branches took from a third, also after that one was deleted', async () => {
    const [main, fork] = await pair();
    const third = `third-${names}`;
    const other = `other-${names}`;
    await family.fork(third, main);
    await family.fork(other, main);
    await family.update(third, '/a', 'third');
    const shared = await family.create(third, '/t');
    await family.bringOver(fork, third);
    await family.bringOver(other, third);
    await family.update(fork, '/t', 'mine');
    const expected = { added: [], modified: [{ path: '/t' }], deleted: [] };
    expect(await family.compare(fork, other)).toEqual({ ahead: 2, behind: 1, common_ancestor: shared });
    expect(await family.diff(fork, other)).toMatchObject(expected);
    await family.remove(third);
    expect(await family.compare(fork, other)).toEqual({ ahead: 2, behind: 1, common_ancestor: shared });
    // What the two have in common is then known only as of their own history.
    expect(await family.diff(fork, other)).toMatchObject({
      added: [{ path: '/t' }],
      modified: [{ path: '/a' }],
      deleted: [],
    });
  });

  it('compares as of revisions that are named, as tags do', async () => {
    const [main, fork, forkedAt] = await pair();
    const one = await family.create(fork, '/x');
    await family.create(fork, '/y');
    await family.create(main, '/z');
    const moments = { base: family.actor(main), at: parseRevision(one), baseAt: parseRevision(forkedAt) };
    const compared = await family.query(fork, { type: 'CompareBranch', ...moments });
    expect(compared).toEqual({ ahead: 1, behind: 0, common_ancestor: forkedAt });
    const found = await family.query(fork, { type: 'DiffBranch', ...moments });
    expect(found).toMatchObject({ added: [{ path: '/x' }], modified: [], deleted: [] });
  });

  it('keeps the past of a fork of a fork free of what others wrote after either fork', async () => {
    const [main, fork] = await pair();
    await family.update(main, '/a', 'later');
    const second = `second-${names}`;
    const third = `${second}-of-it`;
    await family.fork(second, main, (await family.compare(fork, main)).common_ancestor);
    await family.fork(third, second);
    const at = parseRevision(await family.create(third, '/new'));
    await family.update(third, '/a', 'newest');
    const place = { path: '/a' };
    const read = await family.query(third, { type: 'ReadNode', workspace, place, at });
    expect(read).toMatchObject({ properties: { title: '' } });
  });

  it('answers a large difference in pieces, whole and in order', async () => {
    const [main, fork] = await pair();
    const operations = Array.from({ length: 1_300 }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/d',
      node: { name: `n${String(index).padStart(4, '0')}`, nodeType: 'svc:Folder', properties: {} },
    }));
    const commit = { message: 'many' };
    await family.command(fork, { type: 'CommitOperations', workspace, commit, operations });
    const { added } = await family.diff(fork, main);
    expect(paths(added)).toEqual(operations.map(({ node }) => `/d/${node.name}`));
    expect(paths((await family.diff(fork, main)).added)).toHaveLength(1_300);
    await family.bringOver(main, fork);
    expect(await family.compare(fork, main)).toMatchObject({ ahead: 0, behind: 1 });
  });

  it('leaves out nodes the caller may not read', async () => {
    const [main, fork] = await pair();
    await family.create(fork, '/seen');
    await family.create(fork, '/unseen');
    const policy = policyThat((_, { path }) => path === '/seen');
    expect(paths((await family.diff(fork, main, { ...callers.admin, policy })).added)).toEqual(['/seen']);
  });

  it('takes a login, and keeps what branches say to each other to them', async () => {
    const [main, fork] = await pair();
    await expect(family.diff(fork, main, callers.anonymous)).rejects.toEqual(refusal('UNAUTHORIZED'));
    const compare = { type: 'CompareBranch', base: family.actor(main) } as const;
    await expect(family.query(fork, compare, callers.anonymous)).rejects.toEqual(refusal('UNAUTHORIZED'));
    const inner = [
      { type: 'ReadGraph', revision: '1-0' },
      { type: 'ReadChanged', revisions: [], from: { revision: 0, part: 0 } },
      { type: 'ReadStates', at: '1-0', nodes: [] },
      { type: 'ReadDefinitionStates', at: '1-0', definitions: [] },
    ] as const;
    for (const query of inner) {
      await expect(family.query(fork, query)).rejects.toEqual(refusal('FORBIDDEN'));
    }
  });
});
