import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BranchFamily } from '#test/support/branch-family.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { runWorkload } from './branch-run.ts';
import { foundFailures } from './found-failures.ts';
import { codedStart, tradingWeights, typedWeights, workloads } from './workload-step.ts';

describe('several branches', () => {
  let family: BranchFamily;
  let runs = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  it('read, compare, differ, merge and fast-forward as full copies of every revision do', async () => {
    await fc.assert(
      fc.asyncProperty(workloads(6, 26), async (steps) => {
        runs += 1;
        await runWorkload(family, `r${runs}`, steps);
      }),
      { numRuns: workloadCount(14) },
    );
    expect(runs).toBeGreaterThan(0);
  });

  it('find what does not fit together as full copies do, where types change', async () => {
    await fc.assert(
      fc.asyncProperty(workloads(10, 40, typedWeights), async (steps) => {
        runs += 1;
        await runWorkload(family, `r${runs}`, steps);
      }),
      { numRuns: workloadCount(14) },
    );
  });

  it('do as full copies do where commits trade unique values', async () => {
    await fc.assert(
      fc.asyncProperty(workloads(10, 40, tradingWeights), async (steps) => {
        runs += 1;
        await runWorkload(family, `r${runs}`, [...codedStart, ...steps]);
      }),
      { numRuns: workloadCount(14) },
    );
  });

  it.each(foundFailures)('do what they once did wrong right: $was', async ({ steps }) => {
    runs += 1;
    await runWorkload(family, `r${runs}`, steps);
  });
});
