import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { isZero } from './journal-format.ts';

/**
 * Longest file that is read, in bytes: the limit of one read, and many times the size of any valid file. A file that
 * was extended is therefore not read completely into memory.
 */
export const SEGMENT_FILE_BYTES_MAX: number = 2 ** 31 - 1;

/** Bytes per read. */
const PIECE_BYTES = 1024 * 1024;

/** Size up to which trailing zeros are read too: twice the usual size of a segment, except for a very large record. */
const USUAL_BYTES = 128 * 1024 * 1024;

/** The content of a segment. */
export interface ReadSegment {
  readonly bytes: Buffer;
  /** Length of the file in bytes; above {@link SEGMENT_FILE_BYTES_MAX} if only its beginning was read. */
  readonly size: number;
}

/**
 * Reads a segment in pieces, at most {@link SEGMENT_FILE_BYTES_MAX} bytes. Of an unusually long file the trailing zeros
 * are left out, so that an extended file takes no more memory than its content.
 *
 * @throws {Error} of Node, with its `code`
 */
export async function readSegment(files: FileSystem, path: string): Promise<ReadSegment> {
  const file = await files.open(path, 'read');
  try {
    const size = await file.size();
    const end = Math.min(size, SEGMENT_FILE_BYTES_MAX);
    const pieces: Buffer[] = [];
    let zeros = 0;
    for (let at = 0; at < end; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, end - at));
      const count = await file.read(piece, 0, piece.length, at);
      if (count === 0) break;
      at += count;
      const read = piece.subarray(0, count);
      if (size > USUAL_BYTES && isZero(read, 0, count)) {
        zeros += count;
        continue;
      }
      if (zeros > 0) pieces.push(Buffer.alloc(zeros));
      zeros = 0;
      pieces.push(read);
    }
    return { bytes: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), size };
  } finally {
    await file.close();
  }
}
