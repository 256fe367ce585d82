import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const NODES = 1_000;

/** Enough for a few hundred nodes, in nanoseconds. */
const WORK_MAX = 2_500_000;

/** Texts that are told apart only behind the part that an index keeps; hashes of these are in another order. */
const cutStart = 'x'.repeat(2_000);
const cutEnds = ['a', 'b', 'c', 'd', 'e', 'f'];

interface Answer {
  readonly items: readonly NodeObject[];
  readonly page: { readonly total: number; readonly nextOffset: number | null };
}

describe('a query that an index supports', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    const item = (name: string): JsonObject => ({
      name,
      compound_indexes: [
        { name: 'c', columns: [{ property: 'group' }, { property: 'plain', ascending: false }] },
      ],
      properties: [
        { name: 'group', type: 'Number' },
        { name: 'rank', type: 'Number', index: ['Property'] },
        { name: 'label', type: 'String', index: ['Property'] },
        { name: 'plain', type: 'Number' },
      ],
    });
    branch = await openBranch({
      nodeTypes: [
        item('test:Item'),
        item('test:Rare'),
        { name: 'test:Cut', properties: [{ name: 'cut', type: 'String', index: ['Property'] }] },
      ],
      workMax: WORK_MAX,
    });
    const operations: CommitOperation[] = Array.from({ length: NODES }, (_, n) => {
      const rank = n % 10 === 0 ? {} : { rank: (n * 7) % NODES };
      const properties = { ...rank, group: n % 2, label: `label ${n % 100}`, plain: n };
      return { type: 'create', parentPath: '/', node: { name: `n${n}`, nodeType: 'test:Item', properties } };
    });
    const commit = { message: 'many' };
    await branch.command({ type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
    for (const end of cutEnds) await branch.create(`/cut-${end}`, { cut: cutStart + end }, 'test:Cut');
    await branch.create('/rare', { rank: 5 }, 'test:Rare');
  });
  afterAll(() => branch.close());

  const ask = async (filter: JsonObject): Promise<Answer> =>
    (await branch.query({ type: 'RunDslQuery', workspace: WORKSPACE, filter })) as Answer;
  const items = { node_type: { eq: 'test:Item' } };

  it('reads only the nodes in the ranges of its comparisons', async () => {
    await expect(ask({ ...items, 'properties.plain': { lt: 20 } })).rejects.toThrow(/too expensive|work/i);
    const some = await ask({ ...items, 'properties.rank': { gte: 100, lt: 150 } });
    expect(some.page.total).toBe(45);
    expect(
      (await ask({ ...items, 'properties.label': { in: ['label 3', 'label 4', 'none'] } })).page.total,
    ).toBe(20);
    expect((await ask({ ...items, 'properties.rank': { exists: false } })).page.total).toBe(100);
    expect((await ask({ ...items, 'properties.rank': { eq: null } })).page.total).toBe(0);
    // The smaller one of two indexes.
    const both = { ...items, 'properties.rank': { gte: 0 }, 'properties.label': { eq: 'label 3' } };
    expect((await ask(both)).page.total).toBe(10);
  });

  it('reads only the first nodes of an order, and tells how many there are', async () => {
    const ranks = async (direction: string, offset = 0): Promise<Answer> =>
      ask({ ...items, order_by: { 'properties.rank': direction }, limit: 5, offset });
    const first = await ranks('asc');
    expect(first.items.map(({ properties }) => properties.rank)).toEqual([1, 2, 3, 4, 5]);
    expect(first.page).toMatchObject({ total: NODES, nextOffset: 5 });
    const last = await ranks('desc', 98);
    expect(last.items.map(({ properties }) => properties.rank)).toEqual([
      ...[undefined, undefined, 999, 998, 997],
    ]);
    await expect(ask({ ...items, order_by: { 'properties.plain': 'asc' }, limit: 5 })).rejects.toThrow();
    // Another type with a smaller share of the index is cheaper to read than the index.
    const rare = { node_type: { eq: 'test:Rare' }, order_by: { 'properties.rank': 'desc' }, limit: 5 };
    expect((await ask(rare)).items.map(({ path }) => path)).toEqual(['/rare']);
  });

  it('sorts equal values by the other fields, then by path', async () => {
    const order = { 'properties.label': 'asc', 'properties.plain': 'desc' };
    const { items: found } = await ask({ ...items, order_by: order, limit: 12 });
    expect(found.map(({ name }) => name).slice(0, 3)).toEqual(['n900', 'n800', 'n700']);
    expect(found.at(-1)?.name).toBe('n801');
    const byPath = await ask({ ...items, order_by: { 'properties.label': 'asc' }, limit: 3 });
    expect(byPath.items.map(({ name }) => name)).toEqual(['n0', 'n100', 'n200']);
  });

  it('reads only the nodes in the ranges of a compound index', async () => {
    const group = { ...items, 'properties.group': { eq: 1 } };
    const some = await ask({ ...group, 'properties.plain': { gte: 100, lt: 120 } });
    expect(some.items.map(({ properties }) => properties.plain)).toEqual([
      ...[101, 103, 105, 107, 109, 111, 113, 115, 117, 119],
    ]);
    // Without its first column the index does not help.
    await expect(ask({ ...items, 'properties.plain': { gte: 100, lt: 120 } })).rejects.toThrow();
  });

  it('reads only the nodes that were changed last, of all types', async () => {
    await branch.command({
      type: 'SetProperty',
      workspace: WORKSPACE,
      place: { path: '/n500' },
      property: ['plain'],
      value: -1,
    });
    const { items: found, page } = await ask({ order_by: { updated_at: 'desc' }, limit: 2 });
    expect(found[0]?.path).toBe('/n500');
    expect(page.total).toBe(NODES + cutEnds.length + 1);
    const { created_at: at } = await branch.read('/rare');
    const last = await ask({ created_at: { gte: at } });
    expect(last.items.map(({ path }) => path)).toContain('/rare');
    expect((await ask({ updated_at: { gt: found[0]?.updated_at as string } })).page.total).toBe(0);
  });

  it('compares texts that are too long for a key', async () => {
    const cut = { node_type: { eq: 'test:Cut' } };
    const ends = async (filter: JsonObject): Promise<string> =>
      (await ask({ ...cut, ...filter })).items.map(({ name }) => name.slice(-1)).join('');
    for (const limit of [6, 4]) {
      expect(await ends({ order_by: { 'properties.cut': 'asc' }, limit })).toBe('abcdef'.slice(0, limit));
      expect(await ends({ order_by: { 'properties.cut': 'desc' }, limit })).toBe('fedcba'.slice(0, limit));
    }
    expect(await ends({ 'properties.cut': { gt: `${cutStart}c` } })).toBe('def');
    expect(await ends({ 'properties.cut': { lte: `${cutStart}c` } })).toBe('abc');
    expect(await ends({ 'properties.cut': { gt: cutStart, lt: `${cutStart}c` } })).toBe('ab');
  });
});
