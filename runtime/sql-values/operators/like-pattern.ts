import { invalid } from '#runtime/errors/service-error.ts';
import { PartFinder } from '../text/find-part.ts';
import { foldCase } from './case-folding.ts';
import { codePoints, passingCodePoints } from './code-points.ts';
import { WildFinder } from './wild-finder.ts';

/** Longest part between two `%` of a pattern with `_`, in characters. */
const WILD_PART_MAX = 4_096;

/** Estimated nanoseconds for a character of a text: compared as it is, as an array, and folded to lower case. */
const PLAIN_WORK = 5;
const WILD_WORK = 25;
const FOLD_WORK = 30;
/** Estimated nanoseconds for preparing a character of a pattern. */
const PREPARE_WORK = 60;
/** Estimated nanoseconds for a character of a text and each 32 characters of a pattern with `_`. */
const WORD_WORK = 5;

/**
 * A pattern of LIKE: `%` stands for any characters, `_` for one character, which is a Unicode code point. There is no escape
 * character.
 *
 * The parts between the `%` are searched one after the other, each from the end of the one before: the first place is always
 * the best. So the time is proportional to the length of the text, whatever the pattern; with `_`, times a 32nd of the
 * length of the pattern.
 */
export class LikePattern {
  readonly #ignoresCase: boolean;
  readonly #matcher: { matches(text: string): boolean };
  readonly #characterWork: number;

  /** @throws {ServiceError} `VALIDATION_FAILED` for a pattern that is too long */
  constructor(pattern: string, ignoresCase: boolean) {
    const folded = ignoresCase ? foldCase(pattern) : pattern;
    const parts = folded.split('%');
    this.#ignoresCase = ignoresCase;
    this.#matcher = folded.includes('_') ? new WildMatcher(parts) : new PlainMatcher(parts);
    const longest = parts.reduce((length, part) => Math.max(length, part.length), 0);
    this.#characterWork = characterWork(folded.includes('_') ? longest : 0, ignoresCase);
  }

  /** Estimated nanoseconds for preparing a pattern, and for matching it with a text once. */
  static workOf(pattern: string, textLength: number, ignoresCase: boolean): number {
    const wildLength = pattern.includes('_') ? Math.min(pattern.length, WILD_PART_MAX) : 0;
    return pattern.length * PREPARE_WORK + textLength * characterWork(wildLength, ignoresCase);
  }

  /** Estimated nanoseconds of {@link matches}. */
  work(textLength: number): number {
    return textLength * this.#characterWork;
  }

  /** Whether the whole text matches. */
  matches(text: string): boolean {
    return this.#matcher.matches(this.#ignoresCase ? foldCase(text) : text);
  }
}

function characterWork(wildLength: number, ignoresCase: boolean): number {
  const matching = wildLength === 0 ? PLAIN_WORK : WILD_WORK + Math.ceil(wildLength / 32) * WORD_WORK;
  return matching + (ignoresCase ? FOLD_WORK : 0);
}

/** Parts of plain text. */
class PlainMatcher {
  readonly #first: string;
  /** Undefined: there is no `%`. */
  readonly #last: string | undefined;
  readonly #between: readonly { readonly length: number; readonly finder: PartFinder }[];

  constructor(parts: readonly string[]) {
    this.#first = parts[0]!;
    this.#last = parts.length > 1 ? parts.at(-1) : undefined;
    this.#between = parts
      .slice(1, -1)
      .filter((part) => part !== '')
      .map((part) => ({ length: part.length, finder: new PartFinder(part) }));
  }

  matches(text: string): boolean {
    const last = this.#last;
    if (last === undefined) return text === this.#first;
    const end = text.length - last.length;
    let from = this.#first.length;
    if (from > end || !text.startsWith(this.#first) || !text.endsWith(last)) return false;
    for (const { finder, length } of this.#between) {
      const at = finder.next(text, from);
      if (at < 0 || at + length > end) return false;
      from = at + length;
    }
    return true;
  }
}

/** Parts that may have `_`, in code points. */
class WildMatcher {
  readonly #first: WildFinder;
  readonly #last: WildFinder | undefined;
  readonly #between: readonly WildFinder[];

  constructor(parts: readonly string[]) {
    const finders = parts.map((part) => {
      const points = codePoints(part);
      if (points.length > WILD_PART_MAX)
        throw invalid(`A LIKE pattern with _ may have ${WILD_PART_MAX} characters between two %`);
      return new WildFinder(points);
    });
    this.#first = finders[0]!;
    this.#last = finders.length > 1 ? finders.at(-1) : undefined;
    this.#between = finders.slice(1, -1).filter(({ length }) => length > 0);
  }

  matches(text: string): boolean {
    const { count, points } = passingCodePoints(text);
    const last = this.#last;
    if (last === undefined) return count === this.#first.length && this.#first.isAt(points, 0);
    const end = count - last.length;
    let from = this.#first.length;
    if (from > end || !this.#first.isAt(points, 0) || !last.isAt(points, end)) return false;
    for (const finder of this.#between) {
      const at = finder.next(points, from, end);
      if (at < 0) return false;
      from = at + finder.length;
    }
    return true;
  }
}
