import type { RequestBudget } from '#runtime/budget/request-budget.ts';

/** Longest needle that is looked for with the engine's own search, whose time grows with it in the worst case. */
const SHORT_NEEDLE = 32;

/** Characters searched between two rests. */
const CHARACTERS_PER_SLICE = 64 * 1024;

/** Estimated nanoseconds a character takes. */
const CHARACTER_WORK = 3;

/** Bytes a character of a needle takes in its table. */
const TABLE_ENTRY_BYTES = 4;

/**
 * Whether a text has another one in it, in time proportional to their lengths whatever they are: the engine's own
 * search compares up to the whole needle at each character (`aaa…` in `aaa…ab…`), which for a needle of a thousand
 * characters is a thousand times as long.
 *
 * @returns the answer; yields undefined where the work may rest
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
