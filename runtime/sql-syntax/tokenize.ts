import { type IToken, Lexer, tokenMatcher, type TokenType } from 'chevrotain';
import { invalid } from '#runtime/errors/service-error.ts';
import { joinConditions } from './grant-condition.ts';
import {
  dollarTagAt,
  endOfBlockComment,
  endOfDollarText,
  endOfLineComment,
  endOfQuoted,
  UNTERMINATED,
} from './opaque-text.ts';
import type { Span } from './nodes/syntax-nodes.ts';
import { sqlError, statementTooLong } from './sql-error.ts';
import {
  keywordOf,
  keywords,
  leftBrace,
  leftBracket,
  leftParenthesis,
  lexed,
  number,
  parameter,
  revisionNumber,
  rightBrace,
  rightBracket,
  rightParenthesis,
  strange,
  word,
} from './tokens.ts';

/** Longest text of a request, in UTF-16 units. */
export const TEXT_LENGTH_MAX = 1_000_000;
/**
 * Most words, numbers, strings and signs in one statement: an INSERT of 1,000 rows of ten values has 22,000, and
 * casts and signs count too. All of them but the rows
 * of constants of an INSERT are bounded more tightly, by `LIST_TOKENS_MAX` and `RULE_TOKENS_MAX`.
 */
export const STATEMENT_TOKENS_MAX = 30_000;
/**
 * Most words, numbers, strings and signs in all statements of a text. What is read of each is kept in memory, some hundred
 * bytes.
 */
export const TEXT_TOKENS_MAX = 50_000;
/** Deepest nesting of parentheses, brackets, braces and CASE. */
export const NESTING_MAX = 100;

/** Tokens that are made between two pauses: some milliseconds. */
const STEP_TOKENS = 2_000;
/** Tokens that are told apart further between two pauses. */
const CLASSIFIED_TOKENS = 4_000;
/** Characters that are looked through between two pauses, in UTF-16 units. */
const STEP_LENGTH = 250_000;

/** One statement as tokens. */
export interface TokenizedStatement {
  readonly tokens: readonly IToken[];
  /** The opening parentheses in which a query stands. */
  readonly queryParentheses: ReadonlySet<IToken>;
}

let lexer: Lexer | undefined;

function theLexer(): Lexer {
  lexer ??= new Lexer(lexed, { positionTracking: 'onlyOffset', ensureOptimizations: true });
  return lexer;
}

const SEMICOLON = 59;
const COMMA = 44;
const OPENING = 40;
const DASH = 45;
const SLASH = 47;

function isSpace(unit: number): boolean {
  return unit === 32 || (unit >= 9 && unit <= 13);
}

/** Whether a character may stand in a word or a number. */
function isWordUnit(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 95 ||
    unit === 36 ||
    unit >= 128
  );
}

/** Behind the string, name or comment that begins at an offset; the offset itself when none does. */
function behindOpaque(source: string, at: number): number {
  const first = source.charAt(at);
  if (first === "'" || first === '"') {
    return terminated(endOfQuoted(source, at), first === "'" ? 'string' : 'quoted name', source, at);
  }
  if (first === '-' && source.charAt(at + 1) === '-') return endOfLineComment(source, at);
  if (first === '/' && source.charAt(at + 1) === '*') {
    return terminated(endOfBlockComment(source, at), 'comment', source, at);
  }
  if (first === '$') {
    const tag = dollarTagAt(source, at);
    if (tag !== undefined) return terminated(endOfDollarText(source, at, tag), 'string', source, at);
  }
  return at;
}

function terminated(end: number, what: string, source: string, start: number): number {
  if (end === UNTERMINATED) throw sqlError(`Unterminated ${what}`, source, { start });
  return end;
}

/** A part of a statement, as offsets. */
interface Piece {
  readonly start: number;
  readonly end: number;
  /** Whether the statement ends with it. */
  readonly isLast: boolean;
}

/** Most tokens without a place where the text may be cut: no statement has so many. */
const UNCUT_TOKENS_MAX = 5_000;

/** Whether a text may be cut before the token at an offset: nothing that the lexer reads at once reaches over it. */
function isCut(source: string, at: number): boolean {
  const unit = source.charCodeAt(at);
  return unit === COMMA || unit === OPENING || isSpace(source.charCodeAt(at - 1));
}

