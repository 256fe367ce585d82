import type { JsonObject } from '#runtime/content/values/json-value.ts';

/** The result of a statement that is answered without a table: of branches, of the session, of a job. */
export interface SessionRows {
  readonly columns: readonly string[];
  /** Their keys are `columns`, in that order. */
  readonly rows: readonly JsonObject[];
  /** The revision that was written; null or absent: none. */
  readonly revision?: string | null;
}

/** A result of one row. */
export function oneRow(row: JsonObject): SessionRows {
  return { columns: Object.keys(row), rows: [row] };
}
