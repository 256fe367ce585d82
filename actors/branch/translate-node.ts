import type { JsonObject } from '#runtime/content/json-value.ts';
import { parseLocale } from '#runtime/content/locale.ts';
import {
  hideOverlay,
  makeOverlay,
  type Overlay,
  overlayOf,
  requireSmallTranslations,
  unhideOverlay,
  withOverlay,
} from '#runtime/content/translation.ts';
import { acknowledgeStaleness as acknowledged } from '#runtime/content/translation-staleness.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { EditScope } from './edit-scope.ts';
import { countHashed } from './translations-info.ts';
import type {
  AcknowledgeStaleness,
  ChangeLocale,
  CommitInfo,
  Translated,
  TranslateNode,
  Written,
} from './messages.ts';

/**
 * Replaces the overlay of a locale. Any well-formed locale will do: which ones a repository supports decides how
 * reads fall back, not what may be stored.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` for a malformed locale, an
 *   empty map, a bad pointer, translations that are too large, a node of an immutable type
 * @see messages.ts, TranslateNode; Supplement 9
 */
export function* translateNode(edit: EditScope, command: TranslateNode): Generator<undefined, Translated> {
  const { workspace, translations } = command;
  const locale = parseLocale(command.locale);
  const node = edit.requireNode(workspace, command.place, 'translate');
  edit.requireMutable(workspace, node);
  const type = edit.schema(workspace).nodeType(node.header.nodeType) ?? null;
  const overlay = yield* makeOverlay(yield* node.decode(), translations, edit.now, type);
  requireSmallTranslations(withOverlay(node.header.translations, locale, overlay));
  return yield* written(edit, command, node, locale, overlay, `Translated node to ${locale}`);
}

/**
 * Removes the overlay of a locale, hides the node in it or shows it again. Hiding keeps the translation, so that
 * showing the node again brings it back. Removing or showing where there is nothing to do changes nothing.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` for a malformed locale, a node
 *   of an immutable type
 * @see messages.ts, ChangeLocale; Supplement 9
 */
export function* changeLocale(edit: EditScope, command: ChangeLocale): Generator<undefined, Translated> {
  const { workspace, change } = command;
  const locale = parseLocale(command.locale);
  const node = edit.requireNode(workspace, command.place, 'translate');
  edit.requireMutable(workspace, node);
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
 * Says that a translated value is right for the source as it is now. The value itself stays, so a node of an
 * immutable type takes it too.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` when the pointer is not
 *   translated in this locale or its source is gone
 * @see messages.ts, AcknowledgeStaleness
 */
export function* acknowledgeStaleness(
  edit: EditScope,
  command: AcknowledgeStaleness,
): Generator<undefined, Written> {
  const { workspace, pointer } = command;
  const locale = parseLocale(command.locale);
  const node = edit.requireNode(workspace, command.place, 'translate');
  const present = overlayOf(node.header.translations, locale);
  const count = countHashed(edit.turn.budget);
  const overlay = yield* acknowledged(present, pointer, yield* node.decode(), edit.now, count);
  return yield* written(edit, command, node, locale, overlay, `Acknowledged translation to ${locale}`);
}

/** Stores an overlay (null removes it) as a change of this locale alone. */
function* written(
  edit: EditScope,
  command: { readonly workspace: string; readonly commit?: CommitInfo },
  node: NodeRecord,
  locale: string,
  overlay: Overlay | null,
  message: string,
): Generator<undefined, Translated> {
  const { workspace } = command;
  const translations: JsonObject | null = withOverlay(node.header.translations, locale, overlay);
  const next = yield* edit.nextInSteps(node, { translations, changedLocale: locale });
  yield* edit.replaceInSteps(workspace, node, next);
  edit.audit(workspace, next, 'Update', { locale });
  return translated(edit, node, locale, edit.finish(command.commit, `${message}: ${node.header.id}`));
}

function translated(edit: EditScope, node: NodeRecord, locale: string, revision: string | null): Translated {
  return { node_id: node.header.id, locale, revision, timestamp: edit.now };
}
