import { assert } from '#runtime/base/assert.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import { PositionFile } from './position-file.ts';

/**
 * Behind which record of the log the shards of a member have nothing, on its disk: the bound from above to the one
 * from below that is the stored position. A machine that lost its power may have shards with effects of records its
 * stored position, some of a second old, does not tell of. When the servers lost those records as well, whatever
 * is written in their place would be taken for what the shards have already. The stream has to have the record that
 * stands here, or the log went back.
 *
 * @see Reliability: R2, R9
 */
export class ShardReach {
  readonly #file: PositionFile;
  #stored: LogPosition | undefined;
  #writing: Promise<void> | undefined;

  /** @param folder of the partition */
  constructor(files: FileSystem, folder: string) {
    this.#file = new PositionFile(files, folder, 'reach.json');
  }

  /** The newest record the shards may have something of, as the disk says; undefined: nothing says so. */
  get position(): LogPosition | undefined {
    return this.#stored;
  }

  /** Reads what the process before this one left. @throws {ServiceError} `DATA_CORRUPTED` */
  async read(): Promise<void> {
    this.#stored ??= await this.#file.read();
  }

  /**
   * To be called before shards are given anything of a record.
   *
   * @param sequence of the record
   * @param newest the newest record the stream is known to hold: those before it need no call of their own
   * @returns resolves when the disk says so
   * @throws what the disk fails with
   */
  async cover(sequence: number, newest: () => LogPosition): Promise<void> {
    while (!this.#covers(sequence, newest().identity)) {
      assert(
        newest().sequence >= sequence,
        `shards get record ${sequence}, the newest is ${newest().sequence}`,
      );
      this.#writing ??= this.#write(newest()).finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  /** The shards have nothing any more. */
  async remove(): Promise<void> {
    this.#stored = undefined;
    await this.#file.remove();
  }

  #covers(sequence: number, identity: string): boolean {
    return this.#stored?.identity === identity && this.#stored.sequence >= sequence;
  }

  async #write(position: LogPosition): Promise<void> {
    await this.#file.write(position);
    this.#stored = position;
  }
}
