import { isOutOfSpace, type OpenFile } from './file-system.ts';

/** Limit of one allocation, in bytes. Allocating a whole file at once would delay writes. */
const AHEAD_BYTES_MAX = 1024 * 1024;

const zeros = Buffer.alloc(AHEAD_BYTES_MAX);

/**
 * Preallocates space, as zeros, in a file to which records are appended and flushed. Flushing a growing file also
 * commits its new length and blocks in the journal of the file system, and on ext4 waits for changes of other files in
 * it. Measured there: one appender 12,000 records/s growing, 18,000 over zeros; 64 appenders 295,000 entries/s against
 * 375,000. On a disk with other writers 4 KiB take 0.5 to 2.7 ms growing, 0.3 ms over zeros.
 */
export class SpaceAhead {
  readonly #file: OpenFile;
  readonly #bytesMax: number;
  #end = 0;
  /** Size of the next allocation; 0: no more. */
  #length: number;

  /**
   * @param bytesMax length up to which zeros are written
   * @param firstBytes size of the first allocation, doubled each time; small where most files stay small
   */
  constructor(file: OpenFile, bytesMax: number, firstBytes = AHEAD_BYTES_MAX) {
    this.#file = file;
    this.#bytesMax = bytesMax;
    this.#length = firstBytes;
  }

  /** End of the zeros: the file is at least this long, also while {@link cutBehind} runs. */
  get end(): number {
    return this.#end;
  }

  /**
   * To be called after a write: allocates more when the zeros are used up. After an allocation fails for lack of space
   * it makes no more, because the last free bytes are needed elsewhere.
   *
   * @param end of the written data
   * @throws the errors of the disk, except for lack of space
   */
  async takeBehind(end: number): Promise<void> {
    const length = Math.min(this.#length, this.#bytesMax - end);
    if (end <= this.#end || length <= 0) return;
    try {
      await this.#file.write(zeros, 0, length, end);
      this.#end = end + length;
      this.#length = Math.min(2 * this.#length, AHEAD_BYTES_MAX);
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      this.#length = 0;
      await this.cutBehind(end);
    }
  }

  /** Truncates the file after the written data. */
  async cutBehind(end: number): Promise<void> {
    // Set before the file becomes shorter: see `end`.
    this.#end = end;
    await this.#file.truncate(end);
  }
}
