import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { NodeObject } from '#test/support/branch-fixture.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;

describe('a fast-forward', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  /** A new branch with `/a`. */
  async function source(): Promise<string> {
    names += 1;
    const branch = `source-${names}`;
    await family.fork(branch, 'main');
    await family.create(branch, '/a', 'first', 'a');
    return branch;
  }
  const merge = (
    target: string,
    from: string,
    strategy: 'ThreeWay' | 'FastForward' = 'ThreeWay',
  ): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor(from),
      sourceName: from,
      strategy,
      dryRun: false,
    });
  const forward = (target: string, from: string): Promise<MergeResult> => merge(target, from, 'FastForward');
  const tree = (branch: string, at: string): Promise<unknown> =>
    family.query(branch, {
      type: 'ReadTree',
      workspace,
      place: { path: '/' },
      levels: 100,
      form: 'flat',
      at: parseRevision(at),
    });
  /** Path and title of every node: all but stamps. */
  const contents = async (branch: string, at: string): Promise<unknown> =>
    ((await tree(branch, at)) as NodeObject[]).map(({ path, properties }) => [path, properties.title]);
  const history = (branch: string, id: string): Promise<unknown> =>
    family.query(branch, { type: 'ReadHistory', workspace, place: { id } });
  const revisions = (branch: string): Promise<unknown> =>
    family.query(branch, { type: 'ListRevisions', limit: 100, offset: 0, includeSystem: true });
  const rewind = (branch: string, revision: string) => family.command(branch, { type: 'MoveHead', revision });

  it('of a fork of an earlier revision shows what the source had written before the fork was made', async () => {
    const from = await source();
    const start = await family.head(from);
    const moments = [start, (await family.update(from, '/a', 'second')).revision as string];
    // Left behind by the source: nothing of it may be seen on the target.
    await family.update(from, '/a', 'lost');
    await rewind(from, moments[1] as string);
    moments.push((await family.rename(from, '/a', 'b')).revision as string);
    moments.push(await family.create(from, '/a', 'new', 'other'));
    const target = `${from}-fork`;
    await family.fork(target, from, start);
    expect(await tree(target, moments[3] as string)).toEqual(await tree(from, start));
    moments.push((await family.update(from, '/b', 'third')).revision as string);
    expect(await forward(target, from)).toMatchObject({ success: true, head: moments.at(-1) });
    for (const at of moments) expect(await tree(target, at), at).toEqual(await tree(from, at));
    for (const id of ['a', 'other']) expect(await history(target, id)).toEqual(await history(from, id));
    expect(await revisions(target)).toMatchObject({ total: moments.length + 1 });
    expect(await family.damage(target)).toEqual([]);
    for (const at of moments) {
      await rewind(target, at);
      expect(await tree(target, at), at).toEqual(await tree(from, at));
      expect(await family.damage(target)).toEqual([]);
    }
    const fork = `${from}-fork-of-fork`;
    await family.fork(fork, target, moments[2] as string);
    expect(await tree(fork, moments[2] as string)).toEqual(await tree(from, moments[2] as string));
    expect(await forward(fork, target)).toMatchObject({ success: true, fast_forward: true });
    for (const at of moments) expect(await tree(fork, at), at).toEqual(await tree(from, at));
  });

  it('to a merge of a third branch that contains the target adds the content and history of that branch', async () => {
    const from = await source();
    const [target, third] = [`${from}-target`, `${from}-third`];
    await family.fork(target, from);
    await family.create(target, '/ours', '', 'ours');
    await family.fork(third, target);
    await family.create(third, '/third', '', 'third');
    await family.update(from, '/a', 'theirs');
    const { head } = await merge(from, third);
    expect(await family.compare(third, target)).toMatchObject({ ahead: 1, behind: 0 });
    expect(await forward(target, from)).toMatchObject({ success: true, head });
    expect(await contents(target, head)).toEqual(await contents(from, head));
    expect(await family.compare(from, target)).toMatchObject({ ahead: 0, behind: 0 });
    // The third branch has nothing that the target lacks.
    expect(await family.compare(third, target)).toMatchObject({ ahead: 0, behind: 2 });
    expect(await merge(target, third)).toMatchObject({ success: true, nodes_changed: 0, head });
    expect(await family.damage(target)).toEqual([]);
  });

  it('goes forward to revisions that the target has behind a head that was moved back', async () => {
    const from = await source();
    const target = `${from}-fork`;
    const start = await family.head(from);
    await family.update(from, '/a', 'second');
    await family.fork(target, from);
    await rewind(target, start);
    expect(await forward(target, from)).toMatchObject({ success: true, fast_forward: true });
    expect(await family.head(target)).toBe(await family.head(from));
    await rewind(target, start);
    const head = (await family.update(from, '/a', 'third')).revision as string;
    expect(await forward(target, from)).toMatchObject({ success: true, head });
    expect(await tree(target, head)).toEqual(await tree(from, head));
    expect(await family.damage(target)).toEqual([]);
  });

  it('is refused where revisions would come before some that the target has on another line', async () => {
    const from = await source();
    const target = `${from}-fork`;
    const start = await family.head(from);
    await family.fork(target, from);
    await family.update(from, '/a', 'theirs');
    await family.update(target, '/a', 'left behind');
    await rewind(target, start);
    await expect(forward(target, from)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: 'Fast-forward merge not possible: branches have diverged',
    });
    expect(await family.head(target)).toBe(start);
    const command = { type: 'MergeBranch', source: family.actor(from), sourceName: from } as const;
    const merged = family.command(target, { ...command, strategy: 'ThreeWay', dryRun: false });
    expect(await merged).toMatchObject({ success: true, nodes_changed: 1 });
  });

  it('leaves every revision the branch it was made on', async () => {
    const from = await source();
    const target = `${from}-fork`;
    await family.fork(target, from);
    await family.update(from, '/a', 'second');
    const third = `${from}-third`;
    await family.fork(third, from);
    await family.update(third, '/a', 'third');
    await forward(target, third);
    await family.update(target, '/a', 'own');
    const fork = `${from}-fork-of-fork`;
    await family.fork(fork, target);
    const made = async (branch: string) =>
      ((await revisions(branch)) as { revisions: readonly { branch: string }[] }).revisions.map(
        (record) => record.branch,
      );
    expect(await made(target)).toEqual([target, third, from, ...(await made(from)).slice(1)]);
    expect(await made(fork)).toEqual(await made(target));
    await forward(third, fork);
    expect(await made(third)).toEqual(await made(target));
  });
});
