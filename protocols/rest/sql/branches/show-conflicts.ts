import type { ConflictList, ListConflicts, MergeConflict } from '#actors/branch/merge-messages.ts';
import { runInTurns } from '#runtime/base/event-loop/run-in-slices.ts';
import { jsonPieces, parseJsonInSteps } from '#runtime/base/text/sliced-json.ts';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { CompareBranchesStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { BranchStatementContext } from '../ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';
import { textOf } from './statement-access.ts';

/** Longest list of conflicts, as JSON, in UTF-16 units. */
const LIST_LENGTH_MAX = 16 * 1024 * 1024;

const COLUMNS = [
  'node_id',
  'path',
  'conflict_type',
  'base_properties',
  'target_properties',
  'source_properties',
] as const;

/** Columns that only some conflicts have. */
const RELEVANT = ['translation_locale', 'violations'] as const;

/**
 * Runs SHOW CONFLICTS. A tag may stand in for the source.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`; `UNAUTHORIZED`, `FORBIDDEN`; `REQUEST_TOO_EXPENSIVE` for a list that is too long;
 *   as {@link ListConflicts}
 * @see docs/interface/sql-branches.md#conflicts
 */
export async function showConflicts(
  statement: CompareBranchesStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const { directory, repository, router } = context;
  const source = await directory.branchOf(repository, textOf(context, statement.branch), 'read');
  const target = await directory.branchOf(repository, textOf(context, statement.base), 'read');
  const query: ListConflicts = {
    type: 'ListConflicts',
    source: source.actor,
    ...(source.taggedAt === undefined ? {} : { sourceAt: source.taggedAt }),
    ...(target.taggedAt === undefined ? {} : { at: target.taggedAt }),
  };
  const answer = await router.query(target.actor, query, context.delivery.caller);
  return await runInTurns(context.clock, rowsOf(answer as ConflictList | JsonPieces));
}

function* rowsOf(answer: ConflictList | JsonPieces): Generator<undefined, SessionRows> {
  const { conflicts } = answer instanceof JsonPieces ? yield* parsed(answer) : answer;
  if (conflicts.length === 0) return oneRow({ result: 'No conflicts detected' });
  const relevant = RELEVANT.filter((column) => conflicts.some((conflict) => conflict[column] !== undefined));
  const rows: JsonObject[] = [];
  for (const conflict of conflicts) rows.push(yield* rowOf(conflict, relevant));
  return { columns: [...COLUMNS, ...relevant], rows };
}

function* parsed({ pieces }: JsonPieces): Generator<undefined, ConflictList> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > LIST_LENGTH_MAX) {
    const message = `The conflicts are longer than ${LIST_LENGTH_MAX / 1024 / 1024} MiB together; the list of the management API has them all`;
    throw new ServiceError('REQUEST_TOO_EXPENSIVE', message);
  }
  return (yield* parseJsonInSteps(pieces.join(''), parseExactJson)) as ConflictList;
}

function* rowOf(
  conflict: MergeConflict,
  relevant: readonly (typeof RELEVANT)[number][],
): Generator<undefined, JsonObject> {
  const row: Record<string, string | null> = {
    node_id: conflict.node_id,
    path: conflict.path,
    conflict_type: conflict.conflict_type,
    base_properties: yield* textOfJson(conflict.base_properties),
    target_properties: yield* textOfJson(conflict.target_properties),
    source_properties: yield* textOfJson(conflict.source_properties),
  };
  for (const column of relevant) {
    const value = conflict[column] ?? null;
    row[column] = typeof value === 'string' ? value : yield* textOfJson(value);
  }
  return row;
}

/** The JSON of a value; null stands for none. */
function* textOfJson(value: unknown): Generator<undefined, string | null> {
  if (value === null) return null;
  let text = '';
  for (const piece of jsonPieces(value)) {
    text += piece;
    yield undefined;
  }
  return text;
}
