import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
/** More than are sorted by path after they were found in another order. */
const NODES = 1_100;

interface Answer {
  readonly items: readonly NodeObject[];
  readonly page: { readonly total: number };
}

describe('a boolean query whose nodes are most of those of the workspace', () => {
  let branch: BranchFixture;
  const nameOf = (number: number): string => `n${String(number).padStart(4, '0')}`;

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes: [{ name: 'test:Odd' }, { name: 'test:Even' }] });
    // Ids rise with time, so that their order is not that of paths.
    for (let number = NODES - 1; number >= 0; number -= 1)
      await branch.create(
        `/${nameOf(number)}`,
        { rank: number, half: number % 2 },
        number % 2 === 0 ? 'test:Even' : 'test:Odd',
      );
    await branch.create(`/${nameOf(0)}/below`, { rank: 5, half: 1 });
  });
  afterAll(() => branch.close());

  const ask = async (filter: JsonObject, caller = administrator): Promise<Answer> =>
    (await branch.query({ type: 'RunDslQuery', workspace, filter }, caller)) as Answer;
  const ranks = (answer: Answer): readonly unknown[] => answer.items.map(({ properties }) => properties.rank);
  const all = Array.from({ length: NODES }, (_, number) => number);

  it('answers few and many matches in the order of paths, with windows and totals', async () => {
    const odd = all.filter((number) => number % 2 === 1);
    const few = await ask({ 'properties.half': { eq: 1 } });
    expect([ranks(few), few.page.total]).toEqual([odd, odd.length]);
    const many = await ask({ 'properties.rank': { gte: 0 } });
    expect([ranks(many), many.page.total]).toEqual([all, NODES]);
    for (const filter of [{ 'properties.half': { eq: 1 } }, { 'properties.rank': { gte: 0 } }]) {
      const matches = 'properties.half' in filter ? odd : all;
      const page = await ask({ ...filter, limit: 3, offset: 400 });
      expect([ranks(page), page.page.total]).toEqual([matches.slice(400, 403), matches.length]);
    }
    expect(
      ranks(await ask({ 'properties.rank': { lt: 3 }, order_by: { 'properties.rank': 'desc' } })),
    ).toEqual([2, 1, 0]);
  });

  it('counts and answers only what the caller may read', async () => {
    const caller = callerWith((_, { nodeType }) => nodeType === 'test:Even');
    const found = await ask({ 'properties.rank': { lt: 6 } }, caller);
    expect([ranks(found), found.page.total]).toEqual([[0, 2, 4], 3]);
  });

  it('takes columns, nested properties and what is derived from types', async () => {
    expect(ranks(await ask({ name: { in: [nameOf(7), nameOf(3)] } }))).toEqual([3, 7]);
    expect(ranks(await ask({ not: { 'properties.rank': { gt: 1 } } }))).toEqual([0, 1]);
    const derived = await ask({ 'properties.$supertypes': { exists: true }, 'properties.rank': { lt: 2 } });
    expect(ranks(derived)).toEqual(ranks(await ask({ 'properties.rank': { lt: 2 } })));
  });
});
