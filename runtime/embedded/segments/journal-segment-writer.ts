import { dirname } from 'node:path';
import {
  type FileSystem,
  isOutOfSpace,
  type OpenFile,
  type OpenFileFacts,
} from '#runtime/base/files/file-system.ts';
import { SpaceAhead } from '#runtime/base/files/space-ahead.ts';
import { journalFull } from '../journal-errors.ts';
import {
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  UNFINISHED_SUFFIX,
} from './journal-format.ts';

/** Bytes per copy. */
const COPY_BYTES = 1024 * 1024;

/** A non-zero byte, which would read as zero in a hole. */
interface Mark {
  readonly position: number;
  readonly byte: number;
}

/**
 * Writes one segment. Calls must not overlap, except that `datasync` may overlap an `append`. Synced records are
 * flushed as part of their write: measured, a separate flush takes another round trip through the thread pool, which is
 * longer than the flush on a good disk. After any error other than `STORAGE_FULL` the state of the file is unknown, and
 * nothing more may be written.
 *
 * The file may be truncated by others at any time. Within preallocated space this is detectable: a write in flight then
 * extends the file only to its own end, which is before the end of that space. A write that extends the file beyond it
 * hides the truncation behind a hole. So after such a write the last non-zero bytes of the two newest records are read
 * back: if they are there, only zeros were truncated, which the hole has as well.
 */
export class SegmentWriter {
  readonly #file: OpenFile;
  readonly #bytesMax: number;
  readonly #ahead: SpaceAhead;
  #end = SEGMENT_HEADER_BYTES;
  #mark: Mark;
  #isHoled = false;

  private constructor(file: OpenFile, bytesMax: number, header: Buffer) {
    this.#file = file;
    this.#bytesMax = bytesMax;
    this.#ahead = new SpaceAhead(file, bytesMax);
    this.#mark = markOf(header, 0);
  }

  /**
   * Creates a segment. It gets its name when its header is on disk, so a segment without an intact header is always
   * damage, never the result of a crash.
   *
   * @param isSynced whether every record is on disk once it is appended
   * @throws {ServiceError} `STORAGE_FULL`: no file is left behind
   */
  static async create(
    files: FileSystem,
    path: string,
    header: SegmentHeader,
    bytesMax: number,
    isSynced: boolean,
  ): Promise<SegmentWriter> {
    const unfinished = path + UNFINISHED_SUFFIX;
    const encoded = encodeSegmentHeader(header);
    let file: OpenFile | undefined;
    try {
      file = await files.open(unfinished, isSynced ? 'create-synced' : 'create');
      await file.write(encoded, 0, SEGMENT_HEADER_BYTES, 0);
      await file.sync();
      await files.rename(unfinished, path);
    } catch (error) {
      await file?.close();
      if (!isOutOfSpace(error)) throw error;
      // A leftover is removed by the next opening, or overwritten by the next attempt.
      if (file !== undefined) await files.unlink(unfinished);
      throw journalFull(error);
    }
    try {
      await files.syncDirectory(dirname(path));
    } catch (error) {
      await file.close();
      throw error;
    }
    return new SegmentWriter(file, bytesMax, encoded);
  }

  /** Offset of the next record, in bytes. */
  get end(): number {
    return this.#end;
  }

  /** Whether a record of this size belongs in this segment. The first one always does. */
  takes(bytes: number): boolean {
    return this.#end === SEGMENT_HEADER_BYTES || this.#end + bytes <= this.#bytesMax;
  }

  /**
   * Appends a record, flushed if records are synced.
   *
   * @throws {ServiceError} `STORAGE_FULL`: its bytes were removed again, and the removal is flushed. Otherwise the next
   *   record could be torn across the remains of this one, which does not look like an unfinished write.
   */
  async append(record: Buffer): Promise<void> {
    const lengthens = this.#end + record.length > this.#ahead.end;
    try {
      await this.#file.write(record, 0, record.length, this.#end);
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      await this.#ahead.cutBehind(this.#end);
      await this.#file.sync();
      throw journalFull(error);
    }
    const before = this.#mark;
    this.#mark = markOf(record, this.#end);
    this.#end += record.length;
    await this.#ahead.takeBehind(this.#end);
    if (lengthens) await this.#findHole(before, this.#mark);
  }

  /**
   * Removes the failed record at `end`, as far as the file permits, so that a write answered with an error is not there
   * after a restart. The removal may not reach the disk; nothing depends on it.
   */
  async retract(end: number): Promise<void> {
    this.#end = end;
    try {
      await this.#ahead.cutBehind(this.#end);
      await this.#file.sync();
    } catch {
      // The original failure is the one that is reported.
    }
  }

  /** Status of the file, synchronously. */
  look(): OpenFileFacts {
    return this.#file.look();
  }

  /** Whether the file was truncated, even if a later write extended it again. Checks the file synchronously. */
  isCut(): boolean {
    return this.#isHoled || this.#file.look().size < Math.max(this.#end, this.#ahead.end);
  }

  /** Copies everything up to `end` into a new file and flushes it. */
  async copyTo(files: FileSystem, path: string, end: number): Promise<void> {
    const copy = await files.open(path, 'create');
    try {
      const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end));
      for (let at = 0; at < end; at += COPY_BYTES) {
        const length = await this.#file.read(buffer, 0, Math.min(COPY_BYTES, end - at), at);
        await copy.write(buffer, 0, length, at);
      }
      await copy.sync();
    } finally {
      await copy.close();
    }
  }

  /** Flushes everything written before the call. */
  datasync(): Promise<void> {
    return this.#file.datasync();
  }

  /**
   * Truncates the preallocated space, flushes and closes: the segment is final.
   *
   * @returns whether it is complete; false when it was truncated before
   */
  async finish(): Promise<boolean> {
    try {
      await this.#ahead.cutBehind(this.#end);
      await this.#findHole(this.#mark);
      await this.#file.sync();
      return !this.isCut();
    } finally {
      await this.#file.close();
    }
  }

  /** Closes the file without changing it, because its state is unknown. */
  abandon(): Promise<void> {
    return this.#file.close();
  }

  async #findHole(...marks: readonly Mark[]): Promise<void> {
    const found = Buffer.alloc(1);
    for (const { position, byte } of marks) {
      const count = await this.#file.read(found, 0, 1, position);
      if (count === 0 || found[0] !== byte) this.#isHoled = true;
    }
  }
}

/** The last non-zero byte; headers and records begin with one. @param start offset in the file */
function markOf(bytes: Buffer, start: number): Mark {
  let at = bytes.length - 1;
  while (at > 0 && bytes[at] === 0) at -= 1;
  return { position: start + at, byte: bytes[at] as number };
}