/**
 * Cuts a text at its `;`, without those in strings, quoted names and comments, and long statements at commas and parentheses too.
 * Statements without a token are left out. It counts before anything is kept: a sign, a word, a string and a comment count one
 * each, never less than the lexer will make of them. Yields undefined where it may pause.
 */
function* cutIntoPieces(source: string): Generator<Piece | undefined> {
  let total = 0;
  let count = 0;
  let uncut = 0;
  let hasToken = false;
  let start = 0;
  let at = 0;
  let pauseAt = STEP_LENGTH;
  while (at < source.length) {
    if (at >= pauseAt) {
      yield undefined;
      pauseAt = at + STEP_LENGTH;
    }
    const unit = source.charCodeAt(at);
    if (isSpace(unit)) {
      at += 1;
      continue;
    }
    if (unit === SEMICOLON) {
      if (hasToken) yield { start, end: at, isLast: true };
      at += 1;
      start = at;
      count = 0;
      uncut = 0;
      hasToken = false;
      continue;
    }
    if (uncut >= STEP_TOKENS && hasToken && isCut(source, at)) {
      yield { start, end: at, isLast: false };
      start = at;
      uncut = 0;
    }
    count += 1;
    total += 1;
    uncut += 1;
    requireShort(count, uncut, total, source, at);
    const end = behindOpaque(source, at);
    if (end > at) {
      hasToken ||= unit !== DASH && unit !== SLASH;
      at = end;
      continue;
    }
    hasToken = true;
    at += 1;
    if (isWordUnit(unit)) while (at < source.length && isWordUnit(source.charCodeAt(at))) at += 1;
  }
  if (hasToken) yield { start, end: source.length, isLast: true };
}

/** @throws {ServiceError} where a statement or a text gets too long */
function requireShort(count: number, uncut: number, total: number, source: string, start: number): void {
  if (count > STATEMENT_TOKENS_MAX || uncut > UNCUT_TOKENS_MAX) {
    const most = count > STATEMENT_TOKENS_MAX ? STATEMENT_TOKENS_MAX : UNCUT_TOKENS_MAX;
    throw statementTooLong(most, source, start);
  }
  if (total > TEXT_TOKENS_MAX) {
    const text = `Text too long: more than ${TEXT_TOKENS_MAX} words and signs in all statements`;
    throw sqlError(text, source, { start });
  }
}

/**
 * Cuts a text into statements and these into tokens, one statement at a time. Statements without a token are left out. Yields
 * undefined where it may pause within a statement or before one.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`: the text is too long, nests too deeply, or has a string or comment
 *   without an end, or a character that begins no token
 */
export function* tokenize(source: string): Generator<TokenizedStatement | undefined> {
  if (source.length > TEXT_LENGTH_MAX) {
    throw invalid(`Text too long: ${source.length} characters, the most are ${TEXT_LENGTH_MAX}`);
  }
  let read: IToken[] = [];
  for (const piece of cutIntoPieces(source)) {
    if (piece === undefined) {
      yield undefined;
      continue;
    }
    const { tokens: added } = theLexer().tokenize(source.slice(piece.start, piece.end));
    for (const token of added) {
      token.startOffset += piece.start;
      read.push(token);
    }
    if (!piece.isLast) {
      yield undefined;
      continue;
    }
    const tokens = joinConditions(read, source);
    read = [];
    for (const [index, token] of tokens.entries()) {
      classify(token, tokens[index - 1], source);
      if (index % CLASSIFIED_TOKENS === CLASSIFIED_TOKENS - 1) yield undefined;
    }
    yield { tokens, queryParentheses: findQueryParentheses(tokens, source) };
  }
}

