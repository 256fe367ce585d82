import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** Longest text of statements, in UTF-16 units. */
export const SQL_LENGTH_MAX = 1_000_000;

/** Most values for `$1`, `$2` and so on: as many as the messages of PostgreSQL can carry. */
export const PARAMETERS_MAX = 65_535;

/** What a SQL request asks for. */
export interface SqlBody {
  readonly sql: string;
  readonly parameters: readonly JsonValue[];
}

/**
 * Reads the body of a SQL request.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY` without `sql`, or with a field of another type; `VALIDATION_FAILED` for a text that
 *   is too long, and for too many parameters
 */
export function parseSqlBody(body: unknown): SqlBody {
  const fields = bodyFields(body);
  const sql = fields.longString('sql', SQL_LENGTH_MAX);
  const parameters = (fields.optionalArray('params') ?? []) as readonly JsonValue[];
  if (parameters.length > PARAMETERS_MAX) {
    throw invalid(`\`params\` has more than ${PARAMETERS_MAX} values`, { field: 'params' });
  }
  return { sql, parameters };
}
