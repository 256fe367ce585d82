import type { RequestBudget } from '#runtime/budget/request-budget.ts';

/** Longest needle for the built-in search, whose time grows with the needle in the worst case. */
const SHORT_NEEDLE = 32;

/** Characters searched between two yields. */
const CHARACTERS_PER_SLICE = 64 * 1024;

/** Estimated nanoseconds per character. */
const CHARACTER_WORK = 3;

/** Bytes per needle character in its table. */
const TABLE_ENTRY_BYTES = 4;

/**
 * Whether a text contains another one, in time proportional to their lengths for any texts. The built-in search
 * compares up to the whole needle at each character (`aaa…` in `aaa…ab…`), which for a needle of a thousand characters
 * takes a thousand times as long.
 *
 * @returns the answer; yields undefined between steps
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* includesInSlices(
  text: string,
  needle: string,
  budget: RequestBudget,
): Generator<undefined, boolean> {
  if (needle.length > text.length) return false;
  return needle.length <= SHORT_NEEDLE
    ? yield* includesShort(text, needle, budget)
    : yield* includesLong(text, needle, budget);
}

function* includesShort(text: string, needle: string, budget: RequestBudget): Generator<undefined, boolean> {
  for (let from = 0; from < text.length; from += CHARACTERS_PER_SLICE) {
    budget.spend(CHARACTERS_PER_SLICE * CHARACTER_WORK);
    const to = from + CHARACTERS_PER_SLICE + needle.length - 1;
    if (text.slice(from, to).includes(needle)) return true;
    yield undefined;
  }
  return needle === '';
}

/** The algorithm of Knuth, Morris and Pratt. */
function* includesLong(text: string, needle: string, budget: RequestBudget): Generator<undefined, boolean> {
  const bytes = needle.length * TABLE_ENTRY_BYTES;
  budget.keep(bytes);
  try {
    const borders = new Uint32Array(needle.length);
    let matched = 0;
    for (let index = 1; index < needle.length; index += 1) {
      const code = needle.charCodeAt(index);
      while (matched > 0 && needle.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
      if (needle.charCodeAt(matched) === code) matched += 1;
      borders[index] = matched;
      if (index % CHARACTERS_PER_SLICE === 0) yield* rest(budget);
    }
    matched = 0;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      while (matched > 0 && needle.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
      if (needle.charCodeAt(matched) === code) matched += 1;
      if (matched === needle.length) return true;
      if (index % CHARACTERS_PER_SLICE === 0) yield* rest(budget);
    }
    return false;
  } finally {
    budget.free(bytes);
  }
}

function* rest(budget: RequestBudget): Generator<undefined, void> {
  budget.spend(CHARACTERS_PER_SLICE * CHARACTER_WORK);
  yield undefined;
}
