import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Length of the header before the shard, which names its actor. It keeps LMDB's pages aligned. */
export const HEADER_BYTES = 4096;

/** Number of bytes per read. */
const PIECE_BYTES = 256 * 1024;

/** Maximum pause between two pieces, in milliseconds. */
const PAUSE_MS_MAX = 50;

/** The actor of a stored file. */
export interface FileOwner {
  readonly partition: number;
  readonly actor: string;
}

/**
 * Returns the header of a stored file. It ensures that no two actors share a file, even with equal shards, so that
 * removing a file depends only on the snapshots of one partition; and that no file is used for another actor.
 */
function headerOf({ actor, partition }: FileOwner): Buffer {
  const text = `${JSON.stringify({ format: 1, partition, actor })}\n`;
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  if (Buffer.byteLength(text) > HEADER_BYTES)
    throw new ServiceError('DATA_CORRUPTED', `${actor} is not the name of an actor`);
  header.write(text);
  return header;
}

/**
 * Yields the stored form of a shard's copy in pieces, with a pause after each that is as long as the piece took:
 * requests of clients have priority.
 *
 * @throws {Error} of Node, with its `code`
 */
export async function* storedForm(
  path: string,
  owner: FileOwner,
  files: FileSystem,
  clock: Clock,
): AsyncGenerator<Uint8Array, void> {
  yield headerOf(owner);
  const file = await files.open(path, 'read');
  try {
    for (let position = 0; ; ) {
      const startMs = clock.monotonicMs();
      // A new buffer each time: the previous one may still be in transit.
      const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      const read = await file.read(piece, 0, PIECE_BYTES, position);
      if (read === 0) return;
      position += read;
      yield piece.subarray(0, read);
      await sleep(clock, Math.min(PAUSE_MS_MAX, clock.monotonicMs() - startMs));
    }
  } finally {
    await file.close();
  }
}

/**
 * Writes the shard of a stored form to a new file. When it resolves its content is on the disk, its name is not.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when it is of another actor; errors of reading
 * @throws {Error} of Node, with its `code`
 */
export async function receiveStored(
  pieces: AsyncIterable<Uint8Array>,
  path: string,
  owner: FileOwner,
  files: FileSystem,
): Promise<void> {
  const file = await files.open(path, 'create');
  try {
    await writeShard(pieces, owner, (piece, position) => file.write(piece, 0, piece.length, position));
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Reads a stored form completely, so that the store compares every byte of it with its hash.
 *
 * @returns its size, in bytes
 * @throws as {@link receiveStored}
 */
export async function readStored(pieces: AsyncIterable<Uint8Array>, owner: FileOwner): Promise<number> {
  let size = HEADER_BYTES;
  await writeShard(pieces, owner, (piece) => {
    size += piece.length;
    return Promise.resolve();
  });
  return size;
}

/**
 * Passes the pieces on until the signal is aborted.
 *
 * @throws {ServiceError} `REQUEST_CANCELLED` then; errors of reading
 */
export async function* untilAborted(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
    yield piece;
  }
}

async function writeShard(
  pieces: AsyncIterable<Uint8Array>,
  owner: FileOwner,
  write: (piece: Uint8Array, position: number) => Promise<void>,
): Promise<void> {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let position = 0;
  for await (const piece of pieces) {
    const ofHeader = Math.min(piece.length, HEADER_BYTES - headerBytes);
    header.set(piece.subarray(0, ofHeader), headerBytes);
    headerBytes += ofHeader;
    const rest = piece.subarray(ofHeader);
    if (rest.length === 0) continue;
    await write(rest, position);
    position += rest.length;
  }
  if (headerBytes < HEADER_BYTES || !header.equals(headerOf(owner)))
    throw new ServiceError('DATA_CORRUPTED', `A stored file is not of ${owner.actor}`);
}
