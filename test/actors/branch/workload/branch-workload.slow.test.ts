import fc from 'fast-check';
import { it } from 'vitest';
import { workloadCount } from '#test/support/workload-count.ts';
import { BranchFamily } from '#test/support/branch-family.ts';
import { runWorkload } from './branch-run.ts';
import { codedStart, tradingWeights, workloads } from './workload-step.ts';

/** Workloads that are tried. */
const RUNS = workloadCount(48);

/** Runs in one data folder: branches pile up there. */
const RUNS_PER_FAMILY = 24;

/** One in four with commits that trade unique values. */
const anyWorkload = fc.oneof(
  { weight: 3, arbitrary: workloads(10, 70) },
  { weight: 1, arbitrary: workloads(10, 70, tradingWeights).map((steps) => [...codedStart, ...steps]) },
);

it(`several branches do as the model does, in ${RUNS} random workloads`, async () => {
  const seed = fc.readConfigureGlobal().seed ?? Math.floor(Math.random() * 2 ** 31);
  process.stdout.write(`branch workloads of seed ${seed}\n`);
  let family = await BranchFamily.open();
  let runs = 0;
  try {
    await fc.assert(
      fc.asyncProperty(anyWorkload, async (steps) => {
        runs += 1;
        if (runs % RUNS_PER_FAMILY === 0) {
          await family.close();
          family = await BranchFamily.open();
        }
        await runWorkload(family, `r${runs}`, steps);
      }),
      { seed, numRuns: RUNS },
    );
  } finally {
    await family.close();
  }
});
