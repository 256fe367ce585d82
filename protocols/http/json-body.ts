import {
  InexactNumberError,
  parseExactJson,
  parseExactJsonInSteps,
  TooManyBigintsError,
} from '#runtime/base/exact-json.ts';
import { INTEGER_DIGITS_MAX } from '#runtime/base/exact-number.ts';
import { isAscii } from 'node:buffer';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { checkJsonWork, type JsonBounds, NEW_SHAPE_VALUES } from './json-work.ts';

/** The longest body that is read in one go, in bytes. */
export const SMALL_JSON_BYTES: number = 64 * 1024;

/** Bytes decoded between two rests. */
const DECODED_BYTES = 1024 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

const quote = 0x22;
const backslash = 0x5c;
const newline = 0x0a;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHexDigit(code: number): boolean {
  const lower = code | 0x20;
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66);
}

/** Characters that may follow a backslash. */
const escapable: ReadonlySet<number> = new Set([...'"\\/bfnrtu'].map((letter) => letter.charCodeAt(0)));

/** Finds the first offset at which a text stops being JSON; only asked once `JSON.parse` has refused it. */
class JsonErrorFinder {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns the offset of the first character that cannot be there; the text's length if it ends too soon */
  find(): number {
    if (this.#value()) this.#space();
    return this.#at;
  }

  #space(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  /** Each step below stops at the offending character and answers false, or passes what it reads. */
  #literal(word: string): boolean {
    for (let index = 0; index < word.length; index += 1) {
      if (this.#text.charCodeAt(this.#at) !== word.charCodeAt(index)) return false;
      this.#at += 1;
    }
    return true;
  }

  #takes(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  #digits(): boolean {
    const from = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#at > from;
  }

