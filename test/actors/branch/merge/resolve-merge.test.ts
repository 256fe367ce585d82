import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {
  ConflictList,
  MergeConflict,
  MergeResolution,
  MergeResult,
  ResolveMerge,
} from '#actors/branch/merge-messages.ts';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { TRANSLATIONS_LENGTH_MAX } from '#runtime/content/translations/translation.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;
const ours = (nodeId: string, locale?: string): MergeResolution => resolution('keep-ours', nodeId, locale);
const theirs = (nodeId: string, locale?: string): MergeResolution =>
  resolution('keep-theirs', nodeId, locale);
const manual = (nodeId: string, properties: JsonObject | null, locale?: string): MergeResolution => ({
  ...resolution('manual', nodeId, locale),
  properties,
});

function resolution(type: MergeResolution['type'], nodeId: string, locale?: string): MergeResolution {
  return { type, nodeId, ...(locale === undefined ? {} : { locale }) };
}

describe('a merge with resolutions', () => {
  let family: BranchFamily;
  let names = 0;
  let used: string[] = [];

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());
  afterEach(async () => {
    for (const branch of used) expect(await family.damage(branch)).toEqual([]);
    used = [];
  });

  /** A branch with `/a/a1`, `/b`, `/c`, and a fork of it; ids are names. */
  async function pair(): Promise<[target: string, source: string]> {
    names += 1;
    const [target, source] = [`target-${names}`, `source-${names}`];
    await family.fork(target, 'main');
    for (const path of ['/a', '/a/a1', '/a/a2', '/b', '/c']) await add(target, path);
    await family.fork(source, target);
    used.push(target, source);
    return [target, source];
  }

  /** Creates a node whose id and title are its name. */
  const add = (branch: string, path: string) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return family.create(branch, path, name, name);
  };
  const resolve = (
    target: string,
    source: string,
    resolutions: readonly MergeResolution[],
    more: Partial<ResolveMerge> = {},
  ): Promise<MergeResult> =>
    family.command(target, {
      type: 'ResolveMerge',
      source: family.actor(source),
      sourceName: source,
      resolutions,
      dryRun: false,
      ...more,
    });
  const merge = (target: string, source: string): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun: false,
    });
  const conflicts = async (target: string, source: string): Promise<readonly MergeConflict[]> => {
    const query = { type: 'ListConflicts', source: family.actor(source) } as const;
    return (await family.query<ConflictList>(target, query)).conflicts;
  };
  const named = async (target: string, source: string) =>
    (await conflicts(target, source)).map(({ node_id }) => node_id);
  /** `id path title`, in document order. */
  const shown = async (branch: string, at?: string): Promise<string[]> => {
    const moment = at === undefined ? {} : { at: parseRevision(at) };
    const nodes: { id: string; path: string; properties: { title: string } }[] = await family.query(branch, {
      type: 'ReadTree',
      workspace,
      place: { path: '/' },
      levels: 100,
      form: 'flat',
      ...moment,
    });
    return nodes.map(({ id, path, properties: { title } }) => `${id} ${path} ${title}`);
  };
  const move = (branch: string, path: string, targetPath: string) =>
    family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });
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
  const define = (branch: string, name: string, properties: readonly object[]) =>
    family.command(branch, { type: 'PutDefinition', kind: 'node_type', definition: { name, properties } });

  /** Nothing is left to argue about: merging back and forth brings both to the same, and reports nothing. */
  async function expectSettled(target: string, source: string): Promise<void> {
    expect(await conflicts(target, source)).toEqual([]);
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 0 });
    expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
    expect(await shown(source)).toEqual(await shown(target));
    await family.update(source, '/a/a1', 'later');
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 1 });
    expect(await shown(source)).toEqual(await shown(target));
  }

  it('keeps ours, takes theirs and takes given properties, as one commit of two parents', async () => {
    const [target, source] = await pair();
    for (const path of ['/a', '/b', '/c']) {
      await family.update(target, path, 'ours');
      await family.update(source, path, 'theirs');
    }
    await add(source, '/new');
    const heads = [await family.head(target), await family.head(source)];
    const before = await shown(target);
    const all = [ours('a'), theirs('b'), manual('c', { title: 'both' })];
    const dry = await resolve(target, source, all, { dryRun: true });
    expect([dry.success, dry.nodes_changed, await family.head(target)]).toEqual([true, 4, heads[0]]);
    expect(await shown(target)).toEqual(before);
    const done = await resolve(target, source, all, { commit: { message: 'settled', actor: 'ada' } });
    expect(done).toMatchObject({ success: true, conflicts: [], fast_forward: false, nodes_changed: 4 });
    expect([done.target_head, done.source_head]).toEqual(heads);
    expect(await shown(target)).toEqual([
      'a /a ours',
      'a1 /a/a1 a1',
      'a2 /a/a2 a2',
      'b /b theirs',
      'c /c both',
      'new /new new',
    ]);
    const record = await family.query(target, { type: 'ReadRevision', revision: parseRevision(done.head) });
    expect(record).toMatchObject({
      parent: heads[0],
      merge_parent: heads[1],
      message: 'settled',
      actor: 'ada',
      is_system: false,
    });
    expect(await family.head(source)).toBe(heads[1]);
    expect(await shown(target, heads[0])).toEqual(before);
    await expectSettled(target, source);
  });

  it('answers with the conflicts that are left, and writes nothing', async () => {
    const [target, source] = await pair();
    for (const path of ['/b', '/c']) {
      await family.update(target, path, 'ours');
      await family.update(source, path, 'theirs');
    }
    const head = await family.head(target);
    const stopped = await resolve(target, source, [theirs('b')]);
    expect(stopped).toMatchObject({ success: false, head, nodes_changed: 0 });
    expect(stopped.conflicts).toMatchObject([{ node_id: 'c', conflict_type: 'BothModified' }]);
    expect(await family.head(target)).toBe(head);
  });

  it('refuses resolutions of what is not in conflict, and two of the same', async () => {
    const [target, source] = await pair();
    await family.update(target, '/b', 'ours');
    await family.update(source, '/b', 'theirs');
    await family.update(source, '/c', 'theirs');
    const head = await family.head(target);
    for (const wrong of [[ours('c')], [theirs('none')], [ours('b', 'de')], [ours('b'), theirs('b')]]) {
      const rest = wrong.some(({ nodeId }) => nodeId === 'b') ? wrong : [...wrong, ours('b')];
      await expect(resolve(target, source, rest)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    }
    const twice = resolve(target, source, [ours('b'), theirs('b')]);
    await expect(twice).rejects.toMatchObject({ message: "There are two resolutions for 'b'" });
    expect(await family.head(target)).toBe(head);
    await resolve(target, source, [ours('b')]);
    const again = resolve(target, source, [ours('b')]);
    await expect(again).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await resolve(target, source, [])).toMatchObject({ success: true, nodes_changed: 0 });
  });

  it('refuses resolutions made for other heads, and reports the current heads', async () => {
    const [target, source] = await pair();
    await family.update(target, '/b', 'ours');
    await family.update(source, '/b', 'theirs');
    const heads = { target_head: await family.head(target), source_head: await family.head(source) };
    const stale = [{ expectedSourceHead: heads.target_head }, { expectedTargetHead: heads.source_head }];
    for (const expected of stale) {
      const refused = resolve(target, source, [ours('b')], expected);
      await expect(refused).rejects.toMatchObject({ code: 'CONFLICT', details: heads });
    }
    expect(await family.head(target)).toBe(heads.target_head);
    const fresh = { expectedSourceHead: heads.source_head, expectedTargetHead: heads.target_head };
    expect(await resolve(target, source, [ours('b')], fresh)).toMatchObject({ success: true });
  });

  it('keeps or takes a deletion, with everything below', async () => {
    for (const [choice, expected] of [
      [ours('a'), ['a /a ours', 'a1 /a/a1 a1', 'a2 /a/a2 a2', 'mine /a/mine mine']],
      [theirs('a'), []],
    ] as const) {
      const [target, source] = await pair();
      await family.delete(source, '/a');
      await family.update(target, '/a', 'ours');
      await add(target, '/a/mine');
      expect(await named(target, source)).toEqual(['a']);
      await resolve(target, source, [choice]);
      const rest = ['b /b b', 'c /c c'];
      expect(await shown(target)).toEqual([...expected, ...rest]);
      expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
      expect(await shown(source)).toEqual([...expected, ...rest]);
    }
  });

  it('restores what the target deleted, with its subtree, or leaves it deleted', async () => {
    for (const [choice, expected] of [
      [theirs('a'), ['a /a theirs', 'a1 /a/a1 a1', 'a2 /a/a2 a2', 'yours /a/yours yours']],
      [manual('a', { title: 'given' }), ['a /a given', 'a1 /a/a1 a1', 'a2 /a/a2 a2', 'yours /a/yours yours']],
      [ours('a'), []],
      [manual('a', null), []],
    ] as const) {
      const [target, source] = await pair();
      await family.delete(target, '/a');
      await family.update(source, '/a', 'theirs');
      await add(source, '/a/yours');
      expect(await named(target, source)).toEqual(['a']);
      await resolve(target, source, [choice]);
      const rest = ['b /b b', 'c /c c'];
      expect(await shown(target)).toEqual([...expected, ...rest]);
      expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
      expect(await shown(source)).toEqual([...expected, ...rest]);
    }
  });

  it('keeps the folders above a node that is kept, and nothing beside it', async () => {
    const [target, source] = await pair();
    await family.delete(source, '/a');
    await family.update(target, '/a/a1', 'ours');
    expect(await named(target, source)).toEqual(['a1']);
    await resolve(target, source, [ours('a1')]);
    expect(await shown(target)).toEqual(['a /a a', 'a1 /a/a1 ours', 'b /b b', 'c /c c']);
    await expectSettled(target, source);
  });

  it('reports when a node would be kept below a deleted one', async () => {
    const [target, source] = await pair();
    await family.delete(source, '/a');
    await family.update(target, '/a', 'ours');
    await family.update(target, '/a/a1', 'ours');
    const head = await family.head(target);
    await expect(resolve(target, source, [theirs('a'), ours('a1')])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'/a/a1' would be kept below '/a'"),
    });
    expect(await family.head(target)).toBe(head);
    await resolve(target, source, [ours('a'), theirs('a1')]);
    expect(await shown(target)).toEqual(['a /a ours', 'a2 /a/a2 a2', 'b /b b', 'c /c c']);
    expect(await merge(source, target)).toMatchObject({ success: true });
    expect(await shown(source)).toEqual(await shown(target));
  });

  it('lets a node that was moved below a deleted one stay where the winner has it', async () => {
    const [target, source] = await pair();
    await family.delete(source, '/b');
    await move(target, '/c', '/b/c');
    expect(await named(target, source)).toEqual(['b']);
    await resolve(target, source, [theirs('b')]);
    expect(await shown(target)).toEqual(['a /a a', 'a1 /a/a1 a1', 'a2 /a/a2 a2', 'c /c c']);
    await expectSettled(target, source);
    const [second, other] = await pair();
    await family.delete(second, '/b');
    await move(other, '/c', '/b/c');
    await resolve(second, other, [ours('b')]);
    expect(await shown(second)).toEqual(['a /a a', 'a1 /a/a1 a1', 'a2 /a/a2 a2', 'c /c c']);
    await expectSettled(second, other);
  });

  it('takes a place from the other side, or leaves it, for two new nodes at one path', async () => {
    for (const [choice, expected] of [
      [ours('mine'), ['mine /new mine', 'below /new/below below']],
      [theirs('mine'), ['yours /new yours', 'under /new/under under']],
      [manual('mine', { title: 'one' }), ['mine /new one', 'below /new/below below']],
      [manual('mine', null), []],
    ] as const) {
      const [target, source] = await pair();
      await family.create(target, '/new', 'mine', 'mine');
      await add(target, '/new/below');
      await family.create(source, '/new', 'yours', 'yours');
      await add(source, '/new/under');
      expect(await named(target, source)).toEqual(['mine']);
      await resolve(target, source, [choice]);
      expect((await shown(target)).slice(5)).toEqual(expected);
      await expectSettled(target, source);
    }
  });

  it('leaves a node that stays as it is at its version', async () => {
    const [target, source] = await pair();
    await family.update(target, '/b', 'ours');
    await family.update(source, '/b', 'theirs');
    const read = () => family.query(target, { type: 'ReadNode', workspace, place: { id: 'b' } });
    const before = await read();
    expect(await resolve(target, source, [ours('b')])).toMatchObject({ success: true });
    expect(await read()).toEqual(before);
  });

  it('does not offer a node again that was not taken over, but for an edit of it', async () => {
    const [target, source] = await pair();
    await family.create(target, '/new', 'mine', 'mine');
    await family.create(source, '/new', 'yours', 'yours');
    await resolve(target, source, [ours('mine')]);
    await family.rename(source, '/new', 'elsewhere');
    expect(await conflicts(target, source)).toMatchObject([
      { node_id: 'yours', conflict_type: 'ModifiedBySourceDeletedByTarget', target_properties: null },
    ]);
    await resolve(target, source, [theirs('yours')]);
    expect((await shown(target)).slice(5)).toEqual(['mine /new mine', 'yours /elsewhere yours']);
    await expectSettled(target, source);
  });

  it('takes a place from the other side, or leaves it, for a node that was moved there', async () => {
    for (const [choice, expected] of [
      [ours('c'), ['b /b b', 'c /c c', 'mine /taken mine']],
      [theirs('c'), ['b /b b', 'c /taken c']],
      [manual('c', { title: 'x' }), ['b /b b', 'c /c x', 'mine /taken mine']],
    ] as const) {
      const [target, source] = await pair();
      await family.create(target, '/taken', 'mine', 'mine');
      await family.rename(source, '/c', 'taken');
      expect(await named(target, source)).toEqual(['c']);
      await resolve(target, source, [choice]);
      expect((await shown(target)).slice(3)).toEqual(expected);
      await expectSettled(target, source);
    }
  });

  it('reports a new conflict when a resolution takes the path of a node that had none', async () => {
    const [target, source] = await pair();
    await family.create(target, '/spot', 'mine', 'mine');
    await family.update(target, '/c', 'ours');
    await family.rename(source, '/c', 'spot');
    await family.update(source, '/spot', 'theirs');
    expect(await named(target, source)).toEqual(['c']);
    const head = await family.head(target);
    const stopped = await resolve(target, source, [theirs('c')]);
    expect(stopped).toMatchObject({
      success: false,
      conflicts: [
        {
          node_id: 'mine',
          path: '/spot',
          conflict_type: 'BothAdded',
          base_properties: null,
          target_properties: { title: 'mine' },
          source_properties: { title: 'theirs' },
        },
      ],
    });
    const both = resolve(target, source, [theirs('c'), ours('mine')]);
    await expect(both).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("would both be at '/spot'"),
    });
    expect(await family.head(target)).toBe(head);
    await resolve(target, source, [theirs('c'), theirs('mine')]);
    expect((await shown(target)).slice(3)).toEqual(['b /b b', 'c /spot theirs']);
    await expectSettled(target, source);
  });

  it('settles moves below each other, one way or the other, and refuses both at once', async () => {
    for (const [choices, expected] of [
      [
        [ours('b'), ours('c')],
        ['c /c c', 'b /c/b b'],
      ],
      [
        [theirs('b'), theirs('c')],
        ['b /b b', 'c /b/c c'],
      ],
      [
        [theirs('b'), ours('c')],
        ['b /b b', 'c /c c'],
      ],
    ] as const) {
      const [target, source] = await pair();
      await move(target, '/b', '/c/b');
      await move(source, '/c', '/b/c');
      expect(await named(target, source)).toEqual(['c', 'b']);
      const refused = resolve(target, source, [ours('b'), theirs('c')]);
      await expect(refused).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining('above itself'),
      });
      await resolve(target, source, choices);
      expect((await shown(target)).slice(3).toSorted()).toEqual(expected.toSorted());
      await expectSettled(target, source);
    }
  });

  it('reports a move that only a resolution makes one in a circle, to be resolved as well', async () => {
    const [target, source] = await pair();
    await move(target, '/b', '/c/b');
    await move(source, '/b', '/a/b');
    await move(source, '/c', '/a/b/c');
    expect(await named(target, source)).toEqual(['b']);
    expect(await resolve(target, source, [ours('b')])).toMatchObject({
      success: false,
      conflicts: [{ node_id: 'c', path: '/c', conflict_type: 'BothModified' }],
    });
    await expect(resolve(target, source, [ours('b'), theirs('c')])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('above itself'),
    });
    await resolve(target, source, [ours('b'), ours('c')]);
    expect((await shown(target)).slice(3)).toEqual(['c /c c', 'b /c/b b']);
    await expectSettled(target, source);
  });

  it('moves the subtree along with its folder to any target path', async () => {
    for (const [choice, folder] of [
      [ours('a'), '/ours'],
      [theirs('a'), '/b/theirs'],
      [manual('a', { title: 'a' }), '/ours'],
    ] as const) {
      const [target, source] = await pair();
      await family.rename(target, '/a', 'ours');
      await move(source, '/a', '/b/theirs');
      await add(source, '/b/theirs/yours');
      await add(target, '/ours/mine');
      const children = await named(target, source);
      expect(children.toSorted()).toEqual(['a', 'a1', 'a2']);
      await resolve(target, source, [choice, ours('a1'), theirs('a2')]);
      const found = (await shown(target))
        .filter((text) => text.includes(folder))
        .map((text) => text.split(' ')[1]);
      const names = ['', '/a1', '/a2', '/mine', '/yours'].map((name) => folder + name);
      expect(found.toSorted()).toEqual(names.toSorted());
      expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
      expect((await shown(source)).toSorted()).toEqual((await shown(target)).toSorted());
    }
  });

  it('takes the place among the siblings with theirs, and keeps it with ours', async () => {
    for (const [choice, expected] of [
      [theirs('c'), ['c', 'a', 'b']],
      [ours('c'), ['a', 'b', 'c']],
    ] as const) {
      const [target, source] = await pair();
      await family.update(target, '/c', 'ours');
      await family.update(source, '/c', 'theirs');
      const reorder = { type: 'ReorderNode', workspace, place: { path: '/c' }, targetPath: '/a' } as const;
      await family.command(source, { ...reorder, position: 'before' });
      await resolve(target, source, [choice]);
      const top = (await shown(target))
        .map((text) => text.split(' '))
        .filter(([, path]) => path?.lastIndexOf('/') === 0);
      expect(top.map(([id]) => id)).toEqual(expected);
    }
  });

  it('settles each locale by itself', async () => {
    const [target, source] = await pair();
    for (const locale of ['de', 'fr', 'it', 'es']) {
      await translate(target, '/b', locale, `ours ${locale}`);
      await translate(source, '/b', locale, `theirs ${locale}`);
    }
    await translate(source, '/b', 'pt', 'theirs pt');
    await family.update(source, '/b', 'theirs');
    expect(await resolve(target, source, [ours('b', 'de'), theirs('b', 'fr')])).toMatchObject({
      success: false,
      conflicts: [{ translation_locale: 'es' }, { translation_locale: 'it' }],
    });
    await resolve(target, source, [
      ours('b', 'de'),
      theirs('b', 'fr'),
      manual('b', { '/title': 'dato' }, 'it'),
      manual('b', null, 'es'),
    ]);
    const node = await family.query(target, { type: 'ReadNode', workspace, place: { path: '/b' } });
    expect(node).toMatchObject({
      properties: { title: 'theirs' },
      translations: {
        de: { title: 'ours de' },
        fr: { title: 'theirs fr' },
        it: { title: 'dato' },
        pt: { title: 'theirs pt' },
      },
    });
    expect((node as { translations: object }).translations).not.toHaveProperty('es');
    await expectSettled(target, source);
  });

  it('bounds the given translations of a node together', async () => {
    const [target, source] = await pair();
    for (const locale of ['de', 'fr']) {
      await translate(target, '/b', locale, `ours ${locale}`);
      await translate(source, '/b', locale, `theirs ${locale}`);
    }
    const given = { '/title': 'x'.repeat((TRANSLATIONS_LENGTH_MAX * 3) / 4) };
    const both = [manual('b', given, 'de'), manual('b', given, 'fr')];
    await expect(resolve(target, source, both)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await resolve(target, source, [manual('b', given, 'de'), manual('b', null, 'fr')])).toMatchObject({
      success: true,
    });
  });

  it('remembers a translation that stays as it is', async () => {
    const [target, source] = await pair();
    await translate(target, '/b', 'de', 'ours');
    await translate(source, '/b', 'de', 'theirs');
    expect(await resolve(target, source, [ours('b', 'de')])).toMatchObject({ nodes_changed: 1 });
    await expectSettled(target, source);
    const node = await family.query(source, { type: 'ReadNode', workspace, place: { path: '/b' } });
    expect(node).toMatchObject({ translations: { de: { title: 'ours' } } });
  });

  it('settles schema definitions, and holds given ones to the rules', async () => {
    const text = (name: string, required = false) => ({ name, type: 'String', required });
    for (const [choice, expected] of [
      [ours('node_type:test:T'), ['ours']],
      [theirs('node_type:test:T'), ['theirs']],
      [manual('node_type:test:T', { properties: [text('given')] }), ['given']],
      [manual('node_type:test:T', null), undefined],
    ] as const) {
      const [target, source] = await pair();
      await define(target, 'test:T', [text('ours')]);
      await define(source, 'test:T', [text('theirs')]);
      const unsound = manual('node_type:test:T', { properties: 'none' });
      await expect(resolve(target, source, [unsound])).rejects.toMatchObject({ code: expect.any(String) });
      const missing = manual('node_type:test:T', { extends: 'test:Nowhere', properties: [] });
      await expect(resolve(target, source, [missing])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
      await resolve(target, source, [choice]);
      expect(await merge(source, target)).toMatchObject({ success: true });
      for (const branch of [target, source]) {
        const read = family.query(branch, { type: 'ReadDefinition', kind: 'node_type', name: 'test:T' });
        if (expected === undefined) await expect(read).rejects.toMatchObject({ code: 'NODE_TYPE_NOT_FOUND' });
        else expect(await read).toMatchObject({ properties: expected.map((name) => ({ name })) });
      }
      expect(await conflicts(target, source)).toEqual([]);
    }
  });

  it('settles built-in types by nothing that takes away what they are shipped with [BUILT-017]', async () => {
    const [target, source] = await pair();
    const read = (branch: string) =>
      family.query(branch, { type: 'ReadDefinition', kind: 'node_type', name: 'svc:Page' });
    const page = (await read(target)) as JsonObject & { readonly properties: readonly JsonObject[] };
    const withMore = (name: string) => ({
      ...page,
      properties: [...page.properties, { name, type: 'String' }],
    });
    const put = (branch: string, definition: JsonObject) =>
      family.command(branch, { type: 'PutDefinition', kind: 'node_type', definition });
    await put(target, withMore('ours'));
    await put(source, withMore('theirs'));
    for (const given of [{ properties: [] }, null]) {
      const refused = resolve(target, source, [manual('node_type:svc:Page', given)]);
      await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN' });
    }
    await resolve(target, source, [manual('node_type:svc:Page', withMore('both'))]);
    expect(await read(target)).toMatchObject({ properties: withMore('both').properties });
  });

  it('holds given properties and what is brought back against the schema', async () => {
    const [target, source] = await pair();
    const properties = [
      { name: 'code', type: 'String', unique: true },
      { name: 'size', type: 'Number' },
    ];
    await define(target, 'test:Coded', properties);
    const create = (name: string, code: string) =>
      family.command(target, {
        type: 'CreateNode',
        workspace,
        parentPath: '/',
        node: { name, id: name, nodeType: 'test:Coded', properties: { title: name, code } },
        deep: false,
      });
    await create('one', '1');
    await create('two', '2');
    await merge(source, target);
    const set = (branch: string, path: string, changed: JsonObject) =>
      family.command(branch, { type: 'UpdateNode', workspace, place: { path }, properties: changed });
    await set(target, '/one', { title: 'ours', code: '3' });
    await set(source, '/one', { title: 'theirs', code: '4' });
    const head = await family.head(target);
    for (const wrong of [{ size: 'large' }, { code: '2' }, { code: 7 }]) {
      const refused = resolve(target, source, [manual('one', { title: 'x', ...wrong })]);
      await expect(refused).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining("'/one'"),
      });
    }
    expect(await family.head(target)).toBe(head);
    const link = { 'svc:ref': '/new', 'svc:workspace': workspace };
    await add(source, '/new');
    await resolve(target, source, [manual('one', { title: 'x', code: '5', link })]);
    const node = await family.query(target, { type: 'ReadNode', workspace, place: { path: '/one' } });
    expect(node).toMatchObject({ properties: { title: 'x', code: '5', link: { 'svc:ref': 'new' } } });
    await expectSettled(target, source);
  });

  it('distinguishes nodes with the same id in two workspaces', async () => {
    await family.putWorkspace('second');
    const [target, source] = await pair();
    const second = (branch: string, title: string, type: 'CreateNode' | 'UpdateNode') =>
      family.command(
        branch,
        type === 'CreateNode'
          ? {
              type,
              workspace: 'second',
              parentPath: '/',
              node: { name: 'b', id: 'b', nodeType: 'svc:Folder', properties: { title } },
              deep: false,
            }
          : { type, workspace: 'second', place: { path: '/b' }, properties: { title } },
      );
    await second(target, 'base', 'CreateNode');
    await merge(source, target);
    for (const [branch, title] of [
      [target, 'ours'],
      [source, 'theirs'],
    ] as const) {
      await family.update(branch, '/b', title);
      await second(branch, title, 'UpdateNode');
    }
    await expect(resolve(target, source, [ours('b')])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('workspace'),
    });
    await resolve(target, source, [
      { ...ours('b'), workspace },
      { ...theirs('b'), workspace: 'second' },
    ]);
    const node = await family.query(target, { type: 'ReadNode', workspace: 'second', place: { path: '/b' } });
    expect(node).toMatchObject({ properties: { title: 'theirs' } });
    expect(await shown(target)).toContain('b /b ours');
  });
});
