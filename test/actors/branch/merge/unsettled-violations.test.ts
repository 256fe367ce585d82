import { describe, expect, it } from 'vitest';
import type { ConflictList } from '#actors/branch/merge-messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { WORKSPACE } from '#test/support/branch-family.ts';
import { ARTICLE, articleId, manual, mergingBranches, ours, stricter, text } from './merging-branches.ts';

const workspace = WORKSPACE;

describe('violations of a merge', () => {
  const branches = mergingBranches();
  const {
    pair,
    define,
    undefine,
    create,
    article,
    update,
    merge,
    resolve,
    conflicts,
    wrongs,
    shown,
    expectSettled,
  } = branches;
  const translate = (branch: string, path: string, title: string) =>
    branches.family.command(branch, {
      type: 'TranslateNode',
      workspace,
      place: { path },
      locale: 'de',
      translations: { '/title': title },
    });
  const move = (branch: string, path: string, targetPath: string) =>
    branches.family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });
  const ids = (listed: readonly { readonly node_id: string }[]) => listed.map(({ node_id }) => node_id);

  describe('are reported with the remaining conflicts, even if a given content is invalid,', () => {
    it('as long as another violation has no resolution', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      for (const path of ['/one', '/two']) await article(target, path, { title: path });
      const left = await resolve(target, source, [manual('one', { title: 'one' })]);
      expect([left.success, ids(left.conflicts)]).toEqual([false, [articleId, 'one', 'two']]);
    });

    it('as long as something else is in conflict', async () => {
      const [target, source] = await pair();
      await branches.family.create(target, '/both', 'base', 'both');
      await merge(source, target);
      await define(source, ARTICLE, stricter);
      await branches.family.update(source, '/both', 'theirs');
      await branches.family.update(target, '/both', 'ours');
      await article(target, '/one', { title: 'one' });
      const left = await resolve(target, source, [manual('one', { title: 'one' })]);
      expect([left.success, ids(left.conflicts)]).toEqual([false, ['both', 'one']]);
    });
  });

  describe('of the content of a node', () => {
    it('count where a side has the same issue with other content, and an open locale is no matter', async () => {
      const [target, source] = await pair();
      await translate(target, '/old', 'eins');
      await translate(source, '/old', 'zwei');
      await update(target, '/old', { title: 'changed' });
      await define(source, ARTICLE, stricter);
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          [articleId, 'InvalidContent', ['old']],
          ['old', 'InvalidContent', [articleId]],
        ]);
        expect(ids(await conflicts(into, from))).toEqual([articleId, 'old', 'old']);
      }
    });

    it('are found where a type has become a mixin', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Mixed', { properties: [] });
      await merge(source, target);
      await undefine(source, 'test:Mixed');
      await define(source, 'test:Mixed', { properties: [] }, 'mixin');
      await create(target, '/mixed', 'test:Mixed', {});
      expect(await wrongs(target, source)).toEqual([
        ['node_type:test:Mixed', 'InvalidContent', ['mixed']],
        ['mixed', 'InvalidContent', ['node_type:test:Mixed']],
      ]);
    });

    it('are found where its archetype alone has changed', async () => {
      const [target, source] = await pair();
      const look = (required: boolean) => ({
        base_node_type: 'svc:Folder',
        fields: [{ $type: 'TextField', name: 'caption', required }],
      });
      await define(target, 'test:Look', look(false), 'archetype');
      await merge(source, target);
      await define(source, 'test:Look', look(true), 'archetype');
      await create(target, '/looked', 'svc:Folder', {}, 'test:Look');
      expect(await wrongs(target, source)).toEqual([
        ['archetype:test:Look', 'InvalidContent', ['looked']],
        ['looked', 'InvalidContent', ['archetype:test:Look']],
      ]);
    });

    it('are found where a workspace keeps a definition of a time to come', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, stricter);
      await article(target, '/new', { title: 'new' });
      const config = { node_type_pins: { [ARTICLE]: '99999999999999-0' } };
      await branches.family.putWorkspace(WORKSPACE, {
        allowed_node_types: [],
        allowed_root_node_types: [],
        config,
      });
      try {
        expect(ids(await conflicts(target, source))).toEqual([articleId, 'new']);
      } finally {
        await branches.family.putWorkspace(WORKSPACE);
      }
    });
  });

  describe('of the place of a node', () => {
    const SHELF = 'test:Shelf';
    const closed = { properties: [], allowed_children: ['svc:Page'] };
    async function shelfPair(): Promise<[target: string, source: string]> {
      const [target, source] = await pair();
      await define(target, SHELF, { properties: [] });
      await create(target, '/shelf', SHELF, {});
      await branches.family.create(target, '/shelf/inside', 'x', 'inside');
      await branches.family.create(target, '/outside', 'x', 'outside');
      await merge(source, target);
      return [target, source];
    }

    it('are none where a side has them', async () => {
      const [target, source] = await shelfPair();
      await define(source, SHELF, closed);
      await branches.family.update(target, '/shelf/inside', 'y');
      expect(await conflicts(target, source)).toEqual([]);
      expect(await conflicts(source, target)).toEqual([]);
      expect(await merge(target, source)).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('are some where the side that does not allow it has it elsewhere', async () => {
      const [target, source] = await shelfPair();
      await define(source, SHELF, closed);
      await create(source, '/other', SHELF, {});
      await move(target, '/outside', '/shelf/outside');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          [`node_type:${SHELF}`, 'ChildNotAllowed', ['outside']],
          ['outside', 'ChildNotAllowed', [`node_type:${SHELF}`]],
        ]);
      }
    });

    it('are not looked for below a node in conflict', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Closed', closed);
      await branches.family.create(target, '/b', 'x', 'b');
      await merge(source, target);
      await branches.family.delete(source, '/b');
      await create(source, '/b', 'test:Closed', {});
      await branches.family.update(target, '/b', 'y');
      await branches.family.create(target, '/b/below', 'x', 'below');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(ids(await conflicts(into, from))).toEqual(['b']);
        expect(await wrongs(into, from)).toEqual([]);
      }
    });
  });

  describe('of unique values', () => {
    const CODED = 'test:Coded';
    const coded = (...more: object[]) => ({ properties: [text('code', { unique: true }), ...more] });
    async function codedPair(): Promise<[target: string, source: string]> {
      const [target, source] = await pair();
      await define(target, CODED, coded());
      await create(target, '/first', CODED, { code: '0' });
      await merge(source, target);
      await define(source, CODED, coded(text('author', { required: true })));
      await create(target, '/mine', CODED, { code: '5' });
      return [target, source];
    }

    it('name the unchanged node that has a given value', async () => {
      const [target, source] = await codedPair();
      await expect(
        resolve(target, source, [manual('mine', { code: '0', author: 'ada' })]),
      ).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining(
          "'/mine' would be invalid: Property 'code' must be unique; '/first' has the same value",
        ),
      });
    });

    it('are none of a node that keeps its value', async () => {
      const [target, source] = await codedPair();
      expect(await resolve(target, source, [manual('mine', { code: '5', author: 'ada' })])).toMatchObject({
        success: true,
      });
      expect(await shown(target)).toContain('mine /mine {"code":"5","author":"ada"}');
    });

    it('are not concluded from a type that both sides changed', async () => {
      const [target, source] = await pair();
      await define(target, ARTICLE, { strict: true, properties: [text('title', { unique: true })] });
      await define(source, ARTICLE, { strict: true, properties: [text('title'), text('subtitle')] });
      await article(source, '/again', { title: 'old' });
      expect(ids(await conflicts(target, source))).toEqual([articleId]);
      expect(await wrongs(target, source)).toEqual([]);
      const left = await resolve(target, source, [ours(articleId)]);
      expect(ids(left.conflicts)).toEqual(['again']);
    });

    it('are those of a moment, whatever the index has by now', async () => {
      const [target, source] = await pair();
      await define(source, ARTICLE, { strict: true, properties: [text('title', { unique: true })] });
      await article(target, '/new', { title: 'new' });
      const [at, sourceAt] = [await branches.family.head(target), await branches.family.head(source)];
      await update(source, '/old', { title: 'new' });
      const { conflicts: listed } = await branches.family.query<ConflictList>(target, {
        type: 'ListConflicts',
        source: branches.family.actor(source),
        at: parseRevision(at),
        sourceAt: parseRevision(sourceAt),
      });
      expect(listed).toEqual([]);
      expect(ids(await conflicts(target, source))).toEqual([articleId, 'new', 'old']);
    });

    it('name nodes that neither side changed, where a property becomes unique by both together [MERGE-036]', async () => {
      const [target, source] = await pair();
      const [base, kid] = ['node_type:test:Base', 'node_type:test:Kid'];
      const properties = [text('code')];
      await define(target, 'test:Base', { properties });
      await define(target, 'test:Kid', { properties });
      for (const name of ['a', 'b']) await create(target, `/${name}`, 'test:Kid', { code: '1' });
      await create(target, '/c', 'test:Kid', { code: '2' });
      await merge(source, target);
      await define(source, 'test:Base', { properties: [text('code', { unique: true })] });
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [] });
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        const listed = await conflicts(into, from);
        expect(ids(listed)).toEqual([base, kid]);
        for (const { violations } of listed) {
          expect(violations).toMatchObject([{ violation_type: 'DuplicateValue' }]);
          const [violation] = violations ?? [];
          expect(violation?.message).toContain(
            "Property 'code' of type 'test:Kid' must be unique; '/a' and '/b' have the same value",
          );
        }
      }
      await create(source, '/d', 'test:Kid', { code: '2' });
      await create(source, '/alone', 'test:Kid', { code: '3' });
      expect(await wrongs(target, source)).toContainEqual(['d', 'DuplicateValue', ['c', kid, base]]);
      // There the new nodes are in the index that is read for those that neither side changed.
      const found = await wrongs(source, target);
      const [, , others] = found.find(([id]) => id === 'd') ?? [];
      expect([...(others as string[])].sort()).toEqual(['c', base, kid]);
      expect(found.map(([id]) => id)).not.toContain('alone');
      const unique = manual(base, { properties: [text('code', { unique: true })] });
      const refused = resolve(target, source, [ours(kid), unique, ours('d')]);
      await expect(refused).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining("'/a' and '/b' have the same value"),
      });
      expect(await resolve(target, source, [ours(base)])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });
  });

  describe('of definitions', () => {
    it('are not concluded from definitions in conflict', async () => {
      const [target, source] = await pair();
      for (const name of ['test:Base', 'test:Kid']) await define(target, name, { properties: [] });
      await merge(source, target);
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [] });
      await define(source, 'test:Kid', { properties: [text('own')] });
      await undefine(source, 'test:Base');
      const [base, kid] = ['node_type:test:Base', 'node_type:test:Kid'];
      expect(ids(await conflicts(target, source))).toEqual([kid]);
      expect(await wrongs(target, source)).toEqual([]);
      const left = await resolve(target, source, [ours(kid)]);
      expect(ids(left.conflicts)).toEqual([base]);
    });

    it('are not concluded for a node below another one from a type in conflict', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Shelf', { properties: [] });
      await create(target, '/shelf', 'test:Shelf', {});
      await merge(source, target);
      await define(target, 'test:Shelf', { properties: [], allowed_children: ['svc:Page'] });
      await define(source, 'test:Shelf', { properties: [text('own')] });
      await branches.family.create(source, '/shelf/below', '', 'below');
      const shelf = 'node_type:test:Shelf';
      expect(ids(await conflicts(target, source))).toEqual([shelf]);
      expect(await wrongs(target, source)).toEqual([]);
      const left = await resolve(target, source, [ours(shelf)]);
      expect(ids(left.conflicts)).toEqual(['below']);
    });

    it('are not concluded for a node of a type in conflict from what that is made of', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Base', { properties: [] });
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [] });
      await merge(source, target);
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [text('mine')] });
      await create(target, '/kid', 'test:Kid', { mine: 'x' });
      await define(source, 'test:Kid', { extends: 'test:Base', properties: [text('yours')] });
      await define(source, 'test:Base', { properties: [text('author', { required: true })] });
      const [base, kid] = ['node_type:test:Base', 'node_type:test:Kid'];
      expect(ids(await conflicts(target, source))).toEqual([kid]);
      expect(await wrongs(target, source)).toEqual([]);
      const left = await resolve(target, source, [ours(kid)]);
      expect(ids(left.conflicts)).toEqual([base, 'kid']);
    });

    it('are not concluded from what they are made of, where that is in conflict', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Base', { properties: [] });
      await merge(source, target);
      await undefine(target, 'test:Base');
      await define(source, 'test:Base', { properties: [text('own')] });
      await define(source, 'test:Kid', { extends: 'test:Base', properties: [] });
      const [base, kid] = ['node_type:test:Base', 'node_type:test:Kid'];
      expect(ids(await conflicts(target, source))).toEqual([base]);
      expect(await wrongs(target, source)).toEqual([]);
      const left = await resolve(target, source, [ours(base)]);
      expect(ids(left.conflicts)).toEqual([kid]);
    });
  });
});
