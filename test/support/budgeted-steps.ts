import type { RequestBudget } from '#runtime/budget/request-budget.ts';

/** What a piece of sliced work came to. */
export interface BudgetedRun<T> {
  readonly result: T;
  /** The most work that was counted between two rests, in estimated nanoseconds. */
  readonly longestStep: number;
  /** The most memory that was counted at a rest, in bytes. */
  readonly memoryMax: number;
  readonly rests: number;
}

/** Runs sliced work to its end and looks at its budget at every rest. */
export function runBudgeted<T>(work: Generator<unknown, T>, budget: RequestBudget): BudgetedRun<T> {
  let longestStep = 0;
  let memoryMax = 0;
  for (let rests = 0; ; rests += 1) {
    const before = budget.work;
    const step = work.next();
    longestStep = Math.max(longestStep, budget.work - before);
    memoryMax = Math.max(memoryMax, budget.memory);
    if (step.done === true) return { result: step.value, longestStep, memoryMax, rests };
  }
}
