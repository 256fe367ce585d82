import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { Span } from './nodes/syntax-nodes.ts';

/** Longest part of a source line that an error shows, in UTF-16 units. */
const EXCERPT_LENGTH_MAX = 80;
/** What is shown left of the place when a line is longer than that, in UTF-16 units. */
const EXCERPT_LEAD = 40;

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
  for (let at = source.indexOf('\n'); at >= 0 && at < end; at = source.indexOf('\n', at + 1)) {
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
