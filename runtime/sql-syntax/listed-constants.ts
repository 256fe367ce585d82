import type { IToken, TokenType } from 'chevrotain';
import { isBigintLimit } from './literal-number.ts';
import {
  comma,
  dollarText,
  doubleColon,
  keywords,
  minus,
  number,
  parameter,
  rightBracket,
  rightParenthesis,
  text,
  word,
} from './tokens.ts';

/** The token at a distance; 1 is the next one. */
export type LookAhead = (distance: number) => IToken;

const constants: ReadonlySet<TokenType> = new Set([
  number,
  text,
  dollarText,
  parameter,
  keywords.TRUE,
  keywords.FALSE,
  keywords.NULL,
]);

/**
 * How many tokens from a distance on are a constant of a list: `1`, `-1`, `'a'`, `$1`, `NULL`, `'{}'::jsonb`. They are when a
 * comma, a parenthesis or a bracket follows.
 *
 * @returns 0: something else begins there
 */
export function constantLength(ahead: LookAhead, distance: number): number {
  const first = ahead(distance);
  let length = 1;
  if (first.tokenType === minus) {
    const digits = ahead(distance + 1);
    if (digits.tokenType !== number || isBigintLimit(digits.image)) return 0;
    length = 2;
  } else if (!constants.has(first.tokenType)) return 0;
  else if (ahead(distance + 1).tokenType === doubleColon) {
    // A name of several words, or with a size, has something else than a comma behind its first word.
    if (ahead(distance + 2).tokenType !== word) return 0;
    length = 3;
  }
  const { tokenType } = ahead(distance + length);
  return tokenType === comma || tokenType === rightParenthesis || tokenType === rightBracket ? length : 0;
}
