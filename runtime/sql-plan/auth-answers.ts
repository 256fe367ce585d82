import type { JsonValue } from '#runtime/content/values/json-value.ts';

/**
 * Answers of calls of the functions about how people authenticate, by `authCallKey`: of a table its rows, each a list of values in
 * the order of the columns.
 */
export type AuthAnswers = Readonly<Record<string, JsonValue>>;
