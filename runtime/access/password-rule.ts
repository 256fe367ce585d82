import { OptionError } from '#runtime/config/option.ts';
import { checkAdminPassword } from '#runtime/config/text-checks.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** Longest password that is hashed, in characters: the caller must not choose the cost of hashing. */
export const PASSWORD_CHARACTERS_MAX = 256;

/**
 * Checks a new admin password: at least 12 characters with a lower-case letter, an upper-case letter, a digit and
 * another character. The message names the unmet requirements and never contains the password.
 *
 * @param field the body field of the password
 * @returns the password
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/accounts.md#passwords
 */
export function requireAdminPassword(password: string, field: string): string {
  if (password.length > PASSWORD_CHARACTERS_MAX) {
    throw invalid(`The password is longer than ${PASSWORD_CHARACTERS_MAX} characters`, { field });
  }
  try {
    return checkAdminPassword(password);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw invalid(`The password ${error.problems.join('; ')}`, { field });
  }
}
