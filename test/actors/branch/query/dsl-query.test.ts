import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
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

interface Answer {
  readonly items: readonly NodeObject[];
  readonly page: {
    readonly total: number;
    readonly limit: number | null;
    readonly offset: number;
    readonly nextOffset: number | null;
  };
}

describe('the DSL query', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        {
          name: 'test:Product',
          properties: [
            { name: 'sku', type: 'String', index: ['Property'] },
            { name: 'price', type: 'Number' },
          ],
        },
        { name: 'test:Note' },
      ],
    });
    await branch.create(
      '/apple',
      { sku: 'a-1', price: 3, tags: ['fruit', 'red'], size: { w: 2 } },
      'test:Product',
    );
    await branch.create('/banana', { sku: 'b-1', price: 1.5, tags: ['fruit'] }, 'test:Product');
    await branch.create('/carrot', { sku: 'c-1', price: 10, label: null, size: { w: 9 } }, 'test:Product');
    await branch.create('/apple-note', { text: 'An Apple a day', done: true }, 'test:Note');
    await branch.create('/zoo', { text: 'empty', done: false }, 'test:Note');
    await branch.create('/zoo/apple', { sku: 'a-1', price: 3 }, 'test:Product');
  });
  afterAll(() => branch.close());

  const ask = async (filter: JsonObject, caller: Caller = administrator) =>
    (await branch.query({ type: 'RunDslQuery', workspace, filter }, caller)) as Answer;
  const names = async (filter: JsonObject) => (await ask(filter)).items.map((node) => node.name);
  const everything = ['apple', 'apple-note', 'banana', 'carrot', 'zoo'];

  it('answers all root nodes without a filter, and never nested ones [DSL-007] [DSL-013]', async () => {
    expect(await names({})).toEqual(everything);
    expect((await ask({})).page).toEqual({ total: 5, limit: null, offset: 0, nextOffset: null });
    expect(await names({ name: { eq: 'apple' } })).toEqual(['apple']);
    expect(await names({ 'properties.sku': { eq: 'a-1' } })).toEqual(['apple']);
    expect((await ask({ path: { eq: '/apple' } })).items).toEqual([await branch.read('/apple')]);
  });

  it('compares columns and properties with every operator [DSL-001] [DSL-003] [DSL-004]', async () => {
    const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
      [{ node_type: { eq: 'test:Note' } }, ['apple-note', 'zoo']],
      [{ nodeType: { ne: 'test:Note' } }, ['apple', 'banana', 'carrot']],
      [{ name: { in: ['zoo', 'carrot', 'nobody'] } }, ['carrot', 'zoo']],
      [{ name: { like: 'apple' } }, ['apple', 'apple-note']],
      [{ path: { gt: '/b' } }, ['banana', 'carrot', 'zoo']],
      [{ parent: { eq: '/' } }, everything],
      [{ version: { gte: 1 } }, everything],
      [{ created_at: { lt: '2000-01-01T00:00:00Z' } }, []],
      [{ createdBy: { eq: 'ada' } }, everything],
      [{ 'properties.price': { gt: 1.5 } }, ['apple', 'carrot']],
      [{ 'properties.price': { gte: 1.5 } }, ['apple', 'banana', 'carrot']],
      [{ 'properties.price': { lt: 3 } }, ['banana']],
      [{ 'properties.price': { lte: 3 } }, ['apple', 'banana']],
      [{ 'properties.sku': { gt: 'a-1' } }, ['banana', 'carrot']],
      [{ 'properties.size.w': { eq: 9 } }, ['carrot']],
      [{ 'properties.size': { eq: { w: 2 } } }, ['apple']],
      [{ 'properties.done': { eq: false } }, ['zoo']],
      [{ 'properties.tags.0': { eq: 'fruit' } }, ['apple', 'banana']],
      [{ 'properties.$supertypes': { eq: [] } }, everything],
    ];
    for (const [filter, wanted] of cases) expect([filter, await names(filter)]).toEqual([filter, wanted]);
  });

  it('compares numbers with numbers and texts with texts only', async () => {
    expect(await names({ 'properties.price': { gt: '0' } })).toEqual([]);
    expect(await names({ 'properties.sku': { gt: 0 } })).toEqual([]);
    expect(await names({ 'properties.done': { gt: 0 } })).toEqual([]);
    expect(await names({ 'properties.label': { lt: 5 } })).toEqual([]);
  });

  it('tests substrings with like and contains, case-sensitively, and membership of arrays [DSL-002] [DSL-011]', async () => {
    expect(await names({ 'properties.text': { like: 'Apple' } })).toEqual(['apple-note']);
    expect(await names({ 'properties.text': { contains: 'Apple' } })).toEqual(['apple-note']);
    expect(await names({ 'properties.text': { like: 'apple' } })).toEqual([]);
    expect(await names({ 'properties.text': { contains: 'APPLE' } })).toEqual([]);
    expect(await names({ 'properties.text': { like: '%' } })).toEqual([]);
    expect(await names({ 'properties.tags': { contains: 'red' } })).toEqual(['apple']);
    expect(await names({ 'properties.tags': { contains: 're' } })).toEqual([]);
    expect(await names({ 'properties.price': { contains: 3 } })).toEqual([]);
  });

  it('takes ne as true and in as false for a missing value; exists asks for the key [DSL-012]', async () => {
    expect(await names({ 'properties.sku': { ne: 'a-1' } })).toEqual([
      'apple-note',
      'banana',
      'carrot',
      'zoo',
    ]);
    expect(await names({ 'properties.sku': { in: ['a-1', null] } })).toEqual(['apple']);
    expect(await names({ 'properties.label': { exists: true } })).toEqual(['carrot']);
    expect(await names({ 'properties.label': { eq: null } })).toEqual(['carrot']);
    expect(await names({ 'properties.sku': { exists: false } })).toEqual(['apple-note', 'zoo']);
    expect(await names({ archetype: { exists: false } })).toEqual(everything);
    expect(await names({ published_at: { exists: true } })).toEqual([]);
    expect(await names({ 'properties.constructor': { exists: true } })).toEqual([]);
  });

  it('combines adjacent conditions with and [DSL-009] [DSL-010]', async () => {
    const fruit = { 'properties.tags': { contains: 'fruit' } };
    expect(await names({ and: [fruit, { name: { like: 'an' } }] })).toEqual(['banana']);
    expect(await names({ or: [{ name: { eq: 'zoo' } }, fruit] })).toEqual(['apple', 'banana', 'zoo']);
    expect(await names({ not: fruit })).toEqual(['apple-note', 'carrot', 'zoo']);
    expect(await names({ ...fruit, 'properties.price': { gt: 1, lt: 2 } })).toEqual(['banana']);
    const all = {
      and: [{ node_type: { eq: 'test:Product' } }],
      or: [{ name: { eq: 'apple' } }, { name: { eq: 'carrot' } }, { name: { eq: 'zoo' } }],
      not: { 'properties.price': { gt: 5 } },
    };
    expect(await names(all)).toEqual(['apple']);
    expect(await names({ and: [], or: [{ and: [{ not: { or: [{ name: { ne: 'zoo' } }] } }] }] })).toEqual([
      'zoo',
    ]);
    expect(await names({ or: [] })).toEqual([]);
    expect(await names({ and: [] })).toEqual(everything);
  });

  it('sorts by columns and properties, several of them, what is missing last and first [DSL-005]', async () => {
    expect(await names({ order_by: { name: 'asc' } })).toEqual(everything);
    expect(await names({ order_by: { name: 'desc' } })).toEqual(everything.toReversed());
    const byPrice = ['banana', 'apple', 'carrot', 'apple-note', 'zoo'];
    expect(await names({ order_by: { 'properties.price': 'asc' } })).toEqual(byPrice);
    expect(await names({ order_by: { 'properties.price': 'desc' } })).toEqual([
      'apple-note',
      'zoo',
      'carrot',
      'apple',
      'banana',
    ]);
    expect(await names({ order_by: { node_type: 'asc', name: 'desc' } })).toEqual([
      'zoo',
      'apple-note',
      'carrot',
      'banana',
      'apple',
    ]);
    // Ties stand by path.
    expect(await names({ order_by: { node_type: 'desc' } })).toEqual([
      'apple',
      'banana',
      'carrot',
      'apple-note',
      'zoo',
    ]);
  });

  it('applies order, then offset once, then limit, in the page of the JSON query [DSL-006] [DSL-014]', async () => {
    const order = { order_by: { name: 'desc' } };
    const first = await ask({ ...order, limit: 2 });
    expect(first.items.map((node) => node.name)).toEqual(['zoo', 'carrot']);
    expect(first.page).toEqual({ total: 5, limit: 2, offset: 0, nextOffset: 2 });
    const second = await ask({ ...order, limit: 2, offset: 2 });
    expect(second.items.map((node) => node.name)).toEqual(['banana', 'apple-note']);
    expect(second.page.nextOffset).toBe(4);
    const full = await ask({ node_type: { eq: 'test:Note' }, limit: 2 });
    expect(full.page).toEqual({ total: 2, limit: 2, offset: 0, nextOffset: null });
    expect((await ask({ limit: 2, offset: 3 })).items.map((node) => node.name)).toEqual(['carrot', 'zoo']);
  });

  it('refuses what it does not understand, and names it [DSL-008]', async () => {
    const deep = (levels: number): JsonObject => (levels === 0 ? {} : { not: deep(levels - 1) });
    const cases: readonly (readonly [JsonObject, RegExp])[] = [
      [{ name: { matches: 'x' } }, /'matches' is not an operator/],
      [{ xor: [{}] }, /'xor' is neither/],
      [{ title: { eq: 'x' } }, /'title' is neither/],
      [{ __proto__x: { eq: 1 } }, /'__proto__x' is neither/],
      [JSON.parse('{"__proto__": {"eq": 1}}') as JsonObject, /'__proto__' is neither/],
      [{ constructor: { eq: 1 } }, /'constructor' is neither/],
      [{ 'properties.': { eq: 1 } }, /property path/],
      [{ properties: { eq: 1 } }, /'properties' is neither/],
      [{ name: 'x' }, /'name' must be an object/],
      [{ name: {} }, /'name' has no operator/],
      [{ name: { like: 3 } }, /'like' of 'name' must be a string/],
      [{ name: { like: 'x'.repeat(65_537) } }, /'like' of 'name' must be a string of at most 65536 char/],
      [{ name: { contains: 'x'.repeat(65_537) } }, /'contains' of 'name' must be a string of at most 65536/],
      [{ name: { in: 'x' } }, /'in' of 'name' must be an array/],
      [{ name: { in: Array.from({ length: 1001 }, () => 1) } }, /at most 1000/],
      [{ name: { exists: 'yes' } }, /true or false/],
      [{ name: { gt: true } }, /a number or a string/],
      [{ and: { name: { eq: 'x' } } }, /'and' must be an array/],
      [{ or: [3] }, /must be an object/],
      [{ not: [] }, /must be an object/],
      [{ order_by: 'name' }, /'order_by'/],
      [{ order_by: { name: 'up' } }, /'asc' or 'desc'/],
      [{ order_by: { nope: 'asc' } }, /'nope' is neither/],
      [{ limit: '5' }, /'limit'/],
      [{ offset: '1' }, /'offset'/],
      [deep(40), /levels deep/],
      [{ or: Array.from({ length: 1001 }, () => ({})) }, /at most 1000 comparisons/],
    ];
    for (const [filter, message] of cases) {
      await expect(ask(filter), JSON.stringify(filter).slice(0, 80)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringMatching(message),
      });
    }
  });

  it('takes as many comparisons as it says, in whatever form they come', async () => {
    const terms = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ [`properties.p${index}`]: { eq: 1 } }));
    for (const combinator of ['or', 'and']) await ask({ [combinator]: terms(1_000), limit: 1 });
    await expect(ask({ or: terms(1_001) })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(ask(Object.assign({}, ...terms(1_001)))).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });

  it('evaluates only what the caller may read', async () => {
    const caller = callerWith((_operation, { path }) => path !== '/apple');
    expect((await ask({}, caller)).page.total).toBe(4);
    const byIndex = { node_type: { eq: 'test:Product' }, 'properties.sku': { eq: 'a-1' } };
    expect((await ask(byIndex, caller)).items).toEqual([]);
    expect((await ask(byIndex)).items.length).toBe(1);
  });
});
