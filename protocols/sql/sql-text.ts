import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import {
  knownStatements,
  type ParsedStatement,
  parseStatementsInSteps,
} from '#runtime/sql-syntax/parse-statements.ts';

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
  return numbered(source, yield* parseStatementsInSteps(source), parameters);
}

/** As {@link readText}, of a text that was read not long ago; undefined: it has to be read. */
export function knownText(source: string, parameters: readonly JsonValue[]): SqlText | undefined {
  const parsed = knownStatements(source);
  return parsed && numbered(source, parsed, parameters);
}

function numbered(
  source: string,
  parsed: readonly ParsedStatement[],
  parameters: readonly JsonValue[],
): SqlText {
  const statements: NumberedStatement[] = [];
  const text: SqlText = { source, parameters, statements };
  for (const { statement } of parsed) statements.push({ text, index: statements.length, statement });
  return text;
}
