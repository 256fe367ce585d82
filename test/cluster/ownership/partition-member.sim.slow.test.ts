import { describe, it } from 'vitest';
import { simulatePartition } from '#test/sim/partition-simulation.ts';

const FIRST_SEED = 1_000;
const SEEDS = 1_000;

describe('a partition with its locks on several members, simulated at length', () => {
  it(`keeps every promise under ${SEEDS} seeds [CLU-004]`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) await simulatePartition(seed);
  }, 600_000);
});
