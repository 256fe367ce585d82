import { isJsonObject } from '#runtime/content/values/json-value.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { InsertedColumn } from '../../bound/bound-change.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import { openConstant } from '../../bound/open-constant.ts';
import type { QueryContext } from '../queries/query-context.ts';

/**
 * A value in the type of the column that it is written to. Where JSON is written, a text is read as JSON.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a value of another type, and for JSON that is known to be no object
 */
export function writtenValue(
  value: BoundExpression,
  column: InsertedColumn,
  span: Span,
  context: QueryContext,
): BoundExpression {
  if (column === 'properties' || column === 'translations') return writtenObject(value, column, span, context);
  return context.typing.coerce(value, textType, span);
}

function writtenObject(
  value: BoundExpression,
  column: 'properties' | 'translations',
  span: Span,
  { binding, typing }: QueryContext,
): BoundExpression {
  const { name } = value.type;
  const refused = `${column} column must be a JSON object`;
  if (name !== 'jsonb' && name !== 'text' && name !== 'unknown') throw binding.error(refused, span);
  const json = typing.cast(value, jsonbType, span);
  if (json.kind !== 'constant') return json;
  const open = json.open?.after(onlyObject);
  if (open !== undefined) return openConstant(jsonbType, open, json.isParameter === true);
  if (json.value instanceof Jsonb && !isJsonObject(json.value.value)) throw binding.error(refused, span);
  return json;
}

/** An object; NULL for any other JSON, so that it is looked at. */
function onlyObject(value: SqlValue): SqlValue {
  return value instanceof Jsonb && isJsonObject(value.value) ? value : null;
}
