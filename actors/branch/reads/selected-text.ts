import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { derivedNames } from '#runtime/content/definitions/derived-names.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import type { PropertySelection } from '#runtime/content/values/property-selection.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { derivedProperty } from '#runtime/tree/render-node.ts';
import type { Expansion } from './expansion.ts';

/**
 * The selected properties of a node as the text of a JSON object. For a small node whose properties are selected whole,
 * the stored texts are copied. Yields where the work may pause.
 *
 * @param localized the properties of the node if a locale shows others than the stored ones
 * @param type for the properties that the type adds
 * @param expansion expands references in the selected properties
 */
export function* selectedText(
  selection: PropertySelection,
  record: NodeRecord,
  localized: JsonObject | undefined,
  type: ResolvedNodeType | undefined,
  expansion?: Expansion,
): Generator<undefined, string> {
  const added = derivedNames.filter((name) => selection.partOf(name) !== undefined);
  const isCopied = selection.isFlat && !record.isLarge && added.length === 0 && expansion === undefined;
  if (localized === undefined && isCopied) {
    return `{${record.propertyTexts((name) => selection.partOf(name) !== undefined)}}`;
  }
  const selected = yield* selection.select(localized ?? (yield* record.decode()));
  const shown: Record<string, JsonValue> = { ...selected };
  for (const name of added) setKey(shown, name, derivedProperty(type, name) ?? []);
  if (expansion !== undefined) return yield* expansion.text(shown);
  const pieces: string[] = [];
  for (const piece of jsonPieces(shown)) {
    pieces.push(piece);
    yield undefined;
  }
  return pieces.join('');
}
