import { describe, expect, it } from 'vitest';
import {
  type PowerSimulationResult,
  type SimulatedClass,
  simulatePower,
} from '#test/sim/power-simulation.ts';
import { SIMULATION_MS_MAX } from '#test/sim/simulation-time.ts';

/** Enough for the sums below: a few seeds move them by a third with any change of timing. */
const SEEDS = 24;

async function runs(durability: SimulatedClass): Promise<readonly PowerSimulationResult[]> {
  const results: PowerSimulationResult[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1) results.push(await simulatePower(seed, durability, 'damage'));
  return results;
}

function sumOf(results: readonly PowerSimulationResult[], name: 'cuts' | 'doubts' | 'reseeds'): number {
  return results.reduce((sum, result) => sum + result[name], 0);
}

describe('members whose log is led by a server that lost its end, simulated', {
  timeout: SIMULATION_MS_MAX,
}, () => {
  it(`give it its end back in class replica-disk, and lose nothing acknowledged, under ${SEEDS} seeds [CLU-008]`, async () => {
    const results = await runs('replica-disk');
    expect(sumOf(results, 'cuts')).toBeGreaterThan(SEEDS);
    expect(sumOf(results, 'reseeds')).toBeGreaterThan(SEEDS / 2);
    // Whoever has what others went on without waits for an operator: servers that had more came back behind an opening.
    const whole = results.filter(({ hasRecovered, quarantined }) => hasRecovered && quarantined === 0);
    expect(whole.length).toBeGreaterThan(SEEDS * 0.9);
    expect(results.filter(({ hasRecovered, missing }) => hasRecovered && missing > 0)).toEqual([]);
  });

  it(`have another server lead in class quorum, where no member can give it back, under ${SEEDS} seeds`, async () => {
    const results = await runs('quorum');
    expect(sumOf(results, 'cuts')).toBeGreaterThan(SEEDS);
    expect(sumOf(results, 'doubts')).toBeGreaterThan(SEEDS / 4);
    expect(results.filter(({ hasRecovered }) => hasRecovered).length).toBeGreaterThan(SEEDS * 0.9);
  });
});
