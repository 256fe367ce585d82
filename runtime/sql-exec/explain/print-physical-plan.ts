import type { LoweredStatement } from '../lowering/lower-statement.ts';
import type { PhysicalPlan } from '../lowering/physical-plan.ts';
import type { Measurements } from './measurements.ts';
import type { Names } from './names.ts';

/**
 * The steps of a statement, a line each, then those of its common tables.
 *
 * @param measurements what the steps did; undefined: it is not known
 * @param depth levels of indentation of the first line
 */
export function printSteps(
  plan: PhysicalPlan,
  lowered: Pick<LoweredStatement, 'commonTables' | 'names'>,
  measurements: Measurements | undefined,
  depth: number,
): readonly string[] {
  return printAll(plan, lowered, lowered.names, measurements, depth);
}

/** As {@link printSteps}, with `?` in place of every constant of the statement, for logs. */
export function printStepsWithoutValues(
  plan: PhysicalPlan,
  lowered: Pick<LoweredStatement, 'commonTables' | 'names'>,
): readonly string[] {
  return printAll(plan, lowered, lowered.names.withoutValues(), undefined, 0);
}

function printAll(
  plan: PhysicalPlan,
  { commonTables }: Pick<LoweredStatement, 'commonTables'>,
  names: Names,
  measurements: Measurements | undefined,
  depth: number,
): readonly string[] {
  const lines = [...printStep(plan, names, measurements, depth)];
  for (const { name, plan: table } of commonTables)
    lines.push(`  CommonTable: ${name}`, ...printStep(table, names, measurements, 2));
  return lines;
}

function printStep(
  plan: PhysicalPlan,
  names: Names,
  measurements: Measurements | undefined,
  depth: number,
): readonly string[] {
  const measured = measurements?.of(plan);
  // a step that was not reached has no measurement
  const facts =
    measured === undefined
      ? ''
      : ` (rows=${measured.rows} time=${measured.timeMs.toFixed(2)} ms${plan.measured?.() ?? ''})`;
  return [
    `${'  '.repeat(depth)}${plan.describe(names)}${facts}`,
    ...plan.inputs.flatMap((input) => printStep(input, names, measurements, depth + 1)),
  ];
}
