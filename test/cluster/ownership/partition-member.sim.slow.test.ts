import { describe, it } from 'vitest';
import { workloadCount } from '#test/support/workload-count.ts';
import { simulatePartition } from '#test/sim/partition-simulation.ts';

const FIRST_SEED = 1_000;
const SEEDS = workloadCount(400);

describe('a partition with its locks on several members, simulated at length', () => {
  it(`keeps every promise under ${SEEDS} seeds [CLU-004]`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) await simulatePartition(seed);
  }, 1_800_000);
});
