import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { PositionKeeper } from './position-keeper.ts';
import type { ShardPositions } from './shard-positions.ts';

/**
 * Brings a partition to a member that cannot read its log from where it stands, because it begins behind that, or
 * need not, because a snapshot is nearer to its end.
 *
 * @see Reliability: R16
 */
export interface ColdStart {
  /**
   * Puts a snapshot in the place of the actors on the disk, when it is wanted. Nothing else uses them meanwhile. It
   * waits as long as it is wanted and there is none that is whole.
   *
   * @param position where the actors stand; undefined: there are none to speak of
   * @param signal gives it up: the actors are as they were
   * @returns where they stand now; undefined when nothing was changed, because the log can be read
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined>;
  /**
   * Brings a snapshot that is whole and puts it beside the actors, which may be used meanwhile. Asks for one where there is
   * none, and does not wait for it. What it brought before it failed is not brought again, until {@link done}.
   *
   * @returns whether there is one for {@link replace}
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  bring(signal: AbortSignal): Promise<boolean>;
  /**
   * Puts what {@link bring} brought in the place of the actors. Nothing else uses them meanwhile.
   *
   * @returns where they stand now; undefined when nothing was changed, as nothing whole was brought
   */
  replace(): Promise<LogPosition | undefined>;
  /** Whether there seems to be one that {@link bring} could bring; asks for one where there is none. Never rejects. */
  isOffered(): Promise<boolean>;
  /** Removes what it worked with, once the new position is on the disk. */
  done(): Promise<void>;
}

/** Begins with a snapshot where the log alone does not do. */
export class ColdStarter {
  readonly #coldStart: ColdStart | undefined;
  readonly #positions: PositionKeeper;
  readonly #shards: ShardPositions;
  #controller: AbortController | undefined;
  /** Gives up what is brought beside the actors. */
  #bringing: AbortController | undefined;
  /** What was brought beside the actors is wanted still. */
  #isWanted = false;
  /** One thing after the other: all of them work in one folder. */
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

  /** Removes what an earlier one left, but for what is wanted still. */
  async tidy(): Promise<void> {
    await this.#alone(async () => {
      if (!this.#isWanted) await this.#coldStart?.done();
    });
  }

  /** @returns false when it was given up */
  async run(): Promise<boolean> {
    const reached = await this.#begin((coldStart, signal) => coldStart.run(this.#positions.current, signal));
    return reached !== 'cancelled';
  }

  /** As {@link ColdStart.bring}; false also when it was given up. What was brought is kept until {@link drop}. */
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

  /** What was brought is not wanted any more. */
  drop(): void {
    this.#isWanted = false;
    this.#bringing?.abort();
  }

  /** As {@link ColdStart.replace}. @returns whether there is a snapshot in the place of the actors now */
  async replace(): Promise<boolean> {
    return (await this.#begin((coldStart) => coldStart.replace())) === 'replaced';
  }

  /** As {@link ColdStart.isOffered}. */
  async isOffered(): Promise<boolean> {
    return (await this.#coldStart?.isOffered()) === true;
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
    return this.#alone(() => this.#put(bring));
  }

  async #put(
    bring: (coldStart: ColdStart, signal: AbortSignal) => Promise<LogPosition | undefined>,
  ): Promise<'replaced' | 'unchanged' | 'cancelled'> {
    if (this.#coldStart === undefined) return 'unchanged';
    const controller = new AbortController();
    this.#controller = controller;
    await this.#shards.suspend();
    try {
      const reached = await bring(this.#coldStart, controller.signal);
      if (reached === undefined) return 'unchanged';
      await this.#positions.replace(reached, await this.#shards.replaced());
      await this.#coldStart.done();
      this.#isWanted = false;
      return 'replaced';
    } catch (error) {
      if (controller.signal.aborted) return 'cancelled';
      throw error;
    } finally {
      this.#controller = undefined;
      this.#shards.resume();
    }
  }

  /** Gives it up. */
  cancel(): void {
    this.#controller?.abort();
    this.#bringing?.abort();
  }
}
