import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { Execution } from './execution.ts';
import { Measurements } from './explain/measurements.ts';
import { printQuery } from './explain/print-logical-plan.ts';
import { printSteps } from './explain/print-physical-plan.ts';
import { LoweredStatement } from './lowering/lower-statement.ts';
import type { PhysicalPlan } from './lowering/physical-plan.ts';
import type { Tables } from './ports.ts';

/** What an EXPLAIN asks for. */
export interface ExplainOptions {
  /** Run the statement, and say how many rows each step made, and how long it took. */
  readonly isAnalyze: boolean;
  /** Show the logical plan too, before and after its conditions were moved down. */
  readonly isVerbose: boolean;
}

/**
 * Explains how a statement is run.
 *
 * @param clock the time in milliseconds
 * @param use what is done with its rows, in one line; absent: they are the answer
 * @returns the text of the explanation
 * @throws {ServiceError} as running it does
 */
export function* explainStatement(
  options: ExplainOptions,
  statement: BoundStatement,
  tables: Tables,
  execution: Execution,
  clock: () => number,
  use?: string,
): Generator<undefined, string> {
  const measurements = options.isAnalyze ? new Measurements(clock) : undefined;
  const observe = measurements?.measured.bind(measurements);
  const lowered = new LoweredStatement(statement, tables, execution, observe);
  try {
    const plan = yield* lowered.plan();
    if (measurements !== undefined) yield* runAll(plan, execution);
    const lines: string[] = [];
    if (options.isVerbose) {
      lines.push('=== Logical Plan ===', ...printQuery(statement.query, lowered.names, 1));
      const optimized = lowered.optimized(statement.query);
      lines.push('=== Optimized Logical Plan ===', ...printQuery(optimized, lowered.names, 1));
    }
    lines.push('=== Physical Execution Plan ===');
    if (use !== undefined) lines.push(`  ${use}`);
    lines.push(...printSteps(plan, lowered, measurements, use === undefined ? 1 : 2));
    return lines.join('\n');
  } finally {
    lowered.close();
  }
}

/** Reads all rows, and forgets them. */
function* runAll(plan: PhysicalPlan, execution: Execution): Generator<undefined, void> {
  const operator = plan.open();
  try {
    while ((yield* operator.next()) !== undefined) {
      if (!execution.isDue) continue;
      execution.pausing();
      yield undefined;
    }
  } finally {
    operator.close();
  }
}
