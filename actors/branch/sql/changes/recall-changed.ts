import type { Turn } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';
import { readRevision } from '#runtime/tree/revision-store.ts';
import type { BranchState } from '../../branch-state.ts';
import { EditScope } from '../../edit-scope.ts';
import type { ChangeBySql, SqlChanged } from '../../sql-messages.ts';
import { isAccessRead } from '../access-reads/read-access.ts';
import { answerText } from './answer-text.ts';
import type { ReturnedNodes } from './change-context.ts';
import { changeBySql } from './change-by-sql.ts';
import { returnedRows } from './data/data-change.ts';
import { returnedOf } from './returned-nodes.ts';
import { type KeptRows, TurnQueries } from './turn-queries.ts';

/** Characters of rows of nodes that are kept with every result: as many as most answers have. */
const ROWS_KEPT_MAX = 1_024;

/**
 * Characters of other rows that are kept with every result. Those of most statements cannot be made again, and are shorter: the
 * longest ones have a path twice.
 */
const STATED_ROWS_KEPT_MAX = 65_536;

/** What is kept of a result for a repetition: long rows are made again. */
interface KeptChanged extends Omit<SqlChanged, 'rows'> {
  readonly rows: string | null;
  readonly returned?: ReturnedNodes;
}

/** The part of a result of statements to keep; any other result stays as it is. */
export function shortenChanged(result: unknown, wholeMax: number): unknown {
  if (!isChanged(result)) return result;
  const returned = returnedOf(result);
  const least = returned === undefined ? STATED_ROWS_KEPT_MAX : ROWS_KEPT_MAX;
  const isLong = result.rows.length > Math.max(wholeMax, least);
  return {
    ...result,
    ...(isLong ? { rows: null } : {}),
    ...(returned === undefined ? {} : { returned }),
  } satisfies KeptChanged;
}

function isChanged(result: unknown): result is SqlChanged {
  return typeof result === 'object' && result !== null && 'rows' in result && 'rowCount' in result;
}

/**
 * The result of statements that are repeated. Rows of nodes are those of the revision that the statements made, as the caller may
 * see them now: what the first answer showed may be hidden since.
 *
 * @returns yields where the work may pause
 */
export function* recallChanged(
  state: BranchState,
  kept: unknown,
  command: ChangeBySql,
  turn: Turn,
): Generator<undefined, SqlChanged> {
  const { returned, rows, ...changed } = kept as KeptChanged;
  if (rows !== null && turn.caller.policy.unrestricted) return { ...changed, rows };
  if (command.dryRun === true) return yield* again(state, command, turn);
  const queries = new TurnQueries(state, turn, momentOf(turn, changed.revision, returned));
  try {
    const scope = yield* queries.scopeOf(command.sql, command.parameters);
    const last = (yield* parseStatementsInSteps(command.sql)).at(-1);
    const rowsOf = last && rowsAgain(last.statement, command.sql, scope, returned);
    if (rowsOf === undefined) return { ...changed, rows: rows ?? '[]' };
    return { ...changed, ...(yield* answerText(turn.budget, yield* rowsOf(queries))) };
  } finally {
    queries.close();
  }
}

/** A dry run is made again: nothing shows what it has undone. */
function* again(state: BranchState, command: ChangeBySql, turn: Turn): Generator<undefined, SqlChanged> {
  try {
    return yield* changeBySql(new EditScope(turn, state), command);
  } finally {
    turn.undo();
  }
}

/** How the rows of a statement are made again; undefined where they tell nothing of nodes. */
function rowsAgain(
  statement: Statement,
  source: string,
  scope: StatementScope,
  returned: ReturnedNodes | undefined,
): ((queries: TurnQueries) => Generator<undefined, KeptRows>) | undefined {
  if (statement.kind === 'query-statement') {
    const { query } = statement;
    return (queries) => queries.rows(bindStatement(query, source, scope));
  }
  if (isAccessRead(statement)) return (queries) => queries.accessRows(statement, source, scope);
  const isData = statement.kind === 'insert' || statement.kind === 'update' || statement.kind === 'delete';
  const returning = isData ? bindChange(statement, source, scope).returning : undefined;
  if (returning === undefined || returned === undefined) return undefined;
  return function* (queries) {
    const rows = yield* returnedRows(queries, returning, returned.ids);
    const columns = returning.output.map(({ expression, name }) => ({ name, type: expression.type }));
    return { columns, rows };
  };
}

/** The revision whose nodes the rows tell of; undefined: the head, where the statements changed nothing. */
function momentOf(
  turn: Turn,
  revision: string | null,
  returned: ReturnedNodes | undefined,
): Revision | undefined {
  if (revision === null) return undefined;
  const made = parseRevision(revision);
  if (returned?.areBefore !== true) return made;
  const before = readRevision(turn, made)?.parent;
  return before == null ? made : parseRevision(before);
}
