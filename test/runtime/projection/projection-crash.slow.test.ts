import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchStatistics } from '#actors/branch/statistics-messages.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import { countedNodes } from '#test/support/counted-nodes.ts';
import { engineUser } from '#test/support/engine.ts';
import { FedBranch } from '#test/support/fed-branch.ts';
import { nodesAt } from '#test/support/feed-reader.ts';
import { shownStatistics } from '#test/support/shown-statistics.ts';
import { BRANCH, CONTENT } from '#test/support/test-branch.ts';

const { name } = statisticsProjection;

/** Runs a child until it is dead. @returns the signal that ended it */
function runChild(folder: string, round: number, crashPoint: string): Promise<NodeJS.Signals | null> {
  const script = join(import.meta.dirname, '../../support/projection-child.ts');
  const child = spawn(process.execPath, [script, folder, `${round}`], {
    env: { ...process.env, SVC_CRASH_POINT: crashPoint },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => child.on('close', (_code, signal) => resolve(signal)));
}

describe('a projection whose process is killed', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'projection-crash-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    // In the removal of earlier rows and in the first steps of a build, in later ones, and while it follows.
    ['mid-consume:1', 'mid-consume:3', 'mid-consume:6'],
    ['mid-consume:12', 'mid-consume:17', 'mid-consume:23'],
    ['before-append:9', 'after-append-sent:14', 'after-durable:21'],
    ['before-apply:2', 'after-apply:3', 'before-reply:11'],
  ])(
    'at %s, %s and %s counts each node once',
    async (...points) => {
      for (const [round, point] of points.entries()) {
        expect([point, await runChild(folder, round, point)]).toEqual([point, 'SIGKILL']);
        const fed = await FedBranch.open(folder, [new ProjectionConsumer(statisticsProjection)]);
        try {
          const read = async (): Promise<BranchStatistics> =>
            (await fed.branch.engine.host.query(
              BRANCH,
              { type: 'ReadStatistics' },
              engineUser,
            )) as BranchStatistics;
          const compare = async (): Promise<void> => {
            const { projection, workspaces } = await read();
            const { revision } = projection;
            if (revision === null) return;
            const nodes = fed.look((reader) => nodesAt(reader, revision, [CONTENT]));
            expect(shownStatistics(workspaces, CONTENT), `${point}, at ${revision}`).toEqual(
              countedNodes(nodes.values()),
            );
          };
          await compare();
          fed.runner.hurry(BRANCH, name);
          await fed.settled();
          // The first process may have died before it asked for a build.
          if (round > 0) expect((await read()).projection).toMatchObject({ state: 'following', lag: 0 });
          await compare();
        } finally {
          await fed.close();
        }
      }
    },
    120_000,
  );
});
