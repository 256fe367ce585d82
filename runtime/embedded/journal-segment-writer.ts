import { dirname } from 'node:path';
import type { FileSystem, OpenFile } from '#runtime/base/file-system.ts';
import { isOutOfSpace, journalFull } from './journal-errors.ts';
import {
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  UNFINISHED_SUFFIX,
} from './journal-format.ts';

/**
 * Space taken ahead, in bytes, as zeros. Flushing a file that grows commits its new length and blocks in the
 * journal of the file system as well. Measured on ext4: one appender 12,000 records/s growing, 18,000 over
 * zeros; 64 appenders 295,000 entries/s against 375,000. A whole segment at once would hold up writing for it.
 */
const AHEAD_BYTES = 1024 * 1024;

const zeros = Buffer.alloc(AHEAD_BYTES);

/**
 * Writes one segment. One call at a time, except that `datasync` may overlap an `append`. Where records are synced they
 * are flushed within their write: measured, a flush of its own is another way through the thread pool, which takes
 * longer than the flush on a good disk.
 * An error that is no `STORAGE_FULL` leaves the file in an unknown state: nothing more may be written.
 */
export class SegmentWriter {
  readonly #file: OpenFile;
  readonly #bytesMax: number;
  #end = SEGMENT_HEADER_BYTES;
  /** Where the zeros taken ahead end. */
  #aheadEnd = SEGMENT_HEADER_BYTES;
  #takesAhead = true;

  private constructor(file: OpenFile, bytesMax: number) {
    this.#file = file;
    this.#bytesMax = bytesMax;
  }

  /**
   * Makes a segment. It gets its name when its header is on the disk, so a segment without an intact header is
   * always damage, never a crash.
   *
   * @param isSynced whether every record is on the disk when it has been appended
   * @throws {ServiceError} `STORAGE_FULL`: nothing is left of it
   */
  static async create(
    files: FileSystem,
    path: string,
    header: SegmentHeader,
    bytesMax: number,
    isSynced: boolean,
  ): Promise<SegmentWriter> {
    const unfinished = path + UNFINISHED_SUFFIX;
    let file: OpenFile | undefined;
    try {
      file = await files.open(unfinished, isSynced ? 'create-synced' : 'create');
      await file.write(encodeSegmentHeader(header), 0, SEGMENT_HEADER_BYTES, 0);
      await file.sync();
      await files.rename(unfinished, path);
    } catch (error) {
      await file?.close();
      if (!isOutOfSpace(error)) throw error;
      // What is left of it is removed with the next opening, or written over by the next try.
      if (file !== undefined) await files.unlink(unfinished);
      throw journalFull(error);
    }
    try {
      await files.syncDirectory(dirname(path));
    } catch (error) {
      await file.close();
      throw error;
    }
    return new SegmentWriter(file, bytesMax);
  }

  /** Offset of the next record, in bytes. */
  get end(): number {
    return this.#end;
  }

  /** Whether a record of so many bytes belongs here. The first one always does, however large. */
  takes(bytes: number): boolean {
    return this.#end === SEGMENT_HEADER_BYTES || this.#end + bytes <= this.#bytesMax;
  }

  /**
   * Writes a record behind the others. It is flushed where records are synced.
   *
   * @throws {ServiceError} `STORAGE_FULL`: its bytes were taken away again, and that is flushed. Otherwise the
   *   next record could be torn over the remains of this one, which does not look like an unfinished write.
   */
  async append(record: Buffer): Promise<void> {
    try {
      await this.#file.write(record, 0, record.length, this.#end);
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      await this.#cutBehindEnd();
      await this.#file.sync();
      throw journalFull(error);
    }
    this.#end += record.length;
    if (this.#takesAhead && this.#end > this.#aheadEnd) await this.#takeAhead();
  }

  /**
   * Takes away the record at `end` after it failed, as far as the file still lets us, so that a write answered
   * with an error is not there after a restart. Whether that reaches the disk is left open: nothing depends on it.
   */
  async retract(end: number): Promise<void> {
    this.#end = end;
    try {
      await this.#cutBehindEnd();
      await this.#file.sync();
    } catch {
      // The failure that led here is the one that is reported.
    }
  }

  /** Flushes everything written before the call. */
  datasync(): Promise<void> {
    return this.#file.datasync();
  }

  /** Cuts off the space taken ahead, flushes and closes: the segment is final. */
  async finish(): Promise<void> {
    try {
      await this.#cutBehindEnd();
      await this.#file.sync();
    } finally {
      await this.#file.close();
    }
  }

  /** Closes and changes nothing: for a file in an unknown state. */
  abandon(): Promise<void> {
    return this.#file.close();
  }

  async #takeAhead(): Promise<void> {
    const length = Math.min(AHEAD_BYTES, this.#bytesMax - this.#end);
    if (length <= 0) return;
    try {
      await this.#file.write(zeros, 0, length, this.#end);
      this.#aheadEnd = this.#end + length;
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      // The last free bytes are worth more to others.
      this.#takesAhead = false;
      await this.#cutBehindEnd();
    }
  }

  async #cutBehindEnd(): Promise<void> {
    await this.#file.truncate(this.#end);
    this.#aheadEnd = this.#end;
  }
}
