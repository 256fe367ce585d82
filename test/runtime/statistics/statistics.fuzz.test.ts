import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchStatistics, ReadStatistics } from '#actors/branch/statistics-messages.ts';
import type { ProjectionCommand } from '#runtime/projection/projection-messages.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import type { ConsumeFeed, ConsumerStep } from '#runtime/feed/feed-messages.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { countedNodes } from '#test/support/counted-nodes.ts';
import { type LookAt, lookedAt, nodesAt } from '#test/support/feed-reader.ts';
import { callers } from '#test/support/host-fixture.ts';
import { shownStatistics } from '#test/support/shown-statistics.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { BranchRun } from '#test/actors/branch/workload/branch-run.ts';
import { at, workloads } from '#test/actors/branch/workload/workload-step.ts';

const { name } = statisticsProjection;

/** What happens to the statistics of a branch after a step of a workload. */
type Turn = { readonly do: 'consume' | 'finish' | 'build' | 'drop' | 'nothing'; readonly on: number };

const turns = fc.array(
  fc.record({
    do: fc.oneof(
      { weight: 12, arbitrary: fc.constant<Turn['do']>('consume') },
      { weight: 8, arbitrary: fc.constant<Turn['do']>('finish') },
      { weight: 6, arbitrary: fc.constant<Turn['do']>('nothing') },
      { weight: 2, arbitrary: fc.constant<Turn['do']>('build') },
      { weight: 1, arbitrary: fc.constant<Turn['do']>('drop') },
    ),
    on: fc.nat({ max: 11 }),
  }),
  { minLength: 32, maxLength: 32 },
);

/** Weights with which the rarer kinds of changes and entries occur more often. */
const weights = {
  create: 10,
  like: 8,
  unlike: 5,
  publish: 6,
  translate: 6,
  fork: 12,
  forward: 14,
  rewind: 8,
  commit: 8,
};

describe('the statistics of a branch', () => {
  let family: BranchFamily;
  let runs = 0;
  let compared = 0;

  beforeAll(async () => {
    // A build of a few nodes takes several steps.
    const consumer = new ProjectionConsumer(statisticsProjection, { nodes: 2, rows: 5 });
    family = await BranchFamily.open(lookedAt, [consumer]);
  });
  afterAll(() => family.close());

  async function consume(branch: string): Promise<ConsumerStep> {
    const command: ConsumeFeed = { type: 'ConsumeFeed', name };
    return family.fixture.command(family.actor(branch), command, callers.engine);
  }

  function tell(branch: string, command: ProjectionCommand): Promise<unknown> {
    return family.fixture.command(family.actor(branch), command, callers.engine);
  }

  /** Compares the statistics with the nodes of their revision, if they are of one. */
  async function compare(branch: string): Promise<BranchStatistics['projection']> {
    const query: ReadStatistics = { type: 'ReadStatistics' };
    const { projection, workspaces } = await family.query<BranchStatistics>(branch, query);
    const { revision } = projection;
    if (revision === null) return projection;
    const look: LookAt = { type: 'LookAt', look: (reader) => nodesAt(reader, revision, [WORKSPACE]) };
    const nodes = await family.query<Map<string, NodeRecord>>(branch, look as never);
    const expected = countedNodes(nodes.values());
    expect(shownStatistics(workspaces, WORKSPACE), `${branch} at ${revision}`).toEqual(expected);
    compared += 1;
    return projection;
  }

  async function finish(branch: string): Promise<void> {
    for (let isComplete = false; !isComplete; ) {
      ({ isComplete } = await consume(branch));
      await compare(branch);
    }
  }

  async function take(branch: string, turn: Turn): Promise<void> {
    if (turn.do === 'consume') await consume(branch);
    else if (turn.do === 'finish') await finish(branch);
    else if (turn.do === 'build') await tell(branch, { type: 'BuildProjection', name });
    else if (turn.do === 'drop') await tell(branch, { type: 'DropProjection', name });
    await compare(branch);
  }

  it('are those of a count of its nodes, at each revision that they tell', async () => {
    await fc.assert(
      fc.asyncProperty(workloads(8, 32, weights), turns, async (steps, turns) => {
        runs += 1;
        const run = new BranchRun(family, `s${runs}`);
        await run.begin();
        for (const [index, branch] of run.branches.entries()) {
          await tell(branch, { type: 'BuildProjection', name });
          // The other one is built while its content changes.
          if (index === 0) await finish(branch);
        }
        for (const [index, step] of steps.entries()) {
          await run.take(step);
          const turn = turns[index] as Turn;
          await take(at(run.branches, turn.on), turn);
        }
        for (const branch of run.branches) {
          if ((await compare(branch)).state === 'none') await tell(branch, { type: 'BuildProjection', name });
          await finish(branch);
          const head = await family.head(branch);
          expect(await compare(branch)).toMatchObject({ state: 'following', revision: head, lag: 0 });
          expect(await family.damage(branch)).toEqual([]);
        }
      }),
      { numRuns: workloadCount(16) },
    );
    expect(compared).toBeGreaterThan(runs);
  });
});
