import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchStatistics } from '#actors/branch/statistics-messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ConsumerStep } from '#runtime/feed/feed-messages.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import type { Projection } from '#runtime/projection/projection.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import { countedNodes } from '#test/support/counted-nodes.ts';
import { engineUser, TENANT } from '#test/support/engine.ts';
import { FedBranch } from '#test/support/fed-branch.ts';
import { nodesAt } from '#test/support/feed-reader.ts';
import { shownStatistics } from '#test/support/shown-statistics.ts';
import { BRANCH, CONTENT } from '#test/support/test-branch.ts';

const FORK = actorId(TENANT, 'site~1', 'fork~1', 'branch');
const { name } = statisticsProjection;

/** Creates nodes in one commit. */
function creates(count: number, prefix: string): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'create',
    parentPath: '/',
    node: { name: `${prefix}${index}`, nodeType: 'test:Article', properties: { title: 't', rank: index } },
  }));
}

describe('a projection', () => {
  let folder: string;
  let fed: FedBranch;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'projection-'));
    fed = await opened(new ProjectionConsumer(statisticsProjection, { nodes: 10, rows: 4 }));
  });
  afterEach(async () => {
    await fed.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A branch that is told of each step by the test. */
  async function opened(consumer: ProjectionConsumer, isPrepared = false): Promise<FedBranch> {
    const branch = await FedBranch.open(folder, [consumer], isPrepared);
    await branch.runner.close();
    return branch;
  }

  async function reopened(consumer: ProjectionConsumer): Promise<void> {
    await fed.close();
    fed = await opened(consumer, true);
  }

  function step(actor: ActorId = BRANCH): Promise<ConsumerStep> {
    return fed.tell({ type: 'ConsumeFeed', name }, actor) as Promise<ConsumerStep>;
  }

  async function finish(actor: ActorId = BRANCH): Promise<number> {
    for (let steps = 1; ; steps++) if ((await step(actor)).isComplete) return steps;
  }

  async function build(actor: ActorId = BRANCH): Promise<void> {
    await fed.tell({ type: 'BuildProjection', name }, actor);
  }

  async function statistics(actor: ActorId = BRANCH): Promise<BranchStatistics> {
    const query = { type: 'ReadStatistics' };
    return (await fed.branch.engine.host.query(actor, query, engineUser)) as BranchStatistics;
  }

  /** Its rows are those of the revision it tells. */
  async function requireCounted(actor: ActorId = BRANCH): Promise<void> {
    const { projection, workspaces } = await statistics(actor);
    const nodes = fed.look((reader) => nodesAt(reader, projection.revision as string, [CONTENT]), actor);
    expect(shownStatistics(workspaces, CONTENT)).toEqual(countedNodes(nodes.values()));
  }

  /** Rows of projections in the shard. */
  function rows(actor: ActorId = BRANCH): number {
    const range = { start: '', end: '\u00ff' };
    return fed.look((reader) => [...reader.range(BranchTable.projections, range)].length, actor);
  }

  async function fork(revision?: string): Promise<void> {
    await fed.branch.engine.host.fork(BRANCH, FORK);
    const at = revision === undefined ? {} : { revision };
    await fed.tell({ type: 'BecomeFork', sourceName: 'main', ...at }, FORK);
  }

  it('is built in small steps from one revision, while the branch is written, then follows', async () => {
    await fed.commit(creates(45, 'n'));
    expect((await statistics()).projection).toMatchObject({ state: 'none', revision: null });
    await build();
    expect((await statistics()).projection).toMatchObject({ state: 'building', progress: 0 });
    await step();
    await step();
    await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/n0' } });
    await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/n44' } });
    await step();
    expect(await statistics()).toMatchObject({
      projection: { state: 'building', revision: null, lag: null },
      workspaces: [],
    });
    expect((await statistics()).projection.progress).toBeGreaterThan(0);
    expect((await statistics()).projection.progress).toBeLessThan(1);
    await reopened(new ProjectionConsumer(statisticsProjection, { nodes: 10, rows: 4 }));
    while ((await statistics()).projection.state === 'building') await step();
    expect((await statistics()).projection).toMatchObject({ state: 'following', lag: 2, progress: null });
    await requireCounted();
    expect((await statistics()).workspaces[0]?.nodeTypes[0]?.nodes).toBe(45);
    await finish();
    expect((await statistics()).projection).toMatchObject({ lag: 0 });
    await requireCounted();
    expect((await statistics()).workspaces[0]?.nodeTypes[0]?.nodes).toBe(43);
  });

  it('takes in a commit of many nodes in parts, between which it tells no revision', async () => {
    await build();
    await finish();
    await fed.commit(creates(2_300, 'n'));
    await step();
    expect(await statistics()).toMatchObject({ projection: { state: 'following', revision: null, lag: 1 } });
    await finish();
    await requireCounted();
  });

  it('takes back what a moved head leaves, and takes in what it reaches', async () => {
    const one = await fed.branch.create('/one', { title: 'one', free: 1 });
    await build();
    await finish();
    const update = { type: 'UpdateNode', workspace: CONTENT, place: { path: '/one' } };
    await fed.tell({ ...update, properties: { title: 'two', free: ['now', 'a', 'list'], none: null } });
    const two = await fed.branch.create('/two');
    await finish();
    await fed.tell({ type: 'MoveHead', revision: one.revision });
    await finish();
    await requireCounted();
    await fed.branch.create('/three');
    await fed.tell({ type: 'MoveHead', revision: two.revision });
    await finish();
    await requireCounted();
    expect((await statistics()).projection.revision).toBe(two.revision);
  });

  it('takes in many small commits with few of its own', async () => {
    await build();
    await finish();
    for (let index = 0; index < 100; index++) await fed.branch.create(`/n${index}`);
    expect((await statistics()).projection.lag).toBe(100);
    expect(await finish()).toBe(2);
    await requireCounted();
  });

  it('is built anew when its definition has another version, and what it had is removed first', async () => {
    await fed.commit(creates(25, 'n'));
    await build();
    await finish();
    const before = rows();
    expect(before).toBeGreaterThan(4);
    const next: Projection = { ...statisticsProjection, version: 2 };
    await reopened(new ProjectionConsumer(next, { nodes: 10, rows: 4 }));
    expect((await statistics()).projection).toMatchObject({ state: 'building', progress: 0 });
    await step();
    expect(rows()).toBe(before - 4);
    await finish();
    expect((await statistics()).projection).toMatchObject({ state: 'following', lag: 0 });
    await requireCounted();
  });

  it('is dropped with its rows, and what is left of them after an interruption is removed by the next build', async () => {
    await fed.commit(creates(25, 'n'));
    await build();
    await finish();
    await fed.tell({ type: 'RemoveConsumer', name });
    expect(rows()).toBeGreaterThan(0);
    expect(await statistics()).toMatchObject({ projection: { state: 'none' }, workspaces: [] });
    await build();
    await finish();
    await requireCounted();
    expect(await fed.tell({ type: 'DropProjection', name })).toBe(true);
    expect(rows()).toBe(0);
    expect(await step()).toMatchObject({ isRegistered: false, isComplete: true });
  });

  it('goes with a fork whose content it has, and is left to the source otherwise', async () => {
    await fed.commit(creates(25, 'n'));
    await build();
    await finish();
    await fork();
    const { projection } = await statistics(FORK);
    expect(projection).toMatchObject({ state: 'following', lag: 0 });
    await requireCounted(FORK);
    const create = {
      type: 'create',
      parentPath: '/',
      node: { name: 'f', nodeType: 'svc:Folder', properties: {} },
    };
    const commit = {
      type: 'CommitOperations',
      workspace: CONTENT,
      commit: { message: 'm' },
      operations: [create],
    };
    await fed.tell(commit, FORK);
    // It has to see that commit alone.
    expect(await step(FORK)).toEqual({ isRegistered: true, items: 1, isComplete: true });
    await requireCounted(FORK);
    expect((await statistics()).projection.revision).toBe(projection.revision);
  });

  it.each([
    ['that begins at an earlier revision', true],
    ['of a branch with commits that it has not taken in', false],
  ])('does not go with a fork %s, where its rows are removed', async (_which, isEarlier) => {
    const one = await fed.branch.create('/one');
    await fed.branch.create('/two');
    await build();
    await finish();
    if (!isEarlier) await fed.branch.create('/three');
    await fork(isEarlier ? one.revision : undefined);
    expect(await statistics(FORK)).toMatchObject({ projection: { state: 'none' }, workspaces: [] });
    expect(rows(FORK)).toBe(rows());
    for (let isDone = false; !isDone; )
      ({ isDone } = (await fed.tell({ type: 'RemoveOrphanedVersions', rowsMax: 3 }, FORK)) as {
        isDone: boolean;
      });
    expect(rows(FORK)).toBe(0);
    await build(FORK);
    await finish(FORK);
    await requireCounted(FORK);
  });

  it('is only for administrators', async () => {
    const principal = { kind: 'anonymous', tenant: TENANT, isEnabled: true } as const;
    const caller = { principal, policy: policyFor(principal, TENANT) };
    const { host } = fed.branch.engine;
    for (const type of ['BuildProjection', 'DropProjection'])
      await expect(host.command(BRANCH, { type, name }, { caller })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
    expect(() => host.query(BRANCH, { type: 'ReadStatistics' }, caller)).toThrow(
      expect.objectContaining({ code: 'UNAUTHORIZED' }),
    );
  });
});
