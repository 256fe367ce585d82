import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunDslQuery, RunQuery } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

let family: BranchFamily;

beforeAll(async () => {
  family = await BranchFamily.open();
  for (let n = 10; n < 60; n += 1) await family.create('main', `/n${n}`, 'first');
});
afterAll(() => family.close());

const dsl = (filter: JsonObject): RunDslQuery => ({ type: 'RunDslQuery', workspace: WORKSPACE, filter });
const questions: readonly (RunDslQuery | RunQuery)[] = [
  dsl({ order_by: { updated_at: 'desc' }, limit: 7 }),
  dsl({ created_at: { gte: '2000' }, name: { ne: 'n12' } }),
  dsl({ node_type: { eq: 'svc:Folder' }, order_by: { created_at: 'asc' }, limit: 5, offset: 40 }),
  {
    type: 'RunQuery',
    workspace: WORKSPACE,
    selector: { nodeType: 'svc:Folder' },
    limit: 5,
    offset: 8,
  } as const,
];

async function answers(branch: string, revision?: string): Promise<unknown[]> {
  const at = revision === undefined ? {} : { at: parseRevision(revision) };
  const found: unknown[] = [];
  for (const question of questions) found.push(await family.query(branch, { ...question, ...at }));
  return found;
}

it('queries by indexes answer as then on every line: of forks, after merges, and where a head was moved', async () => {
  const then = new Map<string, unknown[]>();
  const remember = async (branch: string): Promise<string> => {
    const head = await family.head(branch);
    then.set(`${branch} ${head}`, await answers(branch));
    return head;
  };
  const first = await remember('main');
  await family.update('main', '/n12', 'second');
  await family.delete('main', '/n50');
  const second = await remember('main');
  await family.create('main', '/later', 'main');
  await family.fork('fork', 'main', second);
  then.set(`fork ${first}`, then.get(`main ${first}`) as unknown[]);
  then.set(`fork ${second}`, then.get(`main ${second}`) as unknown[]);
  await family.update('fork', '/n20', 'fork');
  await family.create('fork', '/forked', 'fork');
  const forked = await remember('fork');
  // Another fork takes over the revisions of the first one, and main merges them.
  await family.fork('copy', 'main', second);
  const merge = {
    type: 'MergeBranch',
    source: family.actor('fork'),
    sourceName: 'fork',
    dryRun: false,
  } as const;
  await family.command('copy', { ...merge, strategy: 'FastForward' });
  for (const at of [first, second, forked])
    then.set(`copy ${at}`, then.get(`${at === forked ? 'fork' : 'main'} ${at}`) as unknown[]);
  await family.update('copy', '/forked', 'copy');
  await remember('copy');
  await family.update('copy', '/n40', 'copy');
  await family.command('main', { ...merge, strategy: 'ThreeWay' });
  await remember('main');
  await family.rename('main', '/n30', 'renamed');
  const third = await remember('main');
  await family.command('main', { type: 'MoveHead', revision: first });
  await family.update('main', '/n13', 'another line');
  await family.delete('main', '/n14');
  await remember('main');
  await family.command('main', { type: 'MoveHead', revision: third });
  for (const [name, found] of then) {
    const [branch, revision] = name.split(' ') as [string, string];
    expect(await answers(branch, revision), name).toEqual(found);
  }
});
