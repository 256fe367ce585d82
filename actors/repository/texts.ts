import { invalid } from '#runtime/errors/service-error.ts';

/** Longest description of a repository or branch, and message of a tag, in characters. */
const DESCRIPTION_CHARACTERS_MAX = 10_000;

/** Longest name in `created_by`, in characters. */
const AUTHOR_CHARACTERS_MAX = 1_000;

/**
 * @param field field of the body, for the error
 * @returns the text
 * @throws {ServiceError} `VALIDATION_FAILED` when it is longer than the limit
 */
export function checkDescription(text: string | null, field = 'description'): string | null {
  return text === null ? null : bounded(text, field, DESCRIPTION_CHARACTERS_MAX);
}

/** Like {@link checkDescription}, for the name of an author. @throws {ServiceError} `VALIDATION_FAILED` */
export function checkAuthor(name: string): string {
  return bounded(name, 'created_by', AUTHOR_CHARACTERS_MAX);
}

function bounded(text: string, field: string, most: number): string {
  if (text.length <= most) return text;
  throw invalid(`\`${field}\` has at most ${most} characters`, { field });
}
