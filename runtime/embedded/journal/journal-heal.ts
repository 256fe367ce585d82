import { dirname } from 'node:path';
import { InvariantError } from '#runtime/base/assert.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isSystemError } from '#runtime/errors/system-error.ts';
import { SegmentLostError } from '../segments/journal-files.ts';
import { UNFINISHED_SUFFIX } from '../segments/journal-format.ts';
import { SegmentReader } from '../segments/journal-reader.ts';
import type { Segment } from '../segments/journal-retention.ts';

/** Bytes per copy. */
const COPY_BYTES = 1024 * 1024;

/** Initial delay before a stopped journal retries, in milliseconds; doubled after each failure. */
export const HEAL_MS_MIN = 500;

/** Maximum delay between two retries, in milliseconds. */
export const HEAL_MS_MAX = 8_000;

/** The end of the journal: exactly the acknowledged records. */
export interface KnownEnd {
  readonly sequence: number;
  readonly chain: Buffer;
}

/**
 * Whether a failure may be temporary: a refusal of the system (no open files left, a disconnected cable, a remounted
 * volume), or a missing file. Damaged bytes and broken invariants are permanent, and the journal never resumes after
 * them.
 */
export function mayPass(cause: unknown): boolean {
  if (cause instanceof SegmentLostError) return true;
  if (cause instanceof ServiceError || cause instanceof InvariantError) return false;
  return isSystemError(cause);
}

/**
 * Repairs a segment after a failed write or flush: its acknowledged records are read, verified up to the known end,
 * written to a new file and flushed, and the new file replaces the old one.
 *
 * The old file is never flushed again and its cached state is not trusted. After a failed flush the system may report
 * pages as clean that were not written, and a sector that was being written may contain anything, including the end of
 * an acknowledged record. Unacknowledged writes after the known end are not in the new file, so a write that was
 * answered with an error cannot reappear.
 *
 * After a crash at any moment the name refers to the old file or the new one; recovery accepts either.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when an acknowledged record is unreadable; nothing is then changed
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

/** @param path of the bytes, if not the path of the segment */
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
