import { dirname } from 'node:path';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { UNFINISHED_SUFFIX } from './journal-format.ts';
import type { Retention, Segment } from './journal-retention.ts';
import type { SegmentWriter } from './journal-segment-writer.ts';

/** The segment being written. */
export interface Active {
  readonly segment: Segment;
  readonly writer: SegmentWriter;
}

/**
 * A segment of a running journal is not as it was written: somebody removed, renamed or cut its file. It may pass: what was
 * in it is in memory, and soon in the shards.
 */
export class SegmentLostError extends Error {
  override readonly name = 'SegmentLostError';

  /** @param what became of it */
  constructor(path: string, what: string) {
    super(
      `the journal file ${path} was ${what} under the running server; leave the other files alone and do not restart ` +
        'before writes go on, which they do when everything that was in it is in the shards',
    );
  }
}

/** A segment whose file is not as it was written. */
export interface LostSegment {
  readonly segment: Segment;
  readonly error: SegmentLostError;
}

/**
 * Looks at the names and lengths of all segments. Their content is verified with the next start, or by `check-data`.
 *
 * @param active asked again after each look, because it changes
 * @returns those that are lost, oldest first; not those that were found lost before or are damaged
 */
export async function findLost(
  files: FileSystem,
  retention: Retention,
  active: () => Active | undefined,
): Promise<readonly LostSegment[]> {
  const lost: LostSegment[] = [];
  for (const segment of [...retention.segments]) {
    if (segment.isDamaged || segment.isLost) continue;
    const what = await whatBecameOf(files, segment, active);
    // It may have been removed by right meanwhile.
    if (what !== undefined && retention.segments.includes(segment))
      lost.push({ segment, error: new SegmentLostError(segment.path, what) });
  }
  return lost;
}

async function whatBecameOf(
  files: FileSystem,
  segment: Segment,
  active: () => Active | undefined,
): Promise<string | undefined> {
  const { end } = segment;
  const writing = active();
  try {
    const { inode, size } = await files.stat(segment.path);
    if (size < end) return `cut to ${size} bytes`;
    const isWritten = writing?.segment === segment && active() === writing;
    return isWritten && writing.writer.look().inode !== inode ? 'replaced' : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'removed';
    // Not known now: the next look tells.
    return undefined;
  }
}

/**
 * Gives the segment that is written its name back, where that was taken away and the file, which is open, still has
 * everything.
 *
 * @returns whether another file has that name now, so that this one is written to no more
 */
export async function putBack(files: FileSystem, { segment, writer }: Active): Promise<boolean> {
  const { inode, size } = writer.look();
  const found = await files.stat(segment.path).catch(() => undefined);
  if (found?.inode === inode || size < segment.end) return false;
  const unfinished = segment.path + UNFINISHED_SUFFIX;
  await writer.copyTo(files, unfinished, segment.end);
  await files.rename(unfinished, segment.path);
  await files.syncDirectory(dirname(segment.path));
  return true;
}
