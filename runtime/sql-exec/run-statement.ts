import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { Execution } from './execution.ts';
import { printStepsWithoutValues } from './explain/print-physical-plan.ts';
import { LoweredStatement } from './lowering/lower-statement.ts';
import type { PhysicalPlan } from './lowering/physical-plan.ts';
import type { Operator, Row } from './operator.ts';
import type { Tables } from './ports.ts';

/** A column of an answer. */
export interface AnswerColumn {
  readonly name: string;
  readonly type: SqlType;
}

/** A statement that is being run: an operator whose rows have a value for each column of the answer. */
export interface OpenStatement extends Operator {
  readonly columns: readonly AnswerColumn[];
  /**
   * The plan by which it is run, a step a line, with `?` in place of every constant: for logs. It is made when it is asked for,
   * also when the statement has ended.
   */
  planWithoutValues(): string;
}

/**
 * Decides how a statement is run, and opens it. Its rows are made while they are asked for, so `close` must be called in any
 * case: it frees the memory.
 *
 * @param tables that the statement reads
 * @throws {ServiceError} `VALIDATION_FAILED`, `REQUEST_TOO_EXPENSIVE`, also when rows are asked for
 */
export function* openStatement(
  statement: BoundStatement,
  tables: Tables,
  execution: Execution,
): Generator<undefined, OpenStatement> {
  const lowered = new LoweredStatement(statement, tables, execution, undefined);
  const plan = yield* paused(lowered.plan(), execution);
  const columns = statement.query.output.map(({ name, expression }) => ({ name, type: expression.type }));
  return new RunningStatement(columns, plan, lowered, execution);
}

class RunningStatement implements OpenStatement {
  readonly columns: readonly AnswerColumn[];
  readonly #plan: PhysicalPlan;
  readonly #operator: Operator;
  readonly #lowered: LoweredStatement;
  readonly #execution: Execution;

  constructor(
    columns: readonly AnswerColumn[],
    plan: PhysicalPlan,
    lowered: LoweredStatement,
    execution: Execution,
  ) {
    this.columns = columns;
    this.#plan = plan;
    this.#operator = plan.open();
    this.#lowered = lowered;
    this.#execution = execution;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const batch = yield* paused(this.#operator.next(), this.#execution);
    if (batch === undefined) this.close();
    return batch;
  }

  planWithoutValues(): string {
    return printStepsWithoutValues(this.#plan, this.#lowered).join('\n');
  }

  close(): void {
    this.#operator.close();
    this.#lowered.close();
  }
}

/** Steps at whose yields the execution knows that the work pauses, whoever yields. */
function* paused<T>(steps: Generator<undefined, T>, execution: Execution): Generator<undefined, T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    execution.pausing();
    yield undefined;
  }
}
