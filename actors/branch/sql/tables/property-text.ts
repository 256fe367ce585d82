import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';

const key = 'v';

let operator: ScalarFunction | undefined;

/** `->>` of a property: NULL where it is absent or null. @param value undefined when it is absent */
export function propertyAsText(value: JsonValue | undefined, execution: Execution): SqlValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  operator ??= resolveOperator('->>', [jsonbType, textType]);
  const { evaluate, work } = operator;
  const holder = new Jsonb({ [key]: value });
  if (work !== undefined) execution.spendOnCall(work([holder, key]));
  return evaluate(holder, key);
}
