import { parseExactJson } from '#runtime/base/exact-json.ts';
import { exactNumber } from '#runtime/base/exact-number.ts';
import { JsonText } from '#runtime/content/json-text.ts';

/** Begins the one key of an object that stands for something JSON has no form for. */
const TAG = '\u0000';
const TEXT = `${TAG}text`;
const BYTES = `${TAG}bytes`;
const ENTRIES = `${TAG}entries`;

/** How {@link TAG} looks in JSON text: only what holds it needs a second look. */
const TAG_IN_TEXT = '\\u0000';

/**
 * A message to an actor, or its answer, as text. It is JSON, because content is: lone surrogates and keys like
 * `__proto__` come through, which MessagePack decoders change; so do whole numbers of any size. What JSON has no form for is tagged: ready JSON text,
 * bytes, and objects with a key that looks like a tag.
 *
 * @param value plain data, {@link JsonText}, bytes; `undefined` is the empty text, and inside objects it is left out
 * @see docs/decisions: calls between members
 */
export function encodeMessage(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, tagged);
}

/** Turns {@link encodeMessage} back. @throws {SyntaxError} */
export function decodeMessage(text: string): unknown {
  if (text === '') return undefined;
  return text.includes(TAG_IN_TEXT) ? JSON.parse(text, untagged) : parseExactJson(text);
}

function tagged(this: unknown, key: string, shown: unknown): unknown {
  // What `toJSON` made of it is not wanted.
  const value = (this as Record<string, unknown>)[key];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return shown;
  if (value instanceof JsonText) return { [TEXT]: value.text };
  if (value instanceof Uint8Array) {
    return { [BYTES]: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  }
  for (const name in value) if (name.startsWith(TAG)) return { [ENTRIES]: Object.entries(value) };
  return shown;
}

function untagged(_key: string, value: unknown, source?: { readonly source?: string }): unknown {
  if (typeof value === 'number') return source?.source === undefined ? value : exactNumber(source.source);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (Object.hasOwn(value, TEXT)) return new JsonText((value as Record<string, string>)[TEXT] as string);
  if (Object.hasOwn(value, BYTES)) {
    return new Uint8Array(Buffer.from((value as Record<string, string>)[BYTES] as string, 'base64'));
  }
  if (!Object.hasOwn(value, ENTRIES)) return value;
  const object = {};
  for (const [name, item] of (value as Record<string, [string, unknown][]>)[ENTRIES] as [string, unknown][]) {
    Object.defineProperty(object, name, {
      value: item,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}
