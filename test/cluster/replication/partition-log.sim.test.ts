import { describe, expect, it } from 'vitest';
import { simulateLog } from '#test/sim/log-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const SEEDS = workloadCount(200);

describe('a partition log that several members contend for, simulated', {
  timeout: SIMULATION_MS_MAX,
}, () => {
  it(`keeps every promise under ${SEEDS} seeds [CLU-004]`, async () => {
    const sum = {
      done: 0,
      failed: 0,
      unknown: 0,
      epochs: 0,
      voids: 0,
      fenced: 0,
      resolved: 0,
      reads: 0,
      cuts: 0,
      coldStarts: 0,
    };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const result = await simulateLog(seed);
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += result[name];
    }
    // Every kind of thing happened often enough to mean something.
    expect(sum.done).toBeGreaterThan(SEEDS * 30);
    expect(sum.failed).toBeGreaterThan(SEEDS);
    expect(sum.unknown).toBeGreaterThan(SEEDS);
    expect(sum.epochs).toBeGreaterThan(SEEDS * 3);
    expect(sum.voids).toBeGreaterThan(SEEDS / 30);
    expect(sum.fenced).toBeGreaterThan(SEEDS / 10);
    expect(sum.resolved).toBeGreaterThan(SEEDS);
    expect(sum.reads).toBeGreaterThan(SEEDS * 10);
    expect(sum.cuts).toBeGreaterThan(SEEDS / 10);
    expect(sum.coldStarts).toBeGreaterThan(SEEDS / 10);
  });

  it('is deterministic for a seed', async () => {
    expect(await simulateLog(7)).toEqual(await simulateLog(7));
  });
});
