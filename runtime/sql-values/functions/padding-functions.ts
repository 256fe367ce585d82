import { characterCount, offsetAfter } from '../text/characters.ts';
import { requireTextLength, TEXT_LENGTH_MAX } from '../text/text-limit.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';
import { ownText } from '../text/own-text.ts';

/** Estimated nanoseconds per UTF-16 unit of the result. */
const RESULT_WORK = 1;
/** The same per unit of the arguments. */
const UNIT_WORK = 2;

/** Functions whose results are longer than their arguments. */
export const paddingFunctions: readonly FunctionDefinition[] = [
  overloaded('REPEAT', strict(['text', 'int'], 'text', repeated, repeatWork)),
  overloaded(
    'LPAD',
    strict(
      ['text', 'int', 'text?'],
      'text',
      (text, length, fill) => padded(text, length, fill, true),
      padWork,
    ),
  ),
  overloaded(
    'RPAD',
    strict(
      ['text', 'int', 'text?'],
      'text',
      (text, length, fill) => padded(text, length, fill, false),
      padWork,
    ),
  ),
];

/** A longer one is refused, not built. */
function resultWork(length: number): number {
  return Math.max(0, Math.min(length, TEXT_LENGTH_MAX)) * RESULT_WORK;
}

function repeatWork(text: string, times: number): number {
  return resultWork(text.length * times);
}

function repeated(text: string, times: number): string {
  if (times <= 0 || text === '') return '';
  requireTextLength(text.length * times, 'REPEAT result');
  return text.repeat(times);
}

function padWork(text: string, length: number, fill: string | undefined): number {
  return (text.length + (fill?.length ?? 1)) * UNIT_WORK + resultWork(2 * length);
}

/** Fills a text up to a number of characters, or cuts it to that: on the right, whatever side is filled. */
function padded(text: string, length: number, fill: string = ' ', isLeft: boolean): string {
  if (length <= 0) return '';
  const missing = length - characterCount(text);
  if (missing <= 0) return ownText(text.slice(0, offsetAfter(text, length)), text);
  if (fill === '') return text;
  const fillCharacters = characterCount(fill);
  const times = Math.floor(missing / fillCharacters);
  const rest = ownText(fill.slice(0, offsetAfter(fill, missing % fillCharacters)), fill);
  requireTextLength(text.length + times * fill.length + rest.length, isLeft ? 'LPAD result' : 'RPAD result');
  const filling = fill.repeat(times) + rest;
  return isLeft ? filling + text : text + filling;
}
