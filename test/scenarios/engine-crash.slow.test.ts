import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CrashPointName, crashPointNames } from '#runtime/commit/crash-point.ts';
import { inspect, runChild, Testimony } from '#test/support/engine-crash.ts';
import { cutEngine, type EngineCut } from '#test/support/engine-cuts.ts';
import { isInTurn } from '#test/support/workload-count.ts';

/** At which passes a process may die: at first, and later under load where there is a later. */
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
const randomKills = Array.from({ length: 5 }, () => 1 + Math.floor(Math.random() * 800));

const recoveries: number[] = [];

async function expectWhole(folder: string, testimony: Testimony): Promise<void> {
  const { damage, recoveryMs } = await inspect(folder, testimony);
  recoveries.push(recoveryMs);
  expect(damage).toEqual([]);
  // A restart is promised within two seconds; ten leave room for a busy machine.
  expect(recoveryMs).toBeLessThan(10_000);
}

afterAll(() => {
  process.stdout.write(
    `restart after a kill: ${recoveries.length} times, longest ${Math.round(Math.max(...recoveries))} ms\n`,
  );
});

describe('an engine that dies', () => {
  const folder = mkdtempSync(join(tmpdir(), 'engine-crash-'));
  const strikes = crashPointNames.flatMap((name) => hits[name].map((hit) => [name, hit] as const));
  const cuts = new Map<string, EngineCut>();

  beforeAll(async () => {
    const stops = strikes.map(([name, hit]) => `${name}:${hit}`);
    const inRecovery = stops.filter((stop) => stop.startsWith('in-recovery'));
    const first = await cutEngine(
      folder,
      0,
      stops.filter((stop) => !inRecovery.includes(stop)),
    );
    for (const [stop, cut] of first) cuts.set(stop, cut);
    const before = (first.get('killed') as EngineCut).lines;
    for (const [stop, { dataDir, lines }] of await cutEngine(folder, 1, inRecovery))
      cuts.set(stop, { dataDir, lines: [...before, ...lines] });
  });

  afterAll(() => {
    for (const { dataDir } of cuts.values()) rmSync(dataDir, { recursive: true, force: true });
  });

  it.each(strikes)(
    'at %s, pass %d, has every acknowledged write with its revision, no failed one, and whole indexes [DUR-001] [DUR-002] [DUR-004] [DUR-016]',
    async (name, hit) => {
      const { dataDir, lines } = cuts.get(`${name}:${hit}`) as EngineCut;
      const testimony = new Testimony();
      testimony.hear(lines);
      await expectWhole(dataDir, testimony);
      // And again from there, as the next process would.
      if (hit !== hits[name][0] || !isInTurn(crashPointNames.indexOf(name))) return;
      const next = await runChild(dataDir, 2, { killAfterAnswers: 50 });
      expect(next.signal).toBe('SIGKILL');
      testimony.hear(next.lines);
      await expectWhole(dataDir, testimony);
    },
  );
});

describe('an engine that is killed', () => {
  it.each([
    ['mid-apply', 5],
    ['in-recovery', 1],
  ])(
    'by itself at %s, pass %d, has every acknowledged write and no failed one [DUR-001] [DUR-004]',
    async (name, hit) => {
      const folder = mkdtempSync(join(tmpdir(), 'engine-crash-'));
      const testimony = new Testimony();
      const before = await runChild(folder, 0, { killAfterAnswers: 200 });
      testimony.hear(before.lines);
      const run = await runChild(folder, 1, { crashPoint: `${name}:${hit}` });
      expect(run.signal).toBe('SIGKILL');
      testimony.hear(run.lines);
      await expectWhole(folder, testimony);
      rmSync(folder, { recursive: true, force: true });
    },
  );

  it(`under load after ${randomKills.join(', ')} answers has every acknowledged write and no failed one [DUR-003] [DUR-004]`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'engine-crash-'));
    const testimony = new Testimony();
    for (const [round, killAfterAnswers] of randomKills.entries()) {
      const run = await runChild(folder, round, { killAfterAnswers });
      expect(run.signal).toBe('SIGKILL');
      testimony.hear(run.lines);
      if (round % 2 === 1 || round === randomKills.length - 1) await expectWhole(folder, testimony);
    }
    expect(testimony.acknowledged.length).toBeGreaterThan(randomKills.length);
    rmSync(folder, { recursive: true, force: true });
  });
});
