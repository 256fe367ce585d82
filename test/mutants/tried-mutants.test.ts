import { describe, expect, it } from 'vitest';
import type { GuardMutant } from './guard-mutant.ts';
import { triedByCommit, triedMutants, TURNS } from './tried-mutants.ts';

const mutants: readonly GuardMutant[] = Array.from({ length: 300 }, (_, number) => ({
  guard: `guard ${number}`,
  file: `runtime/file-${number}.ts`,
  from: 'a',
  to: 'b',
  tests: [`test/runtime/file-${number}.test.ts`],
}));

const tried = (turn: number | undefined, ...changed: readonly string[]): ReadonlySet<GuardMutant> =>
  new Set(triedMutants(mutants, { turn, changed: new Set(changed) }));

describe('the mutants that are tried', () => {
  it('are in as many turns about as many each, and every one in exactly one of them', () => {
    const turns = Array.from({ length: TURNS }, (_, turn) => tried(turn));
    for (const turn of turns) expect(turn.size).toBeGreaterThan(mutants.length / TURNS / 2);
    expect(turns.flatMap((turn) => [...turn]).sort(byGuard)).toEqual([...mutants].sort(byGuard));
  });

  it('are those of files that changed of late in every turn, also where only their tests changed', () => {
    const [first, second] = mutants as [GuardMutant, GuardMutant];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const found = tried(turn, first.file, second.tests[0] as string);
      expect([found.has(first), found.has(second)]).toEqual([true, true]);
      expect(found.size).toBeLessThan(mutants.length);
    }
  });

  it('are all of them where no commit tells the turn', () => {
    expect(tried(undefined).size).toBe(mutants.length);
  });

  it('are all of them when that is asked for, and those of the commit otherwise', () => {
    const before = process.env.MUTANTS;
    try {
      process.env.MUTANTS = 'all';
      expect(triedByCommit().turn).toBeUndefined();
      delete process.env.MUTANTS;
      expect([undefined, 0, 1, 2]).toContain(triedByCommit().turn);
      expect(triedByCommit()).toEqual(triedByCommit());
    } finally {
      if (before === undefined) delete process.env.MUTANTS;
      else process.env.MUTANTS = before;
    }
  });
});

function byGuard(a: GuardMutant, b: GuardMutant): number {
  return a.guard < b.guard ? -1 : 1;
}
