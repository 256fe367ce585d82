import { describe, expect, it } from 'vitest';
import { simulate } from '#test/sim/engine-simulation.ts';

// With the fast ones a thousand.
const FIRST_SEED = 1001;
const SEEDS = 800;
const ACTIONS = 250;

describe('the engine over years of crashes and faults', () => {
  it(`keeps every promise under ${SEEDS} longer seeds`, async () => {
    let done = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1)
      done += (await simulate(seed, ACTIONS)).done;
    expect(done).toBeGreaterThan(SEEDS * 50);
  }, 900_000);
});
