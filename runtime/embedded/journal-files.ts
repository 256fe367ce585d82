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

/**
 * Makes sure that what is written follows something, and can be found. To be called before a record is written and after it,
 * before anybody is told: a look costs 0.5 µs.
 *
 * @throws {SegmentLostError} otherwise
 */
export function requireWhole(active: Active): void {
  const isRemoved = active.writer.look().names === 0;
  if (isCut(active)) throw new SegmentLostError(active.segment.path, 'cut');
  if (isRemoved) throw new SegmentLostError(active.segment.path, 'removed');
}

/** Makes the segment final. @throws {SegmentLostError} when it does not have everything */
export async function finish({ segment, writer }: Active): Promise<void> {
  if (await writer.finish()) return;
  segment.isCut = true;
  throw new SegmentLostError(segment.path, 'cut');
}

/** Kept with the segment: what is done to the file afterwards may hide it. */
function isCut({ segment, writer }: Active): boolean {
  segment.isCut ||= writer.isCut();
  return segment.isCut;
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
  const isWritten = writing?.segment === segment;
  if (segment.isCut || (isWritten && isCut(writing))) return 'cut';
  try {
    const { inode, size } = await files.stat(segment.path);
    if (isWritten && active() === writing && writing.writer.look().inode !== inode) return 'replaced';
    return size < end ? `cut to ${size} bytes` : undefined;
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
export async function putBack(files: FileSystem, active: Active): Promise<boolean> {
  if (isCut(active)) return false;
  const { segment, writer } = active;
  const { inode } = writer.look();
  const found = await files.stat(segment.path).catch(() => undefined);
  if (found?.inode === inode) return false;
  const unfinished = segment.path + UNFINISHED_SUFFIX;
  await writer.copyTo(files, unfinished, segment.end);
  await files.rename(unfinished, segment.path);
  await files.syncDirectory(dirname(segment.path));
  return true;
}
