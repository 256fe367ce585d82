import type { JsonObject } from '#runtime/content/json-value.ts';
import { parseLocale, resolveLocaleChain } from '#runtime/content/locale.ts';
import { applyTranslations } from '#runtime/content/translation.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { BranchState } from './branch-state.ts';

/**
 * The locales whose overlays apply to a read, most specific first.
 *
 * @param lang as the caller wrote it
 * @throws {ServiceError} `VALIDATION_FAILED` for a malformed locale
 * @see Supplement 9, Fallback chain
 */
export function localeChain(state: BranchState, lang: string): readonly string[] {
  return resolveLocaleChain(parseLocale(lang, 'lang'), state.languages());
}

/**
 * The properties of a node as a locale shows them.
 *
 * @param chain from {@link localeChain}
 * @returns `hidden` when the node is not shown in this locale; undefined when the stored properties are shown
 */
export function localizedProperties(
  record: NodeRecord,
  chain: readonly string[],
): JsonObject | 'hidden' | undefined {
  // Without a locale nothing of the header has to be decoded.
  if (chain.length === 0) return undefined;
  const { translations } = record.header;
  if (translations === null) return undefined;
  const shown = applyTranslations(record.properties, translations, chain);
  return shown === record.properties ? undefined : shown;
}
