import { isOutOfSpace, type OpenFile } from './file-system.ts';

/** Most that is taken at once, in bytes. A whole file at once would hold up writing for it. */
const AHEAD_BYTES_MAX = 1024 * 1024;

const zeros = Buffer.alloc(AHEAD_BYTES_MAX);

/**
 * Space taken ahead in a file that records are appended to and flushed, as zeros. Flushing a file that grows commits
 * its new length and blocks in the journal of the file system as well, and on ext4 waits for what other files of the
 * disk have in it. Measured there: one appender 12,000 records/s growing, 18,000 over zeros; 64 appenders 295,000
 * entries/s against 375,000. On a disk with other writers 4 KiB take 0.5 to 2.7 ms growing, 0.3 ms over zeros.
 */
export class SpaceAhead {
  readonly #file: OpenFile;
  readonly #bytesMax: number;
  #end = 0;
  /** How many are taken next; 0: none any more. */
  #length: number;

  /**
   * @param bytesMax length the file does not pass for zeros
   * @param firstBytes how much is taken at first, twice as much each time from then on; small where most files stay so
   */
  constructor(file: OpenFile, bytesMax: number, firstBytes = AHEAD_BYTES_MAX) {
    this.#file = file;
    this.#bytesMax = bytesMax;
    this.#length = firstBytes;
  }

  /** Where the zeros end: the file is at least so long, also while it is cut behind what was written. */
  get end(): number {
    return this.#end;
  }

  /**
   * To be called when something was written: takes more when the zeros are used up. Takes none any more once there is
   * no space: the last free bytes are worth more to others.
   *
   * @param end of what was written
   * @throws what the disk fails with, but for want of space
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

  /** Cuts the file off behind what was written. */
  async cutBehind(end: number): Promise<void> {
    // Before the file is shorter: see `end`.
    this.#end = end;
    await this.#file.truncate(end);
  }
}
