import { isJsonObject, type JsonObject, type JsonValue, ownValue, setKey } from './json-value.ts';
import { withoutFormerPath } from './references.ts';

/** Keys copied between two yields. */
const KEYS_PER_STEP = 1_024;

const nothing: JsonObject = Object.freeze({});

/**
 * Applies a JSON merge patch: keys of the patch replace those of the target, objects are merged, null removes a key,
 * and any other value, including an array, replaces the whole value.
 *
 * Beyond the standard, the path of a reference is removed when the patch changes the target of the reference without a
 * path, because it is the path of the former target.
 *
 * @param target properties, which are no reference themselves; undefined where there is no value; it is not changed, and what
 *   the patch does not touch is shared
 * @param patch of bounded depth: it recurses
 * @returns yields where the work may rest, which it does only for objects of many keys
 * @see RFC 7396 section 2
 */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): Generator<undefined, JsonValue> {
  return merge(target, patch, 0);
}

function* merge(
  target: JsonValue | undefined,
  patch: JsonValue,
  depth: number,
): Generator<undefined, JsonValue> {
  if (!isJsonObject(patch)) return patch;
  const base = isJsonObject(target) ? target : nothing;
  const merged: Record<string, JsonValue> = {};
  let copied = 0;
  for (const key in base) {
    copied += 1;
    if (copied % KEYS_PER_STEP === 0) yield undefined;
    if (!Object.hasOwn(patch, key)) {
      setKey(merged, key, base[key] as JsonValue);
      continue;
    }
    const change = ownValue(patch, key) as JsonValue;
    if (change !== null) setKey(merged, key, yield* merge(base[key], change, depth + 1));
  }
  for (const key in patch) {
    copied += 1;
    if (copied % KEYS_PER_STEP === 0) yield undefined;
    const change = ownValue(patch, key) as JsonValue;
    if (change !== null && !Object.hasOwn(base, key))
      setKey(merged, key, yield* merge(undefined, change, depth + 1));
  }
  return depth === 0 || Object.hasOwn(patch, 'svc:path') ? merged : withoutFormerPath(base, merged);
}
