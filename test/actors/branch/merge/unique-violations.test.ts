import { describe, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import { WORKSPACE } from '#test/support/branch-family.ts';
import { ARTICLE, articleId, manual, ours, text, theirs, mergingBranches } from './merging-branches.ts';

const workspace = WORKSPACE;

describe('unique values in a merge', () => {
  const branches = mergingBranches();
  const { pair, define, create, article, update, merge, resolve, conflicts, wrongs, shown, expectSettled } =
    branches;

  describe('one unique value of two nodes', () => {
    const CODED = 'test:Coded';
    async function codedPair(): Promise<[target: string, source: string]> {
      const [target, source] = await pair();
      await define(target, CODED, { properties: [text('code', { unique: true })] });
      await create(target, '/first', CODED, { code: '0' });
      await merge(source, target);
      return [target, source];
    }

    it('makes both a conflict, each with the other one [MERGE-036]', async () => {
      const [target, source] = await codedPair();
      await create(target, '/mine', CODED, { code: '9' });
      await create(source, '/yours', CODED, { code: '9' });
      await update(source, '/first', { code: '1' });
      const listed = await conflicts(target, source);
      expect(listed).toMatchObject([
        {
          node_id: 'mine',
          conflict_type: 'BothAdded',
          target_properties: { code: '9' },
          source_properties: null,
          violations: [
            {
              violation_type: 'DuplicateValue',
              message: "Property 'code' must be unique; '/yours' has the same value",
              property: 'code',
              with: [{ node_id: 'yours', workspace, path: '/yours' }],
            },
          ],
        },
        {
          node_id: 'yours',
          conflict_type: 'BothAdded',
          violations: [{ violation_type: 'DuplicateValue', with: [{ node_id: 'mine' }] }],
        },
      ]);
      expect(listed).toHaveLength(2);
    });

    it('is settled by either side of either node, or by another value for one of them', async () => {
      for (const [choice, expected] of [
        [ours('mine'), ['mine 9']],
        [theirs('mine'), ['yours 9']],
        [ours('yours'), ['mine 9']],
        [theirs('yours'), ['yours 9']],
        [manual('mine', { code: '8' }), ['mine 8', 'yours 9']],
        [manual('yours', { code: '8' }), ['mine 9', 'yours 8']],
        [manual('yours', null), ['mine 9']],
      ] as const) {
        const [target, source] = await codedPair();
        await create(target, '/mine', CODED, { code: '9' });
        await create(source, '/yours', CODED, { code: '9' });
        expect(await resolve(target, source, [choice])).toMatchObject({ success: true });
        const found = (await shown(target)).flatMap((one) => {
          const [, id, code] = /^(\w+) .*"code":"(\d)"/.exec(one) ?? [];
          return id === undefined || id === 'first' ? [] : [`${id} ${code}`];
        });
        expect(found).toEqual(expected);
        await expectSettled(target, source);
      }
    });

    it('is none at a revision before another node got it, which the index of the head has', async () => {
      const [target, source] = await pair();
      await define(target, CODED, { properties: [text('code')] });
      await merge(source, target);
      await define(source, CODED, { properties: [text('code', { unique: true })] });
      await create(target, '/mine', CODED, { code: '9' });
      const sourceAt = parseRevision(await branches.family.head(source));
      await create(source, '/later', CODED, { code: '9' });
      const query = { type: 'ListConflicts', source: branches.family.actor(source), sourceAt } as const;
      expect(await branches.family.query(target, query)).toMatchObject({ conflicts: [] });
      expect(await wrongs(target, source)).toHaveLength(3);
    });

    it('is found at a revision among the nodes of then, where definitions of both sides make it unique', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Code', { properties: [] }, 'mixin');
      await define(target, CODED, { properties: [text('code')] });
      await create(target, '/one', CODED, { code: '9' });
      await create(target, '/two', CODED, { code: '9' });
      await merge(source, target);
      await define(target, CODED, { properties: [], mixins: ['test:Code'] });
      await define(source, 'test:Code', { properties: [text('code', { unique: true })] }, 'mixin');
      const at = parseRevision(await branches.family.head(target));
      const query = { type: 'ListConflicts', source: branches.family.actor(source), at } as const;
      const listed = await branches.family.query(target, query);
      expect(listed).toMatchObject({
        conflicts: [{ violations: [{ violation_type: 'DuplicateValue' }] }, { violations: [{}] }],
      });
      await branches.family.delete(target, '/two');
      expect(await branches.family.query(target, query)).toEqual(listed);
    });

    it('is not settled by a resolution for a third node, which one of them follows', async () => {
      const [target, source] = await codedPair();
      await create(target, '/moved', CODED, { code: '7' });
      await create(target, '/other', CODED, { code: '6' });
      await merge(source, target);
      const move = (branch: string, path: string, targetPath: string) =>
        branches.family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });
      await move(target, '/moved', '/place');
      await update(target, '/place', { code: '8' });
      await create(target, '/new', CODED, { code: '7' });
      await move(source, '/other', '/place');
      const ids = (listed: readonly { readonly node_id: string }[]) => listed.map(({ node_id }) => node_id);
      expect(ids(await conflicts(target, source))).toEqual(['other']);
      // `moved` gives way, and has its value of the source again. Nobody said what becomes of `new`, which has it.
      const left = await resolve(target, source, [theirs('other')]);
      expect([left.success, ids(left.conflicts)]).toEqual([false, ['new', 'moved']]);
      const both = [theirs('other'), manual('new', { code: '9' })];
      expect(await resolve(target, source, both)).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('refuses to keep both, and a given value that another node has', async () => {
      const [target, source] = await codedPair();
      await create(target, '/mine', CODED, { code: '9' });
      await create(source, '/yours', CODED, { code: '9' });
      for (const wrong of [
        [ours('mine'), theirs('yours')],
        [manual('mine', { code: '0' })],
        [manual('mine', { code: '7' }), manual('yours', { code: '7' })],
      ]) {
        await expect(resolve(target, source, wrong)).rejects.toMatchObject({
          code: 'VALIDATION_FAILED',
          message: expect.stringMatching(/'\/(mine|yours)'.*'code' must be unique/),
        });
      }
    });

    it('may have resolutions of its own where that of another conflict settles it', async () => {
      const [target, source] = await codedPair();
      await branches.family.create(target, '/folder', 'x', 'folder');
      await merge(source, target);
      await create(source, '/folder/yours', CODED, { code: '9' });
      await branches.family.command(target, { type: 'DeleteNode', workspace, place: { path: '/folder' } });
      await create(target, '/mine', CODED, { code: '9' });
      const listed = await conflicts(target, source);
      expect(listed.map(({ node_id }) => node_id)).toEqual(['folder', 'yours', 'mine']);
      const all = [ours('folder'), ours('yours'), ours('mine')];
      expect(await resolve(target, source, all)).toMatchObject({ success: true });
      expect(await shown(target)).toContain('mine /mine {"code":"9"}');
      await expectSettled(target, source);
    });

    it('is found where a type becomes unique on one side, among all that the other one has', async () => {
      for (const isTurned of [false, true]) {
        const [first, second] = await pair();
        const [target, source] = isTurned ? [second, first] : [first, second];
        await define(source, ARTICLE, { strict: true, properties: [text('title', { unique: true })] });
        await article(target, '/again', { title: 'old' });
        await article(target, '/one', { title: 'one' });
        await article(target, '/two', { title: 'one' });
        for (const [into, from] of [
          [target, source],
          [source, target],
        ] as const) {
          expect(await wrongs(into, from)).toEqual([
            [articleId, 'DuplicateValue', ['again', 'one', 'two']],
            ['again', 'DuplicateValue', ['old', articleId]],
            ['one', 'DuplicateValue', ['two', articleId]],
            ['two', 'DuplicateValue', ['one', articleId]],
          ]);
        }
        const other = manual('again', { title: 'again' });
        expect(await resolve(target, source, [other, manual('two', { title: 'two' })])).toMatchObject({
          success: true,
        });
        await expectSettled(target, source);
      }
    });

    it('lets nodes swap values, and take a value that its node released on the other side', async () => {
      const [target, source] = await codedPair();
      await create(source, '/second', CODED, { code: '1' });
      await merge(target, source);
      await update(source, '/first', { code: '2' });
      await update(source, '/second', { code: '0' });
      await update(source, '/first', { code: '1' });
      await branches.family.create(target, '/elsewhere', '', 'elsewhere');
      expect(await conflicts(target, source)).toEqual([]);
      await branches.family.delete(target, '/second');
      await create(target, '/third', CODED, { code: '1' });
      expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual([
        'first',
        'second',
        'third',
      ]);
    });
  });
});
