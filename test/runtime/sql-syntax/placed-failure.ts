import { ServiceError } from '#runtime/errors/service-error.ts';
import { parseStatements } from '#runtime/sql-syntax/parse-statements.ts';

/** What is said about a text that cannot be read, and the place. */
export function placed(text: string): { message: string; line: unknown; column: unknown } {
  try {
    parseStatements(text);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    return { message: error.message, line: error.details?.line, column: error.details?.column };
  }
  throw new Error(`this was read: ${text}`);
}
