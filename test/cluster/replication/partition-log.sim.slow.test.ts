import { describe, expect, it } from 'vitest';
import { firstSeed, workloadCount } from '#test/support/workload-count.ts';
import { simulateLog } from '#test/sim/log-simulation.ts';

const ALL = 400;
const SEEDS = workloadCount(ALL);
/** Behind those of the fast run. */
const FIRST_SEED = firstSeed(201, ALL);

describe('a partition log that several members contend for, simulated at length', () => {
  it(`keeps every promise under ${SEEDS} further seeds, from ${FIRST_SEED}`, async () => {
    let epochs = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      try {
        epochs += (await simulateLog(seed)).epochs;
      } catch (cause) {
        throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
      }
    }
    expect(epochs).toBeGreaterThan(SEEDS * 3);
  });
});
