import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { openStatement } from '#runtime/sql-exec/run-statement.ts';
import type { BoundStatement, RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { RunStatement } from '#runtime/sql-plan/kept/kept-statements.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { ExplainStatement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { type ParsedStatement, parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';
import { textType } from '#runtime/sql-values/types/basic-types.ts';
import type { BranchState } from '../branch-state.ts';
import { AnswerReader } from '../answer-reader.ts';
import { answerText, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer } from '../messages.ts';
import type { RunSql } from '../sql-messages.ts';
import { isAccessRead, readAccess } from './access-reads/read-access.ts';
import { type BranchTables, OpenBranches } from './branch-tables.ts';
import { explainedPlan } from './explained-plan.ts';
import { boundQuery, keptQuery } from './kept-bindings.ts';
import { NodeTables } from './node-tables.ts';
import { endOfAnswer } from './answer-end.ts';
import { pointAnswer } from './points/point-answer.ts';
import { pointPlanOf } from './points/point-plan.ts';
import { pointPlanText, pointRows } from './points/point-read.ts';
import { RowText } from './row-text.ts';
import { StatementWatch } from './statement-watch.ts';
import { statementScope } from './sql-scope.ts';
import { statementCaller } from './statement-caller.ts';

const planColumns: readonly RelationColumn[] = [{ name: 'QUERY PLAN', type: textType }];

/** Runs statements. @see sql-messages.ts, RunSql */
export function runSql(state: BranchState, context: QueryContext, query: RunSql): JsonAnswer {
  const scope = statementScope(state, context.caller, context.clock.wallMs(), query.parameters);
  const startedMs = context.clock.monotonicMs();
  // The first statement has waited since the request came. Each is reported once, however often it begins.
  const first = new StatementWatch(state, context.budget);
  const quick = pointAnswer(state, context, query, scope, first);
  if (quick !== undefined) return quick;
  const watches: StatementWatch[] = [first];
  // The first attempt to answer may end after a slice, and the statements begin again.
  return answerText(context, function* (reader) {
    const execution = new Execution(context.budget);
    const branches = new OpenBranches({
      state,
      context,
      reader,
      schemas: state.querySchemas,
      moment: query.at,
    });
    // Stopped after a slice, an attempt begins again as a stream.
    const isAttempt = !(reader instanceof AnswerReader);
    try {
      const caller = yield* silently(statementCaller(branches.own, query.sql));
      const auth = query.auth === undefined ? {} : { auth: query.auth };
      const run = new StatementRun({ ...scope, ...auth, caller }, branches.own, execution, () =>
        context.clock.monotonicMs(),
      );
      const statements = yield* silently(parseStatementsInSteps(query.sql));
      const last = statements.length - 1;
      for (const [index, statement] of statements.entries()) {
        const watch = watches[index] ?? new StatementWatch(state, context.budget);
        watches[index] = watch;
        if (index > 0) watch.begin();
        const pieces = run.watched(statement, index === last, watch, isAttempt);
        yield* last === 0 ? pieces : numbered(pieces, index + 1);
      }
      const elapsedMs = context.clock.monotonicMs() - startedMs;
      yield run.end(elapsedMs);
    } finally {
      branches.close();
    }
  });
}

/** Codes of errors about a statement; others are about the request, or about the server. */
const ofStatement: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'VALIDATION_FAILED',
  'BRANCH_NOT_FOUND',
  'REVISION_NOT_FOUND',
  'INVALID_REVISION_NUMBER',
]);

/** Says in errors which of several statements they are about. */
function* numbered(pieces: Generator<Piece, void>, number: number): Generator<Piece, void> {
  try {
    yield* pieces;
  } catch (error) {
    if (!(error instanceof ServiceError) || !ofStatement.has(error.code)) throw error;
    const { details, field } = error;
    throw new ServiceError(error.code, `statement ${number}: ${error.message}`, {
      ...(details === undefined ? {} : { details }),
      ...(field === undefined ? {} : { field }),
      cause: error,
    });
  }
}

/** Statements that run one after the other; the text is that of the last. */
class StatementRun {
  readonly #scope: StatementScope;
  readonly #own: BranchTables;
  readonly #tables: NodeTables;
  readonly #execution: Execution;
  readonly #clock: () => number;
  #rowCount = 0;
  /** The plan, where the last statement is an EXPLAIN. */
  #plan: string | undefined;
  /** What the statement that runs has done. */
  #made: { rows: number; plan: (() => string) | undefined } = { rows: 0, plan: undefined };

