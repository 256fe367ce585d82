import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

/** The second character is above the first one, but its first UTF-16 unit is below. */
const texts = { plain: 'a', below: '\uff5e', above: '🌳' };

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({ nodeTypes: [{ name: 'test:Note' }] });
  for (const [name, text] of Object.entries(texts)) await branch.create(`/${name}`, { text }, 'test:Note');
});
afterAll(() => branch.close());

async function names(filter: JsonObject): Promise<readonly string[]> {
  const query = { type: 'RunDslQuery', workspace: WORKSPACE, filter } as const;
  const { items } = (await branch.query(query)) as { readonly items: readonly NodeObject[] };
  return items.map(({ name }) => name);
}

it('compares and sorts texts by their UTF-8 bytes', async () => {
  expect(await names({ 'properties.text': { gt: texts.below } })).toEqual(['above']);
  expect(await names({ 'properties.text': { lte: texts.below } })).toEqual(['below', 'plain']);
  expect(await names({ order_by: { 'properties.text': 'asc' } })).toEqual(['plain', 'below', 'above']);
  expect(await names({ order_by: { 'properties.text': 'desc' } })).toEqual(['above', 'below', 'plain']);
});
