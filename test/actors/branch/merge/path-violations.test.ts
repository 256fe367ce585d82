import { describe, expect, it } from 'vitest';
import { PATH_BYTES_MAX } from '#runtime/content/path.ts';
import { WORKSPACE } from '#test/support/branch-family.ts';
import { manual, mergingBranches, ours, theirs } from './merging-branches.ts';

const workspace = WORKSPACE;

/** A name of the greatest length. */
const long = (name: string) => name.padEnd(250, 'x');

/** Levels with {@link long} names that are half of the longest path. */
const HALF = Math.floor(PATH_BYTES_MAX / 251 / 2);

describe('nodes whose path becomes too long by a merge', () => {
  const branches = mergingBranches();
  const { pair, merge, resolve, conflicts, wrongs, shown, expectSettled } = branches;
  const add = (branch: string, path: string, id: string) => branches.family.create(branch, path, id, id);
  const move = (branch: string, path: string, targetPath: string) =>
    branches.family.command(branch, { type: 'MoveNode', workspace, place: { path }, targetPath });

  /** Adds a chain of nodes with long names below a path. @returns the path of the last one */
  async function chain(branch: string, path: string, id: string, levels: number): Promise<string> {
    let at = path;
    for (let level = 0; level < levels; level++) {
      at = `${at}/${long(`${id}${level}`)}`;
      await add(branch, at, `${id}${level}`);
    }
    return at;
  }

  /** The target moved `/top` to half of the longest path, and the source has more than the other half below it. */
  async function movedPair(): Promise<[target: string, source: string, last: string, home: string]> {
    const [target, source] = await pair();
    await add(target, '/top', 'top');
    const home = await chain(target, '', 'h', HALF);
    await merge(source, target);
    await move(target, '/top', `${home}/top`);
    await chain(source, '/top', 'd', HALF + 1);
    return [target, source, `d${HALF}`, home];
  }

  it('are a conflict of the node and of what the other side moved, in either direction', async () => {
    const [target, source, last] = await movedPair();
    for (const [into, from] of [
      [target, source],
      [source, target],
    ] as const) {
      const listed = await conflicts(into, from);
      expect(branches.briefly(listed)).toEqual(
        expect.arrayContaining([
          ['top', 'PathTooLong', [last]],
          [last, 'PathTooLong', ['top']],
        ]),
      );
      expect(listed).toHaveLength(2);
      const side = into === target ? 'target' : 'source';
      expect(listed.find(({ node_id }) => node_id === last)).toMatchObject({
        conflict_type: 'BothModified',
        violations: [
          {
            message: expect.stringMatching(
              new RegExp(
                `^The path is longer than ${PATH_BYTES_MAX} bytes; '.*/top' is placed as on the ${side}$`,
              ),
            ),
          },
        ],
      });
      expect(listed.find(({ node_id }) => node_id === 'top')).toMatchObject({
        violations: [
          { message: expect.stringMatching(/^With it '.*' would be invalid: The path/), count: 1 },
        ],
      });
    }
  });

  it('are settled by the place of the other side for what was moved', async () => {
    const [target, source, last] = await movedPair();
    expect(await resolve(target, source, [theirs('top')])).toMatchObject({ success: true });
    expect((await shown(target)).find((line) => line.startsWith(`${last} `))).toMatch(
      new RegExp(`^${last} /top/`),
    );
    await expectSettled(target, source);
  });

  it.each([
    ['a side', ours],
    ['a removal', (id: string) => manual(id, null)],
  ])('are settled by %s for the node', async (_, resolution) => {
    const [target, source, last, home] = await movedPair();
    expect(await resolve(target, source, [resolution(last)])).toMatchObject({ success: true });
    const paths = await shown(target);
    expect(paths.some((line) => line.startsWith(`top ${home}/top `))).toBe(true);
    expect(paths.some((line) => line.startsWith(`${last} `))).toBe(false);
    await expectSettled(target, source);
  });

  it('leave what was moved in conflict where the node is kept, and are refused where both are', async () => {
    const [target, source, last] = await movedPair();
    const left = await resolve(target, source, [theirs(last)]);
    expect([left.success, left.conflicts.map(({ node_id }) => node_id)]).toEqual([false, ['top']]);
    await expect(resolve(target, source, [theirs(last), ours('top')])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(/would be invalid: The path is longer than/),
    });
    await expect(
      resolve(target, source, [manual(last, { title: 'new' }), ours('top')]),
    ).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });

  it('are all listed at once, and nothing is concluded below a node in conflict', async () => {
    const [target, source, last] = await movedPair();
    const parent = (await shown(source)).find((line) => line.startsWith(`d${HALF - 1} `))?.split(' ')[1];
    for (const id of ['e1', 'e2']) await add(source, `${parent}/${long(id)}`, id);
    const named = (listed: readonly (readonly unknown[])[]) => listed.map(([id]) => id).sort();
    expect(named(await wrongs(target, source))).toEqual([last, 'e1', 'e2', 'top'].sort());
    await branches.family.update(source, '/top', 'theirs');
    expect(await wrongs(target, source)).toEqual([]);
    expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual(['top']);
  });

  it('are found below a node that both sides created, where one takes it from the other', async () => {
    const [target, source] = await pair();
    const home = await chain(target, '', 'h', HALF);
    await merge(source, target);
    await add(target, '/twin', 'twin');
    await chain(target, '/twin', 'd', HALF + 1);
    await add(source, `${home}/twin`, 'twin');
    expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual(['twin']);
    const left = await resolve(target, source, [theirs('twin')]);
    expect([left.success, branches.briefly(left.conflicts)]).toEqual([
      false,
      [[`d${HALF}`, 'PathTooLong', ['twin']]],
    ]);
    const both = [theirs('twin'), theirs(`d${HALF}`)];
    expect(await resolve(target, source, both)).toMatchObject({ success: true });
    await expectSettled(target, source);
  });

  it('are looked for to the end where a resolution would make nodes their own ancestors', async () => {
    const [target, source] = await pair();
    for (const id of ['x', 'y', 'c', 'both']) await add(target, `/${id}`, id);
    await merge(source, target);
    await move(target, '/x', '/y/x');
    await move(source, '/x', '/c/x');
    await move(source, '/y', '/c/x/y');
    await branches.family.update(target, '/both', 'ours');
    await branches.family.update(source, '/both', 'theirs');
    const ids = (listed: readonly { readonly node_id: string }[]) => listed.map(({ node_id }) => node_id);
    expect(ids(await conflicts(target, source))).toEqual(['both', 'x']);
    expect(ids((await resolve(target, source, [ours('x')])).conflicts)).toEqual(['both']);
    expect(ids((await resolve(target, source, [ours('x'), ours('both')])).conflicts)).toEqual(['y']);
  });

  it('are found where a resolution alone takes the shorter place away', async () => {
    const [target, source] = await pair();
    const home = await chain(target, '', 'h', HALF);
    await add(target, `${home}/top`, 'top');
    await merge(source, target);
    await move(source, `${home}/top`, '/top');
    await chain(source, '/top', 'd', HALF + 1);
    expect(await conflicts(target, source)).toEqual([]);
    await branches.family.update(target, `${home}/top`, 'ours');
    expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual(['top']);
    const left = await resolve(target, source, [ours('top')]);
    expect([left.success, branches.briefly(left.conflicts)]).toEqual([
      false,
      [[`d${HALF}`, 'PathTooLong', ['top']]],
    ]);
    expect(await resolve(target, source, [ours('top'), ours(`d${HALF}`)])).toMatchObject({ success: true });
    await expectSettled(target, source);
  });
});
