import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import type { EventsPage } from '#runtime/bus/history-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { BranchModel, type ModelNode } from '../workload/branch-model.ts';

const workspace = WORKSPACE;

interface Listed {
  readonly id: string;
  readonly path: string;
  readonly properties: { readonly title: string };
}

describe('a merge', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  async function pair(): Promise<[target: string, source: string]> {
    names += 1;
    const [target, source] = [`target-${names}`, `source-${names}`];
    await family.fork(target, 'main');
    for (const path of ['/a', '/a/a1', '/b', '/c']) {
      await family.create(target, path, path, path.slice(path.lastIndexOf('/') + 1));
    }
    await family.fork(source, target);
    return [target, source];
  }

  const merge = (
    target: string,
    source: string,
    strategy: 'ThreeWay' | 'FastForward' = 'ThreeWay',
    dryRun = false,
  ): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy,
      dryRun,
    });
  const tree = async (branch: string, at?: string): Promise<readonly Listed[]> => {
    const moment = at === undefined ? {} : { at: parseRevision(at) };
    const place = { path: '/' };
    return family.query(branch, { type: 'ReadTree', workspace, place, levels: 100, form: 'flat', ...moment });
  };
  const shown = async (branch: string, at?: string) =>
    (await tree(branch, at)).map(({ id, path, properties }) => [id, path, properties.title]);
  const move = (branch: string, path: string, targetPath: string) =>
    family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });

  const define = (branch: string, name: string, properties: readonly object[]) =>
    family.command(branch, { type: 'PutDefinition', kind: 'node_type', definition: { name, properties } });
  const createOf = (branch: string, nodeType: string, name: string, properties: JsonObject) =>
    family.command(branch, {
      type: 'CreateNode',
      workspace,
      parentPath: '/',
      node: { name, nodeType, properties, id: name },
      deep: false,
    });

  it('applies the changes of the source as one commit with two parents [MERGE-006]', async () => {
    const [target, source] = await pair();
    await family.update(source, '/b', 'theirs');
    await family.create(source, '/a/new', 'theirs', 'new');
    await family.delete(source, '/c');
    await family.update(target, '/a', 'ours');
    const heads = [await family.head(target), await family.head(source)];
    const before = await shown(source);
    const dry = await merge(target, source, 'ThreeWay', true);
    expect([dry.success, dry.nodes_changed, await family.head(target)]).toEqual([true, 3, heads[0]]);
    const done = await merge(target, source);
    expect(done).toMatchObject({ success: true, conflicts: [], fast_forward: false, nodes_changed: 3 });
    expect(done.head).toBe(await family.head(target));
    const record = await family.query(target, { type: 'ReadRevision', revision: parseRevision(done.head) });
    expect(record).toMatchObject({ parent: heads[0], merge_parent: heads[1], is_system: false });
    expect(await shown(target)).toEqual([
      ['a', '/a', 'ours'],
      ['a1', '/a/a1', '/a/a1'],
      ['new', '/a/new', 'theirs'],
      ['b', '/b', 'theirs'],
    ]);
    expect([await family.head(source), await shown(source)]).toEqual([heads[1], before]);
    expect(await family.compare(source, target)).toMatchObject({ ahead: 0, behind: 2 });
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 0, head: done.head });
  });

  it('takes nodes only the target has along with a folder the source moved, and the other way round', async () => {
    const [target, source] = await pair();
    await family.rename(source, '/a', 'z');
    await family.create(target, '/a/mine', 'ours', 'mine');
    await move(target, '/b', '/a/b');
    expect(await merge(target, source)).toMatchObject({ success: true });
    const expected = [
      ['a', '/z', '/a'],
      ['a1', '/z/a1', '/a/a1'],
      ['mine', '/z/mine', 'ours'],
      ['b', '/z/b', '/b'],
      ['c', '/c', '/c'],
    ];
    expect(await shown(target)).toEqual(expected);
    expect(await merge(source, target)).toMatchObject({ success: true });
    expect(await shown(source)).toEqual(expected);
  });

  it('takes published nodes away, and along, without asking for them to be unpublished first', async () => {
    const [target, source] = await pair();
    const publish = (branch: string, path: string, on: boolean) =>
      family.command(branch, { type: 'PublishNode', workspace, place: { path }, publish: on, tree: true });
    for (const path of ['/b', '/c']) await publish(target, path, true);
    await merge(source, target);
    for (const path of ['/b', '/c']) await publish(source, path, false);
    await family.delete(source, '/b');
    await family.rename(source, '/c', 'z');
    await publish(source, '/z', true);
    await family.create(target, '/c/below', '', 'below');
    await publish(target, '/c/below', true);
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 3 });
    const paths = (await shown(target)).map(([, path]) => path);
    expect(paths).toEqual(['/a', '/a/a1', '/z', '/z/below']);
    for (const path of ['/z', '/z/below']) {
      const node = await family.query(target, { type: 'ReadNode', workspace, place: { path } });
      expect(node).toMatchObject({ published_at: expect.any(String) });
    }
  });

  it('with conflicts writes nothing [MERGE-009]', async () => {
    const [target, source] = await pair();
    await family.update(source, '/b', 'theirs');
    await family.update(source, '/c', 'theirs');
    await family.update(target, '/b', 'ours');
    const before = [await family.head(target), await shown(target)];
    const stopped = await merge(target, source);
    expect(stopped).toMatchObject({ success: false, nodes_changed: 0, fast_forward: false });
    expect(stopped.conflicts).toHaveLength(1);
    expect([await family.head(target), await shown(target)]).toEqual(before);
  });

  it('keeps the order of each side among new siblings, and lets nodes trade places', async () => {
    const [target, source] = await pair();
    for (const name of ['x1', 'x2']) await family.create(target, `/${name}`, '', name);
    for (const name of ['y1', 'y2']) await family.create(source, `/${name}`, '', name);
    await family.rename(source, '/b', 'tmp');
    await family.rename(source, '/c', 'b');
    await family.rename(source, '/tmp', 'c');
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 4 });
    const paths = (await shown(target)).map(([id, path]) => `${id}${path}`);
    expect(paths).toEqual(['a/a', 'a1/a/a1', 'b/c', 'c/b', 'x1/x1', 'y1/y1', 'x2/x2', 'y2/y2']);
  });

  it('keeps new siblings of the source in their order where keys are taken', async () => {
    const [target, source] = await pair();
    for (const name of ['x1', 'x2', 'x3']) await family.create(target, `/b/${name}`, '', name);
    await family.delete(target, '/b/x2');
    for (const name of ['y1', 'y3', 'y2']) await family.create(source, `/b/${name}`, '', name);
    const reorder = { place: { path: '/b/y2' }, targetPath: '/b/y3', position: 'before' } as const;
    await family.command(source, { type: 'ReorderNode', workspace, ...reorder });
    expect(await merge(target, source)).toMatchObject({ success: true });
    const below = (await shown(target)).map(([id]) => id).filter((id) => /^[xy]/.test(id as string));
    expect(below).toEqual(['x1', 'y1', 'y2', 'y3', 'x3']);
  });

  it('brings both sides to one order, also after they merged each other at once', async () => {
    const [target, source] = await pair();
    const reorder = (branch: string, path: string, targetPath: string) => {
      const place = { workspace, place: { path }, targetPath, position: 'before' } as const;
      return family.command(branch, { type: 'ReorderNode', ...place });
    };
    await reorder(target, '/c', '/a');
    await reorder(source, '/c', '/b');
    await family.fork(`${target}-before`, target);
    await merge(target, source);
    await merge(source, `${target}-before`);
    // Each has its own order still.
    expect([await shown(target), await shown(source)].map((nodes) => nodes.map(([id]) => id))).toEqual([
      ['c', 'a', 'a1', 'b'],
      ['a', 'a1', 'c', 'b'],
    ]);
    await merge(target, source);
    await merge(source, target);
    expect(await shown(source)).toEqual(await shown(target));
  });

  it('brings both sides to one content, also where each kept its own while they merged each other at once', async () => {
    const [target, source] = await pair();
    await define(target, 'test:Both', [{ name: 'ours', type: 'String' }]);
    await define(source, 'test:Both', [{ name: 'theirs', type: 'String' }]);
    await family.update(target, '/b', 'ours');
    await family.update(source, '/b', 'theirs');
    await family.delete(target, '/c');
    await family.update(source, '/c', 'theirs');
    const keepOurs = async (into: string, from: string): Promise<void> => {
      const { conflicts } = await merge(into, from);
      const resolutions = conflicts.map(({ node_id: nodeId }) => ({ nodeId, type: 'keep-ours' as const }));
      const done = await family.command<MergeResult>(into, {
        type: 'ResolveMerge',
        source: family.actor(from),
        sourceName: from,
        resolutions,
        dryRun: false,
      });
      expect(done.success).toBe(true);
    };
    // Four times at once: what was decided first is long known to both when they get to an end.
    for (const round of [1, 2, 3, 4]) {
      await family.fork(`${target}-${round}`, target);
      await keepOurs(target, source);
      await keepOurs(source, `${target}-${round}`);
    }
    await keepOurs(target, source);
    expect(await family.compare(source, target)).toMatchObject({ ahead: 0 });
    expect(await merge(source, target)).toMatchObject({ success: true });
    expect(await shown(source)).toEqual(await shown(target));
    const query = { type: 'ReadDefinition', kind: 'node_type', name: 'test:Both' } as const;
    const [one, other] = await Promise.all(
      [target, source].map((branch) => family.query<{ properties: unknown }>(branch, query)),
    );
    expect(one?.properties).toEqual(other?.properties);
  });

  it('fast-forwards to the head of the source, with every revision of it [MERGE-005]', async () => {
    const [target, source] = await pair();
    const start = await family.head(target);
    const before = await shown(target);
    const moments: string[] = [await family.create(source, '/a/new', 'new', 'new')];
    moments.push((await family.update(source, '/b', 'theirs')).revision as string);
    moments.push((await family.update(source, '/b', 'theirs')).revision as string);
    moments.push((await family.rename(source, '/a', 'z')).revision as string);
    moments.push((await family.delete(source, '/c')).revision as string);
    const done = await merge(target, source, 'FastForward');
    expect(done).toMatchObject({ success: true, fast_forward: true, nodes_changed: 0 });
    expect([done.head, await family.head(target)]).toEqual([moments.at(-1), moments.at(-1)]);
    for (const at of [start, ...moments]) {
      expect(await tree(target, at)).toEqual(await tree(source, at));
    }
    expect(await tree(target)).toEqual(await tree(source));
    await family.command(target, { type: 'MoveHead', revision: start });
    expect(await shown(target)).toEqual(before);
    await family.command(target, { type: 'MoveHead', revision: done.head });
    expect(await tree(target)).toEqual(await tree(source));
    expect(await family.compare(target, source)).toMatchObject({ ahead: 0, behind: 0 });
  });

  it('fast-forwards to a source that merged the target before', async () => {
    const [target, source] = await pair();
    await family.update(source, '/b', 'theirs');
    await family.update(target, '/c', 'ours');
    await expect(merge(target, source, 'FastForward')).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: 'Fast-forward merge not possible: branches have diverged',
    });
    const start = await family.head(target);
    const before = await shown(target);
    const merged = (await merge(source, target)).head;
    await family.create(source, '/later', '', 'later');
    const done = await merge(target, source, 'FastForward');
    expect([done.fast_forward, done.head]).toEqual([true, await family.head(source)]);
    expect(await shown(target)).toEqual(await shown(source));
    expect(await shown(target, merged)).toEqual(await shown(source, merged));
    const forward = await shown(target);
    await family.command(target, { type: 'MoveHead', revision: start });
    expect(await shown(target)).toEqual(before);
    expect(await shown(target, start)).toEqual(before);
    await family.command(target, { type: 'MoveHead', revision: done.head });
    expect(await shown(target)).toEqual(forward);
    expect(await family.compare(target, source)).toMatchObject({ ahead: 0, behind: 0 });
  });

  it('applies definitions, translations, relations and order [MERGE-019]', async () => {
    const [target, source] = await pair();
    await define(source, 'test:Fresh', [{ name: 'title', type: 'String' }]);
    await createOf(source, 'test:Fresh', 'typed', { title: 'typed' });
    const place = { path: '/b' };
    const translations = { '/title': 'Deutsch' };
    const written = { workspace, place } as const;
    await family.command(target, { type: 'TranslateNode', ...written, locale: 'fr', translations });
    await family.command(source, { type: 'TranslateNode', ...written, locale: 'de', translations });
    const reorder = { workspace, place: { path: '/c' }, targetPath: '/a', position: 'before' } as const;
    await family.command(source, { type: 'ReorderNode', ...reorder });
    const relation = { targetWorkspace: workspace, targetPath: '/b', relationType: 'likes', weight: 2 };
    await family.command(source, { type: 'AddRelation', workspace, place: { path: '/a' }, ...relation });
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 4 });
    expect((await shown(target)).map(([, path]) => path)).toEqual(['/c', '/a', '/a/a1', '/b', '/typed']);
    const locales = await family.query(target, { type: 'ListTranslations', ...written });
    expect(locales).toMatchObject({ locales: ['de', 'fr'] });
    const relations = await family.query(target, { type: 'ReadRelations', ...written });
    expect(relations).toMatchObject({ incoming: [{ relation: { relation_type: 'likes', weight: 2 } }] });
    const definition = { type: 'ReadDefinition', kind: 'node_type', name: 'test:Fresh' } as const;
    expect(await family.query(target, definition)).toMatchObject({ name: 'test:Fresh' });
    const items = { type: 'RunQuery', workspace, selector: { nodeType: 'test:Fresh' } } as const;
    expect(await family.query(target, items)).toMatchObject({ items: [{ path: '/typed' }] });
  });

  it('writes nothing for a translation that both sides made', async () => {
    const [target, source] = await pair();
    for (const branch of [target, source])
      await family.command(branch, {
        type: 'TranslateNode',
        workspace,
        place: { path: '/a' },
        locale: 'de',
        translations: { '/title': 'Titel' },
      });
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 0 });
  });

  it('lets nodes trade unique values', async () => {
    const [target, source] = await pair();
    const unique = [{ name: 'code', type: 'String', unique: true }];
    await define(target, 'test:Coded', unique);
    await createOf(target, 'test:Coded', 'one', { code: '1' });
    await createOf(target, 'test:Coded', 'two', { code: '2' });
    await merge(source, target);
    const code = (path: string, value: string) =>
      family.command(source, { type: 'UpdateNode', workspace, place: { path }, properties: { code: value } });
    await code('/one', '3');
    await code('/two', '1');
    await code('/one', '2');
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 2 });
  });

  it('names its nodes by their paths on the target, and audits what it creates, changes and deletes', async () => {
    const [target, source] = await pair();
    await createOf(target, 'svc:Page', 'page', { title: 'page' });
    await createOf(target, 'svc:Page', 'gone', { title: 'gone' });
    await merge(source, target);
    await move(target, '/a', '/z');
    await family.command(source, {
      type: 'CreateNode',
      workspace,
      parentPath: '/a',
      node: { name: 'new', id: 'new', nodeType: 'svc:Page', properties: { title: 'new' } },
      deep: false,
    });
    await family.update(source, '/page', 'changed');
    await family.delete(source, '/gone');
    const after = await family.head(target);
    await merge(target, source);
    const { events } = await family.query<EventsPage>(
      target,
      { type: 'ReadEventsAfter', after },
      callers.engine,
    );
    const changes = events.flatMap(({ changes: all = [] }) => all.map((one) => [one.operation, one.path]));
    expect(changes.sort()).toEqual([
      ['added', '/z/new'],
      ['deleted', '/gone'],
      ['modified', '/page'],
    ]);
    const audited = async (id: string) => {
      const query = { type: 'ReadAudit', workspace, place: { id } } as const;
      return (
        await family.query<{ action: string; path: string; details: JsonObject | null }[]>(target, query)
      )
        .filter(({ details }) => details?.merged_from === source)
        .map(({ action, path }) => [action, path]);
    };
    expect(await audited('new')).toEqual([['Create', '/z/new']]);
    expect(await audited('page')).toEqual([['Update', '/page']]);
    expect(await audited('gone')).toEqual([['Delete', '/gone']]);
  });

  it('makes what the model makes of the changes of both sides, or stops', async () => {
    const step = fc.record({
      on: fc.nat({ max: 1 }),
      do: fc.constantFrom('create', 'update', 'rename', 'delete', 'merge'),
      node: fc.nat({ max: 5 }),
      title: fc.constantFrom('x', 'y'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        names += 1;
        const branches = [`one-${names}`, `two-${names}`] as const;
        await family.fork(branches[0], 'main');
        await family.fork(branches[1], branches[0]);
        const model = new BranchModel();
        const root = await family.head(branches[0]);
        model.commit(branches[0], root, new Map());
        model.place(branches[1], root);
        for (const { do: what, node, on, title } of steps) {
          const branch = branches[on] as string;
          const state = new Map<string, ModelNode>(model.stateOf(branch));
          const id = `n${node}`;
          const known = state.get(id);
          if (what === 'merge') {
            const source = branches[1 - on] as string;
            const wanted = model.merged(branch, source, 'other');
            const sourceHead = model.headOf(source);
            const done = await merge(branch, source);
            if (!done.success) expect(done.conflicts).not.toEqual([]);
            else if (done.head !== model.headOf(branch)) {
              model.commit(branch, done.head, wanted, sourceHead);
            }
          } else if (what === 'create' && known === undefined) {
            const path = `/${id}-${title}`;
            if ([...state.values()].some((other) => other.path === path)) continue;
            const revision = await family.create(branch, path, title, id);
            model.commit(branch, revision, state.set(id, { path, title }));
          } else if (known !== undefined && what !== 'create') {
            let written: { revision: string | null };
            if (what === 'update') {
              written = await family.update(branch, known.path, title);
              state.set(id, { ...known, title });
            } else if (what === 'delete') {
              written = await family.delete(branch, known.path);
              state.delete(id);
            } else {
              const path = `/${id}-${title}`;
              written = await family.rename(branch, known.path, path.slice(1));
              state.set(id, { ...known, path });
            }
            if (written.revision !== null) model.commit(branch, written.revision, state);
          }
          const found = (await tree(branch)).map(({ id, path, properties: { title } }) => [id, path, title]);
          const expected = [...model.stateOf(branch)].map(([id, { path, title }]) => [id, path, title]);
          expect(found.toSorted()).toEqual(expected.toSorted());
        }
      }),
      { numRuns: 25 },
    );
  });
});
