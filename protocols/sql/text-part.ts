import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { parametersIn } from '#runtime/sql-syntax/tokenize.ts';
import type { NumberedStatement, SqlText } from './sql-text.ts';

/** What joins statements that are sent together. */
const SEPARATOR = ';\n';

/** Statements that are sent together, as a text of their own. Those of a transaction may come from several texts. */
export class TextPart {
  /** The text that is run at present: errors are about it. */
  readonly text: SqlText;
  readonly statements: readonly NumberedStatement[];
  readonly sql: string;
  /** Values of `$1`, `$2` and so on: those of all its texts. */
  readonly parameters: readonly JsonValue[];
  readonly #pieces: readonly Piece[];

  /**
   * @param text the text that is run at present
   * @param statements in the order in which they are run; at least one
   */
  constructor(text: SqlText, statements: readonly NumberedStatement[]) {
    this.text = text;
    this.statements = statements;
    if (isWhole(text, statements)) {
      // The text itself: what is kept for it is found again.
      this.#pieces = [];
      this.sql = text.source;
      this.parameters = text.parameters;
    } else {
      const { parameters, pieces } = piecesOf(statements);
      this.#pieces = pieces;
      this.sql = pieces.map(({ sql }) => sql).join(SEPARATOR);
      this.parameters = parameters;
    }
  }

  /** The offset in the present text of an offset in this one; undefined where that is in another text. */
  toWhole(offset: number): number | undefined {
    if (this.#pieces.length === 0) return offset;
    let start = 0;
    for (const piece of this.#pieces) {
      // Behind a statement is its end: an error may be that something is missing there.
      if (offset <= start + piece.sql.length)
        return piece.statement.text === this.text ? inSource(piece, offset - start) : undefined;
      start += piece.sql.length + SEPARATOR.length;
    }
    return undefined;
  }

  /** The statement of this part at an offset of the present text. */
  at(offset: number): NumberedStatement | undefined {
    return this.statements.find(
      ({ statement: { span }, text }) => text === this.text && offset >= span.start && offset <= span.end,
    );
  }
}

/** A statement as it is sent. */
interface Piece {
  readonly statement: NumberedStatement;
  readonly sql: string;
  /** How much longer the numbers of its parameters became: by the offset in `sql` behind the parameter. */
  readonly longer: readonly { readonly behind: number; readonly by: number }[];
}

function isWhole(text: SqlText, statements: readonly NumberedStatement[]): boolean {
  return statements.length === text.statements.length && statements.every((each) => each.text === text);
}

function piecesOf(statements: readonly NumberedStatement[]): {
  readonly pieces: readonly Piece[];
  readonly parameters: readonly JsonValue[];
} {
  const parameters: JsonValue[] = [];
  const shifts = new Map<SqlText, number>();
  const pieces = statements.map((statement) => {
    const { text } = statement;
    const shift = shifts.get(text) ?? parameters.length;
    if (!shifts.has(text)) {
      shifts.set(text, shift);
      parameters.push(...text.parameters);
    }
    return pieceOf(statement, shift);
  });
  return { pieces, parameters };
}

/** @param shift how many parameters come before those of the text of the statement */
function pieceOf(numbered: NumberedStatement, shift: number): Piece {
  const { start, end } = numbered.statement.span;
  const written = numbered.text.source.slice(start, end);
  if (shift === 0) return { statement: numbered, sql: written, longer: [] };
  let sql = '';
  let from = 0;
  const longer: { behind: number; by: number }[] = [];
  for (const span of parametersIn(written)) {
    const number = Number(written.slice(span.start + 1, span.end));
    // There is no $0: it is left, to be refused.
    const shown = number === 0 ? '$0' : `$${number + shift}`;
    sql += written.slice(from, span.start) + shown;
    from = span.end;
    longer.push({ behind: sql.length, by: shown.length - (span.end - span.start) });
  }
  return { statement: numbered, sql: sql + written.slice(from), longer };
}

function inSource({ longer, statement: { statement } }: Piece, offset: number): number {
  const added = longer.reduce((sum, { behind, by }) => (behind <= offset ? sum + by : sum), 0);
  return statement.span.start + Math.max(offset - added, 0);
}
