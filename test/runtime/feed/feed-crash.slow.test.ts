import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FedBranch } from '#test/support/fed-branch.ts';
import { FileConsumer, type Noted, PathTally } from '#test/support/feed-consumers.ts';
import { feedAfter, partsOf } from '#test/support/feed-reader.ts';
import { BRANCH, CONTENT } from '#test/support/test-branch.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/** Runs a child until it is dead. @returns the signal that ended it */
function runChild(folder: string, round: number, crashPoint: string): Promise<NodeJS.Signals | null> {
  const script = join(import.meta.dirname, '../../support/feed-child.ts');
  const child = spawn(process.execPath, [script, folder, `${round}`], {
    env: { ...process.env, SVC_CRASH_POINT: crashPoint },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => child.on('close', (_code, signal) => resolve(signal)));
}

/** How often each node was changed by entries behind the start of a consumer, and where it is. */
function expected(reader: TableReader, after: number): Map<string, { path: string; seen: number }> {
  const found = new Map<string, { path: string; seen: number }>();
  for (const entry of feedAfter(reader, after)) {
    for (const { changes } of partsOf(reader, entry)) {
      for (const { details, node_id, path, workspace } of changes) {
        const key = `${workspace} ${node_id}`;
        if (details?.kinds.includes('deleted') === true) found.delete(key);
        else found.set(key, { path, seen: (found.get(key)?.seen ?? 0) + 1 });
      }
    }
  }
  return found;
}

/** What the other consumer was given, without repetitions, which it recognizes by their positions. */
function distinct(noted: readonly Noted[]): Map<string, readonly string[]> {
  const items = noted.filter(({ after }) => after !== undefined);
  return new Map(items.map(({ after, ids = [] }) => [`${after?.sequence} ${after?.parts}`, ids]));
}

describe('consumers of a feed whose process is killed', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'feed-crash-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['mid-consume:1', 'mid-consume:3', 'mid-consume:6'],
    ['before-consumer-move:1', 'before-consumer-move:3', 'before-consumer-move:6'],
    ['before-append:5', 'after-append-sent:7', 'after-durable:6'],
    ['before-apply:1', 'after-apply:1', 'before-reply:9'],
  ])(
    'at %s, %s and %s continue with each change once',
    async (...points) => {
      for (const [round, point] of points.entries())
        expect([point, await runChild(folder, round, point)]).toEqual([point, 'SIGKILL']);
      const tally = new PathTally();
      const file = new FileConsumer(join(folder, 'noted'));
      const fed = await FedBranch.open(folder, [tally, file]);
      try {
        fed.runner.notice(BRANCH);
        await fed.settled();
        const starts = file.noted.filter(({ start }) => start !== undefined);
        const began = starts.at(-1)?.start?.position.sequence ?? 0;
        fed.look((reader) => {
          // Both have started before the first node came into this workspace.
          const inContent = ([key]: readonly [string, unknown]): boolean => key.startsWith(CONTENT);
          const counted = [...tally.rows(reader)].filter(inContent);
          expect(new Map(counted)).toEqual(new Map([...expected(reader, 0)].filter(inContent)));
          expect(counted.length).toBeGreaterThan(0);
          const entries = feedAfter(reader, began);
          const given = entries.map((entry): [string, readonly string[]] => [
            `${entry.sequence} 0`,
            partsOf(reader, entry).flatMap(({ changes }) => changes.map(({ node_id }) => node_id)),
          ]);
          expect(distinct(file.noted)).toEqual(new Map(given));
        });
        expect(fed.status()).toMatchObject([{ lag: 0 }, { lag: 0 }]);
      } finally {
        await fed.close();
      }
    },
    120_000,
  );
});