  /** @param clock the time in milliseconds, for measured plans */
  constructor(scope: StatementScope, own: BranchTables, execution: Execution, clock: () => number) {
    this.#scope = scope;
    this.#own = own;
    this.#tables = new NodeTables(own, execution);
    this.#execution = execution;
    this.#clock = clock;
  }

  /** Runs a statement, and reports it when it was slow. @param isLast whether its rows are the answer */
  *watched(
    parsed: ParsedStatement,
    isLast: boolean,
    watch: StatementWatch,
    isAttempt: boolean,
  ): Generator<Piece, void> {
    const { caller } = this.#own.context;
    this.#made = { rows: 0, plan: undefined };
    const pieces = isLast ? this.#shown(parsed) : this.#unseen(parsed);
    yield* watch.run(parsed.statement, caller, pieces, () => this.#made, isAttempt);
  }

  /** Runs a statement whose rows nobody sees: it may fail all the same. */
  *#unseen(statement: ParsedStatement): Generator<'', void> {
    for (const _ of this.#results(statement)) yield '';
  }

  /** Runs the last statement. @returns the text up to its last row */
  *#shown(statement: ParsedStatement): Generator<string, void> {
    let rows: RowText | undefined;
    for (const result of this.#results(statement)) {
      if (result === undefined) yield '';
      else if ('head' in result) {
        this.#rowCount = result.texts.length;
        yield result.head + result.texts.join(',');
      } else if ('columns' in result) {
        rows = new RowText(this.#execution, result.columns);
        yield `{"columns":${JSON.stringify(rows.keys)},"rows":[`;
      } else {
        for (const row of result.rows) {
          if (this.#rowCount > 0) yield ',';
          this.#rowCount += 1;
          yield* (rows as RowText).pieces(row);
        }
      }
    }
  }

  /** The text behind the rows. @param elapsedMs since the request came, in milliseconds */
  end(elapsedMs: number): string {
    return endOfAnswer(this.#rowCount, elapsedMs, this.#plan);
  }

  /** The columns of a statement, then its rows in batches. Yields undefined where the work may pause. */
  *#results({ statement, text }: ParsedStatement): Generator<Result | undefined, void> {
    // Reading and binding a long statement take some milliseconds each, in one step.
    yield undefined;
    if (statement.kind === 'explain') {
      yield* this.#explained(statement, text);
      return;
    }
    if (isAccessRead(statement)) {
      const reading = { tables: this.#own, execution: this.#execution, scope: this.#scope, source: text };
      for (const result of readAccess(reading, statement)) {
        if (result !== undefined && 'rows' in result) this.#made.rows += result.rows.length;
        yield result;
      }
      return;
    }
    if (statement.kind !== 'query-statement')
      throw sqlError('Only queries can be run here', text, statement.span);
    const kept = keptQuery(statement.query, text, this.#scope);
    const point = yield* this.#pointRows(kept);
    if (point !== undefined) {
      yield point;
      return;
    }
    const bound = boundQuery(kept, statement.query, text, this.#scope);
    yield undefined;
    const opened = yield* openStatement(bound, this.#tables, this.#execution);
    this.#made.plan = () => opened.planWithoutValues();
    try {
      yield { columns: opened.columns };
      for (;;) {
        const rows = yield* opened.next();
        if (rows === undefined) return;
        this.#made.rows += rows.length;
        yield { rows };
      }
    } finally {
      opened.close();
    }
  }

  /** The rows of a query that one look-up answers; undefined: it has to be planned. */
  *#pointRows(kept: RunStatement<BoundStatement>): Generator<undefined, PointRows | undefined> {
    const plan = kept.template && pointPlanOf(kept.template);
    if (plan === undefined) return undefined;
    this.#made.plan = () => pointPlanText(plan);
    const texts = yield* pointRows(this.#own, plan, kept.values, this.#execution);
    if (texts === undefined) return undefined;
    this.#made.rows = texts.length;
    return { head: plan.head, texts };
  }

  *#explained(explain: ExplainStatement, text: string): Generator<Result | undefined, void> {
    const means = {
      scope: this.#scope,
      tables: this.#tables,
      execution: this.#execution,
      clock: this.#clock,
    };
    const plan = yield* explainedPlan(explain, text, means);
    this.#plan = plan;
    yield { columns: planColumns };
    this.#made.rows = 1;
    yield { rows: [[plan]] };
  }
}

/** The rows of a point query as texts, and the text before them. */
interface PointRows {
  readonly head: string;
  readonly texts: readonly string[];
}

/** What a statement gives. */
type Result = { readonly columns: readonly RelationColumn[] } | { readonly rows: readonly Row[] } | PointRows;
