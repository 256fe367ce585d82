import { describe, expect, it } from 'vitest';
import { WORKSPACE } from '#test/support/branch-family.ts';
import { manual, mergingBranches, ours, theirs } from './merging-branches.ts';

const workspace = WORKSPACE;

describe('resolutions that contradict each other', () => {
  const branches = mergingBranches();
  const { merge, resolve } = branches;
  const update = (branch: string, path: string, title: string) => branches.family.update(branch, path, title);
  const move = (branch: string, path: string, targetPath: string) =>
    branches.family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });

  /** `id path`, in document order. */
  const paths = async (branch: string) =>
    (await branches.shown(branch)).map((line) => line.split(' ').slice(0, 2).join(' '));

  /** Branches that both have `/a/a1`, `/a/a2`, `/b` and `/c`; ids and titles are names. */
  async function pair(): Promise<[target: string, source: string]> {
    const [target, source] = await branches.pair();
    for (const path of ['/a', '/a/a1', '/a/a2', '/b', '/c']) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      await branches.family.create(target, path, name, name);
    }
    await branches.family.delete(target, '/old');
    await merge(source, target);
    return [target, source];
  }

  it('reports when a node would be kept below one that a resolution removes', async () => {
    const [target, source] = await pair();
    for (const [branch, title] of [
      [target, 'ours'],
      [source, 'theirs'],
    ] as const)
      for (const path of ['/a', '/a/a1']) await update(branch, path, title);
    const head = await branches.family.head(target);
    for (const kept of [ours('a1'), theirs('a1'), manual('a1', { title: 'new' })]) {
      await expect(resolve(target, source, [manual('a', null), kept])).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining("'/a/a1' would be kept below '/a', which goes"),
      });
    }
    expect(await branches.family.head(target)).toBe(head);
    await resolve(target, source, [manual('a', null), manual('a1', null)]);
    expect(await paths(target)).toEqual(['b /b', 'c /c']);
  });

  it('refuses to keep a node at a place that another resolution gives away', async () => {
    const [target, source] = await pair();
    // `b` is at the place that `c` takes, and is in conflict itself: the moves of `a` and `b` are a circle.
    await move(target, '/b', '/a/place');
    await move(source, '/a', '/b/a');
    await move(source, '/c', '/b/a/place');
    const head = await branches.family.head(target);
    await expect(resolve(target, source, [ours('a'), ours('b'), theirs('c')])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'b' and 'c' would both be at"),
    });
    expect(await branches.family.head(target)).toBe(head);
    const done = await resolve(target, source, [ours('a'), ours('b'), ours('c')]);
    expect(done).toMatchObject({ success: true });
  });

  it('refuses to send a node back to a folder that stays deleted', async () => {
    const [target, source] = await pair();
    await move(target, '/a/a1', '/place');
    await branches.family.delete(target, '/a');
    await update(source, '/a', 'theirs');
    await move(source, '/c', '/place');
    const head = await branches.family.head(target);
    for (const gone of [ours('a'), manual('a', null)]) {
      await expect(resolve(target, source, [gone, theirs('c')])).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining("'/a/a1' would be kept below '/a', which goes"),
      });
    }
    expect(await branches.family.head(target)).toBe(head);
    expect(await resolve(target, source, [theirs('a'), theirs('c')])).toMatchObject({ success: true });
    expect(await paths(target)).toEqual(['a /a', 'a1 /a/a1', 'a2 /a/a2', 'b /b', 'c /place']);
  });
});
