import type { Clock, Timer } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { keptOf, type LogPosition, type ReceivedPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from './flushed-replica.ts';
import { PositionFile } from './position-file.ts';
import type { ShardPositions } from './shard-positions.ts';

/** Between two times a position is stored, in milliseconds: what a restart applies once more. */
const STORE_POSITION_MS = 1000;

/** What positions are kept with. */
export interface PositionKeeperOptions {
  readonly files: FileSystem;
  /** Of the partition. */
  readonly folder: string;
  readonly clock: Clock;
  /** Has the journal no position may be ahead of. */
  readonly flushed: FlushedReplica | undefined;
  /** Told of what is stored. */
  readonly shards: ShardPositions;
}

/**
 * Where a member stands in a partition: what it has in its shards for certain, in memory as on the disk. Stored every
 * second while the partition is followed or owned.
 *
 * @see Reliability: R2
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

  /** The newest that is known; undefined before it was read, and when the member has nothing. */
  get current(): ReceivedPosition | undefined {
    return this.#current;
  }

  /** Name of the catalogue of the actors that position is of, as it was read; undefined where none was stored with it. */
  get catalogue(): string | undefined {
    return this.#file.catalogue;
  }

  /** How many actors there were when that position was stored; undefined where it does not say so. */
  get actors(): number | undefined {
    return this.#file.actors;
  }

  /** {@link current}, read from the disk where nothing is known. @throws {ServiceError} `DATA_CORRUPTED` */
  async look(): Promise<ReceivedPosition | undefined> {
    return this.#current ?? (await this.#file.read());
  }

  /** Knows the position from now on. @throws as {@link look} */
  async load(): Promise<void> {
    this.#current = await this.look();
  }

  /** When it was received says nothing any more. */
  forgetReceived(): void {
    this.#current = keptOf(this.#current);
  }

  /** Stores a position everything before which is in the shards. One call at a time. */
  async store(position: ReceivedPosition): Promise<void> {
    await this.#flushed?.beforePosition(position);
    await this.#shards.storing(position);
    await this.replace(position);
    this.#flushed?.journal?.release(position.sequence);
    this.#shards.stored(position);
  }

  /**
   * Stores the position of what was put in the place of the shards.
   *
   * @param actors how many there are, which nothing else says until they are listed
   */
  async replace(position: LogPosition, actors?: number): Promise<void> {
    await this.#file.write(position, this.#shards.name, actors);
    this.#current = position;
  }

  /** Stores the name of the catalogue with the position that is known. */
  async name(): Promise<void> {
    if (this.#current !== undefined) await this.#file.write(this.#current, this.#shards.name);
  }

  /** The member has nothing any more. On disk when it resolves. */
  async remove(): Promise<void> {
    await this.#file.remove();
    this.#current = undefined;
  }

  /**
   * The member has nothing any more once everything is put away; where that fails it stands where it stood.
   *
   * @param putAway puts everything away
   */
  async removeWith(putAway: () => Promise<void>): Promise<void> {
    const position = this.#current;
    const { actors, catalogue } = this.#file;
    // First: a position of what is not there any more would be believed.
    await this.remove();
    try {
      await putAway();
    } catch (cause) {
      if (position !== undefined) await this.#file.write(position, catalogue, actors);
      this.#current = position;
      throw cause;
    }
  }

  /** @param store stores what there is, every second until {@link end}; never rejects */
  begin(store: () => Promise<void>): void {
    const timer = this.#clock.after(STORE_POSITION_MS, () => {
      this.#storing = store().finally(() => {
        // Unless it was stopped meanwhile.
        if (this.#timer === timer) this.begin(store);
      });
    });
    this.#timer = timer;
  }

  /** Nothing is stored by itself any more when it resolves, until {@link begin}. */
  end(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#storing;
  }
}
