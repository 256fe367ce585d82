import type { FileSystem } from '#runtime/base/file-system.ts';
import { isZero } from './journal-format.ts';

/**
 * Longest file that is read, in bytes: what one read can take, and many times what any file is made to. One that was
 * stretched is not read into memory to find that out.
 */
export const SEGMENT_FILE_BYTES_MAX: number = 2 ** 31 - 1;

/** Bytes that are read at once. */
const PIECE_BYTES = 1024 * 1024;

/** Bytes up to which a file is read with the zeros at its end: twice what one is made to, but for a very large record. */
const USUAL_BYTES = 128 * 1024 * 1024;

/** What was read of a segment. */
export interface ReadSegment {
  readonly bytes: Buffer;
  /** Length of the file in bytes; larger than {@link SEGMENT_FILE_BYTES_MAX} where only its beginning was read. */
  readonly size: number;
}

/**
 * The bytes of a segment, at most {@link SEGMENT_FILE_BYTES_MAX}, piece by piece. Of a file that is longer than any is made to, the
 * zeros at its end are left out: one that was stretched takes no more memory than what is in it.
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
