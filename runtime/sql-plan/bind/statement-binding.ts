import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';
import type { BoundCommonTable, BoundConstant, BoundExpression } from '../bound/bound-statement.ts';
import type { StatementScope } from '../ports.ts';
import { ExpressionNumbers, expressionSize } from './expression-walk.ts';
import {
  COPIED_EXPRESSIONS_MAX,
  LISTED_ELEMENTS_MAX,
  RELATIONS_MAX,
  SELECTS_MAX,
  STATEMENT_COLUMNS_MAX,
  SUBQUERIES_MAX,
} from './limits.ts';

/** What all parts of a statement share while it is bound: its text, its parameters, its numbers and its bounds. */
export class StatementBinding {
  readonly scope: StatementScope;
  /** Of all queries of the statement, each behind those that it uses. */
  readonly commonTables: BoundCommonTable[] = [];
  /** Tells which expressions are written alike. */
  readonly numbers: ExpressionNumbers = new ExpressionNumbers();
  readonly #source: string;
  readonly #parameters = new Map<number, BoundConstant>();
  /** Where expressions were written, for messages about them that come later. */
  readonly #origins = new WeakMap<BoundExpression, Origin>();
  #relations = 0;
  #tables = 0;
  #selects = 0;
  #subqueries = 0;
  #copies = 0;
  #columns = 0;
  #listed = 0;

  constructor(source: string, scope: StatementScope) {
    this.#source = source;
    this.scope = scope;
  }

  /** Number of relations so far. */
  get relationCount(): number {
    return this.#relations;
  }

  /** The number of a new relation. */
  newRelation(): number {
    this.#relations += 1;
    return this.#relations - 1;
  }

  /** Counts an entry of a FROM clause. */
  countTable(span: Span): void {
    this.#tables += 1;
    if (this.#tables > RELATIONS_MAX)
      throw this.error(`A statement may name at most ${RELATIONS_MAX} relations`, span);
  }

  /** Counts a SELECT or VALUES. */
  countSelect(span: Span): void {
    this.#selects += 1;
    if (this.#selects > SELECTS_MAX)
      throw this.error(`A statement may have at most ${SELECTS_MAX} SELECT and VALUES parts`, span);
  }

  /** Counts a subquery of an expression. */
  countSubquery(span: Span): void {
    this.#subqueries += 1;
    if (this.#subqueries > SUBQUERIES_MAX)
      throw this.error(`A statement may have at most ${SUBQUERIES_MAX} subqueries`, span);
  }

  /** Counts columns of a select list. */
  countColumns(count: number, span: Span): void {
    this.#columns += count;
    if (this.#columns > STATEMENT_COLUMNS_MAX)
      throw this.error(
        `The select lists of a statement may have at most ${STATEMENT_COLUMNS_MAX} columns`,
        span,
      );
  }

  /** Whether so many elements of a list may be taken apart while planning; they are counted then. */
  mayList(count: number): boolean {
    if (this.#listed + count > LISTED_ELEMENTS_MAX) return false;
    this.#listed += count;
    return true;
  }

  /** Counts that an expression appears in further places of the bound tree. */
  countCopies(expression: BoundExpression, copies: number, span: Span): void {
    if (copies === 0) return;
    this.#copies += copies * expressionSize(expression, COPIED_EXPRESSIONS_MAX);
    if (this.#copies > COPIED_EXPRESSIONS_MAX)
      throw this.error('The operands of BETWEEN and CASE are too large or nested too deeply', span);
  }

  /** The error for bad SQL at a place. @returns `VALIDATION_FAILED` */
  error(text: string, span: Span): ServiceError {
    return sqlError(text, this.#source, span);
  }

  /** The text of a part of the statement, shortened, for messages. */
  textOf(span: Span): string {
    const text = this.#source.slice(span.start, Math.min(span.end, span.start + 60));
    return span.end > span.start + 60 ? `${text}…` : text;
  }

  /**
   * Runs something whose errors do not know where in the statement they belong, and adds the place.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` with the place; any other error as it was
   */
  at<T>(span: Span, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED' && error.details === undefined)
        throw this.error(error.message, span);
      throw error;
    }
  }

  /** Remembers where an expression was written. */
  remember(expression: BoundExpression, origin: Origin): void {
    this.#origins.set(expression, origin);
  }

  /** Where an expression was written; undefined: it was not {@link remember}ed. */
  originOf(expression: BoundExpression): Origin | undefined {
    return this.#origins.get(expression);
  }

  /**
   * The value of `$1` and so on.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when it was not given
   */
  parameter(index: number, span: Span): BoundConstant {
    const known = this.#parameters.get(index);
    if (known !== undefined) return known;
    if (index < 1) throw this.error('Parameter indices must start at $1', span);
    const open = this.scope.openParameter?.(index);
    if (open !== undefined) {
      this.#parameters.set(index, open);
      return open;
    }
    const { parameters } = this.scope;
    const json = parameters[index - 1];
    if (index > parameters.length || json === undefined) {
      const given = `only ${parameters.length} parameters given`;
      throw this.error(`Parameter $${index} not provided (${given})`, span);
    }
    const { type, value } = this.at(span, () => fromParameter(json));
    const constant: BoundConstant = { kind: 'constant', type, value, isParameter: true };
    this.#parameters.set(index, constant);
    return constant;
  }
}

/** Where an expression was written, and the column that it names. */
export interface Origin {
  readonly name: string;
  readonly span: Span;
}
