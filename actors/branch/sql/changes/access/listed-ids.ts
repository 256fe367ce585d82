import { strippedId } from '#runtime/access/roles/access-nodes.ts';
import { isJsonArray, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { CatalogNode } from '../../../access/access-catalog.ts';

/** The entries of a list of a node. Something else than a list counts as none. */
export function listOf({ properties }: CatalogNode, property: string): readonly JsonValue[] {
  const value = ownValue(properties, property);
  return value !== undefined && isJsonArray(value) ? value : [];
}

/** A list of ids with further ones behind it, each once. @param folder that may stand before an id in the list */
export function withIds(
  list: readonly JsonValue[],
  ids: readonly string[],
  folder: string,
): readonly JsonValue[] {
  const present = new Set(list.map((each) => idIn(each, folder)));
  return [...list, ...ids.filter((id) => !present.has(id))];
}

/** A list of ids without some. @param folder as for {@link withIds} */
export function withoutIds(
  list: readonly JsonValue[],
  ids: readonly string[],
  folder: string,
): readonly JsonValue[] {
  const dropped = new Set<JsonValue>(ids);
  return list.filter((each) => !dropped.has(idIn(each, folder)));
}

function idIn(entry: JsonValue, folder: string): JsonValue {
  return typeof entry === 'string' ? strippedId(entry, folder) : entry;
}
