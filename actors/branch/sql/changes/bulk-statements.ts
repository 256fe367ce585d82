import type { Policy } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { openStatement } from '#runtime/sql-exec/run-statement.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import type { BoundDelete, BoundUpdate } from '#runtime/sql-plan/bound/bound-change.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import { parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { BranchState } from '../../branch-state.ts';
import type { EditScope } from '../../edit-scope.ts';
import { settle } from '../../long-answer.ts';
import { requireEngine } from '../../pair/pair-queries.ts';
import type {
  BulkProgress,
  ChangeSomeBySql,
  ForgetBulkProgress,
  MatchBySql,
  MatchedNodes,
  ReadBulkProgress,
} from '../../sql-messages.ts';
import { OpenBranches } from '../branch-tables.ts';
import { NodeTables } from '../node-tables.ts';
import { microseconds, statementScope } from '../sql-scope.ts';
import { statementCaller } from '../statement-caller.ts';
import { donePart, noteBulkPart, readBulkProgress, removeBulkProgress } from './bulk-progress.ts';
import { deleteMatchedNode } from './data/delete-nodes.ts';
import { updateMatchedNode } from './data/update-nodes.ts';
import { TurnQueries } from './turn-queries.ts';

/** A statement that may be done in bulk. */
type BulkStatement = BoundUpdate | BoundDelete;

/**
 * The ids of nodes that a statement matches. @see sql-messages.ts, MatchBySql
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `REQUEST_TOO_EXPENSIVE`; for a statement that is only checked `PERMISSION_DENIED`,
 *   when its caller may change nothing in the workspace
 */
export function matchBySql(
  state: BranchState,
  context: QueryContext,
  { after, at, limit, nowMs, parameters, sql }: MatchBySql,
): MatchedNodes | Promise<MatchedNodes> {
  const scope = statementScope(state, context.caller, nowMs ?? context.clock.wallMs(), parameters);
  const revision = at ?? readBranchHead(context.view).head;
  return settle(context, function* (reader): Generator<undefined, MatchedNodes> {
    const execution = new Execution(context.budget);
    const branches = new OpenBranches({ state, context, reader, schemas: state.querySchemas, moment: at });
    try {
      const caller = yield* statementCaller(branches.own, sql);
      const bound = yield* bulkStatement(sql, { ...scope, caller });
      if (limit === 0) {
        requireSomePermission(context.caller.policy, bound);
        return { ids: [], revision };
      }
      const tables = new NodeTables(branches.own, execution);
      const opened = yield* openStatement(bound.idsAfter(after, limit), tables, execution);
      try {
        const ids: string[] = [];
        for (;;) {
          const batch = yield* opened.next();
          if (batch === undefined) return { ids, revision };
          for (const [id] of batch) ids.push(id as string);
        }
      } finally {
        opened.close();
      }
    } finally {
      branches.close();
    }
  });
}

/**
 * Changes some of the nodes of a bulk statement. A node that no longer fulfils the condition, or is gone, is left alone. A node
 * that the caller may not change is skipped and counted. Any other error of a node fails the whole part, which names the node.
 *
 * @see sql-messages.ts, ChangeSomeBySql; docs/interface/sql-writes.md#bulk-statements-of-rows
 * @throws {ServiceError} those of the statement and of its nodes; `CONFLICT` as `donePart`
 */