  #number(): boolean {
    this.#takes(0x2d);
    if (!this.#takes(0x30) && !this.#digits()) return false;
    if (this.#takes(0x2e) && !this.#digits()) return false;
    if (this.#takes(0x65) || this.#takes(0x45)) {
      if (!this.#takes(0x2b)) this.#takes(0x2d);
      if (!this.#digits()) return false;
    }
    return true;
  }

  #string(): boolean {
    if (!this.#takes(quote)) return false;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (!(code >= 0x20)) return false;
      this.#at += 1;
      if (code === quote) return true;
      if (code === backslash && !this.#escape()) return false;
    }
  }

  #escape(): boolean {
    const code = this.#text.charCodeAt(this.#at);
    if (!escapable.has(code)) return false;
    this.#at += 1;
    if (code !== 0x75) return true;
    for (let digit = 0; digit < 4; digit += 1) {
      if (!isHexDigit(this.#text.charCodeAt(this.#at))) return false;
      this.#at += 1;
    }
    return true;
  }

  /** The inside of an object or array after its opening bracket; recursion is bounded by the depth check. */
  #members(close: string, member: () => boolean): boolean {
    this.#at += 1;
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at += 1;
      return true;
    }
    for (;;) {
      if (!member()) return false;
      this.#space();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== close) return false;
      this.#at += 1;
      if (next === close) return true;
    }
  }

  #pair(): boolean {
    this.#space();
    if (!this.#string()) return false;
    this.#space();
    if (this.#text[this.#at] !== ':') return false;
    this.#at += 1;
    return this.#value();
  }

  #value(): boolean {
    this.#space();
    const first = this.#text[this.#at];
    if (first === '{') return this.#members('}', () => this.#pair());
    if (first === '[') return this.#members(']', () => this.#value());
    if (first === '"') return this.#string();
    if (first === 't') return this.#literal('true');
    if (first === 'f') return this.#literal('false');
    if (first === 'n') return this.#literal('null');
    return this.#number();
  }
}

/** The first offset at which `text`, which `JSON.parse` refuses and which nests boundedly, stops being JSON. */
export function jsonErrorOffset(text: string): number {
  return new JsonErrorFinder(text).find();
}

function lineOf(text: string, position: number): number {
  let line = 1;
  for (let index = 0; index < position; index += 1) if (text.charCodeAt(index) === newline) line += 1;
  return line;
}

function malformed(text: string): ServiceError {
  if (text.trim() === '') {
    return new ServiceError('INVALID_JSON', 'The body is empty where JSON is expected.');
  }
  const position = jsonErrorOffset(text);
  const line = lineOf(text, position);
  const column = position - (position === 0 ? -1 : text.lastIndexOf('\n', position - 1));
  const what = position >= text.length ? 'ends too soon' : 'is not valid JSON';
  return new ServiceError(
    'INVALID_JSON',
    `The body ${what} at position ${position} (line ${line}, column ${column}).`,
    { details: { position, line, column } },
  );
}

/**
 * Decodes UTF-8 without its byte order mark. The lenient decoder is several times faster than the strict one
 * on short texts, and where it found a fault it has left a replacement character; only then is the strict one
 * asked whether that character was in the text all along.
 */
function decodeUtf8(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (text.includes('\uFFFD')) {
    try {
      return decoder.decode(bytes);
    } catch {
      throw notUtf8();
    }
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function notUtf8(): ServiceError {
  return new ServiceError('ENCODING_ERROR', 'The body is not valid UTF-8.');
}

/** Decodes UTF-8 piece by piece; yields between two of them. */
function* decodeInSlices(bytes: Buffer): Generator<undefined, string> {
  if (isAscii(bytes)) return bytes.latin1Slice(0, bytes.length);
  const pieces = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  try {
    for (let from = 0; from < bytes.length; from += DECODED_BYTES) {
      text += pieces.decode(bytes.subarray(from, from + DECODED_BYTES), { stream: true });
      yield undefined;
    }
    return text + pieces.decode();
  } catch {
    throw notUtf8();
  }
}

function requireBounds(text: string, bounds: JsonBounds): void {
  const work = checkJsonWork(text, bounds);
  if (work.kind === 'too-deep') {
    throw invalid(`The body nests deeper than ${bounds.depthMax} levels at position ${work.at}.`);
  }
  if (work.kind === 'too-much') {
    throw new ServiceError(
      'PAYLOAD_TOO_LARGE',
      `The body holds more JSON than is taken at once, ${bounds.valuesMax} values; a key that no earlier object has at its place counts as ${NEW_SHAPE_VALUES}. Send it in several requests.`,
    );
  }
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw refusalOf(error, text);
  }
}

/** Whole numbers beyond the range of doubles that one body may hold. */
const BIGINTS_MAX = 50_000;

/** @param error of parsing */
function refusalOf(error: unknown, text: string): ServiceError {
  if (error instanceof InexactNumberError) return inexact(error);
  if (!(error instanceof TooManyBigintsError)) return malformed(text);
  const message = `The body holds more than ${BIGINTS_MAX} whole numbers of more than 15 digits. Send it in several requests, or the numbers as strings.`;
  return new ServiceError('PAYLOAD_TOO_LARGE', message);
}

function inexact({ literal }: InexactNumberError): ServiceError {
  return invalid(
    `The number ${literal} cannot be kept as it is: whole numbers have at most ${INTEGER_DIGITS_MAX} digits, others are 64-bit floating point numbers. Send it as a string.`,
  );
}

/**
 * Reads a JSON body: UTF-8 (a byte order mark is skipped), bounded nesting and work, then `JSON.parse`, so the last
 * of two equal keys wins and a key `__proto__` is plain data. Numbers are exact, see `exactNumber`.
 *
 * @param bytes the whole body, at most {@link SMALL_JSON_BYTES}; longer ones take {@link parseJsonInSlices}
 * @throws {ServiceError} `ENCODING_ERROR`, `VALIDATION_FAILED` (nested too deeply, a number that cannot be kept), `PAYLOAD_TOO_LARGE` (too many
 *   values), `INVALID_JSON` with the position in the message and in `details`
 * @see Content, Query, Functions and Versioning Interface: Errors
 */
export function parseJsonBody(bytes: Buffer, bounds: JsonBounds): unknown {
  const text = decodeUtf8(bytes);
  if (text.length > bounds.depthMax) requireBounds(text, bounds);
  return parsed(text);
}

/**
 * As {@link parseJsonBody}, for a body of any length: it yields where the work may rest.
 *
 * @throws {ServiceError} as {@link parseJsonBody}
 */
export function* parseJsonInSlices(bytes: Buffer, bounds: JsonBounds): Generator<undefined, unknown> {
  const text = yield* decodeInSlices(bytes);
  yield undefined;
  requireBounds(text, bounds);
  yield undefined;
  try {
    return yield* parseExactJsonInSteps(text, BIGINTS_MAX);
  } catch (error) {
    yield undefined;
    throw refusalOf(error, text);
  }
}

/** Whether a `Content-Type` announces JSON; a missing one counts. */
export function isJsonContentType(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return true;
  return /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(contentType);
}
