import type { Clock } from '#runtime/base/clock.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { isContinued } from './snapshot-manifest.ts';
import { storedBytes } from './stored-manifest.ts';

/** What is younger may belong to a snapshot that is being taken, in milliseconds; far above what one may take. */
export const SWEEP_AGE_MS = 86_400_000;

/** What a sweep works with. */
export interface SweepEnvironment {
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly clock: Clock;
  readonly partitions: number;
  /** The first record a log still has; undefined where that cannot be found out. */
  readonly firstSequenceOf: (partition: number) => Promise<number | undefined>;
}

/**
 * Removes stored bytes that no snapshot names: what snapshots left that were given up, or whose member died. Those that
 * are replaced are removed at once, by whoever replaces them.
 *
 * That nothing names some bytes says nothing when what names them is lost. So nothing at all is removed before it is
 * certain that every partition can be had without them: from the beginning of its log, or from a snapshot of the index
 * that reaches its log, and all that is named is there.
 *
 * @returns how many files were removed
 * @throws {ServiceError} `DATA_CORRUPTED` when an entry of the index, a manifest or something named is damaged or
 *   missing; `LOG_UNAVAILABLE` when a log cannot be asked. Then nothing was removed.
 */
export async function sweepSnapshots(environment: SweepEnvironment): Promise<number> {
  const { blobs, clock } = environment;
  const old: string[] = [];
  // First what there is, then what is named: what is taken in between is named, or too young.
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

/** Everything the snapshots of all partitions name. */
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
        `the log of partition ${partition} begins with record ${firstSequence}, and none reaches it`,
      );
    }
    for (const record of records) for (const hash of await storedBytes(blobs, record)) named.add(hash);
  }
  for (const hash of named)
    if ((await blobs.info(hash)) === undefined) throw keeping(`${hash} is named by one and missing`);
  return named;
}

function keeping(why: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', `No stored bytes of snapshots are removed: ${why}`);
}
