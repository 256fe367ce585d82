import { exactNumber } from '#runtime/base/text/exact-number.ts';
import type { RelationDirection } from '../ports.ts';
import type { ArithmeticOperator } from '../values/arithmetic.ts';
import { floatValue, INTEGER_MAX, INTEGER_MIN, integerValue, type RelValue } from '../values/rel-value.ts';
import type { ComparisonOperator, Expression } from './expression.ts';
import { CONDITION_LENGTH_MAX, SyntaxFault, type Token, TokenReader } from './tokens.ts';

/** Most parentheses, operators before a value, arguments and indexes around each other. */
export const NESTING_MAX = 64;

/** Most levels of a syntax tree. A chain as `a + b + c` or `a.b.c` adds a level for each of its links. */
export const LEVELS_MAX = 256;

/** Largest depth of `RELATES`. */
export const RELATES_DEPTH_MAX = 10;

/** Reserved words that are names of methods. */
const methodWords = new Set(['contains', 'startsWith', 'endsWith']);
const directions: readonly RelationDirection[] = ['OUTGOING', 'INCOMING', 'ANY'];
const reserved = new Set([
  ...methodWords,
  ...directions,
  ...['true', 'false', 'null', 'RELATES', 'VIA', 'DEPTH', 'DIRECTION'],
]);

const comparisons: ReadonlySet<string> = new Set<ComparisonOperator>(['==', '!=', '<', '>', '<=', '>=']);
const sums: ReadonlySet<string> = new Set<ArithmeticOperator>(['+', '-']);
const products: ReadonlySet<string> = new Set<ArithmeticOperator>(['*', '/', '%']);

/** Words of other languages, and what they are here. */
const meant: ReadonlyMap<string, string> = new Map([
  ['and', "write '&&'"],
  ['or', "write '||'"],
  ['not', "write '!'"],
  ['in', "write '[…].contains(…)'"],
  ['is', "write '=='"],
  ['relates', 'write RELATES'],
  ['via', 'write VIA'],
]);

/** A condition as a syntax tree, or why it has none. */
export type ParsedCondition = { readonly expression: Expression } | { readonly fault: SyntaxFault };

/**
 * Parses a condition.
 *
 * @returns the syntax tree, or what is wrong and where
 * @see docs/interface/condition-language.md#the-grammar
 */
export function parseCondition(text: string): ParsedCondition {
  if (text.length > CONDITION_LENGTH_MAX) {
    const message = `The condition is longer than ${CONDITION_LENGTH_MAX} characters`;
    return { fault: new SyntaxFault(message, CONDITION_LENGTH_MAX) };
  }
  try {
    return { expression: new Parser(text).parse() };
  } catch (fault) {
    if (fault instanceof SyntaxFault) return { fault };
    throw fault;
  }
}

/** Recursive descent: a method for each level of precedence, and one token ahead. */
class Parser {
  readonly #tokens: TokenReader;
  #token: Token;
  #nesting = 0;
  /** Levels of the tree that was parsed last. */
  #levels = 0;

  constructor(text: string) {
    this.#tokens = new TokenReader(text);
    this.#token = this.#tokens.next();
  }

  parse(): Expression {
    const expression = this.#any();
    if (this.#token.kind !== 'end') throw this.#expected('an operator or the end of the condition');
    return expression;
  }

  #any(): Expression {
    return this.#junction('||', 'any', () => this.#junction('&&', 'all', () => this.#comparison()));
  }

