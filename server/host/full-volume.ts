import { join } from 'node:path';
import { isWithoutRoom } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Explains a start that found no space: where, and what may be removed. The short text of the error is meant for
 * requests, whose callers know the server.
 *
 * @param dataDir of the member
 * @param error of its start
 * @returns `STORAGE_FULL` naming the directory; any other error unchanged
 */
export function explainedStart(dataDir: string, error: unknown): unknown {
  const isFull = isWithoutRoom(error) || (error instanceof ServiceError && error.code === 'STORAGE_FULL');
  if (!isFull) return error;
  return new ServiceError(
    'STORAGE_FULL',
    `There is no room on the volume of the data directory ${dataDir}, or on one that journal or actors in it are on. Free ` +
      'some, and start again. What interrupted work had left was removed; what is still in ' +
      `${join(dataDir, 'actors', '.removed')} was deleted, or put away because it is damaged, and can be moved to another ` +
      'volume. Nothing else in journal or actors may go',
    { cause: error },
  );
}
