import { describe, expect, it } from 'vitest';
import { type PowerSimulationResult, simulatePower } from '#test/sim/power-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';

/** Enough for the sums below: single seeds often have none of what they count. */
const SEEDS = 24;

type Sums = Record<
  'done' | 'cuts' | 'lostMessages' | 'reseeds' | 'missing' | 'quarantined' | 'floors',
  number
>;

function sumOf(results: readonly PowerSimulationResult[]): Sums {
  const sum: Sums = { done: 0, cuts: 0, lostMessages: 0, reseeds: 0, missing: 0, quarantined: 0, floors: 0 };
  for (const result of results)
    for (const name of Object.keys(sum) as (keyof Sums)[]) sum[name] += result[name];
  return sum;
}

describe('members whose servers and machines lose their power, simulated', {
  timeout: SIMULATION_MS_MAX,
}, () => {
  it(`lose nothing acknowledged in class replica-disk, under ${SEEDS} seeds [CLU-008]`, async () => {
    const results: PowerSimulationResult[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) results.push(await simulatePower(seed, 'replica-disk'));
    const { cuts, done, floors, lostMessages, reseeds } = sumOf(results);
    // Every kind of thing happened often enough to mean something.
    expect(done).toBeGreaterThan(SEEDS * 10);
    expect(cuts).toBeGreaterThan(SEEDS);
    expect(lostMessages).toBeGreaterThan(SEEDS * 3);
    expect(reseeds).toBeGreaterThan(SEEDS);
    expect(floors).toBeGreaterThan(SEEDS);
    expect(results.filter(({ hasRecovered }) => hasRecovered).length).toBeGreaterThan(SEEDS * 0.9);
  });

  it(`notice what class quorum loses and a disk has, and never fork, under ${SEEDS} seeds`, async () => {
    const results: PowerSimulationResult[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) results.push(await simulatePower(seed, 'quorum'));
    const { floors, missing, quarantined } = sumOf(results);
    expect(floors).toBeGreaterThan(SEEDS);
    expect(missing).toBeGreaterThan(SEEDS);
    expect(quarantined).toBeGreaterThan(SEEDS);
    expect(results.filter(({ hasRecovered }) => hasRecovered).length).toBeGreaterThan(SEEDS / 8);
  });

  it(`lose nothing unseen when the class changes and voters leave for good, and go on, under ${SEEDS} seeds`, async () => {
    const results: PowerSimulationResult[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) results.push(await simulatePower(seed, 'changing'));
    expect(sumOf(results).done).toBeGreaterThan(SEEDS * 10);
    // Where servers lost something the two that are left may wait for an operator.
    for (const { cuts, hasRecovered } of results) expect(hasRecovered || cuts > 0).toBe(true);
    expect(results.filter(({ cuts }) => cuts === 0).length).toBeGreaterThan(SEEDS / 3);
  });

  it('is deterministic for a seed', async () => {
    expect(await simulatePower(7, 'replica-disk')).toEqual(await simulatePower(7, 'replica-disk'));
  });
});
