import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

/** The second character is above the first one, but its first UTF-16 unit is below. */
const texts = { plain: 'a', below: '\uff5e', above: '🌳' };

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({
    nodeTypes: [
      { name: 'test:Note' },
      { name: 'test:Plain' },
      { name: 'test:Indexed', properties: [{ name: 'text', type: 'String', index: ['Property'] }] },
    ],
  });
  for (const [name, text] of Object.entries(texts)) await branch.create(`/${name}`, { text }, 'test:Note');
});
afterAll(() => branch.close());

async function names(filter: JsonObject): Promise<readonly string[]> {
  const query = { type: 'RunDslQuery', workspace: WORKSPACE, filter } as const;
  const { items } = (await branch.query(query)) as { readonly items: readonly NodeObject[] };
  return items.map(({ name }) => name);
}

const notes = { node_type: { eq: 'test:Note' } };

it('compares and sorts texts by their UTF-8 bytes', async () => {
  expect(await names({ ...notes, 'properties.text': { gt: texts.below } })).toEqual(['above']);
  expect(await names({ ...notes, 'properties.text': { lte: texts.below } })).toEqual(['below', 'plain']);
  expect(await names({ ...notes, order_by: { 'properties.text': 'asc' } })).toEqual([
    'plain',
    'below',
    'above',
  ]);
  expect(await names({ ...notes, order_by: { 'properties.text': 'desc' } })).toEqual([
    'above',
    'below',
    'plain',
  ]);
});

it.each(['test:Plain', 'test:Indexed'])(
  'compares lone surrogates as the replacement character, and tells them apart, in %s [DSL-016]',
  async (nodeType) => {
    const found = { low: 'a\ud7ff', high: 'a\ud800', other: 'a\udfff', replaced: 'a\ufffd', last: 'a\ufffe' };
    const prefix = nodeType === 'test:Plain' ? 'p' : 'i';
    for (const [name, text] of Object.entries(found))
      await branch.create(`/${prefix}-${name}`, { text }, nodeType);
    const ask = async (filter: JsonObject): Promise<readonly string[]> => {
      const answer = await names({ node_type: { eq: nodeType }, ...filter });
      return answer.map((name) => name.slice(prefix.length + 1));
    };
    const replaced = ['high', 'other', 'replaced'];
    for (const text of [found.high, found.other, found.replaced]) {
      expect(await ask({ 'properties.text': { gt: text } })).toEqual(['last']);
      expect(await ask({ 'properties.text': { lt: text } })).toEqual(['low']);
      expect(await ask({ 'properties.text': { gte: text, lte: text } })).toEqual(replaced);
    }
    expect(await ask({ 'properties.text': { eq: found.high } })).toEqual(['high']);
    expect(await ask({ 'properties.text': { in: [found.other, found.low] } })).toEqual(['low', 'other']);
    const order = { 'properties.text': 'desc' };
    expect(await ask({ order_by: order })).toEqual(['last', ...replaced, 'low']);
  },
);
