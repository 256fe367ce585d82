import { describe, expect, it } from 'vitest';
import type { GuardMutant } from './guard-mutant.ts';
import { LATE_MAX, TRIED_MAX, triedByCommit, triedMutants } from './tried-mutants.ts';

const mutants: readonly GuardMutant[] = Array.from({ length: 500 }, (_, number) => ({
  guard: `guard ${number}`,
  file: `runtime/file-${number}.ts`,
  from: 'a',
  to: 'b',
  tests: [`test/runtime/file-${number}.test.ts`],
}));

const tried = (commit: number | undefined, changed: readonly string[] = []): readonly GuardMutant[] =>
  triedMutants(mutants, { commit, changed });

describe('the mutants that are tried', () => {
  it.each([1, 7, 25])('are each one within thirty runs, where there is a run every %d commits', (step) => {
    const seen = new Set<GuardMutant>();
    for (let run = 0; run < 30; run += 1) for (const mutant of tried(1000 + run * step)) seen.add(mutant);
    expect(seen.size).toBe(mutants.length);
  });

  it('are as many in each run, whatever changed, and the same for the same commit', () => {
    const every = mutants.map(({ file }) => file);
    for (const changed of [[], every.slice(0, 3), every]) {
      expect(tried(77, changed)).toHaveLength(TRIED_MAX);
      expect(tried(77, changed)).toEqual(tried(77, changed));
    }
    expect(tried(77)).not.toEqual(tried(78));
  });

  it('are those of files that changed of late, also where only their tests changed', () => {
    const [first, second] = mutants as [GuardMutant, GuardMutant];
    for (let commit = 0; commit < 20; commit += 1)
      expect(tried(commit, [first.file, second.tests[0] as string])).toEqual(
        expect.arrayContaining([first, second]),
      );
  });

  it('are those that changed last where many changed, and some of all others still', () => {
    const changed = mutants.slice(0, 300).map(({ file }) => file);
    const found = tried(0, changed);
    expect(found).toEqual(expect.arrayContaining(mutants.slice(0, LATE_MAX)));
    expect(found.some((mutant) => mutants.indexOf(mutant) >= 300)).toBe(true);
  });

  it('are all of them where no commit tells the turn', () => {
    expect(tried(undefined)).toEqual(mutants);
  });

  it('are all of them when that is asked for, and those of the commit otherwise', () => {
    const before = process.env.MUTANTS;
    try {
      process.env.MUTANTS = 'all';
      expect(triedByCommit().commit).toBeUndefined();
      delete process.env.MUTANTS;
      expect(triedByCommit()).toEqual(triedByCommit());
    } finally {
      if (before === undefined) delete process.env.MUTANTS;
      else process.env.MUTANTS = before;
    }
  });
});
