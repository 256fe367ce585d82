import { parseLocale } from '#runtime/content/translations/locale.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { ChangeContext } from '../change-context.ts';
import { textOf } from './named-nodes.ts';

/**
 * A locale of a statement: as REST reads it, and with `_` for `-`.
 *
 * @param word the statement, for the message
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function givenLocale(change: ChangeContext, given: GivenText, word: 'TRANSLATE' | 'RESTORE'): string {
  const text = textOf(change, given);
  try {
    return parseLocale(text.replaceAll('_', '-'));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    throw invalid(`${word}: Invalid locale code: ${text}`, { field: 'locale' });
  }
}
