import { afterAll, beforeAll, expect, it } from 'vitest';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { RestlessReads } from '#test/support/restless-reads.ts';

const reads = new RestlessReads(['CompareBranch', 'DiffBranch', 'ListConflicts']);
let family: BranchFamily;
let changes = 0;
let deleted = 0;
/** Changes before the present test. */
let late = 0;

const CODED = 'test:Coded';
const code = { name: 'code', type: 'String' };
const define = (
  branch: string,
  name: string,
  definition: object,
  kind: 'node_type' | 'mixin' = 'node_type',
) => family.command(branch, { type: 'PutDefinition', kind, definition: { name, ...definition } });

beforeAll(async () => {
  family = await BranchFamily.open((kind) => reads.watched(kind));
  await define('main', 'test:Code', { properties: [] }, 'mixin');
  await define('main', CODED, { properties: [code] });
  for (let n = 0; n < 8; n += 1)
    await family.command('main', {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/',
      node: { name: `coded${n}`, nodeType: CODED, properties: { code: '9' } },
      deep: false,
    });
  for (let n = 0; n < 40; n += 1) await family.create('main', `/n${n}`, 'first');
  await family.fork('fork', 'main');
  for (let n = 0; n < 20; n += 1) await family.update('fork', `/n${n}`, 'second');
  for (let n = 10; n < 30; n += 1) await family.update('main', `/n${n}`, 'third');
  await family.rename('fork', '/n30', 'renamed');
  await family.delete('fork', '/n31');
  // By both together a property becomes unique, of nodes that neither side changed.
  await define('fork', CODED, { properties: [], mixins: ['test:Code'] });
  await define('main', 'test:Code', { properties: [{ ...code, unique: true }] }, 'mixin');
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
  if (changes - late <= 1) await family.delete('fork', `/coded${deleted++}`);
}

it.each([
  ['a comparison', () => family.compare('fork', 'main')],
  ['a difference', () => family.diff('fork', 'main')],
  ['a difference with details', () => family.detailedDiff('fork', 'main')],
  [
    'a list of conflicts',
    () => family.query('fork', { type: 'ListConflicts', source: family.actor('main') }),
  ],
])('%s shows the state with which it began, and pins none while it waits', async (_, ask) => {
  reads.meanwhile = async () => {};
  const before = await ask();
  reads.pauses = 0;
  late = changes;
  reads.pinnedPauses = 0;
  reads.meanwhile = change;
  expect(await ask()).toEqual(before);
  expect(reads.pauses).toBeGreaterThan(0);
  expect(reads.pinnedPauses).toBe(0);
  reads.meanwhile = async () => {};
  expect(await ask()).not.toEqual(before);
});
