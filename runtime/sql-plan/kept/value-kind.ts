import { isJsonArray, type JsonValue } from '#runtime/content/values/json-value.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';

/**
 * The kind of a parameter: values of one kind have the same type, and are all NULL or none is.
 */
export function valueKind(json: JsonValue): string {
  if (json === null) return 'null';
  if (typeof json === 'string') return 'text';
  if (typeof json === 'object') return isJsonArray(json) ? 'array' : 'object';
  return fromParameter(json).type.name;
}
