import type { FieldFilter } from '#runtime/access/field-filter.ts';
import { translationsWithin } from '#runtime/content/translations/shown-translations.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { makeNodeRecordInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { variantMark } from '#runtime/tree/node-tag.ts';

/** Keys copied between two pauses. */
const KEYS_PER_STEP = 1_024;

/** A node as a caller sees it. */
export interface ShownNode {
  /** Without the properties that are not shown, and without their translations. */
  readonly record: NodeRecord;
  /** For entity tags: the names that are shown; undefined where all properties are. */
  readonly mark: string | undefined;
}

/**
 * A node without the properties that a caller may not read. Whatever is made of it can show nothing else: its text,
 * translated values, selected and expanded properties, differences.
 *
 * @returns yields where the work may pause
 * @see docs/interface/permissions.md#fields
 */
export function* shownNode(record: NodeRecord, filter: FieldFilter): Generator<undefined, ShownNode> {
  if (filter.isAll) return { record, mark: undefined };
  const properties = yield* shownProperties(yield* record.decode(), filter);
  const { header } = record;
  const translations = translationsWithin(header.translations, (name) => filter.has(name));
  const shown = yield* makeNodeRecordInSteps({ ...header, translations }, properties);
  return { record: shown, mark: shownMark(Object.keys(properties)) };
}

/** The {@link ShownNode.mark} of a node of which some properties are not shown. @param names of those that are, in their order */
export function shownMark(names: readonly string[]): string {
  return variantMark(names);
}

/** The properties that a filter has. Yields where the work may pause. */
export function* shownProperties(
  properties: JsonObject,
  filter: FieldFilter,
): Generator<undefined, JsonObject> {
  const shown: Record<string, JsonValue> = {};
  let looked = 0;
  for (const name of Object.keys(properties)) {
    looked += 1;
    if (looked % KEYS_PER_STEP === 0) yield undefined;
    if (filter.has(name)) setKey(shown, name, properties[name] as JsonValue);
  }
  return shown;
}
