import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import { HalfRead } from '#actors/branch/pair-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { LargeRows, largeText as large } from '#test/support/large-rows.ts';

const rows = new LargeRows();

describe('large nodes', () => {
  let family: BranchFamily;
  /** The last crossed merge. */
  let merged: string;

  beforeAll(async () => {
    family = await BranchFamily.open((kind) => rows.watch(kind));
    for (const name of ['a', 'b', 'c', 'p']) await family.create('main', `/${name}`, large('base'), name);
    await family.fork('side', 'main');
    await family.update('main', '/a', large('near'));
    await family.update('side', '/b', large('far'));
    await family.fork('former', 'main');
  });
  beforeEach(() => rows.reset());
  afterAll(() => family.close());

  const merge = (target: string, source: string, dryRun = false): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun,
    });
  const revert = (...revisions: readonly string[]): Promise<RevertResult> =>
    family.command('main', { type: 'RevertRevisions', which: { revisions }, dryRun: false });

  /** Every one of them was copied and checked as a whole. */
  function expectOneInAStep(): void {
    expect(rows.all).toBeGreaterThan(1);
    expect(rows.longestStep).toBe(1);
  }

  it('are read one in a step by a merge', async () => {
    expect(await merge('main', 'side')).toMatchObject({ success: true, nodes_changed: 1 });
    expectOneInAStep();
  });

  it.each([true, false])('are read one in a step where histories cross, dry run %s', async (dryRun) => {
    if (dryRun) {
      await merge('side', 'former');
      await family.update('main', '/a', large('nearer'));
      await family.update('side', '/b', large('farther'));
      rows.reset();
    }
    const result = await merge('main', 'side', dryRun);
    expect(result).toMatchObject({ success: true });
    merged = result.head;
    expectOneInAStep();
  });

  it('are read one in a step by the revert of a merge', async () => {
    expect(await revert(merged)).toMatchObject({ success: true, nodes_changed: 1 });
    expectOneInAStep();
  });

  it('are read one in a step where a merge and a revert conflict', async () => {
    await family.update('side', '/c', large('far'));
    const { revision } = await family.update('main', '/c', large('near'));
    expect(await merge('main', 'side')).toMatchObject({ success: false, conflicts: [{ path: '/c' }] });
    await family.update('main', '/c', large('nearer'));
    expect(await revert(revision as string)).toMatchObject({ success: false });
    expectOneInAStep();
  });

  it('are read one in a step where another node has the place of a new or restored one', async () => {
    await family.create('main', '/p/x', large('old'));
    const deleted = await family.delete('main', '/p/x');
    await family.create('main', '/p/x', large('near'));
    await family.create('side', '/p/x', large('far'));
    rows.reset();
    expect(await revert(deleted.revision as string)).toMatchObject({ conflicts: [{ path: '/p/x' }] });
    const { conflicts } = await merge('main', 'side');
    expect(conflicts.map(({ path }) => path)).toContain('/p/x');
    expectOneInAStep();
  });

  it('are read one in a step where a resolution removes what is above them', async () => {
    await family.create('main', '/top', 'base', 'top');
    for (const name of ['x', 'y']) await family.create('main', `/top/${name}`, large('base'), `top-${name}`);
    await family.fork('pruned', 'main');
    await family.update('main', '/top', 'near');
    await family.update('pruned', '/top', 'far');
    rows.reset();
    const resolved = await family.command<MergeResult>('main', {
      type: 'ResolveMerge',
      source: family.actor('pruned'),
      sourceName: 'pruned',
      dryRun: false,
      resolutions: [{ nodeId: 'top', type: 'manual', properties: null }],
    });
    expect(resolved).toMatchObject({ success: true, nodes_changed: 3 });
    expectOneInAStep();
  });

  it('are read one in a step where a merge adds a node below several of them', async () => {
    await family.create('main', '/q', large('base'), 'q');
    await family.create('main', '/q/r', large('base'), 'r');
    await family.fork('deep', 'main');
    await family.create('main', '/near');
    await family.create('deep', '/q/r/s');
    rows.reset();
    expect(await merge('main', 'deep')).toMatchObject({ success: true, nodes_changed: 1 });
    expectOneInAStep();
  });

  it('are read one in a step where their type does not allow what a merge adds below them', async () => {
    const define = (branch: string, parts: object): Promise<unknown> =>
      family.command(branch, {
        type: 'PutDefinition',
        kind: 'node_type',
        definition: { name: 'test:Box', properties: [{ name: 'title', type: 'String' }], ...parts },
      });
    await define('main', {});
    const node = { name: 'box', nodeType: 'test:Box', properties: { title: large('base') } };
    const under = { workspace: WORKSPACE, parentPath: '/', deep: false };
    await family.command('main', { type: 'CreateNode', ...under, node });
    await family.fork('strict', 'main');
    await family.create('main', '/box/near');
    await define('strict', { allowed_children: ['svc:Page'] });
    rows.reset();
    const { conflicts } = await merge('main', 'strict');
    expect(conflicts.map(({ path }) => path)).toEqual(['/node_type/test:Box', '/box/near']);
    expectOneInAStep();
  });

  it('are read at an earlier revision while the branch is written to', async () => {
    const query = {
      type: 'ReadStates',
      at: await family.head('side'),
      nodes: [{ workspace: WORKSPACE, id: 'b' }],
    } as const;
    type Answer = readonly NodeRecord[] | HalfRead;
    const ask = (half?: HalfRead): Promise<Answer> =>
      family.query('side', { ...query, half }, callers.engine);
    /** Asks until it is complete. @param between done each time that it is not */
    const askAll = async (between: () => Promise<unknown>): Promise<[NodeRecord, number]> => {
      let half: HalfRead | undefined;
      for (let times = 1; ; times += 1) {
        const answer = await ask(half);
        if (!(answer instanceof HalfRead)) return [answer[0] as NodeRecord, times];
        half = answer;
        await between();
      }
    };
    const [known] = await askAll(async () => {});
    await family.update('side', '/b', large('later'));
    let writes = 0;
    const [found, times] = await askAll(async () => {
      writes += 1;
      // At first each time, then it rests: what was read of a value that is replaced counts no longer.
      if (writes <= 4) await family.update('side', '/b', large(`latest ${writes}`));
    });
    expect(times).toBeGreaterThan(1);
    expect(found.revision).toBe(known.revision);
    await family.fixture.reopen();
    rows.reset();
    const [again, parts] = await askAll(async () => {});
    expect(again.revision).toBe(known.revision);
    expect(parts).toBeGreaterThan(8);
    expect(rows.longestPart).toBeLessThan(0.5);
    // Pieces of a value that is no longer there are not added to those of another one.
    let replaced = false;
    const [last] = await askAll(async () => {
      if (!replaced) await family.update('side', '/b', large('last of all'));
      replaced = true;
      await family.fixture.reopen();
    });
    expect(last.revision).toBe(known.revision);
  });

  it('are read one in a step when the head is moved back', async () => {
    const revision = await family.head('main');
    await family.update('main', '/b', large('last'));
    await family.update('main', '/c', large('last'));
    rows.reset();
    await family.command('main', { type: 'MoveHead', revision } as never);
    expectOneInAStep();
    expect(await family.damage('main')).toEqual([]);
  });
});