  /** Items with one operator between them are one level, however many they are. */
  #junction(operator: string, kind: 'all' | 'any', item: () => Expression): Expression {
    const first = item();
    if (!this.#isSymbol(operator)) return first;
    const { at } = this.#token;
    const items = [first];
    let levels = this.#levels;
    while (this.#takes(operator)) {
      items.push(item());
      levels = Math.max(levels, this.#levels);
    }
    this.#setLevels(levels + 1, at);
    return { kind, items, at };
  }

  #comparison(): Expression {
    const left = this.#sum();
    const { at } = this.#token;
    if (!this.#isComparison()) return left;
    const levels = this.#levels;
    const operator = this.#advance().text;
    const compared: Expression =
      operator === 'RELATES'
        ? this.#relates(left, at)
        : { kind: 'comparison', operator: operator as ComparisonOperator, left, right: this.#sum(), at };
    this.#setLevels(Math.max(levels, this.#levels) + 1, at);
    if (this.#isComparison())
      throw new SyntaxFault("Comparisons do not chain; join two of them with '&&'", this.#token.at);
    return compared;
  }

  #isComparison(): boolean {
    const { kind, text } = this.#token;
    return kind === 'symbol' ? comparisons.has(text) : kind === 'name' && text === 'RELATES';
  }

  #relates(from: Expression, at: number): Expression {
    const to = this.#unary();
    this.#requireWord('VIA');
    const types = this.#relationTypes();
    const [depthMin, depthMax] = this.#takesWord('DEPTH') ? this.#depth() : [1, 1];
    const direction = this.#takesWord('DIRECTION') ? this.#direction() : 'ANY';
    return { kind: 'relates', from, to, types, depthMin, depthMax, direction, at };
  }

  #relationTypes(): readonly string[] {
    if (!this.#takes('[')) return [this.#relationType()];
    const types = [this.#relationType()];
    while (this.#takes(',')) types.push(this.#relationType());
    this.#require(']');
    return types;
  }

  #relationType(): string {
    if (this.#token.kind !== 'text' || this.#token.text === '')
      throw this.#expected('the name of a relation type as a string');
    return this.#advance().text;
  }

  /** `n` stands for `1..n`. */
  #depth(): readonly [number, number] {
    const { at } = this.#token;
    const first = this.#depthNumber();
    const [min, max] = this.#takes('..') ? [first, this.#depthNumber()] : [1, first];
    if (min > max) throw new SyntaxFault('The smaller depth comes first', at);
    return [min, max];
  }

  #depthNumber(): number {
    const { kind, text } = this.#token;
    const depth = kind === 'integer' && text.length < 4 ? Number(text) : 0;
    if (depth < 1 || depth > RELATES_DEPTH_MAX)
      throw this.#expected(`a depth from 1 to ${RELATES_DEPTH_MAX}`);
    this.#advance();
    return depth;
  }

  #direction(): RelationDirection {
    const { kind, text } = this.#token;
    const direction = kind === 'name' ? directions.find((name) => name === text) : undefined;
    if (direction === undefined) throw this.#expected('OUTGOING, INCOMING or ANY');
    this.#advance();
    return direction;
  }

  #sum(): Expression {
    return this.#chain(sums, () => this.#chain(products, () => this.#unary()));
  }

