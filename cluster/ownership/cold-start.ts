import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { PositionKeeper } from './position-keeper.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';

/**
 * Starts a member's copy of a partition from a snapshot. This is needed when the log begins after the member's position,
 * and faster when a snapshot is nearer to the end of the log.
 *
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
 */
export interface ColdStart {
  /**
   * Replaces the actors on the disk by a snapshot if one is needed. No other code uses the actors meanwhile. It waits
   * as long as a snapshot is needed and none is complete.
   *
   * @param position of the actors; undefined when there are none
   * @param signal cancels it: the actors are as they were
   * @returns the new position; undefined when nothing was changed, because the log can be read
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined>;
  /**
   * Downloads a complete snapshot and stores it beside the actors, which may be used meanwhile. Requests a snapshot if
   * there is none, and does not wait for it. After a failure, downloaded files are kept until {@link done}.
   *
   * @returns whether there is one for {@link replace}
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  bring(signal: AbortSignal): Promise<boolean>;
  /**
   * Replaces the actors by the snapshot that {@link bring} downloaded. No other code uses them meanwhile.
   *
   * @returns the new position; undefined when nothing was changed, because no complete snapshot was downloaded
   */
  replace(): Promise<LogPosition | undefined>;
  /** Returns whether there seems to be a snapshot for {@link bring}; requests one if there is none. Never rejects. */
  isOffered(): Promise<boolean>;
  /**
   * Returns whether {@link run} or {@link replace} of this process or an earlier one was interrupted: see
   * {@link finish}.
   */
  isUnfinished(): Promise<boolean>;
  /**
   * Completes an interrupted replacement. No other code uses the actors meanwhile.
   *
   * @returns the new position; undefined when the stored position is right for the actors
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  finish(): Promise<LogPosition | undefined>;
  /** Removes temporary files, once the new position is on the disk. */
  done(): Promise<void>;
}

/** Starts from a snapshot where the log alone is not sufficient. */
export class ColdStarter {
  readonly #coldStart: ColdStart | undefined;
  readonly #positions: PositionKeeper;
  readonly #shards: ShardPositions;
  #controller: AbortController | undefined;
  /** Cancels the download beside the actors. */
  #bringing: AbortController | undefined;
  /** The downloaded snapshot is still needed. */
  #isWanted = false;
  /** Serializes the operations: all of them use one folder. */
  #work: Promise<unknown> = Promise.resolve();

  /** @param coldStart undefined where there are no snapshots */
  constructor(coldStart: ColdStart | undefined, positions: PositionKeeper, shards: ShardPositions) {
    this.#coldStart = coldStart;
    this.#shards = shards;
    this.#positions = positions;
  }

  /** Whether there are snapshots. */
  get isPossible(): boolean {
    return this.#coldStart !== undefined;
  }

  /**
   * Completes an interrupted replacement, and removes its remains except a snapshot that is still needed. It does not
   * wait for such a snapshot. No other code uses the actors meanwhile.
   */
  async tidy(): Promise<void> {
    if (this.#isWanted && !(await this.#isUnfinished())) return;
    await this.#alone(async () => {
      if (await this.#isUnfinished()) await this.#put((coldStart) => coldStart.finish());
      if (!this.#isWanted) await this.#coldStart?.done();
    });
  }

  /** @returns false when it was cancelled */
  async run(): Promise<boolean> {
    const reached = await this.#begin((coldStart, signal) => coldStart.run(this.#positions.current, signal));
    return reached !== 'cancelled';
  }

  /** As {@link ColdStart.bring}; false also when it was cancelled. The snapshot is kept until {@link drop}. */
  bring(): Promise<boolean> {
    this.#isWanted = true;
    const controller = new AbortController();
    this.#bringing?.abort();
    this.#bringing = controller;
    return this.#alone(async () => {
      try {
        return (await this.#coldStart?.bring(controller.signal)) === true;
      } catch (error) {
        if (controller.signal.aborted) return false;
        throw error;
      }
    });
  }

  /**
   * The downloaded snapshot is no longer needed.
   *
   * @returns resolves when it is removed; an interrupted replacement is left to {@link tidy}
   */
  async drop(): Promise<void> {
    this.#isWanted = false;
    this.#bringing?.abort();
    await this.#alone(async () => {
      if (!this.#isWanted && !(await this.#isUnfinished())) await this.#coldStart?.done();
    });
  }

  /** As {@link ColdStart.replace}. @returns whether a snapshot has replaced the actors */
  async replace(): Promise<boolean> {
    return (await this.#begin((coldStart) => coldStart.replace())) === 'replaced';
  }

  /** As {@link ColdStart.isOffered}. */
  async isOffered(): Promise<boolean> {
    return (await this.#coldStart?.isOffered()) === true;
  }

  async #isUnfinished(): Promise<boolean> {
    return (await this.#coldStart?.isUnfinished()) === true;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }

  #begin(
    bring: (coldStart: ColdStart, signal: AbortSignal) => Promise<LogPosition | undefined>,
  ): Promise<'replaced' | 'unchanged' | 'cancelled'> {
    this.#bringing?.abort();
    return this.#alone(() => this.#putUntilCancelled(bring));
  }

  async #putUntilCancelled(
    bring: (coldStart: ColdStart, signal: AbortSignal) => Promise<LogPosition | undefined>,
  ): Promise<'replaced' | 'unchanged' | 'cancelled'> {
    const controller = new AbortController();
    this.#controller = controller;
    try {
      return await this.#put((coldStart) => bring(coldStart, controller.signal));
    } catch (error) {
      if (controller.signal.aborted) return 'cancelled';
      throw error;
    } finally {
      this.#controller = undefined;
    }
  }

  async #put(
    bring: (coldStart: ColdStart) => Promise<LogPosition | undefined>,
  ): Promise<'replaced' | 'unchanged'> {
    if (this.#coldStart === undefined) return 'unchanged';
    await this.#shards.suspend();
    try {
      const reached = await bring(this.#coldStart);
      if (reached === undefined) return 'unchanged';
      await this.#positions.replace(reached, await this.#shards.replaced());
      await this.#coldStart.done();
      this.#isWanted = false;
      return 'replaced';
    } finally {
      this.#shards.resume();
    }
  }

  /** Cancels it. */
  cancel(): void {
    this.#controller?.abort();
    this.#bringing?.abort();
  }
}
