import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseLocale, unsupportedLocale } from '#runtime/content/translations/locale.ts';
import {
  hideOverlay,
  makeOverlay,
  mergedOverlay,
  type Overlay,
  overlayOf,
  requireSmallTranslations,
  unhideOverlay,
  withOverlay,
} from '#runtime/content/translations/translation.ts';
import { propertyOfPointer } from '#runtime/content/translations/shown-translations.ts';
import type { TranslationRules } from '#runtime/content/translations/translation-check.ts';
import { acknowledgeStaleness as acknowledged } from '#runtime/content/translations/translation-staleness.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import { countHashed } from '../reads/translations-info.ts';
import type { AcknowledgeStaleness, ChangeLocale, Translated, TranslateNode, Written } from '../messages.ts';
import type { CommitInfo } from '../commit-messages.ts';
import { keptTranslations, translatedNames } from './field-writes.ts';
import { valueResolver } from './resolve-references.ts';

/**
 * Replaces the translation overlay of a locale. The values are checked like the properties they replace.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` for a malformed locale or one the
 *   repository does not support, an empty map, a bad pointer, values the type or the archetype of the node does not
 *   allow, translations that are too large, a node of an immutable type; `REQUEST_TOO_EXPENSIVE`
 * @see messages.ts, TranslateNode; docs/interface/translations.md#commands
 */
export function* translateNode(edit: EditScope, command: TranslateNode): Generator<undefined, Translated> {
  const { workspace, translations } = command;
  const locale = parseLocale(command.locale);
  const node = yield* edit.requireTarget(command, 'translate');
  edit.access.authorizeFields('translate', workspace, node, translatedNames({ [locale]: translations }));
  edit.requireMutable(workspace, node);
  requireSupported(edit, locale);
  const rules = rulesOf(edit, workspace, node);
  const properties = yield* node.decode();
  const resolve = valueResolver(edit, workspace);
  const overlay = yield* makeOverlay({ properties, now: edit.now, resolve, rules }, locale, translations);
  requireSmallTranslations(withOverlay(node.header.translations, locale, overlay));
  return yield* written(edit, command, node, locale, overlay, `Translated node to ${locale}`);
}

/**
 * Removes the overlay of a locale, hides the node in it or shows it again. Hiding keeps the translation, so that
 * showing the node again restores it. Removing or showing when there is nothing to do changes nothing.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` for a malformed locale, hiding in
 *   one the repository does not support, a node of an immutable type
 * @see messages.ts, ChangeLocale; docs/interface/translations.md#commands
 */
export function* changeLocale(edit: EditScope, command: ChangeLocale): Generator<undefined, Translated> {
  const { workspace, change } = command;
  const locale = parseLocale(command.locale);
  const node = yield* edit.requireTarget(command, 'translate');
  edit.requireMutable(workspace, node);
  if (change !== 'delete-translation')
    edit.access.authorizeBesideFields('translate', workspace, node, 'visibility in a locale');
  if (change === 'hide') requireSupported(edit, locale);
  const present = overlayOf(node.header.translations, locale);
  switch (change) {
    case 'hide':
      return yield* written(edit, command, node, locale, hideOverlay(present), `Hid node in ${locale}`);
    case 'unhide':
      if (present?.type !== 'hidden') return translated(edit, node, locale, null);
      return yield* written(edit, command, node, locale, unhideOverlay(present), `Showed node in ${locale}`);
    case 'delete-translation':
      if (present === undefined) return translated(edit, node, locale, null);
      return yield* written(edit, command, node, locale, null, `Deleted translation to ${locale}`);
  }
}

/**
 * Records that a translated value is up to date with the current source. The value itself stays, so this is allowed on
 * a node of an immutable type.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` when the pointer is not translated
 *   in this locale or its source no longer exists
 * @see messages.ts, AcknowledgeStaleness
 */
export function* acknowledgeStaleness(
  edit: EditScope,
  command: AcknowledgeStaleness,
): Generator<undefined, Written> {
  const { pointer, workspace } = command;
  const locale = parseLocale(command.locale);
  const node = yield* edit.requireTarget(command, 'translate');
  edit.access.authorizeFields('translate', workspace, node, [propertyOfPointer(pointer)]);
  const present = overlayOf(node.header.translations, locale);
  const count = countHashed(edit.turn.budget);
  const overlay = yield* acknowledged(present, pointer, yield* node.decode(), edit.now, count);
  return yield* written(edit, command, node, locale, overlay, `Acknowledged translation to ${locale}`);
}

/** Values of a translation to set or, with null, to drop, by JSON pointer. */
export type TranslationChange = JsonObject;

/**
 * Changes some values of the translation of a node to a locale, without ending the revision. The other values stay.
 *
 * @param node the caller may translate it
 * @param locale from `parseLocale`
 * @returns whether the translation differs from before
 * @throws {ServiceError} as {@link translateNode}; `VALIDATION_FAILED` for values in a locale in which the node is hidden
 */
export function* mergeTranslation(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  locale: string,
  change: TranslationChange,
): Generator<undefined, boolean> {
  edit.access.authorizeFields('translate', workspace, node, translatedNames({ [locale]: change }));
  edit.requireMutable(workspace, node);
  // What is stored in a language that is no longer supported can still be removed.
  if (Object.values(change).some((value) => value !== null)) requireSupported(edit, locale);
  const before = overlayOf(node.header.translations, locale);
  const rules = rulesOf(edit, workspace, node);
  const source = {
    properties: yield* node.decode(),
    now: edit.now,
    resolve: valueResolver(edit, workspace),
    rules,
  };
  const overlay = yield* mergedOverlay(source, locale, change, before);
  if (overlay === before || (overlay === null && before === undefined)) return false;
  requireSmallTranslations(withOverlay(node.header.translations, locale, overlay));
  yield* stored(edit, workspace, node, locale, overlay);
  return true;
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
function requireSupported(edit: EditScope, locale: string): void {
  const complaint = unsupportedLocale(locale, edit.state.languages());
  if (complaint !== null) throw invalid(complaint, { field: 'locale' });
}

/** The rules for the values of a node; null when its type no longer exists. */
function rulesOf(edit: EditScope, workspace: string, { header }: NodeRecord): TranslationRules | null {
  const source = edit.schema(workspace);
  const type = source.nodeType(header.nodeType);
  if (type === undefined) return null;
  const archetype = header.archetype === null ? null : (source.archetype(header.archetype) ?? null);
  return { type, archetype, source, budget: edit.turn.budget };
}

/** Stores an overlay (null removes it) as a change of only this locale, as a revision. */
function* written(
  edit: EditScope,
  command: { readonly workspace: string; readonly commit?: CommitInfo },
  node: NodeRecord,
  locale: string,
  overlay: Overlay | null,
  message: string,
): Generator<undefined, Translated> {
  yield* stored(edit, command.workspace, node, locale, overlay);
  return translated(edit, node, locale, edit.finish(command.commit, `${message}: ${node.header.id}`));
}

function* stored(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  locale: string,
  overlay: Overlay | null,
): Generator<undefined, void> {
  const changed: JsonObject | null = withOverlay(node.header.translations, locale, overlay);
  const translations = keptTranslations(edit, 'translate', workspace, node, changed);
  const next = yield* edit.nextInSteps(node, { translations, changedLocale: locale });
  yield* edit.replaceInSteps(workspace, node, next);
  edit.audit(workspace, next, 'Update', { locale });
}

function translated(edit: EditScope, node: NodeRecord, locale: string, revision: string | null): Translated {
  return { node_id: node.header.id, locale, revision, timestamp: edit.now };
}
