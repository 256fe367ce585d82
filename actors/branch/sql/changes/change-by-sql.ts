import { type ParsedStatement, parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { CommitInfo } from '../../commit-messages.ts';
import type { EditScope } from '../../edit-scope.ts';
import type { ChangeBySql, SqlChanged } from '../../sql-messages.ts';
import { StatementWatch } from '../statement-watch.ts';
import { inStatement } from '../statement-number.ts';
import { affectedText, answerText } from './answer-text.ts';
import type { StatementResult } from './change-context.ts';
import type { DataChange } from './data/data-change.ts';
import { noteReturned } from './returned-nodes.ts';
import { runChange } from './run-change.ts';
import { TurnQueries } from './turn-queries.ts';

/** Actor of the revision of a transaction that names none. */
const TRANSACTION_ACTOR = 'sql-client';

/** Message of a revision that several statements have made together. */
const TRANSACTION_MESSAGE = 'SQL transaction';

/** Runs statements that write as one revision. @see sql-messages.ts, ChangeBySql */
export function* changeBySql(edit: EditScope, command: ChangeBySql): Generator<undefined, SqlChanged> {
  const { isTransaction, parameters, sql } = command;
  const { state, turn } = edit;
  const queries = new TurnQueries(state, turn);
  try {
    const scope = yield* queries.scopeOf(sql, parameters);
    const statements = yield* parseStatementsInSteps(sql);
    const change: DataChange = { edit, scope, source: sql, queries, isTransaction };
    const last = yield* runAll(change, statements);
    const { affected } = last;
    const answer = affected === undefined ? yield* answerText(turn.budget, last) : affectedText(affected);
    const message = isTransaction || statements.length > 1 ? TRANSACTION_MESSAGE : last.message;
    const revision = command.dryRun === true ? yield* undone(edit) : yield* recorded(edit, command, message);
    const changed: SqlChanged = { revision, ...answer };
    noteReturned(changed, last.returned);
    return changed;
  } finally {
    queries.close();
  }
}

/** @returns the result of the last statement */
function* runAll(
  change: DataChange,
  statements: readonly ParsedStatement[],
): Generator<undefined, StatementResult> {
  let result: StatementResult = { columns: [], rows: [], message: '' };
  for (const [index, { statement }] of statements.entries()) {
    try {
      result = yield* watched(change, statement, index === statements.length - 1);
    } catch (error) {
      throw statements.length === 1 ? error : inStatement(error, index + 1);
    }
    if (index < statements.length - 1) yield;
  }
  return result;
}

/** Runs a statement, and reports it when it was slow. */
function* watched(
  change: DataChange,
  statement: Statement,
  isLast: boolean,
): Generator<undefined, StatementResult> {
  const { state, turn } = change.edit;
  const { queries } = change;
  queries.release();
  let rows = 0;
  const steps = function* (): Generator<undefined, StatementResult> {
    const result = yield* runChange(change, statement, isLast);
    yield* compareUniques(change.edit);
    rows = result.affected ?? result.rows.length;
    return result;
  };
  const watch = new StatementWatch(state, turn.budget);
  return yield* watch.run(statement, turn.caller, steps(), () => ({ rows, plan: queries.plan }));
}

/** Compares the unique values of a statement that has written several nodes: the next one finds them in the index. */
function* compareUniques({ writer }: EditScope): Generator<undefined, void> {
  const clash = yield* writer.settleUniques();
  if (clash !== undefined) throw writer.duplicateValue(clash);
}

function* recorded(
  edit: EditScope,
  { commit, isTransaction }: ChangeBySql,
  message: string,
): Generator<undefined, string | null> {
  const info: CommitInfo | undefined = isTransaction ? { actor: TRANSACTION_ACTOR, ...commit } : commit;
  return yield* edit.finishInSteps(info, message);
}

function* undone({ state, turn }: EditScope): Generator<undefined, null> {
  yield* turn.undoInSteps();
  // Schemas may be kept that the undone statements have made.
  state.commandSchemas.forget();
  return null;
}
