import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { checkWaiting } from '#runtime/commit/waiting-caller.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { printWithoutLiterals } from '#runtime/sql-syntax/hide-literals.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { BranchState } from '../branch-state.ts';

/** Longest text of a statement that is reported, in UTF-16 units. */
const STATEMENT_MAX = 2_000;

/** Longest text of a plan that is reported, in UTF-16 units. */
const PLAN_MAX = 4_000;

const NANOSECONDS_PER_MS = 1_000_000;

/** What a statement has done until it ended. */
export interface StatementFacts {
  readonly rows: number;
  /** Makes the text of the plan, without values. It is called only for a slow statement, and reads nothing. */
  readonly plan: (() => string) | undefined;
}

/**
 * Watches one statement of a branch, and reports it if it was slow. One that is fast costs two looks at the clock.
 *
 * @see docs/operations.md#slow-statements
 */
export class StatementWatch {
  readonly #state: BranchState;
  readonly #clock: Clock;
  readonly #budget: RequestBudget;
  #startedMs: number;
  #workBefore: number;
  #isReported = false;

  /** Begins to watch. @param budget that the statement uses, perhaps after others */
  constructor(state: BranchState, budget: RequestBudget) {
    this.#state = state;
    this.#clock = state.clock;
    this.#budget = budget;
    this.#startedMs = this.#clock.monotonicMs();
    this.#workBefore = budget.work;
  }

  /** Time since it began, in milliseconds. */
  get elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  /** Begins anew: the statement is run again, or behind others. */
  begin(): void {
    this.#startedMs = this.#clock.monotonicMs();
    this.#workBefore = this.#budget.work;
  }

  /**
   * Runs the statement, and reports it when it has ended, in whatever way.
   *
   * @param caller for whom it runs
   * @param facts what it has done until now, asked for when it has ended
   * @param isAttempt when it is stopped while its caller still waits, it is run again, so that nothing has ended
   */
  *run<Y, T>(
    statement: Statement,
    caller: Caller,
    steps: Generator<Y, T>,
    facts: () => StatementFacts,
    isAttempt = false,
  ): Generator<Y, T> {
    let isStopped = true;
    let failure: unknown;
    try {
      const result = yield* steps;
      isStopped = false;
      return result;
    } catch (error) {
      isStopped = false;
      failure = error;
      throw error;
    } finally {
      if (isStopped) failure = stoppedBy(caller, this.#clock) ?? (isAttempt ? undefined : cancelled);
      if (!isStopped || failure !== undefined) this.#ended(statement, caller, facts, failure);
    }
  }

  /**
   * As {@link run}, of a statement that never pauses.
   *
   * @param work undefined: it was not done, and the statement has yet to be run
   */
  runNow<T>(
    statement: Statement,
    caller: Caller,
    work: () => T | undefined,
    facts: () => StatementFacts,
  ): T | undefined {
    try {
      const result = work();
      if (result !== undefined) this.#ended(statement, caller, facts, undefined);
      return result;
    } catch (error) {
      this.#ended(statement, caller, facts, error);
      throw error;
    }
  }

  #ended(statement: Statement, { principal }: Caller, facts: () => StatementFacts, error: unknown): void {
    const { limits, name: branch, repositoryName: repository, tenant } = this.#state;
    const { slowStatements } = limits;
    if (slowStatements === undefined || this.#isReported) return;
    const durationMs = this.#clock.monotonicMs() - this.#startedMs;
    if (durationMs < slowStatements.thresholdMs) return;
    this.#isReported = true;
    const { plan, rows } = facts();
    slowStatements.report({
      durationMs: Math.round(durationMs),
      workMs: Math.round((this.#budget.work - this.#workBefore) / NANOSECONDS_PER_MS),
      rows,
      tenant,
      repository,
      branch,
      principal: principal.kind,
      statement: printWithoutLiterals(statement, STATEMENT_MAX),
      plan: plan && shortened(plan()),
      error: error === undefined ? undefined : codeOf(error),
    });
  }
}

/** The client is gone: it takes no more of the answer. */
const cancelled = new ServiceError('REQUEST_CANCELLED');

/** Why the caller does not wait any more; undefined: it does, as far as is known. */
function stoppedBy(caller: Caller, clock: Clock): unknown {
  try {
    checkWaiting(caller, clock);
    return undefined;
  } catch (error) {
    return error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof ServiceError ? error.code : 'INTERNAL_SERVER_ERROR';
}

function shortened(text: string): string {
  return text.length > PLAN_MAX ? `${text.slice(0, PLAN_MAX - 1)}…` : text;
}
