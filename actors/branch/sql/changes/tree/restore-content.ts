import { withOverlay, overlayOf } from '#runtime/content/translations/translation.ts';
import { type JsonObject, jsonEquals } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { restoredState } from '../../../nodes/restored-state.ts';

/** Estimated nanoseconds to look up the earlier state of a node, and to check and encode it. */
export const RESTORED_WORK = 40_000;

/**
 * The next state of a node with the content of an earlier one: properties, type, archetype and translations. Nothing is
 * written.
 *
 * @param old present state; the caller may update it with all of its properties
 * @param state the caller may read it with all of its properties
 * @param locales the translations that are restored; undefined: all
 * @param change further header fields of the next state
 * @returns undefined when content and `change` are as they are now; yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` for a state that the present types do not allow
 */
export function* restoredContent(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  state: NodeRecord,
  locales: readonly string[] | undefined,
  change: { readonly name?: string; readonly version?: number } = {},
): Generator<undefined, NodeRecord | undefined> {
  edit.turn.budget.spend(RESTORED_WORK);
  const translations = restoredTranslations(old.header.translations, state.header.translations, locales);
  const header = { ...state.header, translations };
  const next = yield* restoredState(edit, workspace, old, header, yield* state.decode(), change);
  return hasSameContent(old, next) ? undefined : next;
}

function restoredTranslations(
  present: JsonObject | null,
  past: JsonObject | null,
  locales: readonly string[] | undefined,
): JsonObject | null {
  if (locales === undefined) return past;
  let restored = present;
  for (const locale of locales) restored = withOverlay(restored, locale, overlayOf(past, locale) ?? null);
  return restored;
}

/** Whether two states of a node are the same in what is restored. */
export function hasSameContent(one: NodeRecord, other: NodeRecord): boolean {
  return (
    one.name === other.name &&
    one.nodeType === other.nodeType &&
    one.archetype === other.archetype &&
    one.hasSamePropertyText(other) &&
    jsonEquals(one.header.translations, other.header.translations)
  );
}
