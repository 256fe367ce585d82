import { createHash } from 'node:crypto';
import type { FileSystem } from '#runtime/base/files/file-system.ts';

/** Bytes hashed without yielding to the event loop: half a millisecond. */
const PIECE_BYTES: number = 512 * 1024;

/** The result of {@link hashFile}. */
export interface FileHash {
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/**
 * The SHA-256 of a file, piece by piece.
 *
 * @param onBytes called for every piece; an error it throws ends the reading
 * @throws {Error} of Node, with its `code`
 */
export async function hashFile(
  files: FileSystem,
  path: string,
  onBytes: (bytes: number) => void,
): Promise<FileHash> {
  const file = await files.open(path, 'read');
  try {
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    let bytes = 0;
    for (;;) {
      const read = await file.read(piece, 0, PIECE_BYTES, bytes);
      if (read === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(piece.subarray(0, read));
      bytes += read;
      onBytes(read);
    }
  } finally {
    await file.close();
  }
}
