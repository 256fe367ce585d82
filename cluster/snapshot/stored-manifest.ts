import type { Blobs } from '#runtime/blobs/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeManifest, type SnapshotManifest, type SnapshotRecord } from './snapshot-manifest.ts';

/**
 * Reads the manifest of a snapshot.
 *
 * @throws {ServiceError} `NOT_FOUND`, `DATA_CORRUPTED`; `OVERLOADED`
 */
export async function readManifest(blobs: Blobs, record: SnapshotRecord): Promise<SnapshotManifest> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await blobs.get(record.manifest.hash)) pieces.push(piece);
  const manifest = decodeManifest(Buffer.concat(pieces));
  const { partition, position } = manifest;
  const isOther = partition !== record.partition || position.sequence !== record.position.sequence;
  if (isOther) throw new ServiceError('DATA_CORRUPTED', 'The manifest of a snapshot is of another one');
  return manifest;
}

/** Returns the names of all stored files of a snapshot. @throws {ServiceError} as {@link readManifest} */
export async function storedBytes(blobs: Blobs, record: SnapshotRecord): Promise<readonly string[]> {
  const { actors } = await readManifest(blobs, record);
  return [record.manifest.hash, ...actors.map(({ hash }) => hash)];
}