/** Makes words keywords, and refuses what is no token. */
function classify(token: IToken, before: IToken | undefined, source: string): void {
  const span = { start: token.startOffset };
  if (token.tokenType === strange) {
    const character = String.fromCodePoint(source.codePointAt(token.startOffset) ?? 0).toWellFormed();
    throw sqlError(`Syntax error: unexpected character "${character}"`, source, span);
  }
  if (token.tokenType === revisionNumber && before?.tokenType !== keywords.REVISION) {
    const digits = token.image.slice(0, token.image.indexOf('_'));
    throw sqlError(
      `Syntax error: the number ${digits} is followed by "${token.image.slice(digits.length, digits.length + 20)}"`,
      source,
      { start: token.startOffset + digits.length },
    );
  }
  if (token.tokenType !== word) return;
  if (before?.tokenType === number && before.startOffset + before.image.length === token.startOffset) {
    throw sqlError(
      `Syntax error: the number ${before.image} is followed by "${token.image.slice(0, 20)}"`,
      source,
      span,
    );
  }
  const type = keywordOf(token.image);
  if (type === undefined) return;
  token.tokenType = type;
  if (type.tokenTypeIdx !== undefined) token.tokenTypeIdx = type.tokenTypeIdx;
}

/** Whether CASE or END is a name, because it stands behind AS. */
function isLabel(before: IToken | undefined, token: IToken): boolean {
  return (
    before?.tokenType === keywords.AS &&
    (token.tokenType === keywords.CASE || token.tokenType === keywords.END)
  );
}

const openings: ReadonlySet<TokenType> = new Set([leftParenthesis, leftBracket, leftBrace, keywords.CASE]);
const closings: ReadonlySet<TokenType> = new Set([rightParenthesis, rightBracket, rightBrace, keywords.END]);

interface Bracket {
  readonly token: IToken;
  readonly index: number;
}

/**
 * Pairs the brackets of a statement, bounds their nesting, and finds the parentheses in which a query stands. These
 * cannot be told by a bounded look ahead: `((SELECT 1) UNION SELECT 2)` is a query, `((SELECT 1) + 2)` is not.
 */
function findQueryParentheses(tokens: readonly IToken[], source: string): ReadonlySet<IToken> {
  const open: Bracket[] = [];
  const closedBy = new Map<IToken, number>();
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!;
    const type = isLabel(tokens[index - 1], token) ? undefined : token.tokenType;
    if (type !== undefined && openings.has(type)) {
      open.push({ token, index });
      if (open.length > NESTING_MAX) {
        throw sqlError(`Statement nests too deeply: more than ${NESTING_MAX} levels`, source, {
          start: token.startOffset,
        });
      }
    } else if (type !== undefined && closings.has(type)) {
      // A wrong pair is the parser's to report.
      const opening = open.pop();
      if (opening !== undefined) closedBy.set(opening.token, index);
    }
  }
  const found = new Set<IToken>();
  for (let index = tokens.length - 1; index >= 0; index -= 1) {
    const token = tokens[index]!;
    if (token.tokenType === leftParenthesis && beginsQuery(tokens, index, found, closedBy)) found.add(token);
  }
  return found;
}

const queryStarts = [keywords.SELECT, keywords.WITH];
const queryContinuations = [
  keywords.UNION,
  keywords.INTERSECT,
  keywords.EXCEPT,
  keywords.ORDER,
  keywords.LIMIT,
  keywords.OFFSET,
  keywords.FETCH,
  rightParenthesis,
];

function beginsQuery(
  tokens: readonly IToken[],
  index: number,
  found: ReadonlySet<IToken>,
  closedBy: ReadonlyMap<IToken, number>,
): boolean {
  const next = tokens[index + 1];
  if (next === undefined) return false;
  if (queryStarts.includes(next.tokenType)) return true;
  // A column may be called values.
  if (next.tokenType === keywords.VALUES) return tokens[index + 2]?.tokenType === leftParenthesis;
  if (!found.has(next)) return false;
  const end = closedBy.get(next);
  const behind = end === undefined ? undefined : tokens[end + 1];
  return behind === undefined || queryContinuations.some((type) => tokenMatcher(behind, type));
}

/**
 * The places of `$1`, `$2` and so on in a text, in their order.
 *
 * @throws {ServiceError} as {@link tokenize}
 */
export function parametersIn(source: string): readonly Span[] {
  const found: Span[] = [];
  for (const statement of tokenize(source)) {
    for (const token of statement?.tokens ?? []) {
      if (!tokenMatcher(token, parameter)) continue;
      found.push({ start: token.startOffset, end: token.startOffset + token.image.length });
    }
  }
  return found;
}
