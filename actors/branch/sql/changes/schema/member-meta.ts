import { isJsonObject, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';

/**
 * The key `meta` of a property or field, in which what the schema has no key for is kept.
 *
 * @param previous the member that is replaced: its other entries stay
 * @param entries undefined: the entry is taken away
 * @returns nothing when no entry is left
 */
export function metaOf(
  previous: JsonObject | undefined,
  entries: Readonly<Record<string, JsonValue | undefined>>,
): JsonObject {
  const stored = isJsonObject(previous?.meta) ? Object.entries(previous.meta) : [];
  const kept = stored.filter(([key]) => !Object.hasOwn(entries, key));
  const given = Object.entries(entries).filter(
    (entry): entry is [string, JsonValue] => entry[1] !== undefined,
  );
  return kept.length + given.length === 0 ? {} : { meta: Object.fromEntries([...kept, ...given]) };
}
