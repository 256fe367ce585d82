import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { jobCreatedMs } from '#runtime/jobs/job-id.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BulkProgress, ChangeSomeBySql } from '../../sql-messages.ts';

/** Rows of {@link BulkProgress}, in the meta table of a branch. */
const PREFIX = `bulk_sql${END}`;

const everyJob = { start: PREFIX, end: `bulk_sql${AFTER_END}` };

/** Characters at the end of the id of a job that tell its repository, which another one has after a restore. */
const REPOSITORY_CHARACTERS = 10;

const DAY_MS = 24 * 3_600_000;

/** How old a job may be when its first part is done, in milliseconds. @see docs/interface/jobs.md#bulk-statements */
const BEGUN_WITHIN_MS: number = 30 * DAY_MS;

/** When the progress of a job is removed that nobody has asked to forget, in milliseconds after its creation. */
const FORGOTTEN_MS: number = BEGUN_WITHIN_MS + DAY_MS;

/** Most rows of old jobs removed with the first part of a job. */
const SWEPT_MAX = 8;

/** How far a job has come; undefined before its first part. @throws {ServiceError} `DATA_CORRUPTED` */
export function readBulkProgress(reader: TableReader, job: string): BulkProgress | undefined {
  const bytes = reader.get(CommonTable.meta, keyOf(job));
  return bytes === undefined ? undefined : (decodeJsonRow(bytes) as BulkProgress);
}

/**
 * Whether a part is to be done now: it is the one behind those that are done. If it is not, another attempt of the job has
 * done it, or this branch has heard of it twice.
 *
 * @returns undefined when it is to be done; otherwise how far the job is
 * @throws {ServiceError} `CONFLICT` for a part without those before it; `VALIDATION_FAILED` for the first part of a job that
 *   is so old that its progress may have been removed: it could be the second time
 */
export function donePart(turn: Turn, { job, part }: ChangeSomeBySql): BulkProgress | undefined {
  const known = readBulkProgress(turn, job);
  if (known !== undefined && part <= known.parts) return known;
  if (part !== (known?.parts ?? 0) + 1)
    throw new ServiceError('CONFLICT', 'Parts before this part of the statement are not done');
  if (known === undefined && turn.ageMs(jobCreatedMs(job)) > BEGUN_WITHIN_MS)
    throw invalid('The statement was submitted more than 30 days ago; send it again');
  return undefined;
}

/**
 * Keeps that a part is done, in the turn of its changes. With the first part of a job, what is left of very old jobs is
 * removed.
 *
 * @param written what the part has changed and skipped
 * @returns how far the job is now
 */
export function noteBulkPart(
  turn: Turn,
  { ids, job, part, total }: ChangeSomeBySql,
  written: Pick<BulkProgress, 'changed' | 'skipped'>,
): BulkProgress {
  const before = readBulkProgress(turn, job);
  if (before === undefined) sweep(turn);
  const progress: BulkProgress = {
    parts: part,
    total: before?.total ?? total,
    done: (before?.done ?? 0) + ids.length,
    after: ids.at(-1) ?? before?.after ?? '',
    changed: (before?.changed ?? 0) + written.changed,
    skipped: (before?.skipped ?? 0) + written.skipped,
  };
  turn.put(CommonTable.meta, keyOf(job), encodeJsonRow(progress));
  return progress;
}

/** Removes the progress of a job that has ended. */
export function removeBulkProgress(turn: Turn, job: string): void {
  turn.remove(CommonTable.meta, keyOf(job));
}

/** Keys begin with the time of creation, so the oldest jobs come first. */
function sweep(turn: Turn): void {
  const old: string[] = [];
  for (const { key } of turn.range(CommonTable.meta, everyJob)) {
    if (old.length === SWEPT_MAX || turn.ageMs(jobCreatedMs(key.slice(PREFIX.length))) <= FORGOTTEN_MS) break;
    old.push(key);
  }
  for (const key of old) turn.remove(CommonTable.meta, key);
}

/** A restored branch goes on with the restored job, which has the suffix of another repository. */
function keyOf(job: string): string {
  return PREFIX + job.slice(0, -REPOSITORY_CHARACTERS);
}
