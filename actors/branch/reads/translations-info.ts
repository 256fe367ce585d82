import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseLocale } from '#runtime/content/translations/locale.ts';
import { overlayOf, translatedLocales } from '#runtime/content/translations/translation.ts';
import { type Staleness, translationStaleness } from '#runtime/content/translations/translation-staleness.ts';
import type { CountHashed } from '#runtime/content/values/source-hash.ts';
import { restReader } from '#runtime/scan/moment.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BranchState } from '../branch-state.ts';
import { settle } from '../long-answer.ts';
import type { ListTranslations, ReadStaleness } from '../messages.ts';
import { NodeAccess } from './node-access.ts';
import { readAgain, withReadable } from './read-node.ts';
import { schemaAt } from './moment-readers.ts';

/** The locales a node is translated to or hidden in. @see docs/interface/translations.md#commands */
export interface TranslationList {
  readonly node_id: string;
  readonly node_path: string;
  /** Sorted. */
  readonly locales: readonly string[];
}

/** Locales with a translation overlay. @see messages.ts, ListTranslations */
export function listTranslations(
  state: BranchState,
  context: QueryContext,
  query: ListTranslations,
): TranslationList | Promise<TranslationList> {
  return withReadable(state, context, query, ({ header: { id, path, translations } }) => ({
    node_id: id,
    node_path: path,
    locales: translatedLocales(translations),
  }));
}

/** Estimated nanoseconds of processor time to hash one character. */
const HASH_WORK = 6;

/** Charges hashing to the budget of a request. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
export function countHashed(budget: RequestBudget): CountHashed {
  return (characters) => budget.spend(characters * HASH_WORK);
}

/**
 * How the overlay of a locale compares with the current source. The size of one node bounds the work.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `VALIDATION_FAILED` for a malformed locale
 * @see messages.ts, ReadStaleness
 */
export function readStaleness(
  state: BranchState,
  context: QueryContext,
  query: ReadStaleness,
): Staleness | Promise<Staleness> {
  const { at, workspace } = query;
  const locale = parseLocale(query.locale);
  return withReadable(state, context, query, ({ header: { nodeType }, record }) => {
    const type = schemaAt(state, context.view, workspace, at).nodeType(nodeType) ?? null;
    const work = function* (view: TableReader): Generator<undefined, Staleness> {
      const source = record ?? (yield* readAgain(view, query));
      const { record: shown } = yield* new NodeAccess(context, view).shown(workspace, source);
      restReader(view);
      const overlay = overlayOf(shown.header.translations, locale);
      return yield* translationStaleness(yield* shown.decode(), overlay, type, countHashed(context.budget));
    };
    return settle(context, work, 'moving');
  });
}
