import { isDerivedName } from '#runtime/content/definitions/derived-names.ts';
import {
  overlayWith,
  propertyOfPointer,
  translatedDifferently,
  translationsWithin,
} from '#runtime/content/translations/shown-translations.ts';
import { overlayOf, withOverlay } from '#runtime/content/translations/translation.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  ownValue,
  setKey,
} from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';

/** Operations on a node that exists which set properties. */
type ChangingOperation = 'update' | 'translate';

/**
 * What a node has after its properties were replaced: the given ones, and those that the caller does not see. So a caller who
 * writes back what it has read takes nothing away.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `PERMISSION_DENIED` for a given property that is hidden, whatever its value, and for a change of one
 *   that the caller may not change
 * @see docs/interface/permissions.md#fields
 */
export function* replacedProperties(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: JsonObject,
): Generator<undefined, JsonObject> {
  if (edit.access.policy.unrestricted) return given;
  const shown = edit.access.shownFields(workspace, old);
  const stored = yield* old.decode();
  edit.access.authorizeFields(
    'update',
    workspace,
    old,
    changedNames(stored, given, (name) => shown.has(name)),
  );
  if (shown.isAll) return given;
  const kept: Record<string, JsonValue> = {};
  for (const name of Object.keys(stored)) if (!shown.has(name)) setKey(kept, name, stored[name] as JsonValue);
  for (const name of Object.keys(given)) setKey(kept, name, given[name] as JsonValue);
  return kept;
}

function* changedNames(
  stored: JsonObject,
  given: JsonObject,
  isShown: (name: string) => boolean,
): Generator<string, void> {
  for (const name of Object.keys(given)) {
    if (isDerivedName(name)) continue;
    const before = ownValue(stored, name);
    if (!isShown(name) || before === undefined || !jsonEquals(before, given[name] as JsonValue)) yield name;
  }
  for (const name of Object.keys(stored)) if (isShown(name) && !Object.hasOwn(given, name)) yield name;
}

/** The property that a path of keys leads into: one whose own name has dots comes first. */
export function propertyAt(stored: JsonObject, keys: readonly string[]): string {
  const joined = keys.join('.');
  return Object.hasOwn(stored, joined) ? joined : (keys[0] as string);
}

/**
 * The names of the properties that the field `translations` of a body is about.
 *
 * @param field by locale: values by name or pointer, or overlays
 */
export function* translatedNames(field: JsonObject | null | undefined): Generator<string, void> {
  for (const values of Object.values(field ?? {})) {
    if (!isJsonObject(values)) continue;
    const type = ownValue(values, 'type');
    const data = ownValue(values, 'data');
    const isOverlay = type === 'properties' && isJsonObject(data);
    for (const key of Object.keys(isOverlay ? data : values)) {
      // `type` tells whether the node is hidden in the locale.
      if (key !== 'type' || isOverlay) yield key.startsWith('/') ? propertyOfPointer(key) : key;
    }
  }
}

/**
 * What a node has after its translations were written: the new ones, and those of properties that the caller does not see.
 *
 * @param next stored form of the new ones
 * @throws {ServiceError} `PERMISSION_DENIED` for a change in the values of a property that the caller may not change
 */
export function keptTranslations(
  edit: EditScope,
  operation: ChangingOperation,
  workspace: string,
  old: NodeRecord,
  next: JsonObject | null,
): JsonObject | null {
  const { access } = edit;
  if (access.policy.unrestricted) return next;
  const { translations: before } = old.header;
  const shown = access.shownFields(workspace, old);
  const after = shown.isAll ? next : withHidden(before, next, (name) => !shown.has(name));
  access.authorizeFields(operation, workspace, old, translatedDifferently(before, after, jsonEquals));
  return after;
}

function withHidden(
  before: JsonObject | null,
  next: JsonObject | null,
  isHidden: (name: string) => boolean,
): JsonObject | null {
  const hidden = translationsWithin(before, isHidden);
  let joined = next;
  for (const locale of Object.keys(hidden ?? {})) {
    const overlay = overlayOf(next, locale) ?? null;
    const both = overlayWith(overlay, overlayOf(hidden, locale));
    if (both !== overlay) joined = withOverlay(joined, locale, both);
  }
  return joined;
}
