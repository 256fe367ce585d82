import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Returns the error for a stored record that cannot be trusted. The partition stops: it is not repaired automatically.
 *
 * @returns `DATA_CORRUPTED`
 * @see docs/partition-log.md#records-that-count
 */
export function logCorrupted(partition: number, sequence: number, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `log of partition ${partition}, record ${sequence}: ${what}. The partition is in quarantine and nothing was ` +
      'changed: compare the replicas of its stream, then restore its data or a backup',
    { details: { partition, sequence } },
  );
}

/** How a stream differs from its earlier state. */
export type Regression = 'shorter' | 'other-stream' | 'other-record';

/**
 * Returns the error for a record of a newer version. The log is intact, but this member cannot use it.
 *
 * @returns `DATA_CORRUPTED`: for this member the effect is the same
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
 * Returns the error for a stream that is another one, or shorter, than this member's data.
 *
 * @returns `DATA_CORRUPTED`
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export function logRegressed(partition: number, regression: Regression, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `log of partition ${partition} has regressed: ${what}. The partition is in quarantine and nothing was changed: ` +
      'other members may have the missing records; restore the data of the NATS servers, or export both sides ' +
      'and decide which to keep',
    { details: { partition, regression } },
  );
}

/** Returns whether the stream is only shorter than before, so that its missing records can be restored. */
export function isShorter(error: unknown): boolean {
  return regressionOf(error) === 'shorter';
}

/** Returns whether the stream has another record than before. */
export function isOtherRecord(error: unknown): boolean {
  return regressionOf(error) === 'other-record';
}

function regressionOf(error: unknown): Regression | undefined {
  if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') return undefined;
  return (error.details as { regression?: Regression } | undefined)?.regression;
}

/**
 * Returns the error for records that were truncated behind a snapshot: the reader must start from that snapshot.
 *
 * @returns `NOT_FOUND`
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
 */
export function logTruncated(partition: number, sequence: number, firstSequence: number): ServiceError {
  return new ServiceError(
    'NOT_FOUND',
    `log of partition ${partition} begins at record ${firstSequence}, but ${sequence} is needed: start from a snapshot`,
    { details: { partition, firstSequence } },
  );
}

/** Returns whether an error is that of {@link logTruncated}. */
export function isTruncated(error: unknown): boolean {
  return (
    error instanceof ServiceError && error.code === 'NOT_FOUND' && error.details?.firstSequence !== undefined
  );
}

/** Returns the error for an unreachable log; nothing was written. @returns `LOG_UNAVAILABLE` */
export function logUnavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError(
    'LOG_UNAVAILABLE',
    `The log cannot be reached (${reason}); nothing was written, try again.`,
    cause === undefined ? {} : { cause },
  );
}

/** Returns the error for a stream without space; nothing was written. @returns `STORAGE_FULL` */
export function logFull(reason: string): ServiceError {
  return new ServiceError('STORAGE_FULL', `The log has no space: ${reason}`);
}

/**
 * Returns the error for a partition of another member. @returns `NOT_OWNER` with the member and its epoch as details
 */
export function ownedBy(member: string, epoch: number): ServiceError {
  return new ServiceError('NOT_OWNER', `Member ${member} owns this now; try again.`, {
    details: { member, epoch },
  });
}

/** Returns whether the log was only unreachable, so that a retry is right. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'LOG_UNAVAILABLE';
}
