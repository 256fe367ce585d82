import { afterAll, describe, expect, it } from 'vitest';
import { guardMutants } from './guards.ts';
import { MutantRunner } from './mutant-runner.ts';

describe('without it tests fail:', () => {
  const idle: MutantRunner[] = [];
  afterAll(() => Promise.all(idle.map((runner) => runner.end())));

  // Two at a time: they are a third of the slow suite, and often its end.
  it.concurrent.each(guardMutants.map((mutant) => [mutant.guard, mutant] as const))(
    '%s',
    async (_, mutant) => {
      const runner = idle.pop() ?? new MutantRunner();
      try {
        const { total, failed } = await runner.run({ tests: mutant.tests, change: mutant });
        expect(total).toBeGreaterThan(0);
        expect(failed).toBeGreaterThan(0);
      } finally {
        idle.push(runner);
      }
    },
  );
});
