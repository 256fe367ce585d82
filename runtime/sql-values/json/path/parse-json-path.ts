import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type {
  JsonPath,
  PathComparison,
  PathCondition,
  PathOperand,
  PathRange,
  PathStep,
  PathSteps,
} from './json-path-nodes.ts';

/** Longest text of a path, in UTF-16 units. */
const TEXT_MAX = 10_000;

/** Most levels of parentheses and filters. */
const DEPTH_MAX = 50;

/** Most steps of a path, with those of its filters. */
const STEPS_MAX = 200;

/** Largest index of an item. */
const INDEX_MAX = 2 ** 31 - 1;

const comparisons: ReadonlyMap<string, PathComparison> = new Map([
  ['==', '=='],
  ['=', '=='],
  ['!=', '!='],
  ['<>', '!='],
  ['<=', '<='],
  ['>=', '>='],
  ['<', '<'],
  ['>', '>'],
]);

/** In the order in which they are tried: of two that begin alike the longer one first. */
const comparisonTexts = [...comparisons.keys()].sort((a, b) => b.length - a.length);

const spaces = /[ \t\r\n]*/y;
const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
const keyName = /[\p{L}_][\p{L}\p{N}_-]*/uy;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const integer = /-?\d+/y;
const hexDigits = /[\da-fA-F]{4}/y;

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
]);

/**
 * Parses a JSONPath: `$`, `.key`, `."key"`, `['key']`, `[1]`, `[-1]`, `[last]`, `[0, 2 to 4]`, `[*]`, `.*`, `..key`,
 * `.**`, filters `?(@.x > 1)` with `&&`, `||`, `!`, `exists(…)` and `starts with`. `lax` may stand before it.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place of the error
 */
export function parseJsonPath(text: string): JsonPath {
  if (text.length > TEXT_MAX) throw invalid(`Invalid JSONPath: longer than ${TEXT_MAX} characters`);
  return new PathParser(text).document();
}

class PathParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #steps = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonPath {
    this.#word('lax');
    const start = this.#at;
    if (this.#take('$')) {
      const path = this.#path(true);
      this.#skip();
      if (this.#at === this.#text.length) return path;
      this.#at = start;
      this.#steps = 0;
    }
    const condition = this.#or();
    this.#skip();
    if (this.#at < this.#text.length) throw this.#error();
    return { kind: 'condition', condition };
  }

  #error(reason?: string): ServiceError {
    const rest = this.#text.slice(this.#at, this.#at + 20);
    const found = reason ?? (rest === '' ? 'unexpected end' : `unexpected '${rest}'`);
    return invalid(`Invalid JSONPath: ${found} at position ${this.#at + 1}`);
  }

  #skip(): void {
    this.#match(spaces);
  }

  /** The text that a sticky pattern matches here. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match[0];
  }

  /** Takes this text, after spaces. */
  #take(text: string): boolean {
    this.#skip();
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#error();
  }

  /** Takes this word, in small letters. */
  #word(wanted: string): boolean {
    this.#skip();
    const start = this.#at;
    if (this.#match(word) === wanted) return true;
    this.#at = start;
    return false;
  }

  #nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw this.#error(`nested deeper than ${DEPTH_MAX} levels`);
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  /** The steps after `$` or `@`. */
  #path(isFromRoot: boolean): PathSteps {
    const steps: PathStep[] = [];
    for (;;) {
      const added = this.#step();
      if (added === undefined) return { kind: 'steps', isFromRoot, steps };
      this.#steps += 1;
      if (this.#steps > STEPS_MAX) throw this.#error(`more than ${STEPS_MAX} steps`);
      steps.push(...added);
    }
  }

  #step(): readonly PathStep[] | undefined {
    this.#skip();
    if (this.#take('?')) return [this.#filter(false)];
    if (this.#take('[')) return this.#subscript(false);
    if (this.#take('..')) return [{ kind: 'descend' }, ...this.#descended()];
    if (this.#take('.**')) return [{ kind: 'descend' }];
    if (this.#take('.*')) return [{ kind: 'every-key' }];
    return this.#take('.') ? [{ kind: 'key', key: this.#key(), isExact: false }] : undefined;
  }

  /** What follows `..`. */
  #descended(): readonly PathStep[] {
    if (this.#take('*')) return [{ kind: 'every-member' }];
    if (this.#take('[')) return this.#subscript(true);
    return [{ kind: 'key', key: this.#key(), isExact: true }];
  }

  #key(): string {
    this.#skip();
    const next = this.#text[this.#at];
    if (next === '"' || next === "'") return this.#string(next);
    const key = this.#match(keyName);
    if (key === undefined) throw this.#error();
    return key;
  }

  #filter(isExact: boolean): PathStep {
    this.#expect('(');
    const condition = this.#nested(() => this.#or());
    this.#expect(')');
    return { kind: 'filter', condition, isExact };
  }

  #subscript(isExact: boolean): readonly PathStep[] {
    this.#skip();
    const next = this.#text[this.#at];
    const steps: PathStep[] = [];
    if (next === '*') {
      this.#at += 1;
      steps.push({ kind: 'every-item', isExact });
    } else if (next === '?') {
      this.#at += 1;
      steps.push({ kind: 'every-item', isExact }, this.#filter(true));
    } else if (next === '"' || next === "'") {
      steps.push({ kind: 'key', key: this.#string(next), isExact });
    } else {
      const ranges: PathRange[] = [];
      do {
        const from = this.#index();
        ranges.push({ from, to: this.#word('to') ? this.#index() : from });
      } while (this.#take(','));
      steps.push({ kind: 'items', ranges, isExact });
    }
    this.#expect(']');
    return steps;
  }

  /** `3`, `-1`, `last`, `last - 2`. */
  #index(): number {
    this.#skip();
    if (this.#word('last')) return this.#take('-') ? -1 - this.#integer() : -1;
    return this.#integer();
  }

  #integer(): number {
    this.#skip();
    const digits = this.#match(integer);
    if (digits === undefined) throw this.#error();
    const value = Number(digits);
    if (Math.abs(value) > INDEX_MAX) throw this.#error('an index is too large');
    return value;
  }

  #string(quote: string): string {
    const pieces: string[] = [];
    this.#at += 1;
    let copied = this.#at;
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined) throw this.#error('a quote is not closed');
      if (next !== quote && next !== '\\') {
        this.#at += 1;
        continue;
      }
      pieces.push(this.#text.slice(copied, this.#at));
      this.#at += 1;
      if (next === quote) return pieces.join('');
      pieces.push(this.#escape());
      copied = this.#at;
    }
  }

  #escape(): string {
    const letter = this.#text[this.#at];
    if (letter === undefined) throw this.#error('a quote is not closed');
    this.#at += 1;
    if (letter !== 'u') return escapes.get(letter) ?? letter;
    const digits = this.#match(hexDigits);
    if (digits === undefined) throw this.#error();
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #or(): PathCondition {
    const operands = [this.#and()];
    while (this.#take('||')) operands.push(this.#and());
    return operands.length === 1 ? operands[0]! : { kind: 'or', operands };
  }

  #and(): PathCondition {
    const operands = [this.#unary()];
    while (this.#take('&&')) operands.push(this.#unary());
    return operands.length === 1 ? operands[0]! : { kind: 'and', operands };
  }

  #unary(): PathCondition {
    return this.#nested(() => {
      if (this.#take('!')) return { kind: 'not', operand: this.#unary() };
      if (this.#take('(')) {
        const condition = this.#or();
        this.#expect(')');
        return condition;
      }
      if (this.#word('exists')) {
        this.#expect('(');
        const path = this.#operand();
        this.#expect(')');
        if (path.kind !== 'steps') throw this.#error();
        return { kind: 'exists', path };
      }
      return this.#comparison();
    });
  }

  #comparison(): PathCondition {
    const left = this.#operand();
    if (this.#word('starts')) {
      if (!this.#word('with')) throw this.#error();
      const prefix = this.#operand();
      if (prefix.kind !== 'literal' || typeof prefix.value !== 'string') throw this.#error();
      return { kind: 'starts-with', operand: left, prefix: prefix.value };
    }
    const found = comparisonTexts.find((text) => this.#take(text));
    if (found !== undefined)
      return { kind: 'compare', comparison: comparisons.get(found)!, left, right: this.#operand() };
    if (left.kind !== 'steps') throw this.#error();
    return { kind: 'exists', path: left };
  }

  #operand(): PathOperand {
    if (this.#take('$')) return this.#path(true);
    if (this.#take('@')) return this.#path(false);
    this.#skip();
    const next = this.#text[this.#at];
    if (next === '"' || next === "'") return { kind: 'literal', value: this.#string(next) };
    if (this.#word('true')) return { kind: 'literal', value: true };
    if (this.#word('false')) return { kind: 'literal', value: false };
    if (this.#word('null')) return { kind: 'literal', value: null };
    const digits = this.#match(number);
    if (digits === undefined) throw this.#error();
    return { kind: 'literal', value: Number(digits) };
  }
}
