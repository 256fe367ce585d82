/** Estimated bytes of a value in what holds it, and of a key. */
export const VALUE_BYTES = 8;

/** Estimated bytes of an array or object besides its members. An empty object takes 56 with the engine. */
const CONTAINER_BYTES = 48;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;

/**
 * Estimated memory of a JSON value: twice its texts, values and keys, as texts may have two bytes a character, and values are
 * references to what may be objects.
 *
 * @param bytes of its texts, and {@link VALUE_BYTES} for each value and key
 * @param containers arrays and objects in it, with itself
 */
export function memoryOfJson(bytes: number, containers: number): number {
  return 2 * bytes + CONTAINER_BYTES * containers;
}

/**
 * The memory that the value of a JSON text takes, without parsing the text: {@link memoryOfJson} of the value, or a little more.
 *
 * @param text as `JSON.stringify` makes it
 */
export function memoryOfText(text: string): number {
  let containers = 0;
  let separators = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === COLON) separators += 1;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) containers += 1;
  }
  // Each value but the outermost one is behind an opening or a comma, and each key before a colon.
  return memoryOfJson(VALUE_BYTES * (1 + separators + containers) + text.length, containers);
}

/** The position of the closing quote of a string. @param quote position of the opening one */
function endOfString(text: string, quote: number): number {
  let at = quote + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) break;
    if (code === BACKSLASH) at += 1;
  }
  return at;
}
