import { assert } from '#runtime/base/assert.ts';
import { ChangeRoom, type ChangeShare } from '#runtime/base/event-loop/change-room.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';
import type { Shard, ShardPosition, ShardSnapshot } from '#runtime/shard/shard.ts';
import { applyMemtables } from './apply-memtables.ts';
import { crashPoint } from './crash-point.ts';
import { Memtable } from './memtable.ts';
import { MemtableReader } from './memtable-reader.ts';

/** When durable changes are applied to the shard. */
export interface ApplyLimits {
  /** Unapplied bytes at which an application starts at once. */
  readonly applyBytes: number;
  /** Time after which fewer bytes are also applied, in milliseconds. */
  readonly applyDelayMs: number;
}

/** A batch above this many changes becomes a memtable of its own instead of being copied into the newest one. */
const ABSORB_CHANGES_MAX = 2000;

/** Changes above which a memtable takes no further batch: the first range read after it has to sort its keys. */
const LAYER_CHANGES_MAX = 32_000;

/** Memtables above which an application starts at once, because every read checks each of them. */
const LAYERS_MAX = 12;

/** Delay before a failed application is retried, in milliseconds. */
const RETRY_DELAY_MS = 500;

/** A consistent point between two batches. */
interface Cut {
  /** Accepted changes whose application had not begun. */
  readonly memtables: readonly Memtable[];
  readonly position: ShardPosition;
}

/**
 * Accepts durable batches and applies them to the shard in larger, later transactions. Until an application is
 * committed its memtables stay readable above the shard, so no reader ever misses a change.
 *
 * A large application is split into several LMDB transactions; only the last one carries the new position. Memtables
 * hide the intermediate state from readers, and after a crash the log writes the same bytes again.
 */
export class ShardWriter {
  readonly #actor: string;
  readonly #openShard: () => Shard;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: ApplyLimits;
  readonly #onFailure: (cause: unknown) => void;
  readonly #room: ChangeRoom;
  /** Share of the memtables in the room for changes. */
  readonly share: ChangeShare;
  #shard: Shard;
  /** Newest first. */
  #durable: readonly Memtable[] = [];
  #applying: readonly Memtable[] = [];
  #memtables: readonly Memtable[] = [];
  #generation = 0;
  #sequence: number;
  /** Sequence up to which the shard is known to be flushed. */
  #flushed: number;
  #revision: Revision;
  /** Mark of the newest accepted record. */
  #mark: RecordMark | undefined;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** Whether a pinned reader holds the newest memtable. */
  #sealed = false;
  #failures = 0;
  #isClosing = false;
  /** Whether the writer is closed, so that its changes are no longer counted. */
  #isOver = false;

  /**
   * @param openShard opens the shard; called again after a failed application
   * @param onFailure called after every failed application
   * @param room counts unapplied changes; default: one of its own
   */
  constructor(
    actor: string,
    openShard: () => Shard,
    log: Log,
    clock: Clock,
    limits: ApplyLimits,
    onFailure: (cause: unknown) => void,
    room: ChangeRoom = new ChangeRoom(),
  ) {
    this.#actor = actor;
    this.#openShard = openShard;
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
    this.#onFailure = onFailure;
    this.#room = room;
    this.share = room.share();
    this.#shard = openShard();
    this.#sequence = this.#shard.position.sequence;
    this.#flushed = this.#sequence;
    this.#revision = this.#shard.position.clock;
    this.#mark = this.#shard.position.mark;
  }

  /** Durable changes that are not in the shard yet, newest first. The array is replaced, never changed. */
  get memtables(): readonly Memtable[] {
    return this.#memtables;
  }

  get shard(): Shard {
    return this.#shard;
  }

  /** Increases with every accepted batch, the only change that readers can see. */
  get generation(): number {
    return this.#generation;
  }

  /** Sequence of the newest accepted record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The highest revision clock of the accepted batches. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Bytes not applied yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const memtable of this.#memtables) bytes += memtable.bytes;
    return bytes;
  }

  /** Whether applications fail at present, so that pending bytes accumulate. */
  get lagging(): boolean {
    return this.#failures > 0;
  }

