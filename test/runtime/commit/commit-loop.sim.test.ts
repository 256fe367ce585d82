import { describe, expect, it } from 'vitest';
import { simulate } from '#test/sim/engine-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const SEEDS = workloadCount(120);
const ACTIONS = 150;

describe('the engine over days of crashes and faults', { timeout: SIMULATION_MS_MAX }, () => {
  it(`keeps every promise under ${SEEDS} seeds [DUR-002] [DUR-012] [DUR-013] [DUR-015] [DUR-017]`, async () => {
    const sum = { done: 0, failed: 0, unknown: 0, crashes: 0, restarts: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const result = await simulate(seed, ACTIONS);
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += result[name];
    }
    // A simulation in which nothing happens would prove nothing.
    expect(sum.done).toBeGreaterThan(SEEDS * 30);
    expect(sum.failed).toBeGreaterThan(SEEDS * 3);
    expect(sum.unknown).toBeGreaterThan(SEEDS * 3);
    expect(sum.crashes).toBeGreaterThan(SEEDS * 3);
    expect(sum.restarts).toBeGreaterThan(sum.crashes);
  });

  it('is deterministic for a seed, and differs for another seed', async () => {
    for (const seed of [3, 25, 77]) {
      const first = await simulate(seed, ACTIONS);
      expect(await simulate(seed, ACTIONS)).toEqual(first);
      expect((await simulate(seed + 1, ACTIONS)).trace).not.toBe(first.trace);
    }
  });
});
