import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
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
    const shared = [
      { name: 'group', type: 'Number' },
      { name: 'rank', type: 'Number', index: ['Property'] },
      { name: 'label', type: 'String', index: ['Property'] },
      { name: 'plain', type: 'Number' },
    ];
    const item: JsonObject = {
      name: 'test:Item',
      compound_indexes: [
        { name: 'c', columns: [{ property: 'group' }, { property: 'plain', ascending: false }] },
      ],
      properties: [
        ...shared,
        { name: 'own', type: 'Number', index: ['Property'] },
        { name: 'same', type: 'Number', index: ['Property'] },
      ],
    };
    branch = await openBranch({
      nodeTypes: [
        item,
        { name: 'test:Rare', properties: shared },
        { name: 'test:Cut', properties: [{ name: 'cut', type: 'String', index: ['Property'] }] },
      ],
      workMax: WORK_MAX,
    });
    const operations: CommitOperation[] = Array.from({ length: NODES }, (_, n) => {
      const rank = n % 10 === 0 ? {} : { rank: (n * 7) % NODES };
      const properties = { ...rank, own: n, same: 1, group: n % 2, label: `label ${n % 100}`, plain: n };
      return { type: 'create', parentPath: '/', node: { name: `n${n}`, nodeType: 'test:Item', properties } };
    });
    const commit = { message: 'many' };
    await branch.command({ type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
    for (const end of cutEnds) await branch.create(`/cut-${end}`, { cut: cutStart + end }, 'test:Cut');
    await branch.create('/rare', { rank: 5 }, 'test:Rare');
  });
  afterAll(() => branch.close());

  const ask = async (filter: JsonObject, at?: Revision): Promise<Answer> => {
    const query = { type: 'RunDslQuery', workspace: WORKSPACE, filter } as const;
    return (await branch.query(at === undefined ? query : { ...query, at })) as Answer;
  };
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
    // A node of another type has the same value.
    const five = { ...items, 'properties.rank': { eq: 5 }, order_by: { 'properties.rank': 'asc' }, limit: 1 };
    expect((await ask(five)).page.total).toBe(1);
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

  it('reads only the first nodes of a range in order, and counts the others by their keys', async () => {
    const range = { ...items, 'properties.own': { gte: 100 } };
    const first = await ask({ ...range, order_by: { 'properties.own': 'desc' }, limit: 4, offset: 1 });
    expect(first.items.map(({ properties }) => properties.own)).toEqual([998, 997, 996, 995]);
    expect(first.page).toMatchObject({ total: 900, nextOffset: 5 });
    // By the columns of a compound index that follow those with one value, in their direction and in the opposite one.
    const group = { ...items, 'properties.group': { eq: 1 }, limit: 3 };
    for (const [direction, found] of [
      ['desc', [999, 997, 995]],
      ['asc', [1, 3, 5]],
    ] as const) {
      const order = { 'properties.group': 'asc', 'properties.plain': direction, name: 'asc' };
      const { items: sorted, page } = await ask({ ...group, order_by: order });
      expect(sorted.map(({ properties }) => properties.plain)).toEqual(found);
      expect(page.total).toBe(NODES / 2);
    }
    const both = { 'properties.group': 'asc', 'properties.plain': 'desc' };
    const { items: all } = await ask({ ...items, order_by: both, limit: 2 });
    expect(all.map(({ properties }) => properties.plain)).toEqual([998, 996]);
    // Not in this combination of directions.
    const other = { 'properties.group': 'asc', 'properties.plain': 'asc' };
    await expect(ask({ ...items, order_by: other, limit: 2 })).rejects.toThrow();
  });

  it('reads only the first nodes of one value in the order of their ids', async () => {
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { readonly head: string };
    const ids: string[] = [];
    for (let n = 0; n < NODES; n += 1) ids.push((await branch.read(`/n${n}`)).id);
    ids.sort();
    const same = { ...items, 'properties.same': { eq: 1 } };
    for (const at of [undefined, parseRevision(head)]) {
      const ascending = await ask(
        { ...same, order_by: { id: 'asc', name: 'desc' }, limit: 3, offset: 2 },
        at,
      );
      expect(ascending.items.map(({ id }) => id)).toEqual(ids.slice(2, 5));
      expect(ascending.page).toMatchObject({ total: NODES, nextOffset: 5 });
      const order = { 'properties.same': 'asc', id: 'desc' };
      const descending = await ask({ ...same, order_by: order, limit: 2 }, at);
      expect(descending.items.map(({ id }) => id)).toEqual(ids.slice(-2).reverse());
      // Another field decides first.
      const byName = ask({ ...same, order_by: { name: 'asc', id: 'asc' }, limit: 2 }, at);
      await expect(byName).rejects.toThrow(/too expensive|work/i);
    }
    // Several values are several lists of ids, in the order of the values.
    const some = { ...items, 'properties.own': { in: [3, 1, 2] } };
    const found = await ask({ ...some, order_by: { id: 'asc' } });
    const three = found.items.map(({ id }) => id);
    expect(three).toEqual([...three].sort());
    expect(three).toHaveLength(3);
  });

  it('reads only those at a revision as well, and the nodes that changed since', async () => {
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { readonly head: string };
    const at = parseRevision(head);
    const queries = [
      { ...items, 'properties.rank': { gte: 100, lt: 150 } },
      { ...items, 'properties.own': { gte: 1 }, order_by: { 'properties.own': 'desc' }, limit: 4 },
      { ...items, 'properties.group': { eq: 1 }, order_by: { 'properties.plain': 'desc' }, limit: 3 },
      { ...items, limit: 3, offset: 500 },
    ];
    const then: Answer[] = [];
    for (const query of queries) then.push(await ask(query));
    const place = { type: 'UpdateNode', workspace: WORKSPACE } as const;
    // One leaves a range, one comes into it, and one is removed from all.
    for (const [name, properties] of [
      ['n15', { rank: 5000, own: -1 }],
      ['n10', { rank: 101, own: 5000, group: 1, plain: 5000 }],
    ] as const)
      await branch.command({ ...place, place: { path: `/${name}` }, properties });
    for (const name of ['n999', 'n140'])
      await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: `/${name}` } });
    for (const [index, query] of queries.entries()) expect(await ask(query, at)).toEqual(then[index]);
    for (const [index, query] of queries.entries()) expect(await ask(query)).not.toEqual(then[index]);
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
    expect(page.total).toBe(NODES - 2 + cutEnds.length + 1);
    const { created_at: at } = await branch.read('/rare');
    const last = await ask({ created_at: { gte: at } });
    expect(last.items.map(({ path }) => path)).toContain('/rare');
    expect((await ask({ updated_at: { gt: found[0]?.updated_at as string } })).page.total).toBe(0);
  });

  it('counts a node by its key at a revision only if it was at the root', async () => {
    await branch.create('/rare/deep', { own: 7 }, 'test:Item');
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { readonly head: string };
    await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/rare/deep' } });
    const first = { ...items, 'properties.own': { gte: 0 }, order_by: { 'properties.own': 'asc' }, limit: 8 };
    const { page } = await ask(first);
    expect((await ask(first, parseRevision(head))).page).toEqual(page);
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
    const order = { order_by: { 'properties.cut': 'asc' }, limit: 1 };
    const first = await ask({ ...cut, 'properties.cut': { gt: `${cutStart}c` }, ...order });
    expect(first.page.total).toBe(3);
    expect(await ends({ 'properties.cut': { gt: cutStart, lt: `${cutStart}c` } })).toBe('ab');
  });
});
