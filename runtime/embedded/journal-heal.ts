import { dirname } from 'node:path';
import { InvariantError } from '#runtime/base/assert.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { SegmentLostError } from './journal-files.ts';
import { UNFINISHED_SUFFIX } from './journal-format.ts';
import { SegmentReader } from './journal-reader.ts';
import type { Segment } from './journal-retention.ts';

/** Bytes copied at once. */
const COPY_BYTES = 1024 * 1024;

/** First pause before a stopped journal tries to go on, in milliseconds; doubled after each try that failed. */
export const HEAL_MS_MIN = 500;

/** Longest pause between two tries, in milliseconds. */
export const HEAL_MS_MAX = 8_000;

/** What a journal knows of its end: what was acknowledged, and nothing else. */
export interface KnownEnd {
  readonly sequence: number;
  readonly chain: Buffer;
}

/**
 * Whether the system refused something, which may pass: no open files left, a cable that was pulled, a volume that was
 * remounted. So may a file that somebody took away. Stored bytes that do not verify and broken invariants do not pass, and nothing goes on after them.
 */
export function mayPass(cause: unknown): boolean {
  if (cause instanceof SegmentLostError) return true;
  if (cause instanceof ServiceError || cause instanceof InvariantError) return false;
  const code = (cause as NodeJS.ErrnoException | null)?.code;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code);
}

/**
 * Makes a segment whole again after a write or a flush of it failed: its acknowledged records are read, verified up to
 * the known end, written into a new file, flushed, and that file takes the name of the old one.
 *
 * The old file is never flushed again and nothing of it is trusted: after a failed flush the system may call pages
 * clean that never arrived, and a sector that was being written may hold anything, the end of an acknowledged record
 * included. What was written behind the known end, which nobody was told is durable, is not in the new file, so a write
 * that was answered with an error cannot come back.
 *
 * A crash at any moment leaves the old file or the new one under the name, as recovery expects either of them.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when an acknowledged record cannot be read any more; then nothing is changed
 */
export async function rewriteSegment(files: FileSystem, segment: Segment, known: KnownEnd): Promise<void> {
  const unfinished = segment.path + UNFINISHED_SUFFIX;
  await verify(files, segment, known);
  const source = await files.open(segment.path, 'read');
  try {
    const copy = await files.open(unfinished, 'create');
    try {
      const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, segment.end));
      for (let at = 0; at < segment.end; at += COPY_BYTES) {
        const length = Math.min(COPY_BYTES, segment.end - at);
        const count = await source.read(buffer, 0, length, at);
        if (count < length) throw new InvariantError(`${segment.path} became shorter while it was copied`);
        await copy.write(buffer, 0, length, at);
      }
      await copy.sync();
    } finally {
      await copy.close();
    }
  } finally {
    await source.close();
  }
  await verify(files, segment, known, unfinished);
  await files.rename(unfinished, segment.path);
  await files.syncDirectory(dirname(segment.path));
}

/** @param path where the bytes are, if not at the path of the segment */
async function verify(
  files: FileSystem,
  segment: Segment,
  known: KnownEnd,
  path = segment.path,
): Promise<void> {
  const reader = await SegmentReader.open(files, path, segment.header.firstSequence, segment.end);
  const corrupted = (what: string): ServiceError =>
    new ServiceError('DATA_CORRUPTED', `Journal segment ${segment.path} cannot be written again: ${what}.`, {
      details: { segment: segment.path, sequence: reader.next.sequence },
    });
  try {
    for (;;) {
      const step = await reader.step();
      if (step.kind === 'fault') throw corrupted(step.what);
      if (step.kind === 'end') break;
    }
    const { sequence, previousChain } = reader.next;
    if (sequence !== known.sequence + 1 || !previousChain.equals(known.chain))
      throw corrupted('it does not end where the journal does');
  } finally {
    await reader.close();
  }
}
