import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, stat } from 'node:fs/promises';
import { assert } from '#runtime/base/assert.ts';
import { NEVER_WAIT, requireRegular } from '#runtime/base/files/regular-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Bytes per write. Other flushes queue behind one write: with 271 MB in one write they waited 20 to 50 ms, with writes
 * of 4 MB up to 4 ms, and the copy took as long.
 */
const PIECE_BYTES = 4 * 1024 * 1024;

/** One piece is read while the other one is written. */
const PIECES = 2;

/** Page size of WebAssembly memory. The memory is page-aligned, as direct I/O requires. */
const WEBASSEMBLY_PAGE_BYTES = 65_536;

/** Alignment of direct I/O: the largest common disk block. */
const BLOCK_BYTES = 4096;

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
const FILE_MODE = 0o600;

/** Globals of Node that its types lack. */
declare const WebAssembly: {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

/** A new file, and whether it is written with direct I/O. */
interface Target {
  readonly file: FileHandle;
  readonly isDirect: boolean;
}

/**
 * Copies a file that is not being written, and flushes the copy, but not its directory entry.
 *
 * If the file system can share blocks between files, the copy takes no time and no space. Otherwise it uses direct I/O:
 * it does not evict pages that others read, and leaves nothing to be flushed.
 *
 * @param target must not exist; after a failure the caller removes it
 * @param signal cancels the copy between two writes
 * @throws {ServiceError} `REQUEST_CANCELLED`
 * @throws {Error} of Node, with its `code`
 */
export async function copyFileDurably(source: string, target: string, signal?: AbortSignal): Promise<void> {
  requireRegular(await stat(source), source);
  if (await cloned(source, target)) return;
  const from = await open(source, constants.O_RDONLY | NEVER_WAIT);
  try {
    const { size } = await from.stat();
    const to = await openNew(target, size % BLOCK_BYTES === 0);
    try {
      await copyPieces(from, to, size, signal);
      await to.file.datasync();
    } finally {
      await to.file.close();
    }
  } finally {
    await from.close();
  }
}

/** Whether the file system made a copy with shared blocks. */
async function cloned(source: string, target: string): Promise<boolean> {
  try {
    await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // File systems report missing support with different errors; any other problem also fails the plain copy.
    return false;
  }
  const file = await open(target, 'r+');
  await file.datasync().finally(() => file.close());
  return true;
}

/** Some file systems refuse direct I/O, including those in memory. */
async function openNew(path: string, isWholeBlocks: boolean): Promise<Target> {
  if (isWholeBlocks) {
    try {
      return { file: await open(path, NEW_FILE | constants.O_DIRECT, FILE_MODE), isDirect: true };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    }
  }
  return { file: await open(path, NEW_FILE, FILE_MODE), isDirect: false };
}

async function copyPieces(
  from: FileHandle,
  to: Target,
  size: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const pages = (PIECE_BYTES * PIECES) / WEBASSEMBLY_PAGE_BYTES;
  const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
  let writing: Promise<void> = Promise.resolve();
  for (let position = 0, turn = 0; position < size; turn = (turn + 1) % PIECES) {
    if (signal?.aborted === true) {
      await writing;
      throw new ServiceError('REQUEST_CANCELLED');
    }
    const length = Math.min(PIECE_BYTES, size - position);
    const piece = new Uint8Array(buffer, turn * PIECE_BYTES, length);
    const { bytesRead } = await from.read(piece, 0, length, position);
    assert(bytesRead === length, 'nobody shortens a file that is copied');
    await writing;
    writing = writePiece(to, piece, position);
    // The error is handled when the next piece has been read.
    writing.catch(() => {});
    position += length;
  }
  await writing;
}

async function writePiece({ file, isDirect }: Target, piece: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < piece.length) {
    // A nearly full disk first accepts a part; the next call reports the error.
    const { bytesWritten } = await file.write(piece, written, piece.length - written, position + written);
    written += bytesWritten;
  }
  // Otherwise all data would be flushed at the end, and other flushes would wait for it.
  if (!isDirect) await file.datasync();
}
