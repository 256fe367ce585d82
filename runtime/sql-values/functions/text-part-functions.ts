import { invalid } from '#runtime/errors/service-error.ts';
import { characterCount, offsetAfter, offsetBeforeLast } from '../text/characters.ts';
import { joined } from '../text/joined.ts';
import { findPart, splitAt } from '../text/find-part.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';
import { ownText } from '../text/own-text.ts';

/** Estimated nanoseconds per UTF-16 unit that is looked at. */
const UNIT_WORK = 5;
/** The same for a unit of a search. */
const SEARCH_WORK = 20;
/** The same for a unit that is trimmed. */
const TRIM_WORK = 25;
/** The same where each unit may be a piece of its own. */
const PIECE_WORK = 40;

/** Functions that take parts out of texts, and that search for them. */
export const textPartFunctions: readonly FunctionDefinition[] = [
  ...['SUBSTRING', 'SUBSTR'].map((name) =>
    overloaded(name, strict(['text', 'int', 'int?'], 'text', substring, unitWork)),
  ),
  overloaded('LEFT', strict(['text', 'int'], 'text', left, unitWork)),
  overloaded('RIGHT', strict(['text', 'int'], 'text', right, unitWork)),
  ...['TRIM', 'BTRIM'].map((name) =>
    overloaded(
      name,
      strict(['text', 'text?'], 'text', (text, set) => trimmed(text, set, true, true), trimWork),
    ),
  ),
  overloaded(
    'LTRIM',
    strict(['text', 'text?'], 'text', (text, set) => trimmed(text, set, true, false), trimWork),
  ),
  overloaded(
    'RTRIM',
    strict(['text', 'text?'], 'text', (text, set) => trimmed(text, set, false, true), trimWork),
  ),
  overloaded('REPLACE', strict(['text', 'text', 'text'], 'text', replaced, replaceWork)),
  overloaded('SPLIT_PART', strict(['text', 'text', 'int'], 'text', splitPart, splitWork)),
  overloaded(
    'POSITION',
    strict(['text', 'text'], 'int', (part, text) => placeOfPart(text, part), searchWork),
  ),
  overloaded('STRPOS', strict(['text', 'text'], 'int', placeOfPart, searchWork)),
  overloaded(
    'STARTS_WITH',
    strict(
      ['text', 'text'],
      'boolean',
      (text, start) => text.startsWith(start),
      (_, start) => start.length,
    ),
  ),
];

function unitWork(text: string): number {
  return text.length * UNIT_WORK;
}

function trimWork(text: string, set: string | undefined): number {
  return text.length * TRIM_WORK + (set?.length ?? 0) * PIECE_WORK;
}

function searchWork(a: string, b: string): number {
  return (a.length + b.length) * SEARCH_WORK;
}

function replaceWork(text: string, from: string, to: string): number {
  return text.length * PIECE_WORK + (from.length + to.length) * SEARCH_WORK;
}

function splitWork(text: string, delimiter: string): number {
  return text.length * PIECE_WORK + delimiter.length * SEARCH_WORK;
}

/** Characters from `start` on, the first is 1; places before the first count as empty ones. */
function substring(text: string, start: number, count: number | undefined): string {
  if (count !== undefined && count < 0) throw invalid('SUBSTRING: the length is negative');
  const first = Math.max(start, 1) - 1;
  const from = offsetAfter(text, first);
  if (count === undefined) return ownText(text.slice(from), text);
  const last = start - 1 + count;
  const rest = text.slice(from);
  return last <= first ? '' : ownText(rest.slice(0, offsetAfter(rest, last - first)), text);
}

function left(text: string, count: number): string {
  const end = count >= 0 ? offsetAfter(text, count) : offsetBeforeLast(text, -count);
  return ownText(text.slice(0, end), text);
}

function right(text: string, count: number): string {
  const start = count >= 0 ? offsetBeforeLast(text, count) : offsetAfter(text, -count);
  return ownText(text.slice(start), text);
}

function trimmed(text: string, set: string | undefined, isLeft: boolean, isRight: boolean): string {
  const removed = new Set(set ?? ' ');
  let from = 0;
  let to = text.length;
  while (isLeft && from < to) {
    const character = String.fromCodePoint(text.codePointAt(from)!);
    if (!removed.has(character)) break;
    from += character.length;
  }
  while (isRight && from < to) {
    const start = to - (to - from > 1 && offsetBeforeLast(text.slice(to - 2, to), 1) === 0 ? 2 : 1);
    if (!removed.has(text.slice(start, to))) break;
    to = start;
  }
  return ownText(text.slice(from, to), text);
}

function replaced(text: string, from: string, to: string): string {
  if (from === '' || from.length > text.length) return text;
  return joined(splitAt(text, from), to, 'REPLACE result');
}

/** @param field the first is 1; a negative one counts from the end */
function splitPart(text: string, delimiter: string, field: number): string {
  if (field === 0) throw invalid('SPLIT_PART: the number of a field must not be zero');
  if (delimiter === '') return field === 1 || field === -1 ? text : '';
  const pieces = splitAt(text, delimiter);
  return ownText(pieces[field > 0 ? field - 1 : pieces.length + field] ?? '', text);
}

/** Number of the character at which a part begins, from 1; 0 when it is not there. */
function placeOfPart(text: string, part: string): number {
  const offset = findPart(text, part);
  return offset < 0 ? 0 : characterCount(text.slice(0, offset)) + 1;
}
