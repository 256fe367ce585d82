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
   * Puts a snapshot in the place of the actors if there is one that is whole; asks for one where there is none, and does
   * not wait for it.
   *
   * @returns where they stand now; undefined when nothing was changed
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  replace(signal: AbortSignal): Promise<LogPosition | undefined>;
  /** Whether there seems to be one that {@link replace} could take; asks for one where there is none. Never rejects. */
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

  /** Removes what an earlier one left. */
  async tidy(): Promise<void> {
    await this.#coldStart?.done();
  }

  /** @returns false when it was given up */
  async run(): Promise<boolean> {
    const reached = await this.#begin((coldStart, signal) => coldStart.run(this.#positions.current, signal));
    return reached !== 'cancelled';
  }

  /** As {@link ColdStart.replace}. @returns whether there is a snapshot in the place of the actors now */
  async replace(): Promise<boolean> {
    return (await this.#begin((coldStart, signal) => coldStart.replace(signal))) === 'replaced';
  }

  /** As {@link ColdStart.isOffered}. */
  async isOffered(): Promise<boolean> {
    return (await this.#coldStart?.isOffered()) === true;
  }

  async #begin(
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
  }
}
