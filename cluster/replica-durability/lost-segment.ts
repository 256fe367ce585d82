import type { FileSystem, OpenFile } from '#runtime/base/files/file-system.ts';

/** The file of a segment of an open flush journal was removed, replaced or truncated. */
export class FlushSegmentLostError extends Error {
  override readonly name = 'FlushSegmentLostError';

  /** @param what happened to it */
  constructor(path: string, what: string) {
    super(
      `the flush journal file ${path} was ${what} under the running member; find out the cause, and do not touch ` +
        'the files of the other members: they and the stream still have its records',
    );
  }
}

/**
 * Checks that a write has a predecessor and can be found again. To be called before messages are written, and after
 * it, before they are confirmed: a check costs 0.5 µs.
 *
 * @param end minimum length of the file
 * @throws {FlushSegmentLostError} otherwise
 */
export function requireWhole(file: OpenFile, path: string, end: number): void {
  const { names, size } = file.look();
  if (names === 0) throw new FlushSegmentLostError(path, 'removed or replaced');
  if (size < end) throw new FlushSegmentLostError(path, `truncated to ${size} bytes`);
}

/**
 * Checks the names and lengths of segments. Their content is verified when it is read.
 *
 * @param segments with their minimum lengths
 * @param open the one being written, which is the last one; undefined without one
 * @throws {FlushSegmentLostError} for the first one that is not there as it was written
 */
export async function requireAllThere(
  files: FileSystem,
  segments: readonly { readonly path: string; readonly bytes: number }[],
  open: OpenFile | undefined,
): Promise<void> {
  for (const { bytes, path } of segments) {
    const found = await files.stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw new FlushSegmentLostError(path, 'removed or renamed');
      // Unknown now: the next check shows it.
      return undefined;
    });
    if (found === undefined) continue;
    if (path === segments.at(-1)?.path && open !== undefined && open.look().inode !== found.inode)
      throw new FlushSegmentLostError(path, 'replaced');
    if (found.size < bytes) throw new FlushSegmentLostError(path, `truncated to ${found.size} bytes`);
  }
}
