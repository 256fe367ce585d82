import { isStorageFull } from '#runtime/embedded/journal-errors.ts';
import { isSystemError } from '#runtime/errors/system-error.ts';

/** Whether a failure of the disk may pass: no open files left, a remounted volume, or no space. */
export function mayPass(cause: unknown): boolean {
  return isStorageFull(cause) || isSystemError(cause);
}
