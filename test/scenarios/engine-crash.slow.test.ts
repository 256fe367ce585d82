import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CrashPointName, crashPointNames } from '#runtime/commit/crash-point.ts';
import { inspect, runChild, Testimony } from '#test/support/engine-crash.ts';

/** At which passes each point is struck: at first, and later under load where there is a later. */
const hits: Readonly<Record<CrashPointName, readonly number[]>> = {
  'before-append': [1, 40],
  'after-append-sent': [2, 41],
  'after-durable': [1, 42],
  'before-apply': [1, 12],
  'mid-apply': [1, 4, 5, 6, 7, 20],
  'after-apply': [1, 13],
  'before-reply': [3, 43],
  'in-recovery': [1],
  'in-open': [1, 2],
  'before-shard-create': [1, 2, 3],
  'mid-fork': [1],
  // The child registers no branches: branch-crash.slow.test.ts strikes these two.
  'before-fork-rewind': [],
  'before-branch-register': [],
  'before-branch-removal': [1],
  // The child has one branch: merge-crash.slow.test.ts strikes this one.
  'mid-merge': [],
  // The child has no jobs: jobs-crash.slow.test.ts and cluster-crash.nats.slow.test.ts strike these.
  'before-job-relay': [],
  'after-job-relay': [],
  'before-job-ticket': [],
  'before-job-announced': [],
  'mid-job': [],
  'before-job-complete': [],
  // The child has no consumers: feed-crash.slow.test.ts strikes these.
  'mid-consume': [],
  'before-consumer-move': [],
  // The child has no secrets: rotated-master-key.slow.test.ts strikes these two.
  'mid-key-rotation': [],
  'before-key-drop': [],
  // The child makes no backups: backup-crash.slow.test.ts strikes these.
  'mid-backup': [],
  'before-backup-rename': [],
  'mid-restore': [],
  // The child is no member of a cluster: snapshots.nats.slow.test.ts strikes these.
  'mid-snapshot-copy': [],
  'mid-snapshot-upload': [],
  'before-snapshot-publish': [],
  'after-snapshot-publish': [],
  'before-log-cut': [],
  'after-log-cut': [],
  'mid-snapshot-restore': [],
  'mid-snapshot-adopt': [],
  'after-snapshot-adopt': [],
  'before-segment-removal': [1, 4],
  'after-segment-removal': [1, 4],
};

/** Answers after which a child is killed, one after another over one folder. */
const randomKills = Array.from({ length: 10 }, () => 1 + Math.floor(Math.random() * 1500));

const recoveries: number[] = [];

describe('an engine that is killed', () => {
  let folder: string;
  let testimony: Testimony;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'engine-crash-'));
    testimony = new Testimony();
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  afterAll(() => {
    process.stdout.write(
      `restart after a kill: ${recoveries.length} times, longest ${Math.round(Math.max(...recoveries))} ms\n`,
    );
  });

  async function expectWhole(): Promise<void> {
    const { damage, recoveryMs } = await inspect(folder, testimony);
    recoveries.push(recoveryMs);
    expect(damage).toEqual([]);
    // A restart is promised within two seconds; ten leave room for a busy machine.
    expect(recoveryMs).toBeLessThan(10_000);
  }

  const strikes = crashPointNames.flatMap((name) => hits[name].map((hit) => [name, hit] as const));

  it.each(strikes)(
    'at %s, pass %d, has every acknowledged write with its revision, no failed one, and whole indexes [DUR-001] [DUR-002] [DUR-004] [DUR-016]',
    async (name, hit) => {
      let round = 0;
      if (name === 'in-recovery') {
        const before = await runChild(folder, round, { killAfterAnswers: 200 });
        testimony.hear(before.lines);
        round += 1;
      }
      const run = await runChild(folder, round, { crashPoint: `${name}:${hit}` });
      expect(run.signal).toBe('SIGKILL');
      testimony.hear(run.lines);
      await expectWhole();
      // And again from there, as the next process would: once for each point, because later hits leave the same kinds of rows.
      if (hit !== hits[name][0]) return;
      const next = await runChild(folder, round + 1, { killAfterAnswers: 50 });
      expect(next.signal).toBe('SIGKILL');
      testimony.hear(next.lines);
      await expectWhole();
    },
  );

  it(`under load after ${randomKills.join(', ')} answers has every acknowledged write and no failed one [DUR-003] [DUR-004]`, async () => {
    for (const [round, killAfterAnswers] of randomKills.entries()) {
      const run = await runChild(folder, round, { killAfterAnswers });
      expect(run.signal).toBe('SIGKILL');
      testimony.hear(run.lines);
      if (round % 3 === 2 || round === randomKills.length - 1) await expectWhole();
    }
    expect(testimony.acknowledged.length).toBeGreaterThan(randomKills.length);
  });
});
