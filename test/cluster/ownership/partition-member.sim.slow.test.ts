import { describe, it } from 'vitest';
import { firstSeed, workloadCount } from '#test/support/workload-count.ts';
import { simulatePartition } from '#test/sim/partition-simulation.ts';

const ALL = 400;
const FIRST_SEED = firstSeed(1_000, ALL);
const SEEDS = workloadCount(ALL);

describe('a partition with its locks on several members, simulated at length', () => {
  it(`keeps every promise under ${SEEDS} seeds, from ${FIRST_SEED} [CLU-004]`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) await simulatePartition(seed);
  }, 1_800_000);
});
