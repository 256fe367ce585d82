import { type ExactNumber, exactNumber } from './exact-number.ts';
import { systemRandom } from '../random.ts';
import { parseJsonInSteps } from './sliced-json.ts';

/** Length of the shortest run of digits and points that a double may not represent exactly. */
const RUN_MIN = 16;

/** A number that may be so small that a double is zero. The search starts at a position and never spans a yield. */
const nearlyNothing = /\d[eE]-\d{3}/g;

/** Longest number text that is examined: no accepted number needs more. */
const LITERAL_MAX = 1_000;

/**
 * The next run of digits and points that is long enough for an inexact number, inside strings too. Such a run includes
 * one of every sixteen positions, so few are examined. A number too large for a double becomes `Infinity`, which the
 * checks of values find.
 *
 * @returns its position; the length of the text when there is none
 */
function nextRun(text: string, from: number): number {
  for (let place = from + RUN_MIN - 1; place < text.length; place += RUN_MIN) {
    if (!isRunPart(text.charCodeAt(place))) continue;
    let start = place;
    while (start > from && isRunPart(text.charCodeAt(start - 1))) start -= 1;
    const wanted = start + RUN_MIN;
    let end = place + 1;
    while (end < wanted && isRunPart(text.charCodeAt(end))) end += 1;
    if (end === wanted) return start;
  }
  return text.length;
}

/** The next number that may be so small that a double is zero; the length of the text when there is none. */
function nextTiny(text: string, from: number): number {
  nearlyNothing.lastIndex = from;
  return nearlyNothing.exec(text)?.index ?? text.length;
}

/** Positions of numbers that a double may not represent: long ones, and tiny ones. */
class Candidates {
  readonly #text: string;
  #run: number;
  #tiny: number;

  constructor(text: string, run: number, tiny: number) {
    this.#text = text;
    this.#run = run;
    this.#tiny = tiny;
  }

  /** The candidates of a text; undefined when there are none, as in nearly all. */
  static of(text: string): Candidates | undefined {
    const run = nextRun(text, 0);
    const mayBeTiny = text.includes('e-') || text.includes('E-');
    const tiny = mayBeTiny ? nextTiny(text, 0) : text.length;
    return Math.min(run, tiny) === text.length ? undefined : new Candidates(text, run, tiny);
  }

