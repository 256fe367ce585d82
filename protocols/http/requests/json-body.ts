import {
  InexactNumberError,
  parseExactJson,
  parseExactJsonInSteps,
  TooManyBigintsError,
} from '#runtime/base/text/exact-json.ts';
import { INTEGER_DIGITS_MAX } from '#runtime/base/text/exact-number.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { checkJsonWork, type JsonBounds, NEW_SHAPE_VALUES } from '#runtime/base/text/json-work.ts';
import { decodeUtf8InSteps } from '#runtime/base/text/sliced-text.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { findJsonError } from './json-error.ts';

/** The longest body that is parsed in one go, in bytes. */
export const SMALL_JSON_BYTES: number = 64 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

function* malformed(text: string): Generator<undefined, ServiceError> {
  const { isEmpty, ...place } = yield* findJsonError(text);
  if (isEmpty) return new ServiceError('INVALID_JSON', 'The body is empty where JSON is expected.');
  const { position, line, column } = place;
  const what = position >= text.length ? 'ends too soon' : 'is not valid JSON';
  return new ServiceError(
    'INVALID_JSON',
    `The body ${what} at position ${position} (line ${line}, column ${column}).`,
    { details: place },
  );
}

/**
 * Decodes UTF-8 without its byte order mark. The lenient decoder is several times faster than the strict one on short
 * texts, and leaves a replacement character for an invalid sequence. Only when the result contains one does the
 * strict decoder check whether the character was part of the text.
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

function* decodeInSlices(bytes: Buffer): Generator<undefined, string> {
  try {
    return yield* decodeUtf8InSteps(bytes);
  } catch {
    throw notUtf8();
  }
}

/** Called before a text is parsed with its approximate number of values and keys. Throws to refuse them. */
export type AdmitValues = (values: number) => void;

function* requireBounds(text: string, bounds: JsonBounds, admit?: AdmitValues): Generator<undefined, void> {
  const work = yield* checkJsonWork(text, bounds);
  if (work.kind === 'too-deep') {
    throw invalid(`The body nests deeper than ${bounds.depthMax} levels at position ${work.at}.`);
  }
  if (work.kind === 'too-much') {
    throw new ServiceError(
      'PAYLOAD_TOO_LARGE',
      `The body holds more JSON than is taken at once, ${bounds.valuesMax} values; a key that no earlier object has at its place counts as ${NEW_SHAPE_VALUES}. Send it in several requests.`,
    );
  }
  admit?.(work.values);
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw atOnce(refusalOf(error, text));
  }
}

/** Maximum number of integers beyond the range of doubles in one body. */
const BIGINTS_MAX = 50_000;

/** @param error thrown by the parser */
function* refusalOf(error: unknown, text: string): Generator<undefined, ServiceError> {
  if (error instanceof InexactNumberError) return inexact(error);
  if (!(error instanceof TooManyBigintsError)) return yield* malformed(text);
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
 * @param admit not called for texts so short that they hold few values
 * @throws {ServiceError} `ENCODING_ERROR`, `VALIDATION_FAILED` (nested too deeply, a number that cannot be kept),
 *   `PAYLOAD_TOO_LARGE` (too many values), `INVALID_JSON` with the position in the message and in `details`
 * @see docs/interface/conventions.md#requests
 */
export function parseJsonBody(bytes: Buffer, bounds: JsonBounds, admit?: AdmitValues): unknown {
  const text = decodeUtf8(bytes);
  if (text.length > bounds.depthMax) atOnce(requireBounds(text, bounds, admit));
  return parsed(text);
}

function* joinInSlices(pieces: readonly Buffer[]): Generator<undefined, Buffer> {
  if (pieces.length === 1) return pieces[0] as Buffer;
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    yield undefined;
  }
  return whole;
}

/**
 * As {@link parseJsonBody}, for a body of any length: it yields where the work may be suspended.
 *
 * @param pieces the whole body
 * @throws {ServiceError} as {@link parseJsonBody}
 */
export function* parseJsonInSlices(
  pieces: readonly Buffer[],
  bounds: JsonBounds,
  admit?: AdmitValues,
): Generator<undefined, unknown> {
  const text = yield* decodeInSlices(yield* joinInSlices(pieces));
  yield undefined;
  yield* requireBounds(text, bounds, admit);
  yield undefined;
  try {
    return yield* parseExactJsonInSteps(text, BIGINTS_MAX);
  } catch (error) {
    throw yield* refusalOf(error, text);
  }
}

/**
 * Whether a `Content-Type` denotes JSON; a missing one counts as JSON.
 *
 * @param only accepted media types, in lower case; default: every JSON media type
 */
export function isJsonContentType(contentType: string | undefined, only?: readonly string[]): boolean {
  if (contentType === undefined || (only === undefined && contentType === 'application/json')) return true;
  if (only !== undefined) return only.includes((contentType.split(';', 1)[0] as string).trim().toLowerCase());
  return /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(contentType);
}
