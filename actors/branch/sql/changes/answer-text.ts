import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { AFFECTED_ROWS } from './change-context.ts';
import { columnKeys, RowText } from '../row-text.ts';
import type { KeptRows } from './turn-queries.ts';

/** Most bytes of the rows of an answer: it is one text, which is made before anything is durable. */
export const ANSWER_BYTES_MAX: number = 16 * 1_048_576;

/** Rows that are written between two pauses. */
const ROWS_PER_STEP = 32;

/** The rows of an answer, as a command gives them. */
export interface AnswerText {
  readonly columns: readonly string[];
  /** A JSON array of objects. */
  readonly rows: string;
  readonly rowCount: number;
}

/** The text of an answer. Yields where the work may pause. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` when it is too long */
export function* answerText(
  budget: RequestBudget,
  { columns, rows }: KeptRows,
): Generator<undefined, AnswerText> {
  const execution = new Execution(budget);
  const text = new RowText(execution, columns);
  const pieces: string[] = [];
  let bytes = 0;
  for (const [index, row] of rows.entries()) {
    if (index > 0) pieces.push(',');
    for (const piece of text.pieces(row)) {
      bytes += Buffer.byteLength(piece) + 1;
      if (bytes > ANSWER_BYTES_MAX) throw answerTooLong();
      pieces.push(piece);
    }
    if (index % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
  }
  const names = columnKeys(columns.map(({ name }) => name));
  return { columns: names, rows: `[${pieces.join('')}]`, rowCount: rows.length };
}

/** As {@link answerText}, of the result of `affectedRows`: most statements that write one node have no other. */
export function affectedText(count: number): AnswerText {
  return { columns: affectedColumns, rows: `[{"${AFFECTED_ROWS}":${count}}]`, rowCount: 1 };
}

const affectedColumns = Object.freeze([AFFECTED_ROWS]);

function answerTooLong(): ServiceError {
  const mebibytes = ANSWER_BYTES_MAX / 1_048_576;
  return new ServiceError(
    'REQUEST_TOO_EXPENSIVE',
    `The rows of the answer take more than ${mebibytes} MiB; return fewer columns, or read the nodes afterwards.`,
  );
}
