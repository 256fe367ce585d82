import { describe, expect, it } from 'vitest';
import type { ConflictList, MergeResolution } from '#actors/branch/merge-messages.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { WORKSPACE } from '#test/support/branch-family.ts';
import {
  ARTICLE,
  articleId,
  manual,
  ours,
  stricter,
  text,
  theirs,
  mergingBranches,
} from './merging-branches.ts';

const workspace = WORKSPACE;

describe('what each side of a merge made, where it does not fit together', () => {
  const branches = mergingBranches();
  const {
    pair,
    define,
    undefine,
    definition,
    create,
    article,
    update,
    merge,
    resolve,
    conflicts,
    wrongs,
    briefly,
    shown,
    expectSettled,
  } = branches;

  describe('a stricter type and a node', () => {
    it('count each node once, even if several properties are missing', async () => {
      const [target, source] = await pair();
      const properties = [...stricter.properties, text('editor', { required: true })];
      await define(source, ARTICLE, { ...stricter, properties });
      for (const name of ['one', 'two']) await article(target, `/${name}`, { title: name });
      const [type, ...nodes] = await conflicts(target, source);
      expect(type).toMatchObject({ node_id: articleId, violations: [{ count: 2 }] });
      expect(nodes.map(({ violations }) => violations?.length)).toEqual([2, 2]);
    });

    it('are both reported as conflicts with their errors and the other party, in either direction [MERGE-034, MERGE-035]', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      const message =
        `Missing required property 'author' for NodeType '${ARTICLE}'; ` +
        `node type '${ARTICLE}' was changed on the source`;
      const listed = await conflicts(target, source);
      expect(listed).toMatchObject([
        {
          node_id: articleId,
          workspace: null,
          path: `/node_type/${ARTICLE}`,
          conflict_type: 'BothModified',
          base_properties: { properties: [{ name: 'title' }] },
          target_properties: { properties: [{ name: 'title' }] },
          source_properties: { properties: [{ name: 'title' }, { name: 'author' }] },
          violations: [
            {
              violation_type: 'InvalidContent',
              message: `With it '/new' would be invalid: ${message}`,
              with: [{ node_id: 'new', workspace, path: '/new' }],
              count: 1,
            },
          ],
        },
        {
          node_id: 'new',
          workspace,
          path: '/new',
          conflict_type: 'BothModified',
          base_properties: null,
          target_properties: { title: 'new' },
          source_properties: null,
          target_path: '/new',
          source_path: null,
          violations: [
            {
              violation_type: 'InvalidContent',
              message,
              property: 'author',
              with: [{ node_id: articleId, workspace: null, path: `/node_type/${ARTICLE}` }],
            },
          ],
        },
      ]);
      expect(await wrongs(source, target)).toEqual([
        [articleId, 'InvalidContent', ['new']],
        ['new', 'InvalidContent', [articleId]],
      ]);
    });

    it('are resolved by properties that satisfy both, without a resolution for the type [MERGE-035]', async () => {
      for (const isTurned of [false, true]) {
        const [first, second] = await pair();
        const [target, source] = isTurned ? [second, first] : [first, second];
        await define(source, ARTICLE, stricter);
        await article(target, '/new', { title: 'new' });
        const given = { title: 'new', author: 'ada' };
        const dry = await resolve(target, source, [manual('new', given)], true);
        expect(dry).toMatchObject({ success: true, nodes_changed: 1, definitions_changed: 1 });
        expect(await resolve(target, source, [manual('new', given)])).toMatchObject({ success: true });
        expect(await shown(target)).toEqual([
          'old /old {"title":"old"}',
          `new /new ${JSON.stringify(given)}`,
        ]);
        expect(await definition(target, ARTICLE)).toMatchObject({ properties: stricter.properties });
        await expectSettled(target, source);
      }
    });

    it('are settled by the side that has the stricter type, for the node alone', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      expect(await resolve(target, source, [theirs('new')])).toMatchObject({ success: true });
      expect(await shown(target)).toEqual(['old /old {"title":"old"}']);
      await expectSettled(target, source);
      const [second, other] = await pair();
      await define(second, ARTICLE, stricter);
      await article(other, '/new', { title: 'new' });
      expect(await resolve(second, other, [ours('new')])).toMatchObject({ success: true });
      expect(await shown(second)).toEqual(['old /old {"title":"old"}']);
      await expectSettled(second, other);
    });

    it('are settled by the side that has the node, with its type, which is said of the type', async () => {
      for (const choice of [ours, theirs]) {
        const [target, source] = await pair();
        const [strict, plain] = choice === ours ? [source, target] : [target, source];
        await define(strict, ARTICLE, stricter);
        await article(plain, '/new', { title: 'new' });
        const left = await resolve(target, source, [choice('new')]);
        expect([left.success, briefly(left.conflicts)]).toEqual([
          false,
          [[articleId, 'InvalidContent', ['new']]],
        ]);
        const other = choice === ours ? theirs : ours;
        await expect(resolve(target, source, [choice('new'), other(articleId)])).rejects.toMatchObject({
          code: 'VALIDATION_FAILED',
          message: expect.stringMatching(/do not fit together.*'\/new'.*author/),
        });
        expect(await resolve(target, source, [choice('new'), choice(articleId)])).toMatchObject({
          success: true,
        });
        expect(await shown(target)).toEqual(['old /old {"title":"old"}', 'new /new {"title":"new"}']);
        expect(await definition(target, ARTICLE)).toMatchObject({ properties: [text('title')] });
        await expectSettled(target, source);
      }
    });

    it('are settled by another definition', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      const looser = { strict: true, properties: [text('title'), text('author')] };
      expect(await resolve(target, source, [manual(articleId, looser)])).toMatchObject({
        success: true,
        definitions_changed: 1,
      });
      expect(await definition(target, ARTICLE)).toMatchObject({ properties: [{}, { name: 'author' }] });
      await expectSettled(target, source);
    });

    it('refuse given properties that do not satisfy both, all of them at once', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      for (const path of ['/one', '/two']) await article(target, path, { title: path });
      const head = await branches.family.head(target);
      const refused = resolve(target, source, [
        manual('one', { title: 'one' }),
        manual('two', { author: 'ada', evil: 1 }),
      ]);
      await expect(refused).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringMatching(/'\/one'.*author.*'\/two'.*Undefined property 'evil'/),
        details: { errors: [expect.stringContaining("'/one'"), expect.stringContaining("'/two'")] },
      });
      expect(await branches.family.head(target)).toBe(head);
    });

    it('are all reported at once, with the other conflicts, and are reported again until resolved', async () => {
      const [target, source] = await pair();
      await branches.family.create(target, '/both', 'base', 'both');
      await merge(source, target);
      await define(source, ARTICLE, stricter);
      await update(source, '/both', { title: 'theirs' });
      await update(target, '/both', { title: 'ours' });
      for (const name of ['a1', 'a2', 'a3']) await article(target, `/${name}`, { title: name });
      const listed = await conflicts(target, source);
      expect(listed.map(({ node_id }) => node_id)).toEqual([articleId, 'a1', 'a2', 'a3', 'both']);
      expect(listed[0]?.violations).toMatchObject([
        { count: 3, with: [{ node_id: 'a1' }, { node_id: 'a2' }, { node_id: 'a3' }] },
      ]);
      const given = manual('a1', { title: 'a1', author: 'ada' });
      const left = await resolve(target, source, [given, theirs('a2')]);
      expect(left.conflicts.map(({ node_id }) => node_id)).toEqual([articleId, 'a3', 'both']);
      const all = [given, theirs('a2'), manual('a3', { title: 'a3', author: 'eve' }), ours('both')];
      expect(await resolve(target, source, all)).toMatchObject({ success: true });
      expect(await shown(target)).toEqual([
        'old /old {"title":"old"}',
        'both /both {"title":"ours"}',
        'a1 /a1 {"title":"a1","author":"ada"}',
        'a3 /a3 {"title":"a3","author":"eve"}',
      ]);
      await expectSettled(target, source);
    });

    it('bring up what only a resolution makes unfit', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await define(target, ARTICLE, { strict: true, properties: [text('title'), text('subtitle')] });
      await article(target, '/mine', { title: 'mine', subtitle: 'x' });
      await article(source, '/yours', { title: 'yours', author: 'ada' });
      expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual([articleId]);
      const left = await resolve(target, source, [theirs(articleId)]);
      expect(briefly(left.conflicts).map(([id, type]) => [id, type])).toEqual([
        ['mine', 'InvalidContent'],
        ['mine', 'InvalidContent'],
      ]);
      const given = manual('mine', { title: 'mine', author: 'eve' });
      expect(await resolve(target, source, [theirs(articleId), given])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('leave the type as a conflict where both changed the node and the one without the property is kept', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await update(source, '/old', { title: 'theirs', author: 'ada' });
      await update(target, '/old', { title: 'ours' });
      expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual(['old']);
      const left = await resolve(target, source, [ours('old')]);
      expect(briefly(left.conflicts)).toEqual([[articleId, 'InvalidContent', ['old']]]);
      const both = manual('old', { title: 'both', author: 'eve' });
      expect(await resolve(target, source, [both])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('are found as of a moment, too', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      const [at, sourceAt] = (
        await Promise.all([target, source].map((branch) => branches.family.head(branch)))
      ).map(parseRevision) as [Revision, Revision];
      const listed = await conflicts(target, source);
      await branches.family.delete(target, '/new');
      await define(source, ARTICLE, { properties: [] });
      expect(await conflicts(target, source)).toEqual([]);
      const query = { type: 'ListConflicts', source: branches.family.actor(source), at, sourceAt } as const;
      expect((await branches.family.query<ConflictList>(target, query)).conflicts).toEqual(listed);
    });

    it('are no matter of a workspace that keeps an earlier definition', async () => {
      const [target, source] = await pair();
      const pin = await branches.family.head(target);
      const lists = { allowed_node_types: [], allowed_root_node_types: [] };
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      await branches.family.putWorkspace(WORKSPACE, {
        ...lists,
        config: { node_type_pins: { [ARTICLE]: pin } },
      });
      try {
        expect(await conflicts(target, source)).toEqual([]);
        expect(await merge(target, source)).toMatchObject({ success: true, definitions_changed: 1 });
      } finally {
        await branches.family.putWorkspace(WORKSPACE, { ...lists, config: {} });
      }
    });

    it('are no matter of the merge where the side that has the node had it like that', async () => {
      const [target, source] = await pair();
      await article(target, '/new', { title: 'new' });
      await define(target, ARTICLE, stricter);
      await define(source, 'test:Other', { properties: [] });
      await branches.family.rename(source, '/old', 'older');
      expect(await wrongs(target, source)).toEqual([]);
      expect(await wrongs(source, target)).toEqual([]);
      expect(await merge(target, source)).toMatchObject({ success: true });
      // A node both have with the same content is as good or bad on the one as on the other.
      await update(target, '/older', { title: 'x', author: 'ada' });
      await define(source, ARTICLE, { strict: true, properties: [] });
      expect(await conflicts(target, source)).toMatchObject([{ node_id: articleId }]);
    });
  });

  describe('a node below another one', () => {
    it('is in conflict with a type that does not take it any more [MERGE-038]', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Shelf', { properties: [] });
      await create(target, '/shelf', 'test:Shelf', {});
      await merge(source, target);
      await define(source, 'test:Shelf', { properties: [], allowed_children: ['svc:Page'] });
      await branches.family.create(target, '/shelf/below', '', 'below');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          ['node_type:test:Shelf', 'ChildNotAllowed', ['below']],
          ['below', 'ChildNotAllowed', ['node_type:test:Shelf']],
        ]);
      }
      expect(await resolve(target, source, [ours('node_type:test:Shelf')])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('conflicts with a node that the other side recreated with another type', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Closed', { properties: [], allowed_children: ['svc:Page'] });
      await branches.family.create(target, '/b', '', 'b');
      await merge(source, target);
      await branches.family.delete(source, '/b');
      await create(source, '/b', 'test:Closed', {});
      await branches.family.create(target, '/b/below', '', 'below');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          ['b', 'ChildNotAllowed', ['below']],
          ['below', 'ChildNotAllowed', ['b']],
        ]);
      }
      expect(await resolve(target, source, [theirs('below')])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });
  });

  describe('a type that the workspace does not take any more', () => {
    it('is a conflict of every node of it that would come, settled by either side [MERGE-039]', async () => {
      for (const choice of [ours, theirs]) {
        const [target, source] = await pair();
        await branches.family.create(source, '/folder', 'x', 'folder');
        await branches.family.create(source, '/folder/below', 'x', 'below');
        await article(source, '/taken', { title: 'taken' });
        await branches.family.create(target, '/mine', 'x', 'mine');
        await branches.family.putWorkspace(WORKSPACE, {
          allowed_node_types: [ARTICLE],
          allowed_root_node_types: [],
        });
        try {
          const listed = await conflicts(target, source);
          expect(listed).toMatchObject([
            {
              node_id: 'folder',
              conflict_type: 'BothModified',
              target_properties: null,
              violations: [
                {
                  violation_type: 'TypeNotAllowed',
                  message: `Workspace '${workspace}' does not allow nodes of type 'svc:Folder'`,
                  with: [],
                },
              ],
            },
            { node_id: 'below' },
          ]);
          expect(listed).toHaveLength(2);
          const all = [choice('folder'), choice('below')];
          expect(await resolve(target, source, all)).toMatchObject({ success: true });
          const ids = (await shown(target)).map((one) => one.split(' ')[0]);
          expect(ids).toEqual(
            [
              'old',
              ...(choice === ours ? [] : ['folder', 'below']),
              ...(choice === ours ? ['mine', 'taken'] : ['mine', 'taken']),
            ].toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b)),
          );
        } finally {
          await branches.family.putWorkspace(WORKSPACE);
        }
        await expectSettled(target, source);
      }
    });

    it('is none for a node of it that is there and comes to the root', async () => {
      const [target, source] = await pair();
      await branches.family.create(target, '/folder', 'x', 'folder');
      await branches.family.create(target, '/folder/inside', 'x', 'inside');
      await merge(source, target);
      await branches.family.command(source, {
        type: 'MoveNode',
        workspace,
        place: { path: '/folder/inside' },
        targetPath: '/outside',
      });
      await branches.family.putWorkspace(WORKSPACE, {
        allowed_node_types: [ARTICLE],
        allowed_root_node_types: [],
      });
      try {
        expect(await conflicts(target, source)).toEqual([]);
        expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 1 });
      } finally {
        await branches.family.putWorkspace(WORKSPACE);
      }
      await expectSettled(target, source);
    });

    it('is one at the root alone, for nodes that come there', async () => {
      const [target, source] = await pair();
      await branches.family.create(target, '/folder', 'x', 'folder');
      await branches.family.create(target, '/folder/inside', 'x', 'inside');
      await merge(source, target);
      await branches.family.command(source, {
        type: 'MoveNode',
        workspace,
        place: { path: '/folder/inside' },
        targetPath: '/outside',
      });
      await branches.family.update(source, '/folder', 'y');
      await branches.family.putWorkspace(WORKSPACE, {
        allowed_node_types: [],
        allowed_root_node_types: [ARTICLE],
      });
      try {
        expect(await wrongs(target, source)).toEqual([['inside', 'TypeNotAllowed', []]]);
        expect(await resolve(target, source, [ours('inside')])).toMatchObject({ success: true });
      } finally {
        await branches.family.putWorkspace(WORKSPACE);
      }
      await expectSettled(target, source);
    });
  });

  it('is resolved for everything by one side, with any violations', async () => {
    for (const choice of [ours, theirs]) {
      const [target, source] = await pair();
      await define(target, 'test:Gone', { properties: [] });
      await define(target, 'test:Coded', { properties: [text('code', { unique: true })] });
      await merge(source, target);
      await define(source, ARTICLE, stricter);
      await undefine(source, 'test:Gone');
      await article(target, '/mine', { title: 'mine' });
      await article(source, '/yours', { title: 'yours', author: 'ada' });
      await create(target, '/used', 'test:Gone', {});
      await create(target, '/code-1', 'test:Coded', { code: '1' });
      await create(source, '/code-2', 'test:Coded', { code: '1' });
      await update(source, '/old', { title: 'theirs', author: 'ada' });
      await update(target, '/old', { title: 'ours' });
      const resolutions: MergeResolution[] = [];
      let open = await conflicts(target, source);
      expect(open.map(({ node_id }) => node_id)).toEqual([
        articleId,
        'node_type:test:Gone',
        'code-1',
        'code-2',
        'mine',
        'old',
        'used',
      ]);
      for (let rounds = 0; open.length > 0; rounds += 1) {
        expect(rounds).toBeLessThan(3);
        resolutions.push(...open.map(({ node_id }) => choice(node_id)));
        open = (await resolve(target, source, resolutions)).conflicts;
      }
      await expectSettled(target, source);
    }
  });
});
