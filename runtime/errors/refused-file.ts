import { statSync } from 'node:fs';
import { ServiceError } from './service-error.ts';
import { isSystemError } from './system-error.ts';

/** System errors that mean that a file or folder must not be used, with their remedies. */
const remedies: Readonly<Record<string, string>> = Object.freeze({
  EACCES: 'give the user of the server the right to read and write it (chown, chmod)',
  EPERM: 'give the user of the server the right to read and write it (chown, chmod, chattr)',
  EROFS: 'mount its volume writable',
  EISDIR: 'it should be a file: move the folder away and put the file back from a copy',
  EFTYPE: 'it should be a file: move what is there away and put the file back from a copy',
  ENOTDIR: 'it should be a folder: move the file away and put the folder back from a copy',
  EIO: 'look at the disk',
});

/** In the details of an error: the system refused access to this file, perhaps temporarily. */
const DETAIL = 'refused_file';

/**
 * The error for a file that the system refuses to open, with its path and the remedy. The file is not known to be
 * damaged, so it is never treated as damaged and never replaced.
 *
 * @param cause the system's error, with a `code` or a message that begins with one
 * @returns `WRITES_STOPPED`; undefined for any other error
 */
export function refusedFile(path: string, cause: unknown): ServiceError | undefined {
  const code = codeOf(cause);
  const remedy = code === undefined ? undefined : remedies[code];
  if (code === undefined || remedy === undefined) return undefined;
  return unusableFile(path, code, `${remedy}, and start again`, cause);
}

/**
 * As {@link refusedFile}, for a problem found before the system reports it.
 *
 * @param what is wrong, @param remedy for people
 */
export function unusableFile(path: string, what: string, remedy: string, cause?: unknown): ServiceError {
  return new ServiceError('WRITES_STOPPED', `${path} cannot be used (${what}): ${remedy}`, {
    cause,
    details: { [DETAIL]: path },
  });
}

/**
 * The error for a missing folder of a running server: its files are not damaged, they are elsewhere.
 *
 * @returns `WRITES_STOPPED`, which is a {@link isRefusedFile}
 */
export function folderGone(path: string): ServiceError {
  return new ServiceError(
    'WRITES_STOPPED',
    `The folder ${path} is gone from under the running server: its directory was renamed or removed, or a volume is not ` +
      'mounted any more. Put it back where it was; or stop the server and start it with SVC_DATA_DIR set to where it is now.',
    { details: { [DETAIL]: path } },
  );
}

/**
 * The error for a failed write to a path.
 *
 * @returns `STORAGE_FULL` without space, or a {@link refusedFile}; any other error unchanged
 */
export function unstorable(path: string, cause: unknown): unknown {
  return isWithoutRoom(cause)
    ? new ServiceError('STORAGE_FULL', undefined, { cause })
    : (refusedFile(path, cause) ?? cause);
}

/** Whether the system reports that the disk, its inodes or a quota is exhausted. */
export function isWithoutRoom(cause: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(cause) ?? '');
}

/**
 * Narrows the error of a failed write to a service error or a system error.
 *
 * @returns the error
 * @throws the error when it is any other one
 */
export function requireStorageError(error: unknown): Error {
  if (error instanceof ServiceError) return error;
  if (error instanceof Error && isSystemError(error)) return error;
  throw error;
}

/** Whether an error is a {@link refusedFile}. */
export function isRefusedFile(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.details?.[DETAIL] !== undefined;
}

/**
 * Length of a file in bytes; 0 for a missing one. A folder above it without search permission does not count as a
 * missing file.
 *
 * @throws {ServiceError} {@link refusedFile}
 */
export function sizeOfFile(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  // LMDB reports it as a message without a code.
  if (/Permission denied/i.test(cause.message)) return 'EACCES';
  if (/Operation not permitted/i.test(cause.message)) return 'EPERM';
  if (/Read-only file system/i.test(cause.message)) return 'EROFS';
  if (/Is a directory/i.test(cause.message)) return 'EISDIR';
  if (/Input\/output error/i.test(cause.message)) return 'EIO';
  return undefined;
}
