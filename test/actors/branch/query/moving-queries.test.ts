import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { RestlessReads } from '#test/support/restless-reads.ts';

const reads = new RestlessReads(['RunDslQuery', 'RunQuery']);
let family: BranchFamily;
let changes = 0;

beforeAll(async () => {
  family = await BranchFamily.open((kind) => reads.watched(kind));
  for (let n = 10; n < 70; n += 1) await family.create('main', `/n${n}`, 'first');
});
afterAll(() => family.close());

const dsl = (filter: JsonObject): BranchQuery => ({ type: 'RunDslQuery', workspace: WORKSPACE, filter });
const all = { created_at: { gte: '2000' } };

/** Changes nodes that were found, and such that were not. */
async function change(): Promise<void> {
  if (reads.pauses % 7 !== 1 || reads.pauses > 300) return;
  changes += 1;
  await family.update('main', `/n${10 + (changes % 20)}`, `late ${changes}`);
  await family.create('main', `/late${changes}`, 'late');
  // The first change is before anything is read, and changes the number of nodes.
  if (changes % 2 === 0 && reads.pauses > 1) await family.delete('main', `/late${changes - 1}`);
}

it.each<readonly [string, BranchQuery]>([
  [
    'nodes of a type',
    { type: 'RunQuery', workspace: WORKSPACE, selector: { nodeType: 'svc:Folder' }, limit: 30 },
  ],
  ['children', { type: 'RunQuery', workspace: WORKSPACE, selector: { parent: '/' }, limit: 30 }],
  ['nodes of an index', dsl({ ...all, name: { ne: 'x' } })],
  ['the first nodes of an index', dsl({ ...all, order_by: { updated_at: 'desc' }, limit: 20, offset: 5 })],
  ['the last nodes of an index', dsl({ order_by: { created_at: 'asc' }, limit: 30 })],
  ['sorted nodes', dsl({ not: { name: { eq: 'x' } }, order_by: { name: 'desc' } })],
])('a query for %s shows the state with which it began, and pins none while it waits', async (_, query) => {
  reads.meanwhile = async () => {};
  const before = await family.query('main', query);
  reads.pauses = 0;
  reads.pinnedPauses = 0;
  reads.meanwhile = change;
  expect(await family.query('main', query)).toEqual(before);
  expect(reads.pauses).toBeGreaterThan(20);
  expect(reads.pinnedPauses).toBe(0);
  reads.meanwhile = async () => {};
  expect(await family.query('main', query)).not.toEqual(before);
});
