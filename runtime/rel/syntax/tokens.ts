/** The longest condition, in UTF-16 units. */
export const CONDITION_LENGTH_MAX = 16_384;

/** Most tokens of a condition. */
export const TOKENS_MAX = 2_000;

/** What a token is. `text` is a string literal. */
export type TokenKind = 'name' | 'integer' | 'float' | 'text' | 'symbol' | 'end';

/** A token of a condition. */
export interface Token {
  readonly kind: TokenKind;
  /** The name, the symbol, the digits, or the decoded text. */
  readonly text: string;
  /** Where it begins. */
  readonly at: number;
}

/** Why a text is no condition. Thrown inside of the parser only. */
export class SyntaxFault {
  readonly message: string;
  readonly at: number;

  constructor(message: string, at: number) {
    this.message = message;
    this.at = at;
  }
}

/** Longest first, so that `<=` is not read as `<`. */
const symbols = [
  '||',
  '&&',
  '==',
  '!=',
  '<=',
  '>=',
  '..',
  '<',
  '>',
  '+',
  '-',
  '*',
  '/',
  '%',
  '!',
  '.',
  ',',
  ':',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
];

const symbolsByFirst: ReadonlyMap<string, readonly string[]> = Map.groupBy(symbols, (symbol) => symbol[0]!);

/** What was probably meant by a character that begins no token. */
const meant: ReadonlyMap<string, string> = new Map([
  ['=', "write '==' to compare"],
  ['&', "write '&&'"],
  ['|', "write '||'"],
]);

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
]);

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}

function isNameStart(char: string | undefined): boolean {
  return char !== undefined && ((char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || char === '_');
}

function isNamePart(char: string | undefined): boolean {
  return isNameStart(char) || isDigit(char);
}

/** Reads the tokens of a condition one after the other, each character once. */
export class TokenReader {
  readonly #text: string;
  #at = 0;
  #count = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next token; the last one is `end`, which repeats. @throws {SyntaxFault} */
  next(): Token {
    const text = this.#text;
    while (' \t\r\n'.includes(text[this.#at] ?? '-')) this.#at += 1;
    const at = this.#at;
    const char = text[at];
    if (char === undefined) return { kind: 'end', text: '', at };
    this.#count += 1;
    if (this.#count > TOKENS_MAX)
      throw new SyntaxFault(`The condition has more than ${TOKENS_MAX} words and signs`, at);
    if (isNameStart(char)) return { kind: 'name', text: this.#takeWhile(isNamePart), at };
    if (isDigit(char)) return this.#number(at);
    if (char === "'" || char === '"') return { kind: 'text', text: this.#string(char), at };
    const symbol = symbolsByFirst.get(char)?.find((candidate) => text.startsWith(candidate, at));
    if (symbol === undefined) throw new SyntaxFault(unexpected(text, at), at);
    this.#at += symbol.length;
    return { kind: 'symbol', text: symbol, at };
  }

  #takeWhile(test: (char: string | undefined) => boolean): string {
    const from = this.#at;
    while (test(this.#text[this.#at])) this.#at += 1;
    return this.#text.slice(from, this.#at);
  }

  /** Digits, then a fraction and an exponent where they follow. A dot without a digit after it is another token. */
  #number(at: number): Token {
    const text = this.#text;
    let isFloat = false;
    this.#takeWhile(isDigit);
    if (text[this.#at] === '.' && isDigit(text[this.#at + 1])) {
      isFloat = true;
      this.#at += 1;
      this.#takeWhile(isDigit);
    }
    if (text[this.#at] === 'e' || text[this.#at] === 'E') {
      isFloat = true;
      this.#at += 1;
      if (text[this.#at] === '+' || text[this.#at] === '-') this.#at += 1;
      if (this.#takeWhile(isDigit) === '')
        throw new SyntaxFault('The exponent of the number has no digits', at);
    }
    if (isNameStart(text[this.#at])) throw new SyntaxFault('A letter follows the number', this.#at);
    const digits = text.slice(at, this.#at);
    if (digits[0] === '0' && isDigit(digits[1]))
      throw new SyntaxFault('A number does not begin with further zeros', at);
    return { kind: isFloat ? 'float' : 'integer', text: digits, at };
  }

  #string(quote: string): string {
    const at = this.#at;
    let decoded = '';
    let from = at + 1;
    for (this.#at = from; ; this.#at += 1) {
      const char = this.#text[this.#at];
      if (char === undefined)
        throw new SyntaxFault(`The string that begins here has no closing ${quote}`, at);
      if (char === quote) break;
      if (char !== '\\') continue;
      const stands = escapes.get(this.#text[this.#at + 1] ?? '');
      if (stands === undefined)
        throw new SyntaxFault(`Expected one of n r t \\ ' " after the backslash`, this.#at);
      decoded += this.#text.slice(from, this.#at) + stands;
      this.#at += 1;
      from = this.#at + 1;
    }
    decoded += this.#text.slice(from, this.#at);
    this.#at += 1;
    return decoded;
  }
}

function unexpected(text: string, at: number): string {
  const char = String.fromCodePoint(text.codePointAt(at)!);
  const hint = meant.get(char);
  const isShown = char > ' ' && char.isWellFormed() && !/^[\p{C}\p{Z}]$/u.test(char);
  const code = `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  return `Unexpected ${isShown ? `'${char}'` : `character ${code}`}${hint === undefined ? '' : `; ${hint}`}`;
}
