/**
 * Cost, in values, of a key that gives its object a shape no earlier object had. The engine creates a new internal
 * layout for each of them, which takes about ten times as long as reading a number or a short string.
 */
export const NEW_SHAPE_VALUES = 10;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Limits of a JSON text for `JSON.parse`, which cannot be interrupted. */
export interface JsonBounds {
  /** Levels of nesting. */
  readonly depthMax: number;
  /** Values and keys; a key that makes a new shape counts {@link NEW_SHAPE_VALUES} times. */
  readonly valuesMax: number;
}

/** The result of {@link checkJsonWork}. */
export type JsonWork =
  /** @param values approximate number of values and keys */
  | { readonly kind: 'fits'; readonly values: number }
  /** @param at offset of the bracket that is too deep */
  | { readonly kind: 'too-deep'; readonly at: number }
  | { readonly kind: 'too-much' };

const tooMuch: JsonWork = Object.freeze({ kind: 'too-much' });

/** Approximate number of characters examined between two yields. */
const STEP = 1 << 16;

/** Result of {@link plainEnd} for a string with escapes. */
const HAS_ESCAPES = -2;

/**
 * The offset of the quote that ends a string without an escaped quote.
 *
 * @param from offset of the quote that begins it
 * @returns -1 when the text ends first, {@link HAS_ESCAPES} when its first quote may be escaped
 */
function plainEnd(text: string, from: number): number {
  const end = text.indexOf('"', from + 1);
  if (end < 0 || text.charCodeAt(end - 1) !== backslash || end === from + 1) return end;
  return HAS_ESCAPES;
}

/** As {@link plainEnd}; in a text full of escapes, searching each quote would cost more than reading on. */
function* escapedEnd(text: string, from: number): Generator<undefined, number> {
  let restAt = from + STEP;
  for (let index = from + 1; index < text.length; ) {
    const code = text.charCodeAt(index);
    if (code === quote) return index;
    index += code === backslash ? 2 : 1;
    if (index < restAt) continue;
    restAt = index + STEP;
    yield undefined;
  }
  return -1;
}

/**
 * The offset of the quote that ends a string, in steps.
 *
 * @param from offset of the quote that begins it
 * @returns -1 when the text ends first
 */
export function* stringEnd(text: string, from: number): Generator<undefined, number> {
  const end = plainEnd(text, from);
  return end === HAS_ESCAPES ? yield* escapedEnd(text, from) : end;
}

/**
 * Checks a JSON text before it is parsed: its depth, and the work of parsing it. The time of `JSON.parse` follows the
 * number of values and of different object shapes far more than the number of bytes: 16 MiB of one string take 20 ms,
 * 16 MiB of `{"<n>":1}` several seconds. The text need not be valid JSON.
 *
 * Costs about a nanosecond a character, less inside strings, and stops at the first limit exceeded.
 */
export function* checkJsonWork(text: string, bounds: JsonBounds): Generator<undefined, JsonWork> {
  const { depthMax, valuesMax } = bounds;
  let depth = 0;
  let values = 1;
  let keys = 0;
  let restAt = STEP;
  for (let index = 0; index < text.length; index += 1) {
    if (index >= restAt) {
      restAt = index + STEP;
      yield undefined;
    }
    const code = text.charCodeAt(index);
    if (code === quote) {
      const end = plainEnd(text, index);
      index = end === HAS_ESCAPES ? yield* escapedEnd(text, index) : end;
      if (index < 0) break;
    } else if (code === comma) {
      values += 1;
    } else if (code === colon) {
      keys += 1;
    } else if (code === openBrace || code === openBracket) {
      values += 1;
      depth += 1;
      if (depth > depthMax) return { kind: 'too-deep', at: index };
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
    } else {
      continue;
    }
    if (values + keys > valuesMax) return tooMuch;
  }
  const work = values + keys;
  const fits: JsonWork = { kind: 'fits', values: work };
  if (work + keys * (NEW_SHAPE_VALUES - 1) <= valuesMax) return fits;
  const newKeysMax = Math.floor((valuesMax - work) / (NEW_SHAPE_VALUES - 1));
  return (yield* hasMoreNewShapes(text, newKeysMax)) ? tooMuch : fits;
}

/** An object of the text that is not closed yet. */
interface OpenObject {
  /** Number of the shape of its keys so far; -1 for an array. */
  shape: number;
}

/** Whether the keys of a text make more than this many different shapes; the order of keys counts. */
function* hasMoreNewShapes(text: string, newKeysMax: number): Generator<undefined, boolean> {
  const nextByKey = new Map<string, Map<number, number>>();
  const open: OpenObject[] = [];
  let shapes = 0;
  let keyFrom = 0;
  let keyTo = 0;
  let restAt = STEP;
  for (let index = 0; index < text.length; index += 1) {
    if (index >= restAt) {
      restAt = index + STEP;
      yield undefined;
    }
    const code = text.charCodeAt(index);
    if (code === quote) {
      keyFrom = index;
      const end = plainEnd(text, index);
      index = end === HAS_ESCAPES ? yield* escapedEnd(text, index) : end;
      if (index < 0) return false;
      keyTo = index;
    } else if (code === openBrace || code === openBracket) {
      open.push({ shape: code === openBrace ? 0 : -1 });
    } else if (code === closeBrace || code === closeBracket) {
      open.pop();
    } else if (code === colon) {
      const object = open.at(-1);
      if (object === undefined) continue;
      const key = text.slice(keyFrom, keyTo);
      let next = nextByKey.get(key);
      if (next === undefined) {
        next = new Map();
        nextByKey.set(key, next);
      }
      let shape = next.get(object.shape);
      if (shape === undefined) {
        shapes += 1;
        if (shapes > newKeysMax) return true;
        shape = shapes;
        next.set(object.shape, shape);
      }
      object.shape = shape;
    }
  }
  return false;
}
