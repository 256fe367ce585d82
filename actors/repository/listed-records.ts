import type { Turn } from '#runtime/commit/behaviour.ts';
import { recordKey, sizeOfRecords, writeRecord } from '#runtime/commit/record-store.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** Most records of a list. */
const RECORDS_MAX = 10_000;

const MEBIBYTE = 1024 * 1024;

/** A list of a repository whose records are decoded in one step when it is read. */
export interface RecordList {
  /** One of `RepositoryTable`. */
  readonly table: number;
  /** What its records are, in the plural. */
  readonly noun: string;
  /** Most MiB of its records together. */
  readonly mebibytesMax: number;
}

/**
 * Stores a record of a list. The list may be longer than its limit, as earlier versions let it become; then a record of it
 * may still be replaced by one that is not longer.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when the list would have too many records, or too many bytes
 */
export function writeListed(turn: Turn, list: RecordList, record: unknown, name: string): void {
  const { mebibytesMax, noun, table } = list;
  const key = recordKey(name);
  const before = turn.get(table, key)?.length ?? 0;
  writeRecord(turn, table, record, name);
  if ((turn.get(table, key) as Uint8Array).length <= before) return;
  const { bytes, count } = sizeOfRecords(turn, table);
  if (before === 0 && count > RECORDS_MAX) {
    throw invalid(`A repository has at most ${RECORDS_MAX} ${noun}`);
  }
  if (bytes > mebibytesMax * MEBIBYTE) {
    throw invalid(
      `The ${noun} of a repository take at most ${mebibytesMax} MiB together: shorten them, or delete some`,
    );
  }
}