  /** @throws {ServiceError} see {@link Shard.requireUntouched} */
  requireUntouched(): void {
    this.#shard.requireUntouched?.();
  }

  /** Whether the shard has everything that was accepted, so that closing loses nothing and does not wait. */
  get isSettled(): boolean {
    return this.#memtables.length === 0 && this.#running === undefined;
  }

  /** Accepts a batch that is durable in the log. */
  accept(batch: Memtable, sequence: number, revision: Revision): void {
    const newest = this.#durable[0];
    if (newest !== undefined && !this.#sealed && canAbsorb(newest, batch)) newest.absorb(batch);
    else this.#durable = [batch, ...this.#durable];
    this.#sealed = false;
    this.#sequence = sequence;
    this.#revision = revision;
    this.#mark = this.#log.markOf?.(this.#actor, sequence);
    this.#generation += 1;
    this.#restack();
    this.#schedule();
  }

  /** Resolves when the running application or copy ends; starts an application if there is none. Never rejects. */
  progress(): Promise<void> {
    if (this.#running !== undefined) return this.#running;
    return this.#isClosing || this.#memtables.length === 0 ? Promise.resolve() : this.#start();
  }

  /**
   * Applies everything accepted so far and waits until it is committed and flushed. A failure ends it early; check
   * {@link isSettled}.
   */
  async settle(): Promise<void> {
    while (!this.isSettled) {
      await (this.#running ?? this.#start());
      if (this.#failures > 0) return;
    }
  }

  /**
   * Pins the durable state: an LMDB snapshot below the present memtables. The newest memtable takes no further batch,
   * so the pinned state does not change.
   */
  pin(): ShardSnapshot {
    const memtables = this.#memtables;
    const snapshot = this.#shard.snapshot();
    this.#sealed = true;
    const reader = new MemtableReader(
      () => memtables,
      () => snapshot,
    );
    return {
      ...readerOver(reader),
      close: () => snapshot.close(),
    };
  }

  /**
   * Copies the shard into a new folder, with exactly the batches accepted before the call. Batches are still accepted
   * meanwhile, but none is applied before `finish` has resolved, so that a copy that has to be repeated finds the shard
   * unchanged.
   *
   * @param finish makes the copy valid
   * @returns position of the copy
   * @throws {ServiceError} `STORAGE_FULL`, `WRITES_STOPPED`, `SHUTTING_DOWN` when it is closed or being closed,
   *   `DATA_CORRUPTED` when another file was copied over that of the shard
   */
  copyTo(folder: string, finish: () => void | Promise<void>): Promise<ShardPosition> {
    if (this.#isClosing) return Promise.reject(new ServiceError('SHUTTING_DOWN'));
    const cut = this.#cut();
    this.#sealed = true;
    const copied = (this.#running ?? Promise.resolve()).then(() => this.#copyAt(cut, folder, finish));
    // Other callers see the copy as a running application.
    void this.#hold(
      copied.then(
        () => {},
        () => {},
      ),
    );
    return copied;
  }

  async #copyAt(cut: Cut, folder: string, finish: () => void | Promise<void>): Promise<ShardPosition> {
    if (this.#isClosing) throw new ServiceError('SHUTTING_DOWN');
    this.#timer?.cancel();
    this.#timer = undefined;
    this.requireUntouched();
    await this.#apply(cut);
    if (this.#failures > 0) throw new ServiceError('STORAGE_FULL');
    assert(this.#shard.copyTo !== undefined, 'this kind of shard can be copied');
    await this.#shard.copyTo(folder);
    // The copy may be of another file, or half of it.
    this.requireUntouched();
    await finish();
    return cut.position;
  }

  /**
   * Applies pending changes, then closes the shard; synchronously when everything is settled. Changes that cannot be
   * applied stay in the log: the actor must not be reopened before the log is replayed.
   */
  close(): Promise<void> {
    this.#stopScheduling();
    if (this.isSettled) return this.#shard.close();
    return this.settle()
      .then(() => this.#shard.close())
      .finally(() => this.#end());
  }

  /** Closes the shard without applying pending changes; for an actor that is removed. */
  async abandon(): Promise<void> {
    this.#stopScheduling();
    await this.#running;
    this.#end();
    await this.#shard.close();
  }

  #stopScheduling(): void {
    this.#isClosing = true;
    this.#timer?.cancel();
  }

  #restack(): void {
    this.#memtables = [...this.#durable, ...this.#applying];
    this.#count();
  }

  /** Reports the size of the memtables; 0 once the writer is closed. */
  #count(): void {
    let bytes = 0;
    if (!this.#isOver) for (const memtable of this.#memtables) bytes += memtable.memoryBytes;
    this.#room.hold(this.share, bytes);
  }

  #end(): void {
    this.#isOver = true;
    this.#count();
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#isClosing || this.#memtables.length === 0) return;
    const bytes = this.#durable.reduce((sum, memtable) => sum + memtable.bytes, 0);
    const isUrgent =
      bytes >= this.#limits.applyBytes || this.#memtables.length > LAYERS_MAX || this.#room.isFull;
    // After a failure only the timer retries, regardless of the pending bytes, and also without further batches.
    if (isUrgent && this.#failures === 0) {
      void this.#start();
      return;
    }
    const delayMs = this.#failures > 0 ? RETRY_DELAY_MS : this.#limits.applyDelayMs;
    this.#timer ??= this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      if (this.#running === undefined && !this.#isClosing && this.#memtables.length > 0) void this.#start();
    });
  }

  #start(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#hold(this.#apply());
  }

  /** Blocks applications until `work`, which never rejects, is done. */
  #hold(work: Promise<void>): Promise<void> {
    const running = work.finally(() => {
      // Another hold may have been queued behind it.
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#schedule();
    });
    this.#running = running;
    return running;
  }

  /** Everything accepted so far. */
  #cut(): Cut {
    const position = { sequence: this.#sequence, clock: this.#revision, mark: this.#mark };
    return { memtables: this.#durable, position };
  }

  /** @param cut the point up to which changes are applied */
  async #apply({ memtables, position }: Cut = this.#cut()): Promise<void> {
    const taken = this.#durable.filter((memtable) => memtables.includes(memtable));
    // After a failure the same memtables are retried, together with later ones.
    this.#applying = [...taken, ...this.#applying];
    this.#durable = this.#durable.filter((memtable) => !memtables.includes(memtable));
    if (this.#durable.length === 0) this.#sealed = false;
    this.#restack();
    try {
      // Without it, a power failure could leave the shard ahead of its log.
      await this.#log.flush(this.#actor);
      crashPoint('before-apply');
      // The memtables stay until everything is on disk.
      await applyMemtables(this.#shard, this.#applying, position, this.#clock);
      crashPoint('after-apply');
      this.#applying = [];
      this.#restack();
      this.#failures = 0;
      this.#flushed = position.sequence;
      this.#log.applied?.(this.#actor, position.sequence, position.mark);
      this.#log.released(this.#actor, position.sequence);
    } catch (cause) {
      this.#recover(cause);
    }
  }

  /**
   * After a failed commit lmdb-js shows rejected writes, so the environment is reopened. It is replaced within one
   * turn, so that no reader meets a closed shard.
   */
  #recover(cause: unknown): void {
    this.#failures += 1;
    this.#room.yieldTurn(this.share);
    this.#onFailure(cause);
    const whole = new Memtable();
    for (const memtable of this.#applying.toReversed()) whole.absorbHalfApplied(memtable);
    // Merge into one memtable: otherwise they accumulate while the failure lasts, and every read checks each of them.
    this.#applying = [whole];
    this.#restack();
    try {
      void this.#shard.close();
      const shard = this.#openShard();
      if (shard.position.sequence < this.#flushed) {
        void shard.close();
        throw new ServiceError(
          'DATA_CORRUPTED',
          `the data of ${this.#actor} went back from log record ${this.#flushed} to ${shard.position.sequence}: ` +
            'files under the running process were changed',
        );
      }
      this.#shard = shard;
    } catch (failedAgain) {
      this.#onFailure(failedAgain);
    }
  }
}

function canAbsorb(memtable: Memtable, batch: Memtable): boolean {
  return batch.count <= ABSORB_CHANGES_MAX && memtable.count + batch.count <= LAYER_CHANGES_MAX;
}
