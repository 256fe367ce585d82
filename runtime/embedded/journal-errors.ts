import { ServiceError } from '#runtime/errors/service-error.ts';

/** Where and what in a journal is damaged. */
export interface JournalDamage {
  /** Path of the segment file. */
  readonly segment: string;
  /** Offset in it, in bytes. */
  readonly offset: number;
  /** Sequence of the record that should be there. */
  readonly sequence: number;
  readonly what: string;
  /** What to do, when it is not restoring. */
  readonly remedy?: string;
}

const restore =
  'Nothing was changed on the disk. Acknowledged writes may be affected, so the journal is not repaired by itself: ' +
  'check the disk, then put back this file from a copy, or restore the data directory from a backup';

/** What to do with a segment of a newer version. */
export const NEWER_FORMAT_REMEDY = 'Start the version that wrote it, or restore a backup made by this one';

/** What to do with something that has the name of a segment and is no file. */
export const NOT_A_SEGMENT_REMEDY =
  'Nothing was changed on the disk. The server makes files of that name only: move it out of the folder, and where it ' +
  'took the place of a file, put that back from a copy';

/** Whether a segment could not be read because a newer version wrote it. */
export function isNewerFormat(error: ServiceError): boolean {
  return error.message.includes(NEWER_FORMAT_REMEDY);
}

/** Acknowledged bytes that do not verify. @returns `DATA_CORRUPTED` */
export function journalCorrupted(damage: JournalDamage, cause?: unknown): ServiceError {
  const { segment, offset, sequence, what, remedy } = damage;
  return new ServiceError(
    'DATA_CORRUPTED',
    `Journal segment ${segment} at byte ${offset}, sequence ${sequence}: ${what}. ${remedy ?? restore}.`,
    { details: { segment, offset, sequence }, ...(cause === undefined ? {} : { cause }) },
  );
}

/** A journal whose damage was contained, opened by something that takes a whole one only. @returns `DATA_CORRUPTED` */
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

/** Whether it is {@link journalFull}, or another place that is full. */
export function isStorageFull(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'STORAGE_FULL';
}

/** @param heals whether it may go on by itself @returns `WRITES_STOPPED` */
export function journalStopped(cause: unknown, heals: boolean): ServiceError {
  const next = heals
    ? 'nothing is taken until it can be, which is tried again and again'
    : 'nothing more is taken until the server is started again';
  return new ServiceError('WRITES_STOPPED', `The journal could not be written; ${next}.`, { cause });
}

/**
 * Says of which segment it is that the system refuses something.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` for an error of the system; any other error as it is
 */
export function refuseUnreadable(error: unknown, segment: string, sequence: number): never {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (error instanceof ServiceError || typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code)) throw error;
  const what = `it cannot be read (${code})`;
  const remedy =
    'Nothing was changed on the disk. Give the user of the server the right to read and write it, or mend the disk, and start again';
  throw journalCorrupted({ segment, offset: 0, sequence, what, remedy }, error);
}
