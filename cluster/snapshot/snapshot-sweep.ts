import type { Clock } from '#runtime/base/time/clock.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { isContinued } from './snapshot-manifest.ts';
import { storedBytes } from './stored-manifest.ts';

/**
 * Minimum age of removed files, in milliseconds: younger ones may belong to a snapshot in progress. Far above its time.
 */
export const SWEEP_AGE_MS = 86_400_000;
/** Dependencies of a sweep. */
/** What a sweep works with. */
export interface SweepEnvironment {
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly clock: Clock;
  readonly partitions: number;
  /** Returns the first record of a log; undefined when it cannot be determined. */
  readonly firstSequenceOf: (partition: number) => Promise<number | undefined>;
}

/**
 * Removes stored files that no snapshot names: those of snapshots that were cancelled, or whose member died. Files of
 * replaced snapshots are removed at once, by the member that replaces them.
 *
 * A file without a name may be needed when the data that names it is lost. So nothing is removed before it is certain
 * that every partition can be restored without the unnamed files: from the beginning of its log, or from a snapshot
 * of the index that reaches its log, and all named files exist.
 *
 * @returns the number of removed files
 * @throws {ServiceError} `DATA_CORRUPTED` when an entry of the index, a manifest or a named file is damaged or
 *   missing; `LOG_UNAVAILABLE` when a log cannot be read. Then nothing was removed.
 */
export async function sweepSnapshots(environment: SweepEnvironment): Promise<number> {
  const { blobs, clock } = environment;
  const old: string[] = [];
  // First the stored files, then the names: files of a snapshot taken in between are named, or too young.
  for await (const { hash, storedAtMs } of blobs.list())
    if (clock.wallMs() - storedAtMs >= SWEEP_AGE_MS) old.push(hash);
  const named = await requireNamed(environment);
  let removed = await blobs.sweep(SWEEP_AGE_MS);
  for (const hash of old) {
    if (named.has(hash)) continue;
    await blobs.delete(hash);
    removed += 1;
  }
  return removed;
}

/** Returns all files that the snapshots of all partitions name. */
async function requireNamed({
  blobs,
  firstSequenceOf,
  index,
  partitions,
}: SweepEnvironment): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (let partition = 0; partition < partitions; partition += 1) {
    const firstSequence = await firstSequenceOf(partition);
    if (firstSequence === undefined) throw new ServiceError('LOG_UNAVAILABLE');
    const { records } = await index.read(partition);
    if (firstSequence > 1 && !records.some((record) => isContinued(record, firstSequence))) {
      throw keeping(
        `the log of partition ${partition} begins with record ${firstSequence}, and no snapshot reaches it`,
      );
    }
    for (const record of records) for (const hash of await storedBytes(blobs, record)) named.add(hash);
  }
  for (const hash of named)
    if ((await blobs.info(hash)) === undefined) throw keeping(`${hash} is named by a snapshot and missing`);
  return named;
}

function keeping(why: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', `No stored files of snapshots are removed: ${why}`);
}