  #chain(operators: ReadonlySet<string>, operand: () => Expression): Expression {
    let left = operand();
    while (this.#token.kind === 'symbol' && operators.has(this.#token.text)) {
      const levels = this.#levels;
      const { at, text } = this.#advance();
      left = { kind: 'arithmetic', operator: text as ArithmeticOperator, left, right: operand(), at };
      this.#setLevels(Math.max(levels, this.#levels) + 1, at);
    }
    return left;
  }

  #unary(): Expression {
    const { at } = this.#token;
    if (this.#takes('!')) return this.#unaryOf('not', () => this.#unary(), at);
    if (!this.#takes('-')) return this.#postfix(this.#atom());
    if (this.#token.kind !== 'integer') return this.#unaryOf('negate', () => this.#unary(), at);
    // `-1` is a literal, because the smallest integer has no positive one. In `-1.x` the dot comes first.
    const digits = this.#advance();
    if (!this.#isSymbol('.') && !this.#isSymbol('['))
      return this.#literalOf(integer(`-${digits.text}`, at), at);
    const start = this.#literalOf(integer(digits.text, digits.at), digits.at);
    return this.#unaryOf('negate', () => this.#postfix(start), at);
  }

  #unaryOf(kind: 'not' | 'negate', operand: () => Expression, at: number): Expression {
    const of = this.#nested(operand);
    this.#setLevels(this.#levels + 1, at);
    return { kind, of, at };
  }

  #postfix(start: Expression): Expression {
    let of = start;
    for (;;) {
      const { at } = this.#token;
      const levels = this.#levels;
      if (this.#takes('.')) {
        of = this.#memberOrCall(of);
      } else if (this.#takes('[')) {
        const index = this.#nested(() => this.#any());
        this.#require(']');
        of = { kind: 'index', of, index, at };
      } else {
        return of;
      }
      this.#setLevels(Math.max(levels, this.#levels) + 1, at);
    }
  }

  #memberOrCall(of: Expression): Expression {
    const { at, kind, text } = this.#token;
    if (kind !== 'name') throw this.#expected('the name of a property or a method');
    this.#advance();
    if (this.#takes('(')) {
      if (reserved.has(text) && !methodWords.has(text)) throw isReserved(text, at);
      return { kind: 'call', of, method: text, arguments: this.#arguments(), at };
    }
    if (reserved.has(text)) throw isReserved(text, at);
    this.#levels = 0;
    return { kind: 'member', of, name: text, at };
  }

  #arguments(): readonly Expression[] {
    const given: Expression[] = [];
    let levels = 0;
    if (!this.#isSymbol(')')) {
      do {
        given.push(this.#nested(() => this.#any()));
        levels = Math.max(levels, this.#levels);
      } while (this.#takes(','));
    }
    this.#require(')');
    this.#levels = levels;
    return given;
  }

  #atom(): Expression {
    const { at, kind, text } = this.#token;
    if (this.#takes('(')) {
      const inner = this.#nested(() => this.#any());
      this.#require(')');
      return inner;
    }
    if (kind !== 'name' || isConstant(text)) return this.#literalOf(this.#literal('a value'), at);
    if (reserved.has(text)) throw isReserved(text, at);
    this.#advance();
    if (this.#isSymbol('('))
      throw new SyntaxFault(`'${text}' is not a function; methods follow a value and a dot`, at);
    this.#setLevels(1, at);
    return { kind: 'root', name: text, at };
  }

  #literalOf(value: RelValue, at: number): Expression {
    this.#setLevels(1, at);
    return { kind: 'literal', value, at };
  }

  #literal(wanted: string): RelValue {
    const { at, kind, text } = this.#token;
    if (this.#takes('[')) return this.#nested(() => this.#list());
    if (this.#takes('{')) return this.#nested(() => this.#object());
    if (kind === 'text' || kind === 'integer' || kind === 'float' || (kind === 'name' && isConstant(text))) {
      this.#advance();
      if (kind === 'text') return text;
      if (kind === 'name') return text === 'null' ? null : text === 'true';
      return kind === 'integer' ? integer(text, at) : float(text, at);
    }
    throw this.#expected(wanted);
  }

  /** A literal in a list or an object, where a minus belongs to the number. */
  #item(): RelValue {
    if (!this.#takes('-')) return this.#literal('a literal');
    const { at, kind, text } = this.#token;
    if (kind !== 'integer' && kind !== 'float') throw this.#expected('a number');
    this.#advance();
    return kind === 'integer' ? integer(`-${text}`, at) : float(`-${text}`, at);
  }

  #list(): RelValue {
    const items: RelValue[] = [];
    if (this.#takes(']')) return items;
    do items.push(this.#item());
    while (this.#takes(','));
    this.#require(']');
    return items;
  }

  #object(): RelValue {
    const entries = new Map<string, RelValue>();
    if (this.#takes('}')) return {};
    do {
      const { at, kind, text } = this.#token;
      if (kind !== 'name' && kind !== 'text') throw this.#expected('a key');
      if (kind === 'name' && reserved.has(text)) throw isReserved(text, at);
      if (entries.has(text)) throw new SyntaxFault('The object has this key twice', at);
      this.#advance();
      this.#require(':');
      entries.set(text, this.#item());
    } while (this.#takes(','));
    this.#require('}');
    // This defines keys, so `__proto__` is one as any other.
    return Object.fromEntries(entries);
  }

  #nested<T>(parse: () => T): T {
    this.#nesting += 1;
    if (this.#nesting > NESTING_MAX)
      throw new SyntaxFault(`The condition nests deeper than ${NESTING_MAX} levels`, this.#token.at);
    const parsed = parse();
    this.#nesting -= 1;
    return parsed;
  }

  #setLevels(levels: number, at: number): void {
    if (levels > LEVELS_MAX)
      throw new SyntaxFault(
        `The condition has a chain of more than ${LEVELS_MAX} operators; use parentheses, or fewer`,
        at,
      );
    this.#levels = levels;
  }

  #advance(): Token {
    const token = this.#token;
    this.#token = this.#tokens.next();
    return token;
  }

  #isSymbol(symbol: string): boolean {
    return this.#token.kind === 'symbol' && this.#token.text === symbol;
  }

  #takes(symbol: string): boolean {
    if (!this.#isSymbol(symbol)) return false;
    this.#advance();
    return true;
  }

  #takesWord(word: string): boolean {
    if (this.#token.kind !== 'name' || this.#token.text !== word) return false;
    this.#advance();
    return true;
  }

  #require(symbol: string): void {
    if (!this.#takes(symbol)) throw this.#expected(`'${symbol}'`);
  }

  #requireWord(word: string): void {
    if (!this.#takesWord(word)) throw this.#expected(word);
  }

  #expected(what: string): SyntaxFault {
    const { at, kind, text } = this.#token;
    const hint = kind === 'name' && !reserved.has(text) ? meant.get(text.toLowerCase()) : undefined;
    const found = `Expected ${what}, found ${shown(this.#token)}`;
    return new SyntaxFault(hint === undefined ? found : `${found}; ${hint}`, at);
  }
}

function isConstant(name: string): boolean {
  return name === 'null' || name === 'true' || name === 'false';
}

function isReserved(name: string, at: number): SyntaxFault {
  return new SyntaxFault(`'${name}' is a reserved word; a key of this name is written as a string`, at);
}

/** Longest part of a token that a message quotes, in characters. */
const SHOWN_LENGTH_MAX = 40;

function shown({ kind, text }: Token): string {
  if (kind === 'end') return 'the end';
  const start = text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX).toWellFormed()}…` : text;
  return kind === 'text' ? `the string '${start}'` : `'${start}'`;
}

/** Digits and sign of the longest integers. */
const INTEGER_LENGTH_MAX = 20;

function integer(digits: string, at: number): RelValue {
  const value = digits.length <= INTEGER_LENGTH_MAX ? BigInt(digits) : INTEGER_MAX + 1n;
  if (value < INTEGER_MIN || value > INTEGER_MAX) throw new SyntaxFault('The integer is beyond 64 bits', at);
  return integerValue(value);
}

/** A float, if a double has its decimal value. */
function float(digits: string, at: number): RelValue {
  const value = exactNumber(digits);
  if (typeof value !== 'number') throw new SyntaxFault('No float has exactly this value', at);
  return floatValue(value);
}
