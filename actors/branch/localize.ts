import type { JsonObject } from '#runtime/content/json-value.ts';
import { applyTranslations } from '#runtime/content/translation.ts';
import { resolveLocaleChain } from '#runtime/content/locale.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { BranchState } from './branch-state.ts';

/**
 * The properties of a node as a locale shows them.
 *
 * @param lang as the caller wrote it
 * @returns `hidden` when the node is not shown in this locale
 * @throws {ServiceError} `VALIDATION_FAILED` for a malformed locale
 * @see Supplement 9
 */
export function localizedProperties(
  state: BranchState,
  record: NodeRecord,
  lang: string,
): JsonObject | 'hidden' {
  const chain = resolveLocaleChain(lang, state.languages());
  return applyTranslations(record.properties, record.header.translations, chain);
}
