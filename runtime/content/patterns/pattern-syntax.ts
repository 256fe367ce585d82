import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';

/** The longest pattern text, in UTF-16 units. */
export const PATTERN_LENGTH_MAX = 1_000;
/** Code points whose membership in a class is cached. */
const ASCII_SIZE = 128;
/** Limit of nested groups. */
const GROUP_DEPTH_MAX = 50;

/** A parsed pattern. */
export type PatternNode =
  | { readonly kind: 'empty' | 'start' | 'end' }
  | { readonly kind: 'char'; readonly test: (codePoint: number) => boolean }
  | { readonly kind: 'sequence' | 'choice'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly item: PatternNode; readonly min: number; readonly max: number };

/**
 * Parses the regular part of ECMAScript regular expressions with the `u` flag: literals, `.`, classes, groups
 * (`(…)`, `(?:…)`, `(?<name>…)`), `|`, `^`, `$`, `* + ? {m,n}` (a lazy `?` changes nothing for a test) and the
 * escapes `\d \w \s \D \W \S \p{…} \P{…} \n \t \xHH \uHHHH \u{…}`. A single character or class is matched by the
 * built-in `RegExp`, one code point at a time, so that its meaning is exactly that of the language.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` naming what is invalid or not supported
 */
export function parsePattern(pattern: string): PatternNode {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    throw invalid(`The pattern is longer than ${PATTERN_LENGTH_MAX} characters`);
  }
  try {
    new RegExp(pattern, 'u');
  } catch (cause) {
    throw invalid(`'${pattern.slice(0, 80)}' is not a regular expression`, { cause });
  }
  const parser = new PatternParser(pattern);
  return parser.parse();
}

class PatternParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): PatternNode {
    const node = this.#choice(0);
    if (this.#at < this.#text.length) throw this.#unsupported(`'${this.#text[this.#at]}' here`);
    return node;
  }

  #unsupported(what: string): ServiceError {
    return invalid(
      `${what} is not supported in a pattern (it could take exponential time): '${this.#text.slice(0, 80)}'`,
    );
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #choice(depth: number): PatternNode {
    if (depth > GROUP_DEPTH_MAX) throw invalid(`The pattern nests more than ${GROUP_DEPTH_MAX} groups`);
    const items = [this.#sequence(depth)];
    while (this.#takes('|')) items.push(this.#sequence(depth));
    return items.length === 1 ? items[0]! : { kind: 'choice', items };
  }

  #sequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    while (this.#at < this.#text.length && this.#text[this.#at] !== '|' && this.#text[this.#at] !== ')') {
      items.push(this.#quantified(depth));
    }
    if (items.length === 1) return items[0]!;
    return items.length === 0 ? { kind: 'empty' } : { kind: 'sequence', items };
  }

  #quantified(depth: number): PatternNode {
    const item = this.#atom(depth);
    const bounds = this.#bounds();
    if (bounds === null) return item;
    this.#takes('?');
    return { kind: 'repeat', item, min: bounds[0], max: bounds[1] };
  }

  #bounds(): readonly [number, number] | null {
    if (this.#takes('*')) return [0, Infinity];
    if (this.#takes('+')) return [1, Infinity];
    if (this.#takes('?')) return [0, 1];
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#text.slice(this.#at, this.#at + 24));
    if (match === null) return null;
    this.#at += match[0].length;
    const min = Number(match[1]);
    if (match[2] === undefined) return [min, min];
    return [min, match[3] === '' ? Infinity : Number(match[3])];
  }

  #atom(depth: number): PatternNode {
    if (this.#takes('^')) return { kind: 'start' };
    if (this.#takes('$')) return { kind: 'end' };
    if (this.#takes('(')) return this.#group(depth);
    if (this.#text[this.#at] === '[') return this.#charOf(this.#classText());
    if (this.#text[this.#at] === '\\') return this.#charOf(this.#escapeText());
    const codePoint = this.#text.codePointAt(this.#at)!;
    const char = String.fromCodePoint(codePoint);
    this.#at += char.length;
    if (char === '.') return this.#charOf('.');
    return { kind: 'char', test: (found) => found === codePoint };
  }

  #group(depth: number): PatternNode {
    if (this.#takes('?') && !this.#takes(':')) {
      const name = /^<[^=!>][^>]*>/.exec(this.#text.slice(this.#at));
      if (name === null) throw this.#unsupported('Look-around');
      this.#at += name[0].length;
    }
    const node = this.#choice(depth + 1);
    this.#at += 1; // the closing parenthesis: RegExp has checked that it is there
    return node;
  }

  #classText(): string {
    const start = this.#at;
    for (this.#at += 1; this.#text[this.#at] !== ']'; this.#at += 1) {
      if (this.#text[this.#at] === '\\') this.#at += 1;
    }
    this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #escapeText(): string {
    const rest = this.#text.slice(this.#at);
    const next = rest[1]!;
    if (next === 'b' || next === 'B') throw this.#unsupported('A word boundary');
    if (next === 'k' || (next >= '1' && next <= '9')) throw this.#unsupported('A back reference');
    const match =
      /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[\s\S])/.exec(
        rest,
      )!;
    this.#at += match[0].length;
    return match[0];
  }

  #charOf(source: string): PatternNode {
    const single = new RegExp(`^(?:${source})$`, 'u');
    const asks = (codePoint: number): boolean => single.test(String.fromCodePoint(codePoint));
    // A RegExp test costs more than everything else of a step, and most texts are ASCII.
    const ascii = new Int8Array(ASCII_SIZE);
    const test = (codePoint: number): boolean => {
      if (codePoint >= ASCII_SIZE) return asks(codePoint);
      if (ascii[codePoint] === 0) ascii[codePoint] = asks(codePoint) ? 1 : -1;
      return ascii[codePoint] === 1;
    };
    return { kind: 'char', test };
  }
}
