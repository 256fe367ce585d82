import { describe, expect, it } from 'vitest';
import { firstSeed, workloadCount } from '#test/support/workload-count.ts';
import { simulate } from '#test/sim/engine-simulation.ts';

const ALL = 400;
const SEEDS = workloadCount(ALL);
// Behind those of the fast suite.
const FIRST_SEED = firstSeed(1001, ALL);
const ACTIONS = 250;

describe('the engine over years of crashes and faults', () => {
  it(`keeps every promise under ${SEEDS} longer seeds, from ${FIRST_SEED}`, async () => {
    let done = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1)
      done += (await simulate(seed, ACTIONS)).done;
    expect(done).toBeGreaterThan(SEEDS * 50);
  }, 1_800_000);
});
