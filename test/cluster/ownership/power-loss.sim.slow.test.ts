import { describe, expect, it } from 'vitest';
import { firstSeed, workloadCount } from '#test/support/workload-count.ts';
import { simulatePower } from '#test/sim/power-simulation.ts';

const ALL = 120;
const FIRST_SEED = firstSeed(1_000, ALL);
const SEEDS = workloadCount(ALL);

describe('members whose servers and machines lose their power, simulated at length', () => {
  it(`lose nothing acknowledged in class replica-disk, under ${SEEDS} seeds, from ${FIRST_SEED}`, async () => {
    let reseeds = 0;
    let recovered = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const result = await simulatePower(seed, 'replica-disk');
      reseeds += result.reseeds;
      if (result.hasRecovered) recovered += 1;
    }
    expect(reseeds).toBeGreaterThan(SEEDS);
    // The others wait for an operator: what every member has on its disk is nothing one may choose from by itself.
    expect(recovered).toBeGreaterThan(SEEDS * 0.95);
  }, 1_800_000);
});
