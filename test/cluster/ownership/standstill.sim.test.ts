import { describe, expect, it } from 'vitest';
import { simulateStandstill } from '#test/sim/standstill-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';

const FIRST_SEED = 7;
const SEEDS = 6;

describe('members of which one is paused, and a second one for some time, simulated', {
  timeout: SIMULATION_MS_MAX,
}, () => {
  it(`take writes again as soon as two are there, under ${SEEDS} seeds`, async () => {
    let done = 0;
    let epochs = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const result = await simulateStandstill(seed);
      done += result.done;
      epochs += result.epochs;
    }
    // Enough was written, and enough changed hands, to mean something.
    expect(done).toBeGreaterThan(SEEDS * 500);
    expect(epochs).toBeGreaterThan(SEEDS * 3);
  });

  it('is deterministic for a seed', async () => {
    expect(await simulateStandstill(7)).toEqual(await simulateStandstill(7));
  });
});
