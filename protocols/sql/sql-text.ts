import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { type ParsedStatement, parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';

/** A statement with its number in its text, from 0. */
export interface NumberedStatement {
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
  return { source, statements: parsed.map(numbered), parameters };
}

function numbered({ statement }: ParsedStatement, index: number): NumberedStatement {
  return { index, statement };
}

/** What joins statements that are sent together. */
const SEPARATOR = ';\n';

/** Some statements of a text, as a text of their own. */
export class TextPart {
  readonly statements: readonly NumberedStatement[];
  readonly sql: string;
  readonly #text: SqlText;

  /** @param statements in the order of the text; at least one */
  constructor(text: SqlText, statements: readonly NumberedStatement[]) {
    this.#text = text;
    this.statements = statements;
    // The text itself, where it is all of it: what is kept for it is found again.
    this.sql = this.#isWhole ? text.source : statements.map((each) => this.#written(each)).join(SEPARATOR);
  }

  get #isWhole(): boolean {
    return this.statements.length === this.#text.statements.length;
  }

  #written({ statement: { span } }: NumberedStatement): string {
    return this.#text.source.slice(span.start, span.end);
  }

  /** The offset in the whole text of an offset in this one. */
  toWhole(offset: number): number {
    if (this.#isWhole) return offset;
    let start = 0;
    for (const { statement } of this.statements) {
      const { end, start: from } = statement.span;
      // Behind a statement is its end: an error may be that something is missing there.
      if (offset <= start + end - from) return from + Math.max(offset - start, 0);
      start += end - from + SEPARATOR.length;
    }
    return this.#text.source.length;
  }

  /** The statement of this part at an offset of the whole text. */
  at(offset: number): NumberedStatement | undefined {
    return this.statements.find(({ statement: { span } }) => offset >= span.start && offset <= span.end);
  }
}
