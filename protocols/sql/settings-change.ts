import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { authArguments, settingsChangeArguments } from '#runtime/sql-plan/auth-functions.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { CallNode, SelectItem, SelectNode, Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';

/** A change of how people authenticate, by a function. */
export interface SettingsChange {
  /** In upper case. */
  readonly name: string;
  readonly args: readonly JsonValue[];
}

/** A change as a statement asks for it. */
interface StatedChange {
  readonly change: SettingsChange;
  /** Name of the only column of the answer. */
  readonly column: string;
  readonly span: Span;
}

/** The name that an expression without one has, where there is no FROM. */
const COLUMN = 'column1';

/**
 * The call of a function that changes settings, where a statement is nothing else: `SELECT SVC_AUTH_UPDATE_SETTINGS(…) [AS name]`.
 * It writes to the tenant and not to a branch, so that it can be no part of another statement: how often it is run is plain.
 */
export function settingsCallOf(statement: Statement): CallNode | undefined {
  return selectedCall(statement)?.call;
}

function selectedCall(
  statement: Statement,
): { readonly call: CallNode; readonly alias: string | undefined } | undefined {
  if (statement.kind !== 'query-statement') return undefined;
  const { body, commonTables, limit, offset, orderBy } = statement.query;
  if (body.kind !== 'select' || body.items.length !== 1) return undefined;
  const item = body.items[0] as SelectItem;
  if (!('expression' in item) || item.expression.kind !== 'call') return undefined;
  const call = item.expression;
  if (settingsChangeArguments(call.name) === undefined) return undefined;
  const isBare =
    commonTables.length === 0 && limit === undefined && offset === undefined && orderBy.length === 0;
  return isBare && isPlain(body) ? { call, alias: item.alias } : undefined;
}

function isPlain({ distinct, from, groupBy, having, where }: SelectNode): boolean {
  const clauses = [distinct, where, having];
  return from.length + groupBy.length === 0 && clauses.every((clause) => clause === undefined);
}

/**
 * What a statement changes.
 *
 * @param parameters values of `$1`, `$2` and so on
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function readSettingsChange(
  statement: Statement,
  parameters: readonly JsonValue[],
  source: string,
): StatedChange {
  const selected = selectedCall(statement);
  if (selected === undefined) throw invalid('The statement changes no settings');
  const { alias, call } = selected;
  const { args, name, span } = call;
  const wanted = settingsChangeArguments(name);
  if (args.length !== wanted)
    throw sqlError(
      `Invalid argument count for ${name}: expected ${wanted}, got ${args.length}`,
      source,
      span,
    );
  const change = { name, args: authArguments(call, { parameters }, source) };
  return { change, column: alias ?? COLUMN, span };
}
