import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunQuery } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

interface Answer {
  readonly items: readonly NodeObject[];
  readonly page: {
    readonly total: number;
    readonly limit: number | null;
    readonly offset: number;
    readonly nextOffset: number | null;
  };
}

describe('the JSON query', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [{ name: 'test:Leaf' }],
      workspaces: { empty: { allowed_node_types: [], allowed_root_node_types: [] } },
    });
    // Siblings whose names sort around the slash that follows a parent's name.
    for (const path of ['/q', '/q/b', '/q/b/inner', '/q/b-1', '/q/b.x', '/q/a', '/q/c', '/q/b0']) {
      await branch.create(path, {}, path === '/q' ? 'svc:Folder' : 'test:Leaf');
    }
  });
  afterAll(() => branch.close());

  const ask = async (
    selector: RunQuery['selector'],
    more: Partial<RunQuery> = {},
    caller: Caller = administrator,
  ) => (await branch.query({ type: 'RunQuery', workspace, selector, ...more }, caller)) as Answer;
  const paths = ({ items }: Answer) => items.map((node) => node.path);
  const children = ['/q/a', '/q/b', '/q/b-1', '/q/b.x', '/q/b0', '/q/c'];

  it('answers the children of a parent by path, named by id or by path [QUERY-002] [QUERY-006] [QUERY-015]', async () => {
    const { id } = await branch.read('/q');
    const byId = await ask({ parent: id });
    expect(paths(byId)).toEqual(children);
    expect(await ask({ parent: '/q' })).toEqual(byId);
    expect(await ask({ parent: '/q/' })).toEqual(byId);
    expect(byId.items[1]).toEqual(await branch.read('/q/b'));
    expect(paths(await ask({ parent: '/' }))).toContain('/q');
    expect(paths(await ask({ parent: '/q/b/inner' }))).toEqual([]);
  });

  it('answers all nodes of a type by path, at every depth [QUERY-001] [QUERY-006]', async () => {
    const found = await ask({ nodeType: 'test:Leaf' });
    expect(paths(found)).toEqual(['/q/a', '/q/b', '/q/b-1', '/q/b.x', '/q/b/inner', '/q/b0', '/q/c']);
    expect(found.page).toEqual({ total: 7, limit: null, offset: 0, nextOffset: null });
  });

  it('answers the node at a path, and nothing for what is missing [QUERY-003] [QUERY-011]', async () => {
    const found = await ask({ path: '/q/b' });
    expect(found.items).toEqual([await branch.read('/q/b')]);
    expect(found.page).toEqual({ total: 1, limit: null, offset: 0, nextOffset: null });
    const nothing = { items: [], page: { total: 0, limit: null, offset: 0, nextOffset: null } };
    for (const selector of [
      { path: '/q/none' },
      { path: '/' },
      { parent: '/none' },
      { parent: 'no-such-id' },
      { nodeType: 'test:None' },
      { nodeType: 'not a type' },
      // Two characters that end in the bytes of `test:Leaf`.
      { nodeType: 'Ŵest:Leaf' },
      { nodeType: 'test:Leaf\0/q' },
    ]) {
      expect(await ask(selector)).toEqual(nothing);
    }
  });

  it('walks through with limit and offset; nextOffset is null at the end, also of a full page [QUERY-008] [QUERY-010]', async () => {
    for (const selector of [{ parent: '/q' }, { nodeType: 'test:Leaf' }]) {
      const all = paths(await ask(selector));
      for (const limit of [1, 2, 3, all.length, 50]) {
        const walked: string[] = [];
        for (let offset: number | null = 0; offset !== null; ) {
          const answer: Answer = await ask(selector, { limit, offset });
          expect(answer.page).toMatchObject({ total: all.length, limit, offset });
          walked.push(...paths(answer));
          offset = answer.page.nextOffset;
        }
        expect(walked).toEqual(all);
      }
    }
    const full = await ask({ parent: '/q' }, { limit: 3, offset: 3 });
    expect(full.page).toEqual({ total: 6, limit: 3, offset: 3, nextOffset: null });
    expect((await ask({ parent: '/q' }, { limit: 3, offset: 60 })).page.nextOffset).toBe(null);
  });

  it('clamps numbers to their bounds, as every listing [LIST-027]', async () => {
    const first = await ask({ parent: '/q' }, { limit: 1 });
    for (const paging of [{ limit: 0 }, { limit: -3 }, { limit: 1, offset: -1 }])
      expect(await ask({ parent: '/q' }, paging)).toEqual(first);
    expect(first.page).toEqual({ total: 6, limit: 1, offset: 0, nextOffset: 1 });
  });

  it('counts every match, not only the page, and answers everything without a limit [QUERY-005] [QUERY-007] [QUERY-012]', async () => {
    const { page, items } = await ask({ parent: '/q' }, { limit: 2 });
    expect([page.total, items.length]).toEqual([6, 2]);
    expect((await ask({ parent: '/q' }, { offset: 4 })).items.length).toBe(2);
  });

  it('refuses paging that is no whole number, bad paths and unknown workspaces', async () => {
    for (const more of [{ limit: 1.5 }, { offset: 0.5 }, { limit: Number.NaN }]) {
      await expect(ask({ parent: '/q' }, more)).rejects.toEqual(refusal('VALIDATION_FAILED'));
    }
    await expect(ask({ path: '/a/../b' })).rejects.toEqual(refusal('VALIDATION_FAILED'));
    await expect(ask({ path: '/q' }, { workspace: 'none' })).rejects.toEqual(refusal('WORKSPACE_NOT_FOUND'));
    expect((await ask({ parent: '/' }, { workspace: 'empty' })).page.total).toBe(0);
  });

  it('counts and pages over what the caller may read alone', async () => {
    const caller = callerWith((_operation, { path }) => !path.includes('b-') && path !== '/q/a');
    const first = await ask({ parent: '/q' }, { limit: 2 }, caller);
    expect([paths(first), first.page]).toEqual([
      ['/q/b', '/q/b.x'],
      { total: 4, limit: 2, offset: 0, nextOffset: 2 },
    ]);
    const second = await ask({ parent: '/q' }, { limit: 2, offset: 2 }, caller);
    expect([paths(second), second.page.nextOffset]).toEqual([['/q/b0', '/q/c'], null]);
    expect((await ask({ nodeType: 'test:Leaf' }, {}, caller)).page.total).toBe(5);
    const blind = callerWith((_operation, { path }) => path !== '/q');
    expect((await ask({ parent: '/q' }, {}, blind)).page.total).toBe(0);
    expect((await ask({ path: '/q' }, {}, blind)).page.total).toBe(0);
  });

  it('sorts by path where paths are longer than a key too', async () => {
    const long = 'x'.repeat(250);
    let base = '';
    for (let level = 0; level < 7; level++) {
      base += `/${long}`;
      await branch.create(base, {}, 'svc:Folder');
    }
    const names = ['m', 'c', 'z', 'a', 'c-2'];
    await Promise.all(names.map((name) => branch.create(`${base}/${name}`, {}, 'test:Leaf')));
    await branch.create(`${base}/c/inner`, {}, 'test:Leaf');
    const wanted = ['a', 'c', 'c-2', 'm', 'z'].map((name) => `${base}/${name}`);
    expect(paths(await ask({ parent: base }))).toEqual(wanted);
    expect(paths(await ask({ parent: base }, { limit: 2, offset: 1 }))).toEqual(wanted.slice(1, 3));
    const leaves = paths(await ask({ nodeType: 'test:Leaf' })).filter((path) => path.startsWith('/x'));
    expect(leaves).toEqual([...wanted, `${base}/c/inner`].sort());
  });

  it('lists children in path order, with any nodes between and below them', async () => {
    let run = 0;
    const name = fc.string({
      unit: fc.constantFrom('a', 'b', '-', '.', '0', '_'),
      minLength: 1,
      maxLength: 3,
    });
    const clean = name.filter((text) => /^[ab0_.]+(?:-[ab0_.]+)*$/.test(text) && !/^\.+$/.test(text));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(clean, fc.uniqueArray(clean, { maxLength: 12 })), {
          selector: ([top]) => top,
          maxLength: 14,
        }),
        async (tops) => {
          const base = `/r${run++}`;
          await branch.create(base);
          await Promise.all(tops.map(([top]) => branch.create(`${base}/${top}`)));
          await Promise.all(
            tops.flatMap(([top, below]) => below.map((leaf) => branch.create(`${base}/${top}/${leaf}`))),
          );
          const sorted = tops.map(([top]) => `${base}/${top}`).sort();
          expect(paths(await ask({ parent: base }))).toEqual(sorted);
          const { items } = await ask({ parent: base }, { limit: 3, offset: 2 });
          expect(items.map((node) => node.path)).toEqual(sorted.slice(2, 5));
        },
      ),
      { numRuns: 25 },
    );
  });

  it('answers many nodes as one stream, whole and in order', async () => {
    await branch.create('/lots');
    const names = Array.from({ length: 1500 }, (_, index) => `n${String(index).padStart(5, '0')}`);
    await Promise.all(names.toReversed().map((name) => branch.create(`/lots/${name}`)));
    const answer = await ask({ parent: '/lots' });
    expect(answer.items.map((node) => node.name)).toEqual(names);
    expect(answer.page.total).toBe(1500);
    expect(
      (await ask({ parent: '/lots' }, { limit: 10, offset: 1490 })).items.map((node) => node.name),
    ).toEqual(names.slice(-10));
  });
});
