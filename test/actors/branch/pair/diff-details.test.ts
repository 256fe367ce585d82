import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANSWER_CHARACTERS_MAX } from '#actors/branch/pair/change-texts.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, type Difference, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { withoutChanges } from '../workload/changes-model.ts';
import { policyThat } from '#test/support/policy-that.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const workspace = WORKSPACE;

/** A caller who may read the nodes at some paths. */
function readerOf(allows: (path: string) => boolean): Caller {
  return { ...callers.admin, policy: policyThat((_, { path }) => allows(path)) };
}

describe('the changes of a difference', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  /** A branch with two nodes, and a fork of it. */
  async function pair(): Promise<[main: string, fork: string]> {
    names += 1;
    const [main, fork] = [`main-${names}`, `fork-${names}`];
    await family.fork(main, 'main');
    await family.create(main, '/a', 'A', `a-${names}`);
    await family.create(main, '/b', 'B', `b-${names}`);
    await family.fork(fork, main);
    return [main, fork];
  }

  const changesOf = ({ added, deleted, modified }: Difference) =>
    [...added, ...modified, ...deleted].map(({ changes, path }) => [path, changes?.map((one) => one.path)]);

  it('are in each entry, and nowhere unless they are asked for [BR-044, BR-045]', async () => {
    const [main, fork] = await pair();
    await family.update(fork, '/a', 'A2');
    await family.delete(fork, '/b');
    await family.create(fork, '/c', 'C');
    const plain = await family.diff(fork, main);
    const found = await family.detailedDiff(fork, main);
    expect(withoutChanges(found)).toEqual(plain);
    expect(JSON.stringify(plain)).not.toContain('changes');
    expect(JSON.stringify(plain)).not.toContain('truncated');
    expect(found.truncated).toBe(false);
    expect(found.modified[0]?.changes).toEqual([{ path: '/properties/title', before: 'A', after: 'A2' }]);
    expect(found.added[0]?.changes).toContainEqual({ path: '/properties/title', after: 'C' });
    expect(found.deleted[0]?.changes).toContainEqual({ path: '/properties/title', before: 'B' });
  });

  it('are those since the two last met, also between moments that are named', async () => {
    const [main, fork] = await pair();
    const at = parseRevision((await family.update(fork, '/a', 'A2')).revision as string);
    await family.update(fork, '/a', 'A3');
    const query = { type: 'DiffBranch', base: family.actor(main), detail: 'properties' } as const;
    const early = await family.query<Difference>(fork, { ...query, at });
    expect(early.modified[0]?.changes).toEqual([{ path: '/properties/title', before: 'A', after: 'A2' }]);
    await family.bringOver(main, fork);
    await family.update(fork, '/a', 'A4');
    const late = await family.detailedDiff(fork, main);
    expect(late.modified[0]?.changes).toEqual([{ path: '/properties/title', before: 'A3', after: 'A4' }]);
  });

  it('do not show what a node was at a place that the caller may not read [BR-048]', async () => {
    const [main, fork] = await pair();
    await family.create(main, '/secret', 'S');
    await family.bringOver(fork, main);
    await family.rename(fork, '/a', 'shown');
    await family.rename(fork, '/secret', 'open');
    const found = await family.detailedDiff(
      fork,
      main,
      readerOf((path) => path !== '/secret'),
    );
    expect(changesOf(found)).toEqual([
      ['/open', []],
      ['/shown', ['/name', '/path']],
    ]);
    expect(found.modified.map(({ truncated }) => truncated)).toEqual([true, undefined]);
    expect(found.truncated).toBe(true);
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  it('do not show relations to nodes that the caller may not read [BR-048]', async () => {
    const [main, fork] = await pair();
    await family.create(fork, '/secret');
    for (const targetPath of ['/secret', '/b']) {
      const relation = { targetWorkspace: workspace, targetPath, relationType: 'see', weight: null };
      await family.command(fork, { type: 'AddRelation', workspace, place: { path: '/a' }, ...relation });
    }
    const seen = async (caller?: Caller) =>
      (await family.detailedDiff(fork, main, caller)).modified[0]?.changes?.map(({ path }) => path);
    expect(await seen()).toEqual(['/relations', '/relations']);
    expect(await seen(readerOf((path) => path !== '/secret'))).toEqual(['/relations']);
    await family.delete(fork, '/b');
    // It may be known by those who could read it when the two met.
    expect(await seen(readerOf((path) => path !== '/secret'))).toEqual(['/relations']);
    expect(await seen(readerOf((path) => path === '/a'))).toEqual([]);
  });

  it('show no property that is hidden in one of the states, and no node that a condition hides [BR-048]', async () => {
    const [main, fork] = await pair();
    const set = (at: string, path: string, name: string, value: string): Promise<unknown> =>
      family.command(at, {
        type: 'SetProperty',
        workspace,
        place: { path },
        property: [name],
        value,
      });
    await set(fork, '/a', 'title', 'A2');
    await set(fork, '/a', 'secret', 'classified');
    await set(fork, '/b', 'title', 'B2');
    await set(fork, '/b', 'state', 'hidden');
    const read = { path: '**', operations: ['read'], except_fields: ['secret'] };
    const caller = roleCaller([{ ...read, condition: "node.state != 'hidden'" }]);
    const found = await family.detailedDiff(fork, main, caller);
    expect(changesOf(found)).toEqual([['/a', ['/properties/title']]]);
    const titles = { path: '**', operations: ['read'], fields: ['title'], condition: "node.title == 'A2'" };
    const states = { path: '**', operations: ['read'], fields: ['secret'] };
    // The title is shown after the change, and the secret before it.
    const both = await family.detailedDiff(fork, main, roleCaller([titles, states]));
    expect(both.modified.find(({ path }) => path === '/a')?.changes).toEqual([]);
  });

  it('are those of modified nodes first where there is not room for all, in the order of the answer [BR-047]', async () => {
    const [main, fork] = await pair();
    const title = 'x'.repeat(8_000);
    const count = Math.ceil(ANSWER_CHARACTERS_MAX / title.length) + 2;
    const create = Array.from({ length: count }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/',
      node: { name: `n${1000 + index}`, nodeType: 'svc:Folder', properties: { title } },
    }));
    const commit = { message: 'many' };
    await family.command(fork, { type: 'CommitOperations', workspace, commit, operations: create });
    await family.update(fork, '/a', 'A2');
    await family.command(fork, {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: `diff:${'T'.repeat(names)}`, properties: [] },
    });
    const found = await family.detailedDiff(fork, main);
    expect(found.truncated).toBe(true);
    expect(found.modified[0]).toMatchObject({ changes: [{ path: '/properties/title' }] });
    expect(found.modified[0]?.truncated).toBeUndefined();
    expect(found.definitions[0]?.truncated).toBeUndefined();
    const cut = found.added.map(({ truncated }) => truncated === true);
    expect(cut).toEqual(cut.toSorted());
    expect(cut.filter((one) => !one).length).toBeGreaterThan(count / 2);
    expect(found.added.at(-1)).toMatchObject({ changes: [], truncated: true });
    expect(JSON.stringify(found).length).toBeLessThan(1.2 * ANSWER_CHARACTERS_MAX);
    expect(withoutChanges(found)).toEqual(await family.diff(fork, main));
  });

  it('take a login', async () => {
    const [main, fork] = await pair();
    await expect(family.detailedDiff(fork, main, callers.anonymous)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });
});
