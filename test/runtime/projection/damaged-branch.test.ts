import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchStatistics } from '#actors/branch/statistics-messages.ts';
import { commitTooLarge } from '#runtime/errors/service-error.ts';
import { repairBranch } from '#runtime/check/repair-branch.ts';
import type { ConsumerStep } from '#runtime/feed/feed-messages.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Projection } from '#runtime/projection/projection.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import { BranchTable, nodeKey, nodeVersionsUpTo } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import { statisticsRange } from '#runtime/statistics/statistics-rows.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { countedNodes } from '#test/support/counted-nodes.ts';
import { engineUser } from '#test/support/engine.ts';
import { FedBranch } from '#test/support/fed-branch.ts';
import { nodesAt } from '#test/support/feed-reader.ts';
import { shownStatistics } from '#test/support/shown-statistics.ts';
import { BRANCH, CONTENT, openBranchShard } from '#test/support/test-branch.ts';

const { name } = statisticsProjection;
const consumer = new ProjectionConsumer(statisticsProjection, { nodes: 50, rows: 100 });
const update = { type: 'UpdateNode', workspace: CONTENT, place: { path: '/n1' } };

describe('a projection of a branch with damage', () => {
  let folder: string;
  let fed: FedBranch;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'projection-'));
    fed = await FedBranch.open(folder, [consumer]);
    await fed.runner.close();
    for (let index = 0; index < 3; index++) await fed.branch.create(`/n${index}`);
    await fed.tell({ type: 'BuildProjection', name });
  });
  afterEach(async () => {
    await fed.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function step(): Promise<ConsumerStep> {
    return fed.tell({ type: 'ConsumeFeed', name }) as Promise<ConsumerStep>;
  }

  async function finish(): Promise<void> {
    while (!(await step()).isComplete);
  }

  async function statistics(): Promise<BranchStatistics> {
    const query = { type: 'ReadStatistics' };
    return (await fed.branch.engine.host.query(BRANCH, query, engineUser)) as BranchStatistics;
  }

  /** Its rows are those of the head. */
  async function requireCounted(): Promise<void> {
    const { projection, workspaces } = await statistics();
    expect(projection).toMatchObject({ state: 'following', lag: 0, failure: null });
    const nodes = fed.look((reader) => nodesAt(reader, projection.revision as string, [CONTENT]));
    expect(shownStatistics(workspaces, CONTENT)).toEqual(countedNodes(nodes.values()));
  }

  /** Changes rows behind the back of the branch. */
  async function rewrite(writesOf: (reader: TableReader) => readonly Write[]): Promise<void> {
    await fed.close();
    const shard = openBranchShard(folder);
    await shard.apply(writesOf(shard), shard.position).flushed;
    await shard.close();
    fed = await FedBranch.open(folder, [consumer], true);
    await fed.runner.close();
  }

  it('tells why its build fails, goes on when the row is well again, and holds no writer', async () => {
    const { id } = await fed.branch.read('/n2');
    const key = nodeKey(CONTENT, id);
    let whole = new Uint8Array();
    await rewrite((reader) => {
      whole = Uint8Array.from(reader.get(BranchTable.nodes, key) as Uint8Array);
      const value = Uint8Array.from(whole);
      value[value.length - 1] = (value.at(-1) as number) ^ 1;
      return [{ table: BranchTable.nodes, key, value }];
    });
    await finish();
    const { projection } = await statistics();
    expect(projection).toMatchObject({ state: 'failed', revision: null });
    expect(projection.failure).toMatch(/checksum|record/i);
    const positionOf = (): unknown =>
      fed.branch.engine.host.query(BRANCH, { type: 'ReadConsumers' }, engineUser);
    const before = positionOf();
    // Failing in the same way again writes nothing.
    expect(await step()).toEqual({ isRegistered: true, items: 0, isComplete: true });
    expect(positionOf()).toEqual(before);
    await fed.tell({ ...update, properties: { title: 'changed' } });
    await rewrite(() => [{ table: BranchTable.nodes, key, value: whole }]);
    await finish();
    await requireCounted();
  });

  it('is built anew when a state that it has to take away is lost', async () => {
    await finish();
    const { id } = await fed.branch.read('/n1');
    await fed.tell({ ...update, properties: { title: 'changed' } });
    await rewrite((reader) =>
      [...reader.range(BranchTable.nodeVersions, nodeVersionsUpTo(CONTENT, id))].map(({ key, value }) => {
        const damaged = Uint8Array.from(value);
        damaged[damaged.length - 1] = (damaged.at(-1) as number) ^ 1;
        return { table: BranchTable.nodeVersions, key, value: damaged };
      }),
    );
    expect(await step()).toEqual({ isRegistered: true, items: 0, isComplete: false });
    expect((await statistics()).projection).toMatchObject({ state: 'building', failure: null });
    await finish();
    await requireCounted();
  });

  it('is built anew when the effects of a change do not fit into a commit', async () => {
    await finish();
    const batch: Projection['batch'] = (turn, rows) => {
      const inner = statisticsProjection.batch(turn, rows);
      let follows = false;
      return {
        *take(taken) {
          follows ||= taken.change !== undefined;
          yield* inner.take(taken);
        },
        *write() {
          yield* inner.write();
          if (follows) throw commitTooLarge('hold so much');
        },
      };
    };
    await fed.close();
    fed = await FedBranch.open(folder, [new ProjectionConsumer({ ...statisticsProjection, batch })], true);
    await fed.runner.close();
    await fed.tell({ ...update, properties: { title: 'changed', more: 1 } });
    expect(await step()).toEqual({ isRegistered: true, items: 0, isComplete: false });
    expect((await statistics()).projection.state).toBe('building');
    await finish();
    await requireCounted();
  });

  it('is built anew when its rows count fewer nodes than there were', async () => {
    await finish();
    await rewrite((reader) => {
      const range = statisticsRange(CONTENT);
      const rows = reader.range(BranchTable.projections, {
        start: `${name}\0${range.start}`,
        end: `${name}\0${range.end}`,
      });
      return [...rows].map(({ key }) => ({ table: BranchTable.projections, key, value: null }));
    });
    await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/n0' } });
    await step();
    expect((await statistics()).projection.state).toBe('building');
    await finish();
    await requireCounted();
  });

  it('is built anew after a repair, which changes nodes without a commit', async () => {
    await finish();
    const { id } = await fed.branch.read('/n2');
    await rewrite(() => [{ table: BranchTable.nodes, key: nodeKey(CONTENT, id), value: null }]);
    await rewrite((reader) => [...repairBranch(reader, () => {})]);
    expect(fed.look(findDamage)).toEqual([]);
    expect((await statistics()).projection.state).toBe('building');
    await finish();
    await requireCounted();
    expect((await statistics()).workspaces.flatMap(({ nodeTypes }) => nodeTypes)).toContainEqual(
      expect.objectContaining({ name: 'test:Article', nodes: 2 }),
    );
  });
});
