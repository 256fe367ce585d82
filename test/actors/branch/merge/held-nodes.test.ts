import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConflictList, MergeResult } from '#actors/branch/merge-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import { defaultRequestLimits, type RequestLimits } from '#runtime/budget/request-budget.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callers } from '#test/support/host-fixture.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { until } from '#test/support/until.ts';

/** Characters of a title. */
const LARGE = 1_000_000;

/** More than one of these nodes before and after a change on both sides, less than two of them. */
const HELD_MAX = 7_000_000;

const tooExpensive = 'REQUEST_TOO_EXPENSIVE';

/** The code of the error. */
async function refusal(answer: Promise<unknown>): Promise<string | undefined> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return undefined;
}

describe('the nodes that a request compares', () => {
  let family: BranchFamily;

  beforeAll(async () => {
    family = await BranchFamily.open();
    const { fixture } = family;
    fixture.limits = { ...fixture.limits, commit: { ...fixture.limits.commit, request: limited(HELD_MAX) } };
    await fixture.reopen();
    for (const name of ['a', 'b']) await family.create('main', `/${name}`, large('base'), name);
    await family.fork('far', 'main');
    await family.update('far', '/a', large('far'));
    await family.update('main', '/a', large('near'));
  });
  afterAll(() => family.close());
  afterEach(async () => {
    const { changes, room } = family.fixture.slices;
    await until(() => changes.used === 0 && room.used === 0, 'nothing is held');
  });

  function limited(heldMax: number): RequestLimits {
    return { ...defaultRequestLimits, heldMax };
  }

  function large(word: string): string {
    return word.padEnd(LARGE, `${word} `);
  }

  const source = () => ({ source: family.actor('far'), sourceName: 'far', dryRun: false });
  const list = (): Promise<ConflictList> =>
    family.query('main', { type: 'ListConflicts', source: family.actor('far') });
  const merge = (): Promise<MergeResult> =>
    family.command('main', { type: 'MergeBranch', ...source(), strategy: 'ThreeWay' });
  const resolve = (): Promise<MergeResult> =>
    family.command('main', {
      type: 'ResolveMerge',
      ...source(),
      resolutions: [{ nodeId: 'a', type: 'keep-ours' }],
    });
  const revert = (revisions: readonly string[], dryRun = false): Promise<RevertResult> =>
    family.command('main', { type: 'RevertRevisions', which: { revisions }, dryRun });

  it('are bounded in bytes, in a list of conflicts, a merge and one with resolutions [MERGE-041]', async () => {
    expect((await list()).conflicts.map(({ path }) => path)).toEqual(['/a']);
    await family.update('far', '/b', large('far'));
    await family.update('main', '/b', large('near'));
    const head = await family.head('main');
    for (const ask of [list, merge, resolve]) expect(await refusal(ask())).toBe(tooExpensive);
    expect(await family.head('main')).toBe(head);
    // One of them is the same on both sides again.
    await family.update('main', '/b', large('base'));
    await family.update('far', '/b', large('base'));
    expect(await resolve()).toMatchObject({ success: true });
  });

  it('wait for room in a list with many conflicts', async () => {
    await family.update('far', '/a', large('far2'));
    await family.update('main', '/a', large('near2'));
    await family.update('far', '/b', large('far'));
    const { room } = family.fixture.slices;
    expect(room.take(Number.MAX_SAFE_INTEGER, { sliceKey: 'other', requireWaiting: () => {} })).toBe(
      undefined,
    );
    let isListed = false;
    const listed = list().then(() => (isListed = true));
    for (let n = 0; n < 10; n++) await family.diff('far', 'main');
    const wasListed = isListed;
    room.give(Number.MAX_SAFE_INTEGER);
    await listed;
    expect(wasListed).toBe(false);
    // It is text when the room is released: its nodes are in memory no longer.
    const query = { type: 'ListConflicts', source: family.actor('far') } as const;
    const answer = await family.fixture.query(family.actor('main'), query, callers.admin);
    expect([answer, room.used]).toEqual([expect.any(JsonPieces), 0]);
    expect(JSON.parse((answer as JsonPieces).pieces.join(''))).toEqual(await list());
  });

  it('count what small values take when they are decoded', async () => {
    await family.fork('values', 'main');
    // 400 KB of text.
    const properties = { values: Array.from({ length: 130_000 }, () => []) };
    const place = { path: '/a' };
    await family.command('values', { type: 'UpdateNode', workspace: WORKSPACE, place, properties });
    await family.command('main', { type: 'UpdateNode', workspace: WORKSPACE, place, properties });
    const query = { type: 'ListConflicts', source: family.actor('values') } as const;
    expect(await refusal(family.query('main', query))).toBe(tooExpensive);
    await family.update('main', '/a', 'small');
  });

  it('are bounded in a revert, by all states of a node and by the nodes together [MERGE-041]', async () => {
    const revisions: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { revision } = await family.update('main', '/a', large(`${n}`));
      revisions.push(revision as string);
    }
    expect(await refusal(revert(revisions))).toBe(tooExpensive);
    expect(await revert(revisions.slice(-1))).toMatchObject({ success: true, nodes_changed: 1 });
  });

  it('are not counted in a revert where they come out as they are', async () => {
    const revisions: string[] = [];
    for (const name of ['c', 'd', 'e', 'f', 'g']) {
      const { revision } = await family.command('main', {
        type: 'CreateNode',
        workspace: WORKSPACE,
        parentPath: '/',
        node: { name, nodeType: 'svc:Folder', properties: { title: large(name) } },
        deep: false,
      });
      const removed = await family.delete('main', `/${name}`);
      revisions.push(revision as string, removed.revision as string);
    }
    expect(await revert(revisions, true)).toMatchObject({ success: true, nodes_changed: 0 });
  });
});
