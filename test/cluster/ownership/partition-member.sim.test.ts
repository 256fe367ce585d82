import { describe, expect, it } from 'vitest';
import { type PartitionSimulationResult, simulatePartition } from '#test/sim/partition-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const SEEDS = workloadCount(40);

const none = {
  done: 0,
  failed: 0,
  unknown: 0,
  epochs: 0,
  kills: 0,
  grants: 0,
  claims: 0,
  guarded: 0,
  reads: 0,
};

describe('a partition with its locks on several members, simulated', { timeout: SIMULATION_MS_MAX }, () => {
  it(`keeps every promise under ${SEEDS} seeds [CLU-004]`, async () => {
    const sum = { ...none };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const result: PartitionSimulationResult = await simulatePartition(seed);
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += result[name];
    }
    // Every kind of thing happened often enough to mean something.
    expect(sum.done).toBeGreaterThan(SEEDS * 30);
    expect(sum.failed).toBeGreaterThan(SEEDS * 10);
    expect(sum.unknown).toBeGreaterThan(SEEDS * 3);
    expect(sum.epochs).toBeGreaterThan(SEEDS * 5);
    expect(sum.kills).toBeGreaterThan(SEEDS * 3);
    expect(sum.grants).toBeGreaterThan(SEEDS * 5);
    expect(sum.claims).toBeGreaterThan(SEEDS * 5);
    expect(sum.guarded).toBeGreaterThan(SEEDS / 2);
    expect(sum.reads).toBeGreaterThan(SEEDS * 50);
  });

  it('is deterministic for a seed', async () => {
    expect(await simulatePartition(7)).toEqual(await simulatePartition(7));
  });
});
