import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseLocale, resolveLocaleChain } from '#runtime/content/translations/locale.ts';
import { applyTranslations, isHiddenIn } from '#runtime/content/translations/translation.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { BranchState } from '../branch-state.ts';

/**
 * The locales whose overlays apply to a read, most specific first.
 *
 * @param lang as the caller wrote it
 * @throws {ServiceError} `VALIDATION_FAILED` for a malformed locale
 * @see docs/interface/translations.md#reading-in-a-locale
 */
export function localeChain(state: BranchState, lang: string): readonly string[] {
  return resolveLocaleChain(parseLocale(lang, 'lang'), state.languages());
}

/**
 * Whether a node is hidden in a locale. Only its header is decoded.
 *
 * @param chain from {@link localeChain}
 */
export function isHidden(record: Pick<NodeRecord, 'header'>, chain: readonly string[]): boolean {
  // Without a locale, the header is not decoded either.
  return chain.length > 0 && isHiddenIn(record.header.translations, chain);
}

/**
 * The properties of a node in a locale in which it is not hidden. Yields where the work may pause.
 *
 * @param chain from {@link localeChain}
 * @returns undefined when the stored properties are shown
 */
export function* localizedProperties(
  record: NodeRecord,
  chain: readonly string[],
): Generator<undefined, JsonObject | undefined> {
  // The header need not be decoded.
  if (chain.length === 0 || !record.hasTranslations) return undefined;
  const { translations } = record.header;
  if (translations === null) return undefined;
  const stored = yield* record.decode();
  const shown = yield* applyTranslations(stored, translations, chain);
  return shown === stored ? undefined : shown;
}
