import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConflictList, MergeResult } from '#actors/branch/merge-messages.ts';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;

/** More than two chunks of changes of one revision, and than two pages of what branches tell each other. */
const NODES = 2_300;
const REVISIONS = 150;

const folder = (name: string) => ({ name, nodeType: 'svc:Folder', properties: { title: name }, id: name });

describe('branches that are many pages apart', () => {
  let family: BranchFamily;

  beforeAll(async () => {
    family = await BranchFamily.open();
    const operations: CommitOperation[] = [];
    for (let index = 0; index < NODES; index++) {
      const parentPath = index < 20 ? '/' : `/n${index % 20}`;
      operations.push({ type: 'create', parentPath, node: folder(`n${index}`) });
    }
    await family.fork('base', 'main');
    await family.create('base', '/kept', 'kept', 'kept');
    for (const branch of ['target', 'behind', 'source']) await family.fork(branch, 'base');
    const commit = { message: 'many' };
    await family.command('source', { type: 'CommitOperations', workspace, commit, operations });
    for (let index = 0; index < REVISIONS; index++) {
      await family.update(
        'source',
        index < 20 ? `/n${index}` : `/n${index % 20}/n${index}`,
        `edited ${index}`,
      );
    }
    await family.rename('source', '/n3', 'moved');
    await family.update('target', '/kept', 'ours');
  });
  afterAll(() => family.close());

  const merge = (target: string, strategy: 'ThreeWay' | 'FastForward'): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor('source'),
      sourceName: 'source',
      strategy,
      dryRun: false,
    });
  const tree = async (branch: string, at?: string): Promise<readonly { id: string; path: string }[]> => {
    const moment = at === undefined ? {} : { at: parseRevision(at) };
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    return family.query(branch, { ...query, ...moment });
  };
  const shown = async (branch: string) =>
    (await tree(branch)).filter(({ id }) => id !== 'kept').map(({ id, path }) => [id, path]);

  it('are compared, differ and fast-forward whole', async () => {
    expect(await family.compare('source', 'behind')).toMatchObject({ ahead: REVISIONS + 2, behind: 0 });
    const { added, modified, deleted } = await family.diff('source', 'behind');
    expect([added.length, modified.length, deleted.length]).toEqual([NODES, 0, 0]);
    const start = await family.head('behind');
    expect(await merge('behind', 'FastForward')).toMatchObject({ success: true, fast_forward: true });
    expect(await tree('behind')).toEqual(await tree('source'));
    expect((await tree('behind', start)).map(({ id }) => id)).toEqual(['kept']);
    expect(await family.compare('source', 'behind')).toMatchObject({ ahead: 0, behind: 0 });
    expect(await family.damage('behind')).toEqual([]);
  });

  it('merge whole, and list every conflict', async () => {
    expect(await merge('target', 'ThreeWay')).toMatchObject({ success: true, nodes_changed: NODES });
    expect(await shown('target')).toEqual(await shown('source'));
    expect(await family.damage('target')).toEqual([]);
    for (const branch of ['target', 'source']) {
      for (let index = 20; index < REVISIONS; index++) {
        const path = index % 20 === 3 ? `/moved/n${index}` : `/n${index % 20}/n${index}`;
        await family.update(branch, path, `by ${branch}`);
      }
    }
    const list = { type: 'ListConflicts', source: family.actor('source') } as const;
    const { conflicts } = await family.query<ConflictList>('target', list);
    expect(conflicts).toHaveLength(REVISIONS - 20);
    expect(new Set(conflicts.map(({ conflict_type }) => conflict_type))).toEqual(new Set(['BothModified']));
  });
});
