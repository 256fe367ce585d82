import type { BoundQuery, LogicalPlan, ValuesPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { inputsOf } from '../lowering/plan-parts.ts';
import type { Names } from './names.ts';
import { printExpression, printExpressions, printSort } from './print-expression.ts';

/** Lines of a query, each indented by its depth. */
export function printQuery(query: BoundQuery, names: Names, depth: number): readonly string[] {
  const output = query.output.map(({ expression }) => expression);
  return [
    `${'  '.repeat(depth)}Output: ${printExpressions(output, names)}`,
    ...printPlan(query.plan, names, depth + 1),
  ];
}

function printPlan(plan: LogicalPlan, names: Names, depth: number): readonly string[] {
  const line = `${'  '.repeat(depth)}${describe(plan, names)}`;
  if (plan.kind === 'set-operation') {
    return [line, ...[plan.left, plan.right].flatMap((query) => printQuery(query, names, depth + 1))];
  }
  return [line, ...inputsOf(plan).flatMap((input) => printPlan(input, names, depth + 1))];
}

/** A list of rows, in one line. */
export function valuesText({ missing, rows }: ValuesPlan): string {
  const why = missing === undefined ? '' : `, workspace '${missing}' does not exist`;
  return `Values: rows=${rows.length}${why}`;
}

function describe(plan: LogicalPlan, names: Names): string {
  switch (plan.kind) {
    case 'nodes':
      return `Scan: workspace=${plan.workspace}, alias=${plan.alias}`;
    case 'schema':
      return `Scan: table=${plan.table}, alias=${plan.alias}`;
    case 'values':
      return valuesText(plan);
    case 'series':
      return `Series: ${printExpressions([plan.start, plan.stop, plan.step], names)}`;
    case 'common-table':
      return `CommonTable: ${plan.alias}`;
    case 'join':
      return `Join: type=${plan.type}${plan.on === undefined ? '' : `, on=${printExpression(plan.on, names)}`}`;
    case 'filter':
      return `Filter: ${printExpression(plan.predicate, names)}`;
    case 'project':
      return `Project: ${printExpressions(plan.expressions, names)}`;
    case 'aggregate': {
      const functions = plan.aggregates.map((aggregate) => aggregate.function.name);
      return `Aggregate: keys=[${printExpressions(plan.keys, names)}], aggregates=[${functions.join(', ')}]`;
    }
    case 'window':
      return `Window: windows=${plan.windows.length}`;
    case 'distinct':
      return plan.on === undefined ? 'Distinct' : `DistinctOn: ${printExpressions(plan.on, names)}`;
    case 'sort':
      return `Sort: keys=[${printSort(plan.keys, names)}]`;
    case 'limit':
      return `Limit: limit=${plan.limit ?? 'ALL'}, offset=${plan.offset}`;
    case 'set-operation':
      return `SetOperation: ${plan.operator}${plan.isAll ? ' all' : ''}`;
  }
}
