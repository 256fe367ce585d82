import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { movedError, offsetOf, placeIn } from '#runtime/sql-syntax/sql-error.ts';
import type { SqlText } from './sql-text.ts';
import type { TextPart } from './text-part.ts';

/** Statuses of errors that may be about a statement. */
const statuses: ReadonlySet<number> = new Set([400, 403, 404, 405, 409, 413]);

/** Codes of errors that are about the request, whatever its statements are. */
const ofRequest: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'IDEMPOTENCY_IN_PROGRESS',
  'LOCK_NOT_HELD',
  'PAYLOAD_TOO_LARGE',
  'REPOSITORY_NOT_FOUND',
  'REQUEST_TOO_EXPENSIVE',
  'TENANT_NOT_FOUND',
]);

const numberShape = /^statement (\d+): /;

/**
 * The error of statements that were sent as a part of a text, as one about the whole text: places are those of the whole, and
 * where the text has several statements the message begins with the number of the one that it is about.
 *
 * @param part undefined: the error is about the whole text already
 * @param index number of the statement in the text, from 0, where the part does not tell
 */
export function errorOfStatement(
  error: unknown,
  text: SqlText,
  part: TextPart | undefined,
  index?: number,
): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { message, number } = withoutNumber(error);
  const bare = number === undefined ? error : withMessage(error, message);
  const moved =
    part === undefined ? bare : movedError(bare, part.sql, text.source, (offset) => part.toWhole(offset));
  if (text.statements.length === 1 || !isAboutStatement(error)) return moved;
  const found = indexIn(moved, text, part, number) ?? index;
  return found === undefined ? moved : withMessage(moved, `statement ${found + 1}: ${moved.message}`);
}

function isAboutStatement({ code, entry }: ServiceError): boolean {
  return statuses.has(entry.status) && !ofRequest.has(code);
}

/** The number that a message begins with, from 1 in the part that was sent. */
function withoutNumber({ message }: ServiceError): {
  readonly message: string;
  readonly number: number | undefined;
} {
  const shown = numberShape.exec(message);
  if (shown === null) return { message, number: undefined };
  return { message: message.slice(shown[0].length), number: Number(shown[1]) };
}

/** The number of the statement in the text that an error is about, from 0. */
function indexIn(
  error: ServiceError,
  text: SqlText,
  part: TextPart | undefined,
  number: number | undefined,
): number | undefined {
  if (part === undefined) return undefined;
  const { statements } = part;
  const place = placeIn(error);
  const [only, another] = statements;
  let found = place === undefined ? undefined : part.at(offsetOf(text.source, place));
  if (number !== undefined) found = statements[number - 1];
  else if (another === undefined) found = only;
  // One of an earlier text has no number in this one.
  return found?.text === text ? found.index : undefined;
}

function withMessage(error: ServiceError, message: string): ServiceError {
  const { code, details, field } = error;
  return new ServiceError(code, message, {
    ...(details === undefined ? {} : { details }),
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}
