import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BranchFamily } from '#test/support/branch-family.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { BranchRun } from '../workload/branch-run.ts';
import { type WorkloadStep, workloads } from '../workload/workload-step.ts';

/** What leaves the target without revisions of its own, and in the source all that the target has. */
const allowed = (step: WorkloadStep): boolean => !['fork', 'cross', 'rewind', 'forward'].includes(step.do);

describe('a fast-forward', () => {
  let family: BranchFamily;
  let runs = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  it('makes the target what the source is: content, indexes, history and schema, at every revision', async () => {
    const back = fc.nat({ max: 6 });
    const rounds = fc.array(workloads(1, 8), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(back, rounds, async (forkedBack, steps) => {
        runs += 1;
        const run = new BranchRun(family, `f${runs}`);
        await run.begin();
        const source = run.branches[1] as string;
        await run.fork(source, false, forkedBack);
        const target = run.branches[2] as string;
        for (const round of steps) {
          // The first branch, too, is written to, merged from and merged into.
          for (const step of round.filter(allowed)) {
            const on = step.on % 2;
            await run.take({ ...step, on, other: step.do === 'merge' ? 1 - on : step.other });
          }
          const { ahead, behind } = run.model.compare(target, source);
          expect(ahead).toBe(0);
          expect(await run.forward(target, source)).toBe(behind > 0);
        }
        await run.checkAll();
      }),
      { numRuns: workloadCount(12) },
    );
  });
});
