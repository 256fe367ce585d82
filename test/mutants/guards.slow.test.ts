import { afterAll, describe, expect, it, vi } from 'vitest';
import { guardMutants } from './guards.ts';
import { MutantRunner } from './mutant-runner.ts';
import { triedByCommit, triedMutants } from './tried-mutants.ts';

describe('without it tests fail:', () => {
  // One may wait for what does not come without a guard.
  vi.setConfig({ maxConcurrency: 2 });
  const idle: MutantRunner[] = [];
  afterAll(() => Promise.all(idle.map((runner) => runner.end())));

  const tried = triedMutants(guardMutants, triedByCommit());
  it.concurrent.each(tried.map((mutant) => [mutant.guard, mutant] as const))('%s', async (_, mutant) => {
    const runner = idle.pop() ?? new MutantRunner();
    try {
      const { total, failed } = await runner.run({ ...mutant, change: mutant });
      expect(total).toBeGreaterThan(0);
      expect(failed).toBeGreaterThan(0);
    } finally {
      idle.push(runner);
    }
  });
});
