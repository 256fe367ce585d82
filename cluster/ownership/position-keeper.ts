import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { keptOf, type LogPosition, type ReceivedPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { PositionFile } from './position-file.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';

/** Interval at which a position is stored, in milliseconds: a restart applies these records again. */
const STORE_POSITION_MS = 1000;

/** Dependencies of the positions. */
export interface PositionKeeperOptions {
  readonly files: FileSystem;
  /** Of the partition. */
  readonly folder: string;
  readonly clock: Clock;
  /** Its journal is never behind a position. */
  readonly flushed: FlushedReplica | undefined;
  /** Notified of stored positions. */
  readonly shards: ShardPositions;
}

/**
 * Position of a member in a partition: the records that are certainly in its shards, in memory and on the disk. Stored
 * every second while the partition is followed or owned.
 *
 * @see docs/partition-log.md#shards-follow-the-log
 */
export class PositionKeeper {
  readonly #clock: Clock;
  readonly #flushed: FlushedReplica | undefined;
  readonly #shards: ShardPositions;
  readonly #file: PositionFile;
  #current: ReceivedPosition | undefined;
  #timer: Timer | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor({ clock, files, flushed, folder, shards }: PositionKeeperOptions) {
    this.#shards = shards;
    this.#clock = clock;
    this.#flushed = flushed;
    this.#file = new PositionFile(files, folder);
  }

  /** The newest known position; undefined before it was read, and when the member has no data. */
  get current(): ReceivedPosition | undefined {
    return this.#current;
  }

  /** Name of the actors' catalogue for that position; undefined when none was stored with it. */
  get catalogue(): string | undefined {
    return this.#file.catalogue;
  }

  /** Number of actors when that position was stored; undefined when it is not stored. */
  get actors(): number | undefined {
    return this.#file.actors;
  }

  /** {@link current}, read from the disk when it is unknown. @throws {ServiceError} `DATA_CORRUPTED` */
  async read(): Promise<ReceivedPosition | undefined> {
    return this.#current ?? (await this.#file.read());
  }

  /** Reads the position and keeps it. @throws as {@link read} */
  async load(): Promise<void> {
    this.#current = await this.read();
  }

  /** Invalidates the time of receipt. */
  forgetReceived(): void {
    this.#current = keptOf(this.#current);
  }

  /** Stores a position that the shards have reached. One call at a time. */
  async store(position: ReceivedPosition): Promise<void> {
    await this.#flushed?.beforePosition(position);
    await this.#shards.storing(position);
    await this.replace(position);
    this.#flushed?.journal?.release(position.sequence);
    this.#shards.stored(position);
  }

  /**
   * Stores the position of a snapshot that replaced the shards.
   *
   * @param actors their number, which is not stored elsewhere until they are listed
   */
  async replace(position: LogPosition, actors?: number): Promise<void> {
    await this.#file.write(position, this.#shards.name, actors);
    this.#current = position;
  }

  /** Stores the name of the catalogue with the known position. */
  async name(): Promise<void> {
    if (this.#current !== undefined) await this.#file.write(this.#current, this.#shards.name);
  }

  /** Records that the member has no data any more. On disk when it resolves. */
  async remove(): Promise<void> {
    await this.#file.remove();
    this.#current = undefined;
  }

  /**
   * Records that the member has no data once everything is set aside; after a failure the position is unchanged.
   *
   * @param putAway sets everything aside
   */
  async removeWith(putAway: () => Promise<void>): Promise<void> {
    const position = this.#current;
    const { actors, catalogue } = this.#file;
    // Removed first: a position of missing data would be trusted.
    await this.remove();
    try {
      await putAway();
    } catch (cause) {
      if (position !== undefined) await this.#file.write(position, catalogue, actors);
      this.#current = position;
      throw cause;
    }
  }

  /** @param store stores the current position, every second until {@link end}; never rejects */
  begin(store: () => Promise<void>): void {
    const timer = this.#clock.after(STORE_POSITION_MS, () => {
      this.#storing = store().finally(() => {
        // Unless it was stopped meanwhile.
        if (this.#timer === timer) this.begin(store);
      });
    });
    this.#timer = timer;
  }

  /** Stops the periodic stores until {@link begin}; resolves when the last one is complete. */
  end(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#storing;
  }
}
