import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { Span } from './nodes/syntax-nodes.ts';

/** Longest part of a source line that an error shows, in UTF-16 units. */
const EXCERPT_LENGTH_MAX = 80;
/** What is shown left of the place when a line is longer than that, in UTF-16 units. */
const EXCERPT_LEAD = 40;

const LINE_FEED = 10;

/** A place in a text: line and column begin with 1, the column counts code points. */
export interface SourcePlace {
  readonly line: number;
  readonly column: number;
}

/** The place of an offset. An offset behind the text is the place behind its last character. */
export function placeOf(source: string, offset: number): SourcePlace {
  const end = Math.min(offset, source.length);
  let line = 1;
  let lineStart = 0;
  // A call of indexOf for each line takes 50 times as long where a text is nothing but line feeds.
  for (let at = 0; at < end; at += 1) {
    if (source.charCodeAt(at) !== LINE_FEED) continue;
    line += 1;
    lineStart = at + 1;
  }
  return { line, column: codePoints(source, lineStart, end) + 1 };
}

/** Code points between two offsets. Counted without a copy, because a line may be as long as the text. */
function codePoints(source: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += 1) {
    const unit = source.charCodeAt(at);
    // The second half of a pair is not a character of its own.
    if (at === start || unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
}

/** The source line around an offset, cut to a bounded length, and a line with a caret under the place. */
function excerpt(source: string, offset: number): string {
  const end = Math.min(offset, source.length);
  const lineStart = source.lastIndexOf('\n', end - 1) + 1;
  const nextBreak = source.indexOf('\n', end);
  const lineEnd = nextBreak < 0 ? source.length : nextBreak;
  const start = end - lineStart > EXCERPT_LENGTH_MAX - 10 ? end - EXCERPT_LEAD : lineStart;
  const stop = Math.min(lineEnd, start + EXCERPT_LENGTH_MAX);
  // Control characters would move the caret away from its place.
  const shown = source
    .slice(start, stop)
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f]/g, ' ');
  const before = codePoints(source, start, end);
  const left = start > lineStart ? '…' : '';
  const right = stop < lineEnd ? '…' : '';
  return `${left}${shown}${right}\n${' '.repeat(before + left.length)}^`;
}

/**
 * The error for bad SQL at a known place: the message with line and column, the source line, and a caret under the
 * place. `details` has `line` and `column`.
 *
 * @param text what is wrong, as the documentation of the dialect words it
 * @param source the text that the span was read from
 * @returns `VALIDATION_FAILED` (400)
 */
export function sqlError(text: string, source: string, span: Pick<Span, 'start'>): ServiceError {
  const place = placeOf(source, span.start);
  const message = `${text} (line ${place.line}, column ${place.column})\n${excerpt(source, span.start)}`;
  return invalid(message, { details: { line: place.line, column: place.column } });
}

/** The error for a statement of more than `most` tokens. @param start the offset of the first that is too many */
export function statementTooLong(most: number, source: string, start: number): ServiceError {
  const text = `Statement too long: more than ${most} words and signs. Pass long lists as a parameter: = ANY($1)`;
  return sqlError(text, source, { start });
}

/** The offset of a place in a text: the inverse of {@link placeOf}. A place behind its line is the end of the line. */
export function offsetOf(source: string, { column, line }: SourcePlace): number {
  let start = 0;
  for (let number = 1; number < line; number += 1) {
    const lineBreak = source.indexOf('\n', start);
    if (lineBreak < 0) return source.length;
    start = lineBreak + 1;
  }
  const lineBreak = source.indexOf('\n', start);
  const end = lineBreak < 0 ? source.length : lineBreak;
  let at = start;
  for (let left = column - 1; left > 0 && at < end; left -= 1) {
    at += (source.codePointAt(at) as number) > 0xffff ? 2 : 1;
  }
  return Math.min(at, end);
}

/** The place that an error names; undefined where it names none. */
export function placeIn({ details }: ServiceError): SourcePlace | undefined {
  const { line, column } = details ?? {};
  return typeof line === 'number' && typeof column === 'number' ? { line, column } : undefined;
}

/**
 * An error about a part of a text, as one about the whole text: line, column and the source line are those of the whole.
 *
 * @param part the text that the error was made for
 * @param whole the text that the part was taken from
 * @param toWhole the offset in the whole of an offset in the part; undefined where it is not in the whole: then the error names no
 *   place any more
 * @returns the error itself where it names no place
 */
export function movedError(
  error: ServiceError,
  part: string,
  whole: string,
  toWhole: (offset: number) => number | undefined,
): ServiceError {
  const place = placeIn(error);
  if (place === undefined) return error;
  const start = toWhole(offsetOf(part, place));
  const { code, field, message } = error;
  const { column: _column, line: _line, ...others } = error.details ?? {};
  const shown = message.lastIndexOf(` (line ${place.line}, column ${place.column})\n`);
  const bare = shown < 0 ? message : message.slice(0, shown);
  const isPlaced = start !== undefined && shown >= 0;
  return new ServiceError(code, isPlaced ? sqlError(bare, whole, { start }).message : bare, {
    details: start === undefined ? others : { ...others, ...placeOf(whole, start) },
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}