export function* changeSomeBySql(
  edit: EditScope,
  command: ChangeSomeBySql,
): Generator<undefined, BulkProgress> {
  const done = donePart(edit.turn, command);
  if (done !== undefined) return done;
  const { ids, nowMs, parameters, sql } = command;
  const { state, turn, writer } = edit;
  const queries = new TurnQueries(state, turn);
  try {
    const scope = yield* queries.scopeOf(sql, parameters);
    const nowMicroseconds = nowMs === undefined ? scope.nowMicroseconds : microseconds(nowMs);
    const bound = yield* bulkStatement(sql, { ...scope, nowMicroseconds });
    edit.checkSize(ids.length);
    const rows = yield* queries.rowsOf(ids, (some) => bound.matchedAmong(some));
    writer.deferUniques();
    let changed = 0;
    let skipped = 0;
    for (const [id, ...values] of rows) {
      const record = yield* edit.head.byIdInSteps(bound.workspace, id as string);
      // It went with a node above it, which is among those of a deletion.
      if (record === undefined) changed += 1;
      else if (yield* isChanged(edit, bound, record, values)) changed += 1;
      else skipped += 1;
      yield;
    }
    const clash = yield* writer.settleUniques();
    if (clash !== undefined) throw writer.duplicateValue(clash);
    yield* edit.finishInSteps(command.commit, bound.kind === 'update' ? 'SQL UPDATE' : 'SQL DELETE');
    return noteBulkPart(turn, command, { changed, skipped });
  } finally {
    queries.close();
  }
}

/** @returns false when the caller may not change the node, of which nothing was written then */
function* isChanged(
  edit: EditScope,
  bound: BulkStatement,
  record: NodeRecord,
  values: readonly SqlValue[],
): Generator<undefined, boolean> {
  const before = edit.writer.changeCount;
  try {
    if (bound.kind === 'update') yield* updateMatchedNode(edit, bound, record, values);
    else yield* deleteMatchedNode(edit, bound, record);
    return true;
  } catch (error) {
    const isDenied = error instanceof ServiceError && error.code === 'PERMISSION_DENIED';
    // Permissions are asked for before anything of a node is written.
    if (isDenied && edit.writer.changeCount === before) return false;
    throw error;
  }
}

/**
 * Refuses a statement that could change no node, whatever it matches: its job would only occupy a worker.
 *
 * @throws {ServiceError} `PERMISSION_DENIED`
 */
function requireSomePermission(policy: Policy, bound: BulkStatement): void {
  const operation = bound.kind === 'update' && !isOnlyMove(bound) ? 'update' : 'delete';
  if (policy.mayAllow(operation, bound.workspace)) return;
  throw new ServiceError(
    'PERMISSION_DENIED',
    `Permission denied: cannot ${operation} nodes of workspace '${bound.workspace}'`,
  );
}

/** Whether an UPDATE takes nodes to another place and changes nothing else, which is permitted as it is to remove them. */
function isOnlyMove({ columns }: BoundUpdate): boolean {
  return columns.includes('path') && columns.every((column) => column === 'path' || column === 'name');
}

/** The statement of a part. @throws {ServiceError} `VALIDATION_FAILED`, `WORKSPACE_NOT_FOUND` */
function* bulkStatement(sql: string, scope: StatementScope): Generator<undefined, BulkStatement> {
  const [parsed, another] = yield* parseStatementsInSteps(sql);
  const statement = parsed?.statement;
  if (another !== undefined || (statement?.kind !== 'update' && statement?.kind !== 'delete'))
    throw invalid('Only one UPDATE or DELETE can be done in bulk');
  const bound = bindChange(statement, sql, scope) as BulkStatement;
  if (bound.branch !== undefined) throw invalid(`Branch '${bound.branch}' cannot be written here`);
  return bound;
}

/** How far the job of a bulk statement has come. @throws {ServiceError} `FORBIDDEN` unless the engine asks */
export function readBulk(
  _state: BranchState,
  context: QueryContext,
  { job }: ReadBulkProgress,
): BulkProgress | null {
  requireEngine(context);
  return readBulkProgress(context.view, job) ?? null;
}

/** Forgets how far the job of a bulk statement has come. @throws {ServiceError} `FORBIDDEN` unless the engine asks */
export function forgetBulk({ turn }: EditScope, { job }: ForgetBulkProgress): void {
  requireEngine(turn);
  removeBulkProgress(turn, job);
}
