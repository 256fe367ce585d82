import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { parseExactJson, parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import { type JsonForm, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { decodeUtf8InSteps } from '#runtime/base/text/sliced-text.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';

/** Prefix of the single key of an object that represents a value JSON has no form for. */
const TAG = '\u0000';
const TEXT = `${TAG}text`;
const BYTES = `${TAG}bytes`;
const ENTRIES = `${TAG}entries`;

/** {@link TAG} as it appears in JSON text: only text that contains it needs a second pass. */
const TAG_IN_TEXT = '\\u0000';

/**
 * Encodes a message to an actor, or its reply, as text. It is JSON, because content is: lone surrogates, keys like
 * `__proto__` and integers of any size survive, which MessagePack decoders change. Values without a JSON form are
 * tagged: ready JSON text, bytes, and objects with a key that looks like a tag.
 *
 * @param value plain data, {@link JsonText}, bytes; `undefined` is the empty text, and inside objects it is left out
 * @see docs/decisions/0019-ownership-and-calls.md
 */
export function encodeMessage(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, tagged);
}

/** {@link encodeMessage} in pieces of some `step` characters; the work may pause between any two of them. */
export function messagePieces(value: unknown, step?: number): Generator<string, void> {
  return jsonPieces(value, step, form);
}

/** Decodes {@link encodeMessage}. @throws {SyntaxError} */
export function decodeMessage(text: string): unknown {
  if (text === '') return undefined;
  const value = parseExactJson(text);
  return text.includes(TAG_IN_TEXT) ? atOnce(untagInSteps(value)) : value;
}

/** As {@link decodeMessage}, from bytes; yields where the work may pause. @throws {SyntaxError} @throws {TypeError} */
export function* decodeMessageInSteps(bytes: Buffer): Generator<undefined, unknown> {
  const text = yield* decodeUtf8InSteps(bytes);
  if (text === '') return undefined;
  const value = yield* parseExactJsonInSteps(text);
  yield undefined;
  return text.includes(TAG_IN_TEXT) ? yield* untagInSteps(value) : value;
}

function tagged(this: unknown, key: string, shown: unknown): unknown {
  // The original value is needed, not the result of `toJSON`.
  const value = (this as Record<string, unknown>)[key];
  if (typeof value !== 'object' || value === null) return shown;
  const own = taggedObject(value);
  return own === value ? shown : own;
}

function taggedObject(value: object): object {
  if (Array.isArray(value)) return value;
  if (value instanceof JsonText) return { [TEXT]: value.text };
  if (value instanceof Uint8Array) {
    return { [BYTES]: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  }
  for (const name in value) if (name.startsWith(TAG)) return { [ENTRIES]: Object.entries(value) };
  return value;
}

const form: JsonForm = { formOf: taggedObject, replacer: tagged };

/** Returns the value that an object represents: itself, unless it has a tag. */
function untaggedObject(value: object): object {
  if (Array.isArray(value)) return value;
  if (Object.hasOwn(value, TEXT)) return new JsonText((value as Record<string, string>)[TEXT] as string);
  if (Object.hasOwn(value, BYTES)) {
    return new Uint8Array(Buffer.from((value as Record<string, string>)[BYTES] as string, 'base64'));
  }
  if (!Object.hasOwn(value, ENTRIES)) return value;
  const object = {};
  for (const [name, item] of (value as Record<string, [string, unknown][]>)[ENTRIES] as [string, unknown][]) {
    setOwn(object, name, item);
  }
  return object;
}

/** An assignment to `__proto__` would set the prototype. */
function setOwn(object: object, name: string | number, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Number of objects that are processed between two pauses. */
const UNTAGGED_AT_ONCE = 256;

/** Replaces tagged objects by their values, from the outside in; yields where the work may pause. */
function* untagInSteps(value: unknown): Generator<undefined, unknown> {
  const whole = { value };
  const open: object[] = [whole];
  let looked = 0;
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    // The key array of a large array would contain as many texts as it has items.
    const names = Array.isArray(holder) ? undefined : Object.keys(holder);
    const count = names?.length ?? (holder as unknown[]).length;
    for (let index = 0; index < count; index += 1) {
      const name = names?.[index] ?? index;
      const inner = (holder as Record<string | number, unknown>)[name];
      if (typeof inner !== 'object' || inner === null) continue;
      looked += 1;
      if (looked % UNTAGGED_AT_ONCE === 0) yield undefined;
      const own = untaggedObject(inner);
      if (own !== inner) setOwn(holder, name, own);
      if (!(own instanceof JsonText || own instanceof Uint8Array)) open.push(own);
    }
  }
  return whole.value;
}
