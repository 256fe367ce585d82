import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { isStorageFull } from '#runtime/embedded/journal-errors.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { ColdStarter } from './cold-start.ts';
import type { PartitionStore } from './partition-host.ts';
import type { PositionKeeper } from './position-keeper.ts';
import { PartitionBackoff } from './partition-backoff.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';

/** Interval of the checks whether a partition can be rebuilt, in milliseconds. */
const CHECK_MS = 5_000;

/** Delay after a failed swap, for which the partition was stopped in vain. */
const swapBackoff: Backoff = Object.freeze({ firstMs: 10_000, factor: 2, mostMs: 300_000 });

/** Time for which damaged or lost shards are reported, in milliseconds. */
const REPORTED_MS = 3_600_000;

/** Dependencies of {@link ShardDamage}. */
export interface ShardDamageOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PartitionStore;
  readonly stream: LogStream;
  readonly positions: PositionKeeper;
  readonly shards: ShardPositions;
  readonly coldStart: ColdStarter;
  readonly report: LogReport;
  /** Called when {@link ShardDamage.makeAnew} can succeed, with the original damage. */
  readonly onCurable: (cause: ServiceError) => Promise<void>;
}

/**
 * Handles damaged shards of a partition. They are rebuilt when the log or a complete snapshot is certain to have all
 * records. Until then the damage is contained: each damaged actor is refused alone, the rest is served, and the data
 * stays in place. Periodic checks find out whether a source is complete by now. A snapshot is downloaded completely
 * beside the served data, which is stopped only for the swap.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class ShardDamage {
  readonly #options: ShardDamageOptions;
  #contained: ServiceError | undefined;
  /** Whether an actor was refused while damage was contained. */
  #hasRefused = false;
  /** Set while the log is read to its end as of a start; a new object for each start. */
  #reading: object | undefined;
  #timer: Timer | undefined;
  /** Number of consecutive containments. */
  #containments = 0;
  /** Delays the next rebuild. */
  readonly #rest: PartitionBackoff;
  /** Reason and monotonic time of the last rebuild. */
  #made: { readonly what: string; readonly atMs: number } | undefined;

  constructor(options: ShardDamageOptions) {
    this.#options = options;
    this.#rest = new PartitionBackoff(options.clock);
  }

  /** The first damage that is contained; undefined when there is none. */
  get contained(): string | undefined {
    return this.#contained?.message;
  }

  /**
   * Whether damaged shards were rebuilt a short time ago. Damage found now came with the log: another rebuild would not
   * help, and each read that finds it would request one.
   */
  get wasRebuilt(): boolean {
    return this.#rest.isOn;
  }

  /** The damage or loss of the last hour that caused a rebuild, for operators. */
  get rebuilt(): string | undefined {
    const isRecent = this.#options.clock.monotonicMs() - (this.#made?.atMs ?? 0) < REPORTED_MS;
    return isRecent ? this.#made?.what : undefined;
  }

  /** Whether damage cannot be judged yet: a later record may remove an actor without a file. */
  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /**
   * Starts reading the log to its current end. The previous process may have read further: damage found
   * before the end is only refused, and judged at the end.
   */
  beginReading(): void {
    this.#reading = {};
    this.#options.store.refuseAlone?.(true);
  }

  /**
   * Ends {@link beginReading}: an actor without a file now was not removed by a record.
   *
   * @returns damage that is not contained; undefined when there is none, or when the log is being read again
   */
  async endReading(): Promise<unknown> {
    const { shards, store } = this.#options;
    const reading = this.#reading;
    if (reading === undefined) return undefined;
    const lost = await shards.lost((actor, met) => store.giveUp?.(actor, met) === true);
    if (this.#reading !== reading) return undefined;
    this.#reading = undefined;
    this.#noteRefused();
    if (this.#contained !== undefined) return undefined;
    store.refuseAlone?.(false);
    return this.#refusal ?? lost;
  }

  /**
   * To be called when all of the log is in the shards.
   *
   * @throws {ServiceError} why an actor is refused; not while damage is contained
   */
  requireSound(): void {
    const refusal = this.#contained === undefined ? this.#refusal : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Starts containment: damaged actors are refused alone. */
  contain(cause: ServiceError): void {
    this.#contained ??= cause;
    this.#noteRefused();
    const { random, store } = this.#options;
    store.refuseAlone?.(true);
    // A swap that failed before would stop the partition again.
    const pauseMs = this.#containments === 0 ? 0 : backoffMs(swapBackoff, this.#containments - 1, random);
    this.#schedule(Math.max(pauseMs, this.#rest.leftMs));
    this.#containments += 1;
  }

  /** Ends containment: the damage is gone, or the partition is not used. */
  end(): void {
    this.#reading = undefined;
    this.#endContainment();
  }

  /**
   * Rebuilds everything when the result is certain to be complete and there is space to keep the damaged data: from
   * the whole log, or from a downloaded snapshot. A rebuild is not repeated soon, because on a disk that damages what
   * is written the partition would be rebuilt endlessly.
   *
   * @param clear sets the existing data aside; `STORAGE_FULL` changes nothing
   * @returns false when it is not possible: then nothing was changed
   */
  async makeAnew(cause: ServiceError, clear: () => Promise<void>): Promise<boolean> {
    const { clock, coldStart, report } = this.#options;
    const begins = this.#hasRoom && !this.wasRebuilt ? await this.#logBegins() : undefined;
    const isInLog = begins !== undefined && begins <= 1;
    if (begins === undefined || !(await (isInLog ? hadRoom(clear) : coldStart.replace()))) {
      report({ kind: 'damage-contained', cause });
      return false;
    }
    report({ kind: 'shards-failed', isDamaged: true, cause });
    this.#made = { what: cause.message, atMs: clock.monotonicMs() };
    this.#rest.begin();
    this.end();
    return true;
  }

  /** Reason why {@link makeAnew} changed nothing, for operators. */
  get obstacleToMakeAnew(): string {
    return this.wasRebuilt ? 'all of it was rebuilt a moment ago' : this.obstacle;
  }

  /** Reason why {@link canBeginAnew} returned false, for operators. */
  get obstacle(): string {
    if (this.#hasRoom) return 'neither its log nor a snapshot has all of it';
    return 'its volume has no space to keep the damaged data beside the rebuilt data';
  }

  /** Whether there is space to keep damaged data: otherwise it stays in place. */
  get #hasRoom(): boolean {
    return this.#options.store.canClear !== false;
  }

  /**
   * Returns whether shards whose newest records were overwritten in the log may be set aside: the log has every
   * record from the first one, or there is a snapshot. Requests a snapshot if there is none. Never rejects.
   */
  async canBeginAnew(): Promise<boolean> {
    if (!this.#hasRoom) return false;
    try {
      const { firstSequence, lastSequence } = await this.#options.stream.state();
      return (lastSequence >= 1 && firstSequence <= 1) || (await this.#options.coldStart.isOffered());
    } catch {
      return false;
    }
  }

  /** Returns whether the log has every record from the first one. */
  async isLogWhole(): Promise<boolean> {
    return ((await this.#logBegins()) ?? Number.POSITIVE_INFINITY) <= 1;
  }

  /**
   * Returns the first record of the log if it has all records of this member; undefined if not, or if it is unknown.
   */
  async #logBegins(): Promise<number | undefined> {
    const { positions, shards, stream } = this.#options;
    try {
      const { firstSequence, identity, lastSequence } = await stream.state();
      for (const known of [positions.current, shards.newest])
        if (known !== undefined && (known.identity !== identity || known.sequence > lastSequence))
          return undefined;
      // Nothing can be rebuilt from a log without records.
      return lastSequence < 1 ? undefined : firstSequence;
    } catch {
      return undefined;
    }
  }

  /** The reason why an actor is refused, if one is. */
  get #refusal(): ServiceError | undefined {
    return this.#options.store.refused?.values().next().value;
  }

  #noteRefused(): void {
    this.#hasRefused ||= this.#refusal !== undefined;
  }

  #endContainment(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#contained = undefined;
    this.#containments = 0;
    this.#hasRefused = false;
    const { coldStart, store } = this.#options;
    // It has the size of the partition. Files that cannot be removed are removed by the next start.
    coldStart.drop().catch(() => undefined);
    store.refuseAlone?.(this.isReading);
  }

  /** @returns whether the damaged actors were removed: then nothing is contained any more */
  #endIfOver(): boolean {
    this.#noteRefused();
    if (this.isReading || !this.#hasRefused || this.#refusal !== undefined) return false;
    this.#endContainment();
    return true;
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    const timer = this.#options.clock.after(ms, () => void this.#check(timer));
    this.#timer = timer;
  }

  async #check(timer: Timer): Promise<void> {
    if (this.#endIfOver()) return;
    const isCurable = await this.#isCurable(timer);
    if (this.#timer !== timer || this.#contained === undefined) return;
    // Downloading a snapshot takes long.
    if (this.#endIfOver()) return;
    if (isCurable) await this.#options.onCurable(this.#contained);
    // Otherwise containment ended, or began again.
    if (this.#timer === timer) this.#schedule(CHECK_MS);
  }

  /** Never rejects. @param timer of the calling check; nothing is downloaded for one that was replaced */
  async #isCurable(timer: Timer): Promise<boolean> {
    const { coldStart } = this.#options;
    if (!this.#hasRoom) {
      // The served actors need the space of the downloaded files.
      await coldStart.drop().catch(() => undefined);
      return false;
    }
    const begins = await this.#logBegins();
    if (begins === undefined || this.#timer !== timer) return false;
    return begins <= 1 || coldStart.bring().catch(() => false);
  }
}

/** @returns false when there was no space for `work` */
async function hadRoom(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (cause) {
    if (!isStorageFull(cause)) throw cause;
    return false;
  }
}
