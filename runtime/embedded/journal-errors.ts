import { ServiceError } from '#runtime/errors/service-error.ts';
import { isSystemError } from '#runtime/errors/system-error.ts';

/** Location and description of damage in a journal. */
export interface JournalDamage {
  /** Path of the segment file. */
  readonly segment: string;
  /** Offset in the file, in bytes. */
  readonly offset: number;
  /** Sequence of the expected record. */
  readonly sequence: number;
  readonly what: string;
  /** Remedy, if it is not a restore. */
  readonly remedy?: string;
}

const restore =
  'Nothing was changed on the disk. Acknowledged writes may be affected, so the journal is not repaired by itself: ' +
  'check the disk, then put back this file from a copy, or restore the data directory from a backup';

/** Remedy for a segment of a newer version. */
export const NEWER_FORMAT_REMEDY = 'Start the version that wrote it, or restore a backup made by this one';

/** Remedy for something other than a file with the name of a segment. */
export const NOT_A_SEGMENT_REMEDY =
  'Nothing was changed on the disk. The server makes files of that name only: move it out of the folder, and where it ' +
  'took the place of a file, put that back from a copy';

/** Whether a segment could not be read because a newer version wrote it. */
export function isNewerFormat(error: ServiceError): boolean {
  return error.message.includes(NEWER_FORMAT_REMEDY);
}

/** The error for acknowledged bytes that do not verify. @returns `DATA_CORRUPTED` */
export function journalCorrupted(damage: JournalDamage, cause?: unknown): ServiceError {
  const { segment, offset, sequence, what, remedy } = damage;
  return new ServiceError(
    'DATA_CORRUPTED',
    `Journal segment ${segment} at byte ${offset}, sequence ${sequence}: ${what}. ${remedy ?? restore}.`,
    { details: { segment, offset, sequence }, ...(cause === undefined ? {} : { cause }) },
  );
}

/** The error when contained damage meets a component that requires an undamaged journal. @returns `DATA_CORRUPTED` */
export function journalIsDamaged(note: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `The journal is damaged: ${note} names the actors that have lost writes. Bring back its files, or make a new directory of what is whole: npm run salvage -- --help`,
  );
}

/** @returns `STORAGE_FULL` */
export function journalFull(cause: unknown): ServiceError {
  return new ServiceError('STORAGE_FULL', undefined, { cause });
}

/** Whether an error is {@link journalFull}, or the equivalent of another volume. */
export function isStorageFull(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'STORAGE_FULL';
}

/** @param heals whether the journal may resume by itself @returns `WRITES_STOPPED` */
export function journalStopped(cause: unknown, heals: boolean): ServiceError {
  const next = heals
    ? 'nothing is taken until it can be, which is tried again and again'
    : 'nothing more is taken until the server is started again';
  return new ServiceError('WRITES_STOPPED', `The journal could not be written; ${next}.`, { cause });
}

/**
 * Adds the segment to an error of the system.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` for an error of the system; any other error unchanged
 */
export function refuseUnreadable(error: unknown, segment: string, sequence: number): never {
  if (error instanceof ServiceError || !isSystemError(error)) throw error;
  const what = `it cannot be read (${error.code})`;
  const remedy =
    'Nothing was changed on the disk. Give the user of the server the right to read and write it, or mend the disk, and start again';
  throw journalCorrupted({ segment, offset: 0, sequence, what, remedy }, error);
}
