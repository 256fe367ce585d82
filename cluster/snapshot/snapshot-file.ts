import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Bytes before the shard: who it is of. LMDB's pages stay where pages begin. */
export const HEADER_BYTES = 4096;

/** Bytes read at a time. */
const PIECE_BYTES = 256 * 1024;

/** Longest pause between two pieces, in milliseconds. */
const PAUSE_MS_MAX = 50;

/** Of which actor a stored file is. */
export interface FileOwner {
  readonly partition: number;
  readonly actor: string;
}

/**
 * What a stored file begins with. With it no two actors ever share a file, however equal their shards are, so that
 * whoever removes a file has to know of the snapshots of one partition only; and no file is taken for another's.
 */
function headerOf({ actor, partition }: FileOwner): Buffer {
  const text = `${JSON.stringify({ format: 1, partition, actor })}\n`;
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  if (Buffer.byteLength(text) > HEADER_BYTES)
    throw new ServiceError('DATA_CORRUPTED', `${actor} is no name of an actor`);
  header.write(text);
  return header;
}

/**
 * The copy of a shard as it is stored, in pieces, with as much time between two pieces as the one before took: what
 * serves clients comes first.
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
      // Its own each time: the one before may still be on its way.
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
 * Writes a stored form into a new file as the shard it holds, on the disk when it resolves, its name not.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when it is of another actor; what reading fails with
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
 * Reads a stored form to its end, so that the store compares every byte of it with its hash.
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
 * The same pieces, as long as they are wanted.
 *
 * @throws {ServiceError} `REQUEST_CANCELLED` when they are not; what reading fails with
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
