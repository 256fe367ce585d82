import type { Blobs } from '#runtime/blobs/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { storedBytes } from './stored-manifest.ts';

/** What is younger may belong to a snapshot that is being taken, in milliseconds; far above what one may take. */
export const SWEEP_AGE_MS = 86_400_000;

/**
 * Removes stored bytes that no snapshot names: what snapshots left that were given up, or whose member died. Those that
 * are replaced are removed at once, by whoever replaces them.
 *
 * @returns how many files were removed
 * @throws {ServiceError} when a manifest cannot be read: then nobody knows what is named, and nothing is removed
 */
export async function sweepSnapshots(blobs: Blobs, index: SnapshotIndex, clock: Clock): Promise<number> {
  let removed = await blobs.sweep(SWEEP_AGE_MS);
  const old: string[] = [];
  // First what there is, then what is named: what is taken in between is named, or too young.
  for await (const { hash, storedAtMs } of blobs.list())
    if (clock.wallMs() - storedAtMs >= SWEEP_AGE_MS) old.push(hash);
  const named = new Set<string>();
  for (const { records } of (await index.all()).values())
    for (const record of records) for (const hash of await storedBytes(blobs, record)) named.add(hash);
  for (const hash of old) {
    if (named.has(hash)) continue;
    await blobs.delete(hash);
    removed += 1;
  }
  return removed;
}
