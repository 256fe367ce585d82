import { invalid, ServiceError } from '#runtime/errors/service-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

const quote = 0x22;
const backslash = 0x5c;

/** Whether the quote at `index` is escaped: an odd number of backslashes stands before it. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (index - before) % 2 === 0;
}

/**
 * Where the nesting of a JSON text first exceeds a bound, in one pass and without recursion.
 * Strings are skipped with `indexOf`, so long ones cost little. The text need not be valid JSON.
 *
 * @returns the offset of the bracket that is too deep, or -1
 */
export function offsetBeyondDepth(text: string, depthMax: number): number {
  if (text.length <= depthMax) return -1;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      do {
        index = text.indexOf('"', index + 1);
        if (index < 0) return -1;
      } while (isEscaped(text, index));
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > depthMax) return index;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    }
  }
  return -1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

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
    for (const letter of word) {
      if (this.#text[this.#at] !== letter) return false;
      this.#at += 1;
    }
    return true;
  }

  #digits(): boolean {
    const from = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#at > from;
  }

  #number(): boolean {
    if (this.#text[this.#at] === '-') this.#at += 1;
    if (this.#text[this.#at] === '0') this.#at += 1;
    else if (!this.#digits()) return false;
    if (this.#text[this.#at] === '.') {
      this.#at += 1;
      if (!this.#digits()) return false;
    }
    if (/[eE]/.test(this.#text[this.#at] ?? '')) {
      this.#at += 1;
      if (/[+-]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
      if (!this.#digits()) return false;
    }
    return true;
  }

  #string(): boolean {
    if (this.#text[this.#at] !== '"') return false;
    this.#at += 1;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (!(code >= 0x20)) return false;
      this.#at += 1;
      if (code === quote) return true;
      if (code !== backslash) continue;
      const escaped = this.#text[this.#at] ?? '';
      if (!/["\\/bfnrtu]/.test(escaped)) return false;
      this.#at += 1;
      if (escaped === 'u') {
        for (let digit = 0; digit < 4; digit += 1) {
          if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) return false;
          this.#at += 1;
        }
      }
    }
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

function malformed(text: string): ServiceError {
  if (text.trim() === '') {
    return new ServiceError('INVALID_JSON', 'The body is empty where JSON is expected.');
  }
  const position = jsonErrorOffset(text);
  const before = text.slice(0, position);
  const line = before.split('\n').length;
  const column = position - before.lastIndexOf('\n');
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
      throw new ServiceError('ENCODING_ERROR', 'The body is not valid UTF-8.');
    }
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/**
 * Reads a JSON body: UTF-8 (a byte order mark is skipped), bounded nesting, then `JSON.parse`, so the last of
 * two equal keys wins and a key `__proto__` is plain data.
 *
 * @param bytes the whole body
 * @param depthMax levels of nesting allowed
 * @throws {ServiceError} `ENCODING_ERROR`, `VALIDATION_FAILED` (nested too deeply), `INVALID_JSON` with the
 * position in the message and in `details`
 * @see Content, Query, Functions and Versioning Interface: Errors
 */
export function parseJsonBody(bytes: Buffer, depthMax: number): unknown {
  const text = decodeUtf8(bytes);
  const tooDeep = offsetBeyondDepth(text, depthMax);
  if (tooDeep >= 0) {
    throw invalid(`The body nests deeper than ${depthMax} levels at position ${tooDeep}.`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed(text);
  }
}

/** Whether a `Content-Type` announces JSON; a missing one counts. */
export function isJsonContentType(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return true;
  return /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(contentType);
}
