import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TextStream } from '#actors/branch/messages.ts';
import type { ReadTree } from '#actors/branch/read-messages.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import {
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { chunkText } from '#test/support/chunk-text.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

interface MapTree {
  readonly [name: string]: { readonly node: NodeObject; readonly children: MapTree };
}

interface ArrayNode extends NodeObject {
  readonly children: readonly (ArrayNode | string)[];
}

describe('reading a subtree', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
    for (const path of ['/t', '/t/b', '/t/b/y', '/t/b/x', '/t/b/x/deep', '/t/a', '/t/a/z'])
      await branch.create(path);
  });
  afterAll(() => branch.close());

  const tree = (path: string, levels: number, form: ReadTree['form'], more: Partial<ReadTree> = {}) =>
    branch.query({ type: 'ReadTree', workspace, place: { path }, levels, form, ...more });
  const flat = async (path: string, levels: number, more: Partial<ReadTree> = {}) =>
    ((await tree(path, levels, 'flat', more)) as NodeObject[]).map((node) => node.path);
  /** Names only, nested as the map is. */
  const names = (map: MapTree): unknown =>
    Object.fromEntries(Object.entries(map).map(([name, { children }]) => [name, names(children)]));
  const shape = (nodes: readonly (ArrayNode | string)[]): unknown =>
    nodes.map((node) => (typeof node === 'string' ? node : [node.name, shape(node.children)]));

  it('flattens it in tree order, each node before those below it, siblings in editorial order [LIST-018]', async () => {
    expect(await flat('/t', 100)).toEqual(['/t/b', '/t/b/y', '/t/b/x', '/t/b/x/deep', '/t/a', '/t/a/z']);
    expect(await flat('/t', 1)).toEqual(['/t/b', '/t/a']);
    expect(await flat('/t', 2)).toEqual(['/t/b', '/t/b/y', '/t/b/x', '/t/a', '/t/a/z']);
    expect(await flat('/', 1)).toEqual(['/t']);
  });

  it('nests nodes in a map by name, down to the level asked for [LIST-001] [LIST-002] [LIST-022]', async () => {
    const two = (await tree('/t', 2, 'map')) as MapTree;
    expect(names(two)).toEqual({ b: { y: {}, x: {} }, a: { z: {} } });
    expect(Object.keys(two)).toEqual(['b', 'a']);
    expect(two.b?.node).toEqual(await branch.read('/t/b'));
    expect(names((await tree('/t', 100, 'map')) as MapTree)).toEqual({
      b: { y: {}, x: { deep: {} } },
      a: { z: {} },
    });
  });

  it('nests nodes in `children` as an array, with names at the last level [LIST-004]', async () => {
    const two = (await tree('/t', 2, 'array')) as ArrayNode[];
    expect(shape(two)).toEqual([
      [
        'b',
        [
          ['y', []],
          ['x', ['deep']],
        ],
      ],
      ['a', [['z', []]]],
    ]);
    expect(shape((await tree('/t', 1, 'array')) as ArrayNode[])).toEqual([
      ['b', ['y', 'x']],
      ['a', ['z']],
    ]);
    const { children, ...node } = two[1] as ArrayNode;
    expect(children.length).toBe(1);
    expect(node).toEqual(await branch.read('/t/a'));
  });

  it('is empty for a node without children, and an error for a missing one', async () => {
    for (const [form, empty] of [
      ['flat', []],
      ['array', []],
      ['map', {}],
    ] as const) {
      expect(await tree('/t/a/z', 3, form)).toEqual(empty);
      await expect(tree('/t/none', 3, form)).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    }
    await expect(tree('/t', 0, 'flat')).rejects.toEqual(refusal('VALIDATION_FAILED'));
    await expect(tree('/t', Number.NaN, 'flat')).rejects.toEqual(refusal('VALIDATION_FAILED'));
  });

  it('stops at 100 levels, and a tree 500 levels deep does not hurt it [LIST-025]', async () => {
    let path = '';
    const waiting: Promise<unknown>[] = [];
    for (let level = 0; level < 500; level++) {
      path += '/d';
      waiting.push(branch.create(path));
    }
    await Promise.all(waiting);
    expect((await flat('/d', 100)).length).toBe(100);
    expect((await flat('/d', 5000)).length).toBe(100);
    let depth = 0;
    for (let map = (await tree('/d', 100, 'map')) as MapTree; map.d !== undefined; map = map.d.children)
      depth += 1;
    expect(depth).toBe(100);
    let level = (await tree('/d', 100, 'array')) as (ArrayNode | string)[];
    for (depth = 0; typeof level[0] === 'object'; depth++) level = [...level[0].children];
    expect([depth, level]).toEqual([100, ['d']]);
    const deepest = '/d'.repeat(500);
    expect(await branch.read(deepest)).toMatchObject({ path: deepest, has_children: false });
  });

  it('leaves out what may not be read together with what is below it, in every form', async () => {
    const caller = callerWith((_operation, { path }) => !path.startsWith('/t/b/x') && path !== '/t/a');
    const read = (form: ReadTree['form'], levels: number) =>
      branch.query({ type: 'ReadTree', workspace, place: { path: '/t' }, levels, form }, caller);
    expect(((await read('flat', 100)) as NodeObject[]).map((node) => node.path)).toEqual(['/t/b', '/t/b/y']);
    expect(names((await read('map', 100)) as MapTree)).toEqual({ b: { y: {} } });
    expect(shape((await read('array', 1)) as ArrayNode[])).toEqual([['b', ['y']]]);
  });

  it('shows a locale, without what is hidden in it [TRANS-016]', async () => {
    await branch.create('/w');
    await branch.create('/w/a', { description: 'cat' });
    await branch.create('/w/h');
    await branch.create('/w/h/inner');
    const place = { path: '/w/a' };
    const translations = { '/description': 'Katze' };
    await branch.command({ type: 'TranslateNode', workspace, place, locale: 'de', translations });
    await branch.command({
      type: 'ChangeLocale',
      workspace,
      place: { path: '/w/h' },
      locale: 'de',
      change: 'hide',
    });
    expect(await flat('/w', 5, { lang: 'de' })).toEqual(['/w/a']);
    const map = (await tree('/w', 5, 'map', { lang: 'de' })) as MapTree;
    expect(map.a?.node.properties.description).toBe('Katze');
    expect(names(map)).toEqual({ a: {} });
    expect(await flat('/w', 5)).toEqual(['/w/a', '/w/h', '/w/h/inner']);
  });

  it('shows the old paths, order and nodes at a revision before a move [REV-028]', async () => {
    await branch.create('/m');
    await branch.create('/m/one');
    await branch.create('/m/one/leaf');
    await branch.create('/m/two');
    const { revision } = await branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path: '/m' },
      properties: {},
    });
    const at = parseRevision(revision);
    await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: '/m/one' },
      targetPath: '/m/two/moved',
    });
    await branch.create('/m/three');
    expect(await flat('/m', 5, { at })).toEqual(['/m/one', '/m/one/leaf', '/m/two']);
    expect(await flat('/m', 5)).toEqual(['/m/two', '/m/two/moved', '/m/two/moved/leaf', '/m/three']);
  });

  it('streams a large subtree as the small ones are written, giving the event loop back', async () => {
    await branch.create('/big');
    const parents = Array.from({ length: 40 }, (_, index) => `/big/p${index}`);
    await Promise.all(parents.map((path) => branch.create(path)));
    const leaves = parents.flatMap((path) => Array.from({ length: 50 }, (_, index) => `${path}/c${index}`));
    await Promise.all(leaves.map((path) => branch.create(path)));
    const answer = branch.ask({
      type: 'ReadTree',
      workspace,
      place: { path: '/big' },
      levels: 9,
      form: 'map',
    });
    expect(answer).not.toBeInstanceOf(JsonText);
    let turns = 0;
    let running = true;
    const count = () => {
      turns += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    let text = '';
    for await (const chunk of (answer as TextStream).chunks) text += chunkText(chunk);
    running = false;
    expect(turns).toBeGreaterThan(0);
    const map = JSON.parse(text) as MapTree;
    expect(Object.keys(map).length).toBe(40);
    expect(Object.keys(map.p39?.children ?? {}).length).toBe(50);
    expect((await flat('/big', 9)).length).toBe(2040);
    const nested = (await tree('/big', 9, 'array')) as ArrayNode[];
    expect(nested.map((node) => node.children.length)).toEqual(Array.from({ length: 40 }, () => 50));
  });
});
