import { type Backoff, backoffMs } from '#runtime/base/backoff.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { isStorageFull } from '#runtime/embedded/journal-errors.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { ColdStarter } from './cold-start.ts';
import type { PartitionStore } from './partition-host.ts';
import type { PositionKeeper } from './position-keeper.ts';
import { Rest } from './rest.ts';
import type { ShardPositions } from './shard-positions.ts';

/** Between two looks whether a partition can be made anew by now, in milliseconds. */
const LOOK_MS = 5_000;

/** Between two times a partition is taken down in vain: what was brought could not take the place of what is there. */
const swapBackoff: Backoff = Object.freeze({ firstMs: 10_000, factor: 2, mostMs: 300_000 });

/** Time it is told that shards were damaged or lost, in milliseconds. */
const TOLD_MS = 3_600_000;

/** What is worked with. */
export interface ShardDamageOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PartitionStore;
  readonly stream: LogStream;
  readonly positions: PositionKeeper;
  readonly shards: ShardPositions;
  readonly coldStart: ColdStarter;
  readonly report: LogReport;
  /** Told when all there is to do is to call {@link ShardDamage.makeAnew}, with what had been damaged. */
  readonly onCurable: (cause: ServiceError) => Promise<void>;
}

/**
 * What is done about damaged shards of a partition. They are made anew where the log or a whole snapshot certainly has
 * everything. Until then the damage is contained: each damaged actor is refused alone, the rest is served, and what is
 * there stays where it is. Every few seconds it is looked whether something has everything by now. A snapshot is brought
 * whole beside what is served, which is stopped only to put the one in the place of the other.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class ShardDamage {
  readonly #options: ShardDamageOptions;
  #contained: ServiceError | undefined;
  /** Whether an actor was refused while damage was contained. */
  #hasRefused = false;
  /** Is there while the log is read to its end as of a start; another one for each start. */
  #reading: object | undefined;
  #timer: Timer | undefined;
  /** How often it was contained since there was none. */
  #containments = 0;
  /** Keeps shards from being made anew again soon. */
  readonly #rest: Rest;
  /** Why they were made anew last, and when, on the monotonic clock. */
  #made: { readonly what: string; readonly atMs: number } | undefined;

  constructor(options: ShardDamageOptions) {
    this.#options = options;
    this.#rest = new Rest(options.clock);
  }

  /** What was met first of damage that is contained; undefined while there is none. */
  get contained(): string | undefined {
    return this.#contained?.message;
  }

  /**
   * Whether shards were made anew because they were damaged, and not long ago. Damage that is met now came with the log:
   * building them once more would not help, and each read that meets it would ask for that.
   */
  get wasRebuilt(): boolean {
    return this.#rest.isOn;
  }

  /** What was damaged or lost here in the last hour, so that everything is or was made anew, for people. */
  get rebuilt(): string | undefined {
    const isRecent = this.#options.clock.monotonicMs() - (this.#made?.atMs ?? 0) < TOLD_MS;
    return isRecent ? this.#made?.what : undefined;
  }

  /** Whether nobody can say yet what is damaged: a later record may remove an actor that lacks its file. */
  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /**
   * The log is going to be read to its end as of now. The process before this one may have read further: whatever is met
   * before the end is refused alone, and judged there.
   */
  beginReading(): void {
    this.#reading = {};
    this.#options.store.refuseAlone?.(true);
  }

  /**
   * The log was read to its end as of {@link beginReading}: what lacks something now was not removed.
   *
   * @returns damage that is not contained; undefined where there is none, or the log is read once more by now
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
   * @throws {ServiceError} why an actor is refused; not where damage is contained
   */
  requireSound(): void {
    const refusal = this.#contained === undefined ? this.#refusal : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Damaged actors are refused alone from now on. */
  contain(cause: ServiceError): void {
    this.#contained ??= cause;
    this.#noteRefused();
    const { random, store } = this.#options;
    store.refuseAlone?.(true);
    // A swap that failed before would take the partition down again.
    this.#schedule(this.#containments === 0 ? 0 : backoffMs(swapBackoff, this.#containments - 1, random));
    this.#containments += 1;
  }

  /** Nothing is contained any more: it is over, or nobody uses the partition. */
  end(): void {
    this.#reading = undefined;
    this.#endContainment();
  }

  /**
   * Makes everything anew where that is certain to bring everything back, and there is room to keep what is damaged: of the
   * whole log, or of a snapshot that was brought.
   *
   * @param clear puts away what is there; `STORAGE_FULL` changes nothing
   * @returns false when it is not: then nothing was changed
   */
  async makeAnew(cause: ServiceError, clear: () => Promise<void>): Promise<boolean> {
    const { clock, coldStart, report } = this.#options;
    const begins = this.#hasRoom ? await this.#logBegins() : undefined;
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

  /** Why {@link makeAnew} changed nothing, for people. */
  get obstacle(): string {
    if (this.#hasRoom) return 'neither its log nor a snapshot has all of it';
    return 'its volume has no room to keep what is damaged beside what is made anew';
  }

  /** Whether there is room to keep what is damaged: else it stays where it is. */
  get #hasRoom(): boolean {
    return this.#options.store.canClear !== false;
  }

  /**
   * Whether shards may be put away whose newest records others wrote over: the log has every record there ever was, or there
   * is a snapshot to begin with. One is asked for where there is none. Never rejects.
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

  /** Whether the log has every record there ever was. */
  async isLogWhole(): Promise<boolean> {
    return ((await this.#logBegins()) ?? Number.POSITIVE_INFINITY) <= 1;
  }

  /** First record of the log where it has all this member has; undefined where that is not so, or not known. */
  async #logBegins(): Promise<number | undefined> {
    const { positions, shards, stream } = this.#options;
    try {
      const { firstSequence, identity, lastSequence } = await stream.state();
      for (const known of [positions.current, shards.newest])
        if (known !== undefined && (known.identity !== identity || known.sequence > lastSequence))
          return undefined;
      // Of a log that never had a record nothing can be made.
      return lastSequence < 1 ? undefined : firstSequence;
    } catch {
      return undefined;
    }
  }

  /** Why an actor is refused, if one is. */
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
    this.#options.coldStart.drop();
    this.#options.store.refuseAlone?.(this.isReading);
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    const timer = this.#options.clock.after(ms, () => void this.#look(timer));
    this.#timer = timer;
  }

  async #look(timer: Timer): Promise<void> {
    this.#noteRefused();
    // What was damaged was removed.
    if (!this.isReading && this.#hasRefused && this.#refusal === undefined) {
      this.#endContainment();
      return;
    }
    const isCurable = await this.#isCurable();
    if (this.#timer !== timer || this.#contained === undefined) return;
    if (isCurable) await this.#options.onCurable(this.#contained);
    // Else it is over, or was contained again.
    if (this.#timer === timer) this.#schedule(LOOK_MS);
  }

  /** Never rejects. */
  async #isCurable(): Promise<boolean> {
    const { coldStart } = this.#options;
    if (!this.#hasRoom) {
      // Those that are served want the room of what was brought.
      coldStart.drop();
      await coldStart.tidy().catch(() => undefined);
      return false;
    }
    const begins = await this.#logBegins();
    if (begins === undefined) return false;
    return begins <= 1 || coldStart.bring().catch(() => false);
  }
}

/** @returns false when there was no room for `work` */
async function hadRoom(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (cause) {
    if (!isStorageFull(cause)) throw cause;
    return false;
  }
}
