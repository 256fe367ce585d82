import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';

/** A statement with its number in its text, from 0. */
export interface NumberedStatement {
  readonly text: SqlText;
  readonly index: number;
  readonly statement: Statement;
}

/** A text that a session runs, read. */
export interface SqlText {
  readonly source: string;
  readonly statements: readonly NumberedStatement[];
  /** Values of `$1`, `$2` and so on, in every statement. */
  readonly parameters: readonly JsonValue[];
}

/**
 * Reads a text. It gives way where the work may pause.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, see `parseStatementsInSteps`: nothing of the text may be run then
 */
export function* readText(source: string, parameters: readonly JsonValue[]): Generator<undefined, SqlText> {
  const parsed = yield* parseStatementsInSteps(source);
  const statements: NumberedStatement[] = [];
  const text: SqlText = { source, parameters, statements };
  for (const { statement } of parsed) statements.push({ text, index: statements.length, statement });
  return text;
}