  /** The first one at or after a position; the length of the text when there is none. */
  next(from: number): number {
    if (this.#run < from) this.#run = nextRun(this.#text, from);
    if (this.#tiny < from) this.#tiny = nextTiny(this.#text, from);
    return Math.min(this.#run, this.#tiny);
  }
}

/** A digit or the point. */
function isRunPart(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 46;
}

/**
 * Marks the placeholder of a bigint while the text is parsed. It is random, so input cannot contain it.
 */
const MARK = `${Buffer.from(systemRandom.bytes(12)).toString('base64url')} `;

/** The text has more bigints than allowed: each costs as much as a hundred other values. */
export class TooManyBigintsError extends Error {
  override readonly name = 'TooManyBigintsError';
}

/** A number that cannot be represented as it was written. */
export class InexactNumberError extends Error {
  override readonly name = 'InexactNumberError';
  /** Its text, shortened. */
  readonly literal: string;

  constructor(literal: string) {
    super('a number that cannot be kept as it is');
    this.literal = literal.length > 60 ? `${literal.slice(0, 60)}…` : literal;
  }
}

/** Number of bigints still allowed. */
interface BigintsLeft {
  left: number;
}

/**
 * As `JSON.parse`, with every number as `exactNumber` returns it. A text without a long run of digits costs only the
 * search for one.
 *
 * @throws {SyntaxError} @throws {InexactNumberError}
 */
export function parseExactJson(text: string): unknown {
  return parseWithin(text, undefined);
}

/**
 * As {@link parseExactJson}, in steps.
 *
 * @param bigintsMax limit of bigints in the text
 * @throws {TooManyBigintsError} in addition
 */
export function parseExactJsonInSteps(
  text: string,
  bigintsMax: number = Number.POSITIVE_INFINITY,
): Generator<undefined, unknown> {
  const bigints = { left: bigintsMax };
  return parseJsonInSteps(text, (part) => parseWithin(part, bigints));
}

/** @param bigints undefined: without a limit */
function parseWithin(text: string, bigints: BigintsLeft | undefined): unknown {
  const candidates = Candidates.of(text);
  if (candidates === undefined) return JSON.parse(text);
  const marked = markBigints(text, candidates, bigints);
  const parsed: unknown = JSON.parse(marked ?? text);
  if (marked !== undefined) restoreBigints(parsed);
  return marked === undefined || !isMark(parsed) ? parsed : bigintOf(parsed);
}

/** @returns the text with each bigint as an array of one marked string, never a key; undefined without bigints */
function markBigints(
  text: string,
  candidates: Candidates,
  bigints: BigintsLeft | undefined,
): string | undefined {
  const pieces: string[] = [];
  let copied = 0;
  /** End of the last string examined, and the start of the search for the next. */
  let from = 0;
  let quote = text.indexOf('"');
  for (let at = candidates.next(0); at < text.length; ) {
    while (quote >= 0 && quote < at) {
      from = endOfText(text, quote);
      quote = text.indexOf('"', from);
    }
    // Inside a string; an unterminated one is left to JSON.parse.
    if (from > at) {
      at = candidates.next(from);
      continue;
    }
    const [start, end] = boundsOf(text, at);
    const value = valueOrThrow(text, start, end);
    if (typeof value === 'bigint') {
      pieces.push(text.slice(copied, start), `["${MARK}${value}"]`);
      copied = end;
      if (bigints !== undefined) bigints.left -= 1;
      if (bigints !== undefined && bigints.left < 0) throw new TooManyBigintsError();
    }
    at = candidates.next(end);
  }
  if (pieces.length === 0) return undefined;
  pieces.push(text.slice(copied));
  return pieces.join('');
}

/** @returns undefined for a text that is no number, which is left to JSON.parse */
function valueOrThrow(text: string, start: number, end: number): ExactNumber | undefined {
  const literal = text.slice(start, Math.min(end, start + LITERAL_MAX + 1));
  if (literal.length > LITERAL_MAX) throw new InexactNumberError(literal);
  const value = exactNumber(literal);
  if (value === undefined && isJsonNumber.test(literal)) throw new InexactNumberError(literal);
  return value;
}

const isJsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const BACKSLASH = 0x5c;

/** The position after the closing quote of the string that begins at `quote`; the end of the text without one. */
function endOfText(text: string, quote: number): number {
  for (let close = text.indexOf('"', quote + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return close + 1;
  }
  return text.length + 1;
}

/** The bounds of the number around a position. */
function boundsOf(text: string, at: number): readonly [start: number, end: number] {
  let start = at;
  while (start > 0 && isNumberPart(text.charCodeAt(start - 1))) start -= 1;
  let end = at;
  while (end < text.length && isNumberPart(text.charCodeAt(end))) end += 1;
  return [start, end];
}

/** Digits, signs, the point, and the letter of an exponent. */
function isNumberPart(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101
  );
}

function isMark(value: unknown): value is readonly [string] {
  return (
    Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && value[0].startsWith(MARK)
  );
}

function bigintOf([mark]: readonly [string]): bigint {
  return BigInt(mark.slice(MARK.length));
}

/** Replaces placeholders by their bigints. */
function restoreBigints(parsed: unknown): void {
  const open: object[] = [];
  if (typeof parsed === 'object' && parsed !== null) open.push(parsed);
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    // For an array the keys would be as many strings as it has items.
    const keys = Array.isArray(holder) ? undefined : Object.keys(holder);
    const count = keys?.length ?? (holder as unknown[]).length;
    for (let index = 0; index < count; index += 1) {
      const key = keys?.[index] ?? index;
      const value: unknown = (holder as Record<string | number, unknown>)[key];
      if (typeof value !== 'object' || value === null) continue;
      if (isMark(value)) setValue(holder, key, bigintOf(value));
      else open.push(value);
    }
  }
}

/** An assignment to `__proto__` would set the prototype. */
function setValue(holder: object, key: string | number, value: bigint): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}
