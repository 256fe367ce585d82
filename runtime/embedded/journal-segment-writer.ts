import { dirname } from 'node:path';
import {
  type FileSystem,
  isOutOfSpace,
  type OpenFile,
  type OpenFileFacts,
} from '#runtime/base/file-system.ts';
import { SpaceAhead } from '#runtime/base/space-ahead.ts';
import { journalFull } from './journal-errors.ts';
import {
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  UNFINISHED_SUFFIX,
} from './journal-format.ts';

/** Bytes copied at once. */
const COPY_BYTES = 1024 * 1024;

/** A byte that is not zero, which it would be in a hole. */
interface Mark {
  readonly position: number;
  readonly byte: number;
}

/**
 * Writes one segment. One call at a time, except that `datasync` may overlap an `append`. Where records are synced they
 * are flushed within their write: measured, a flush of its own is another way through the thread pool, which takes
 * longer than the flush on a good disk.
 * An error that is no `STORAGE_FULL` leaves the file in an unknown state: nothing more may be written.
 *
 * Somebody else may cut the file at any time. Over space taken ahead that shows: a write that is in flight then makes the
 * file no longer than the write, which is shorter than the space. A write that makes the file longer hides the cut behind
 * a hole. So after such a write the last bytes that are not zero of the two newest records are read back: when they
 * are there, a cut took away nothing but zeros, which the hole has as well.
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
    return new SegmentWriter(file, bytesMax, encoded);
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
   * Takes away the record at `end` after it failed, as far as the file still lets us, so that a write answered
   * with an error is not there after a restart. Whether that reaches the disk is left open: nothing depends on it.
   */
  async retract(end: number): Promise<void> {
    this.#end = end;
    try {
      await this.#ahead.cutBehind(this.#end);
      await this.#file.sync();
    } catch {
      // The failure that led here is the one that is reported.
    }
  }

  /** What there is to know of its file, at once. */
  look(): OpenFileFacts {
    return this.#file.look();
  }

  /** Whether somebody cut it, also when a write made it longer again. Looks at the file, at once. */
  isCut(): boolean {
    return this.#isHoled || this.#file.look().size < Math.max(this.#end, this.#ahead.end);
  }

  /** Copies what was written up to `end` into a new file, flushed. */
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
   * Cuts off the space taken ahead, flushes and closes: the segment is final.
   *
   * @returns whether it has everything; not when somebody cut it before
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

  /** Closes and changes nothing: for a file in an unknown state. */
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

/** The last byte that is not zero; headers and records have one at their beginning. @param start where they are written */
function markOf(bytes: Buffer, start: number): Mark {
  let at = bytes.length - 1;
  while (at > 0 && bytes[at] === 0) at -= 1;
  return { position: start + at, byte: bytes[at] as number };
}
