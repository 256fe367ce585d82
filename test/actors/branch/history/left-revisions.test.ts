import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;
let family: BranchFamily;

beforeEach(async () => {
  family = await BranchFamily.open();
});
afterEach(() => family.close());

const listed = async (at: string): Promise<string> =>
  JSON.stringify(
    await family.query('main', {
      type: 'ListChildren',
      workspace,
      place: { path: '/' },
      scope: 's',
      at: parseRevision(at),
    }),
  );

const matched = async (at: string): Promise<string> =>
  JSON.stringify(
    await family.query('main', {
      type: 'RunDslQuery',
      workspace,
      filter: { 'properties.title': { like: 'second' } },
      at: parseRevision(at),
    }),
  );

it('reads a revision that the head was moved back from as before, also after the next write', async () => {
  for (let number = 0; number < 8; number += 1)
    await family.create('main', `/n${number}`, 'first', `n${number}`);
  const kept = await family.head('main');
  await family.update('main', '/n1', 'second');
  const left = await family.head('main');
  const before = [await listed(left), await matched(left), await listed(kept), await matched(kept)];
  expect(before[0]).toContain('second');
  expect(before[1]).toContain('"total":1');
  expect(before[3]).toContain('"total":0');
  const now = async (): Promise<readonly string[]> => [
    await listed(left),
    await matched(left),
    await listed(kept),
    await matched(kept),
  ];
  await family.command('main', { type: 'MoveHead', revision: kept });
  expect(await now()).toEqual(before);
  await family.update('main', '/n2', 'third');
  expect(await now()).toEqual(before);
});
