import type { FileSystem, OpenFile } from '#runtime/base/file-system.ts';

/** A segment of an open flush journal is not as it was written: somebody removed, replaced or cut its file. */
export class FlushSegmentLostError extends Error {
  override readonly name = 'FlushSegmentLostError';

  /** @param what became of it */
  constructor(path: string, what: string) {
    super(
      `the flush journal file ${path} was ${what} under the running member; find out who or what does that, and leave ` +
        'the files of the other members alone: what it had is on their disks and in the stream',
    );
  }
}

/**
 * Makes sure that what is written follows something, and can be found. To be called before messages are written and after
 * it, before anybody is told: a look costs 0.5 µs.
 *
 * @param end the file is at least so long
 * @throws {FlushSegmentLostError} otherwise
 */
export function requireWhole(file: OpenFile, path: string, end: number): void {
  const { names, size } = file.look();
  if (names === 0) throw new FlushSegmentLostError(path, 'removed or replaced');
  if (size < end) throw new FlushSegmentLostError(path, `cut to ${size} bytes`);
}

/**
 * Looks at the names and lengths of segments. Their content is verified when it is read.
 *
 * @param segments with the lengths they have at least
 * @param open the one being written, which is the last one; undefined while none is
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
      // Not known now: the next look tells.
      return undefined;
    });
    if (found === undefined) continue;
    if (path === segments.at(-1)?.path && open !== undefined && open.look().inode !== found.inode)
      throw new FlushSegmentLostError(path, 'replaced');
    if (found.size < bytes) throw new FlushSegmentLostError(path, `cut to ${found.size} bytes`);
  }
}
