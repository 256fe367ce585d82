import { afterAll, beforeAll, expect, it } from 'vitest';
import { BranchFamily } from '#test/support/branch-family.ts';
import { RestlessReads } from '#test/support/restless-reads.ts';

const reads = new RestlessReads(['CompareBranch', 'DiffBranch']);
let family: BranchFamily;
let changes = 0;

beforeAll(async () => {
  family = await BranchFamily.open((kind) => reads.watched(kind));
  for (let n = 0; n < 40; n += 1) await family.create('main', `/n${n}`, 'first');
  await family.fork('fork', 'main');
  for (let n = 0; n < 20; n += 1) await family.update('fork', `/n${n}`, 'second');
  for (let n = 10; n < 30; n += 1) await family.update('main', `/n${n}`, 'third');
  await family.rename('fork', '/n30', 'renamed');
  await family.delete('fork', '/n31');
});
afterAll(() => family.close());

/** Changes nodes that were compared, and such that were not. */
async function change(): Promise<void> {
  if (reads.pauses % 5 !== 1 || reads.pauses > 200) return;
  changes += 1;
  await family.update('fork', `/n${changes % 10}`, `late ${changes}`);
  // The head of the other branch is read where the work begins, which may wait for memory first.
  if (reads.pauses > 2) await family.update('main', `/n${10 + (changes % 10)}`, `late ${changes}`);
  await family.create('fork', `/late${changes}`);
}

it.each([
  ['a comparison', () => family.compare('fork', 'main')],
  ['a difference', () => family.diff('fork', 'main')],
  ['a difference with details', () => family.detailedDiff('fork', 'main')],
])('%s shows the state with which it began, and pins none while it waits', async (_, ask) => {
  reads.meanwhile = async () => {};
  const before = await ask();
  reads.pauses = 0;
  reads.pinnedPauses = 0;
  reads.meanwhile = change;
  expect(await ask()).toEqual(before);
  expect(reads.pauses).toBeGreaterThan(0);
  expect(reads.pinnedPauses).toBe(0);
  reads.meanwhile = async () => {};
  expect(await ask()).not.toEqual(before);
});
