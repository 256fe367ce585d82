import { dirname } from 'node:path';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { UNFINISHED_SUFFIX } from './journal-format.ts';
import type { Retention, Segment } from './journal-retention.ts';
import type { SegmentWriter } from './journal-segment-writer.ts';

/** The segment being written. */
export interface Active {
  readonly segment: Segment;
  readonly writer: SegmentWriter;
}

/**
 * The file of a segment in use was removed, renamed or truncated. The failure may be temporary: its content is in
 * memory, and soon in the shards.
 */
export class SegmentLostError extends Error {
  override readonly name = 'SegmentLostError';

  /** @param what happened to the file */
  constructor(path: string, what: string) {
    super(
      `the journal file ${path} was ${what} under the running server; leave the other files alone and do not restart ` +
        'before writes go on, which they do when everything that was in it is in the shards',
    );
  }
}

/**
 * Checks that the segment's file is still complete and has its name. Called before and after a record is written,
 * before it is acknowledged: the check costs 0.5 µs.
 *
 * @throws {SegmentLostError} otherwise
 */
export function requireWhole(active: Active): void {
  const isRemoved = active.writer.look().names === 0;
  if (isCut(active)) throw new SegmentLostError(active.segment.path, 'cut');
  if (isRemoved) throw new SegmentLostError(active.segment.path, 'removed');
}

/** Makes the segment final. @throws {SegmentLostError} when it is incomplete */
export async function finish({ segment, writer }: Active): Promise<void> {
  if (await writer.finish()) return;
  segment.isCut = true;
  throw new SegmentLostError(segment.path, 'cut');
}

/** The result is kept with the segment, because later changes of the file may hide it. */
function isCut({ segment, writer }: Active): boolean {
  segment.isCut ||= writer.isCut();
  return segment.isCut;
}

/** A segment whose file was changed. */
export interface LostSegment {
  readonly segment: Segment;
  readonly error: SegmentLostError;
}

/**
 * Checks the names and lengths of all segments. Their content is verified by the next start, or by `check-data`.
 *
 * @param active called again after each check, because it changes
 * @returns newly lost segments, oldest first; not those already known as lost or damaged
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
    // The journal itself may have removed it meanwhile.
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
    // Unknown at present; left to the next check.
    return undefined;
  }
}

/**
 * Restores the name of the segment being written, if it was removed and the open file is still complete.
 *
 * @returns whether another file now has that name, so that this file must no longer be written
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
