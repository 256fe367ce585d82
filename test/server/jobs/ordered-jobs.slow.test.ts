import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { armCrashPoint } from '#runtime/commit/crash-point.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { engineUser, TENANT } from '#test/support/engine.ts';
import { feedAfter, type LookAt, partsOf } from '#test/support/feed-reader.ts';
import { OrderingBranch } from '#test/support/ordering-branch.ts';
import { BRANCH, CONTENT } from '#test/support/test-branch.ts';

const FORK = actorId(TENANT, 'site~1', 'fork~1', 'branch');

/** Runs a child until it is dead. @returns the signal that ended it */
function runChild(folder: string, round: number, point: string): Promise<NodeJS.Signals | null> {
  const script = join(import.meta.dirname, '../../support/ordering-child.ts');
  const child = spawn(process.execPath, [script, folder, `${round}`], {
    env: { ...process.env, SVC_CRASH_POINT: point },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => child.on('close', (_code, signal) => resolve(signal)));
}

/** Ids of the nodes that commits of a branch created in the workspace, each once. */
function created(ordering: OrderingBranch, branch: ActorId = BRANCH): readonly string[] {
  const look = (reader: TableReader): string[] =>
    feedAfter(reader)
      .flatMap((entry) => partsOf(reader, entry))
      .flatMap(({ changes }) => changes)
      .filter((change) => change.workspace === CONTENT && change.details?.kinds.includes('created'))
      .map(({ node_id }) => node_id)
      .sort();
  const query: LookAt = { type: 'LookAt', look };
  return ordering.branch.engine.host.query(branch, query, engineUser) as string[];
}

describe('jobs that commits of a branch enqueue', () => {
  let folder: string;
  let ordering: OrderingBranch | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'orders-'));
  });
  afterEach(async () => {
    await ordering?.close();
    ordering = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['before-append:7', 'after-append-sent:9', 'after-durable:12'],
    ['before-apply:1', 'mid-apply:2', 'after-apply:2'],
    ['before-reply:14', 'mid-consume:3', 'before-reply:5'],
    ['before-job-relay:1', 'before-job-relay:4', 'after-job-relay:1'],
    ['after-job-relay:3', 'after-job-relay:2', 'before-job-relay:2'],
  ])(
    'are in the queue exactly once each, although the process is killed at %s, %s and %s',
    async (...points) => {
      for (const [round, point] of points.entries())
        expect([point, await runChild(folder, round, point)]).toEqual([point, 'SIGKILL']);
      ordering = await OrderingBranch.open(folder);
      await ordering.takeUp();
      const nodes = created(ordering);
      expect(nodes.length).toBeGreaterThan(0);
      expect(new Set(nodes).size).toBe(nodes.length);
      expect(await ordering.ordered()).toEqual(nodes);
      await ordering.takeUp();
      expect(await ordering.ordered()).toEqual(nodes);
    },
    120_000,
  );

  it('are not enqueued again by a fork, whose own commits enqueue nothing that a start would not find', async () => {
    ordering = await OrderingBranch.open(folder);
    await ordering.prepare();
    const { host } = ordering.branch.engine;
    // The fork is made while the job is in the outbox of its source, and the consumer is registered there.
    const forked: Promise<unknown>[] = [];
    const source = ordering;
    const disarm = armCrashPoint('before-job-relay', 1, () => {
      forked.push(
        host.fork(BRANCH, FORK).then(() => source.tell({ type: 'BecomeFork', sourceName: 'main' }, FORK)),
      );
    });
    await ordering.branch.create('/one');
    await ordering.settled();
    await ordering.jobs.deliver(BRANCH);
    disarm();
    expect(forked).toHaveLength(1);
    await Promise.all(forked);
    expect(host.query(FORK, { type: 'ReadOutbox' }, engineUser)).toEqual([]);
    await ordering.takeUp(FORK);
    expect(await ordering.ordered()).toEqual(created(ordering));
    const node = { name: 'two', nodeType: 'test:Article', properties: { title: 't' } };
    const create = { type: 'CreateNode', workspace: CONTENT, parentPath: '/', node, deep: false };
    await ordering.tell(create, FORK);
    await ordering.takeUp(FORK);
    expect(await ordering.ordered()).toEqual(created(ordering));
    // Once the fork may enqueue and has the consumer, its commits enqueue jobs of its own.
    await ordering.jobs.prepareSource(FORK);
    await ordering.tell({ type: 'RegisterConsumer', name: 'orders' }, FORK);
    await ordering.takeUp(FORK);
    await ordering.tell({ ...create, node: { ...node, name: 'three' } }, FORK);
    await ordering.takeUp(FORK);
    const own = created(ordering, FORK).slice();
    const ordered = await ordering.ordered();
    expect(ordered).toHaveLength(created(ordering).length + 1);
    expect(ordered.filter((id) => own.includes(id))).toHaveLength(1);
  });
});
