import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * A stored record that cannot be trusted. The partition stops: nothing is repaired by itself.
 *
 * @returns `DATA_CORRUPTED`
 * @see Reliability: R4, R9, G11
 */
export function logCorrupted(partition: number, sequence: number, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `log of partition ${partition}, record ${sequence}: ${what}. The partition is in quarantine and nothing was ` +
      'changed: compare the replicas of its stream, then bring back its data or restore a backup',
    { details: { partition, sequence } },
  );
}

/** How a stream is not what it was. */
export type Regression = 'shorter' | 'other-stream' | 'other-record';

/**
 * A record that a newer version wrote. Nothing is wrong with the log, and this member can do nothing with it.
 *
 * @returns `DATA_CORRUPTED`: for this member it is as good as that
 */
export function logTooNew(partition: number, sequence: number, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `log of partition ${partition}, record ${sequence}: ${what}. Upgrade this member and start it again; until then it ` +
      'leaves the partition to the others',
    { details: { partition, sequence } },
  );
}

/**
 * The stream is not the one, or not as long as, what this member has of it.
 *
 * @returns `DATA_CORRUPTED`
 * @see Reliability: R9
 */
export function logRegressed(partition: number, regression: Regression, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `log of partition ${partition} went back: ${what}. The partition is in quarantine and nothing was changed: ` +
      'other members may have the missing records; bring back the data of the NATS servers, or export both sides ' +
      'and decide which to keep',
    { details: { partition, regression } },
  );
}

/** Whether the stream is only shorter than it was, so that what is missing can be brought back. */
export function isShorter(error: unknown): boolean {
  return regressionOf(error) === 'shorter';
}

/** Whether the stream holds something else than it did. */
export function isOtherRecord(error: unknown): boolean {
  return regressionOf(error) === 'other-record';
}

function regressionOf(error: unknown): Regression | undefined {
  if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') return undefined;
  return (error.details as { regression?: Regression } | undefined)?.regression;
}

/**
 * The records a reader wants were removed behind a snapshot: it has to begin with that.
 *
 * @returns `NOT_FOUND`
 * @see Reliability: R16
 */
export function logTruncated(partition: number, sequence: number, firstSequence: number): ServiceError {
  return new ServiceError(
    'NOT_FOUND',
    `log of partition ${partition} begins at record ${firstSequence}, and ${sequence} is wanted: begin with a snapshot`,
    { details: { partition, firstSequence } },
  );
}

/** Whether a log begins behind what was wanted of it, as {@link logTruncated} says. */
export function isTruncated(error: unknown): boolean {
  return (
    error instanceof ServiceError && error.code === 'NOT_FOUND' && error.details?.firstSequence !== undefined
  );
}

/** The log cannot be reached; nothing was written. @returns `LOG_UNAVAILABLE` */
export function logUnavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError(
    'LOG_UNAVAILABLE',
    `The log cannot be reached (${reason}); nothing was written, try again.`,
    cause === undefined ? {} : { cause },
  );
}

/** The stream takes nothing for want of space; nothing was written. @returns `STORAGE_FULL` */
export function logFull(reason: string): ServiceError {
  return new ServiceError('STORAGE_FULL', `The log has no space: ${reason}`);
}

/** Another member opened the partition. @returns `NOT_OWNER` with the member and its epoch as details */
export function ownedBy(member: string, epoch: number): ServiceError {
  return new ServiceError('NOT_OWNER', `Member ${member} owns this now; try again.`, {
    details: { member, epoch },
  });
}

/** Whether the log was only not reachable, so that trying again is right. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'LOG_UNAVAILABLE';
}
