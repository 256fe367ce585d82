/** Characters compared at a time while texts are equal. */
const STRIDE = 1 << 12;

/** First surrogate: from here on the order of UTF-16 units differs from that of UTF-8 bytes. */
const SURROGATES_FROM = 0xd800;

/** First unit above the surrogates, which stand for characters above all single units. */
const ABOVE_SURROGATES = 0xe000;

/**
 * Compares two texts by their UTF-8 bytes, as the keys of indexes are ordered. In UTF-8 a lone surrogate is the
 * replacement character, so texts that differ only in these compare as equal.
 *
 * @returns below 0, 0 or above 0
 */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const at = firstDifference(a, b);
  const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
  const isPlain = !(x >= SURROGATES_FROM || y >= SURROGATES_FROM || isSurrogate(a.charCodeAt(at - 1)));
  return isPlain ? compareUnits(a, b, at) : compareWellFormed(a.toWellFormed(), b.toWellFormed());
}

/** Units of well-formed texts: where two of them differ, either both are in the middle of a character or none is. */
function compareWellFormed(a: string, b: string): number {
  return a === b ? 0 : compareUnits(a, b, firstDifference(a, b));
}

/** Compares units at the first difference of two texts; the shorter of two texts with one start comes first. */
function compareUnits(a: string, b: string, at: number): number {
  if (at === a.length || at === b.length) return a.length - b.length;
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

function rank(unit: number): number {
  return unit < SURROGATES_FROM || unit >= ABOVE_SURROGATES ? unit : unit + 0x10000;
}

function isSurrogate(unit: number): boolean {
  return unit >= SURROGATES_FROM && unit < ABOVE_SURROGATES;
}

/** Place of the first unit that differs, or the end of the shorter text. */
function firstDifference(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  // Slices of equal texts are compared without a copy.
  while (at + STRIDE <= end && a.slice(at, at + STRIDE) === b.slice(at, at + STRIDE)) at += STRIDE;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}
