import { createHash } from 'node:crypto';
import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { characterCount, reversed } from '../text/characters.ts';
import { joined } from '../text/joined.ts';
import { requireTextLength } from '../text/text-limit.ts';
import { textLength, textWork, toText } from '../to-text.ts';
import { textType } from '../types/basic-types.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';

/** Estimated nanoseconds per UTF-16 unit of functions that look at each one. */
const UNIT_WORK = 5;
/** The same of functions that make a string of each. */
const PIECE_WORK = 100;
/** The same of a reversal. */
const REVERSE_WORK = 15;
/** The same of a change of case, and of one where a text has letters beyond Latin-1: some become several. */
const CASE_WORK = 6;
const WIDE_CASE_WORK = 65;
const beyondLatin = /[^\0-\xff]/;
/** The same of a digest. */
const DIGEST_WORK = 12;

/** Largest code point. */
const CODE_POINT_MAX = 0x10_ffff;

const wordStart = /[\p{L}\p{N}]+/gu;

/** Functions on whole texts. */
export const textFunctions: readonly FunctionDefinition[] = [
  overloaded(
    'LOWER',
    strict(['text'], 'text', (text) => text.toLowerCase(), caseWork),
  ),
  overloaded('UPPER', strict(['text'], 'text', upper, caseWork)),
  overloaded(
    'INITCAP',
    strict(['text'], 'text', initialCapitals, (text) => text.length * PIECE_WORK),
  ),
  ...['LENGTH', 'CHAR_LENGTH', 'CHARACTER_LENGTH'].map((name) =>
    overloaded(name, strict(['text'], 'int', characterCount, unitWork)),
  ),
  overloaded(
    'OCTET_LENGTH',
    strict(['text'], 'int', (text) => Buffer.byteLength(text), unitWork),
  ),
  overloaded(
    'REVERSE',
    strict(['text'], 'text', reversed, (text) => text.length * REVERSE_WORK),
  ),
  overloaded(
    'ASCII',
    strict(['text'], 'int', (text) => text.codePointAt(0) ?? 0),
  ),
  overloaded('CHR', strict(['int'], 'text', characterOf)),
  overloaded(
    'MD5',
    strict(['text'], 'text', md5, (text) => text.length * DIGEST_WORK),
  ),
  overloaded('TRANSLATE', strict(['text', 'text', 'text'], 'text', translated, translateWork)),
  concatenation('CONCAT', 1, concatenated),
  concatenation('CONCAT_WS', 2, joinedWith),
];

function unitWork(text: string): number {
  return text.length * UNIT_WORK;
}

function caseWork(text: string): number {
  return text.length * (beyondLatin.test(text) ? WIDE_CASE_WORK : CASE_WORK);
}

/** A character may become three, `ΐ` for example. */
function upper(text: string): string {
  const result = text.toUpperCase();
  requireTextLength(result.length, 'UPPER result');
  return result;
}

function initialCapitals(text: string): string {
  return text.replace(wordStart, (word) => {
    const [first = ''] = word;
    return first.toUpperCase() + word.slice(first.length).toLowerCase();
  });
}

function characterOf(codePoint: number): string {
  if (codePoint === 0) throw invalid('CHR: the null character is not permitted');
  if (codePoint < 0) throw invalid('CHR: the number of a character is positive');
  if (codePoint > CODE_POINT_MAX || (codePoint >= 0xd800 && codePoint <= 0xdfff))
    throw invalid(`CHR: there is no character ${codePoint}`);
  return String.fromCodePoint(codePoint);
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

function translated(text: string, from: string, to: string): string {
  const targets = [...to];
  const replacements = new Map<string, string>();
  for (const [index, character] of [...from].entries())
    if (!replacements.has(character)) replacements.set(character, targets[index] ?? '');
  const pieces: string[] = [];
  let length = 0;
  for (const character of text) {
    const piece = replacements.get(character) ?? character;
    length += piece.length;
    pieces.push(piece);
  }
  requireTextLength(length, 'TRANSLATE result');
  return pieces.join('');
}

function translateWork(text: string, from: string, to: string): number {
  return (text.length + from.length + to.length) * PIECE_WORK;
}

/** A function that joins values of any types as texts; NULLs are left out. */
function concatenation(
  name: string,
  least: number,
  join: (texts: readonly (string | null)[]) => string | null,
): FunctionDefinition {
  return {
    name,
    least,
    most: Number.POSITIVE_INFINITY,
    resolve: (types) => {
      const parameters = types.map((type): SqlType => (type.name === 'unknown' ? textType : type));
      return {
        name,
        parameters,
        result: textType,
        isStrict: false,
        work: (args) => args.reduce((sum: number, value) => sum + textLength(value) + textWork(value), 0),
        evaluate: (...args) => join(args.map((value, index) => textOrNull(value, parameters[index]!))),
      };
    },
  };
}

function textOrNull(value: SqlValue, type: SqlType): string | null {
  return value === null ? null : toText(value, type);
}

function concatenated(texts: readonly (string | null)[]): string {
  return joined(
    texts.filter((text) => text !== null),
    '',
    'CONCAT result',
  );
}

/** @param texts the separator first; NULL for it gives NULL */
function joinedWith([separator, ...texts]: readonly (string | null)[]): string | null {
  if (separator === null || separator === undefined) return null;
  return joined(
    texts.filter((text) => text !== null),
    separator,
    'CONCAT_WS result',
  );
}
