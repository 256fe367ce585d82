import { assert } from '#runtime/base/assert.ts';
import { ChangeRoom, type ChangeShare } from '#runtime/base/change-room.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { Shard, ShardPosition, ShardSnapshot } from '#runtime/shard/shard.ts';
import { applyMemtables } from './apply-memtables.ts';
import { crashPoint } from './crash-point.ts';
import { Memtable } from './memtable.ts';
import { MemtableReader } from './memtable-reader.ts';

/** When durable changes are applied to the shard. */
export interface ApplyLimits {
  /** Unapplied bytes that start an application at once. */
  readonly applyBytes: number;
  /** Time after which fewer bytes are applied too, in milliseconds. */
  readonly applyDelayMs: number;
}

/** A batch above this many changes becomes a memtable of its own instead of being copied into the newest one. */
const ABSORB_CHANGES_MAX = 2000;

/** Changes above which a memtable takes no further batch: the first range read after it has to sort its keys. */
const LAYER_CHANGES_MAX = 32_000;

/** Memtables above which an application starts at once, because every read looks into each of them. */
const LAYERS_MAX = 12;

/** Waiting time before a failed application is tried again, in milliseconds. */
const RETRY_DELAY_MS = 500;

/** A moment between two batches. */
interface Cut {
  /** What had been accepted and not begun to be applied. */
  readonly memtables: readonly Memtable[];
  readonly position: ShardPosition;
}

/**
 * Takes durable batches and brings them to the shard in larger, later transactions. Until an application is
 * committed its memtables stay readable above the shard, so no reader ever misses a change.
 *
 * A large application is cut into several LMDB transactions; only the last one carries the new position.
 * Memtables hide the unfinished middle from readers, and after a crash the log writes the same bytes again.
 */
export class ShardWriter {
  readonly #actor: string;
  readonly #openShard: () => Shard;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: ApplyLimits;
  readonly #onFailure: (cause: unknown) => void;
  readonly #room: ChangeRoom;
  /** What the memtables take of the room. */
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
  /** Of the newest accepted record. */
  #mark: RecordMark | undefined;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** Whether a pinned reader holds the newest memtable. */
  #sealed = false;
  #failures = 0;
  #isClosing = false;
  /** Whether its changes count no more. */
  #isOver = false;

  /**
   * @param openShard opens the shard; called again after a failed application
   * @param onFailure told about every failed application
   * @param room where unapplied changes are counted; default: one of its own
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

  /** Durable changes the shard does not show yet, newest first. The array is replaced, never changed. */
  get memtables(): readonly Memtable[] {
    return this.#memtables;
  }

  get shard(): Shard {
    return this.#shard;
  }

  /** Rises with every accepted batch: what readers see changes then and only then. */
  get generation(): number {
    return this.#generation;
  }

  /** Sequence of the newest accepted record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The highest revision clock of what was accepted. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Bytes not applied yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const memtable of this.#memtables) bytes += memtable.bytes;
    return bytes;
  }

  /** Whether applications fail at present, so that pending bytes pile up for want of space. */
  get lagging(): boolean {
    return this.#failures > 0;
  }

  /** Whether the shard has everything that was accepted, so that closing loses nothing and waits for nothing. */
  get isSettled(): boolean {
    return this.#memtables.length === 0 && this.#running === undefined;
  }

  /** Takes over a batch that is durable in the log. */
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

  /** Resolves when the application or copy under way is over; begins one where none is. Never rejects. */
  progress(): Promise<void> {
    if (this.#running !== undefined) return this.#running;
    return this.#isClosing || this.#memtables.length === 0 ? Promise.resolve() : this.#start();
  }

  /**
   * Applies everything accepted so far and waits until it is committed and flushed. A failure ends it early:
   * look at {@link isSettled}.
   */
  async settle(): Promise<void> {
    while (!this.isSettled) {
      await (this.#running ?? this.#start());
      if (this.#failures > 0) return;
    }
  }

  /**
   * Pins the durable state: an LMDB snapshot under the present memtables. The newest memtable takes no further
   * batch, so what was pinned stays as it is.
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
      get: (table, key) => reader.get(table, key),
      range: (table, range) => reader.range(table, range),
      close: () => snapshot.close(),
    };
  }

  /**
   * Copies the shard into a new folder, with exactly what has been accepted when this is called. Batches go on being
   * accepted meanwhile; nothing of them is applied before `finish` has resolved, so that whoever has to make the
   * copy again finds the shard as it was.
   *
   * @param finish what makes the copy count
   * @returns what the copy reaches
   * @throws {ServiceError} `STORAGE_FULL`, `WRITES_STOPPED`, `SHUTTING_DOWN` when it is closed or being closed
   */
  copyTo(folder: string, finish: () => void | Promise<void>): Promise<ShardPosition> {
    if (this.#isClosing) return Promise.reject(new ServiceError('SHUTTING_DOWN'));
    const cut = this.#cut();
    this.#sealed = true;
    const copied = (this.#running ?? Promise.resolve()).then(() => this.#copyAt(cut, folder, finish));
    // To everybody else this is an application under way.
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
    await this.#apply(cut);
    if (this.#failures > 0) throw new ServiceError('STORAGE_FULL');
    assert(this.#shard.copyTo !== undefined, 'this kind of shard can be copied');
    await this.#shard.copyTo(folder);
    await finish();
    return cut.position;
  }

  /**
   * Applies what is pending, then closes the shard; at once, before it returns, when everything is settled. What
   * cannot be applied stays in the log: the actor must not be opened again before the log is replayed.
   */
  close(): Promise<void> {
    this.#stopScheduling();
    if (this.isSettled) return this.#shard.close();
    return this.settle()
      .then(() => this.#shard.close())
      .finally(() => this.#end());
  }

  /** Closes the shard without applying what is pending: for an actor that is removed. */
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

  /** Says what the memtables take; nothing once it is closed, whatever is left in them. */
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
    // After a failure only the timer tries again, however much is waiting, and also when nothing more comes.
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

  /** Lets nothing else be applied until `work`, which never rejects, is done. */
  #hold(work: Promise<void>): Promise<void> {
    const running = work.finally(() => {
      // Something else may have been put behind it.
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

  /** @param cut where to end */
  async #apply({ memtables, position }: Cut = this.#cut()): Promise<void> {
    const taken = this.#durable.filter((memtable) => memtables.includes(memtable));
    // After a failure the same memtables are tried again, with what was accepted since.
    this.#applying = [...taken, ...this.#applying];
    this.#durable = this.#durable.filter((memtable) => !memtables.includes(memtable));
    if (this.#durable.length === 0) this.#sealed = false;
    this.#restack();
    try {
      // Else a power cut could leave the shard ahead of its log.
      await this.#log.flush(this.#actor);
      crashPoint('before-apply');
      // Until all of it is on disk the memtables stay.
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
   * A failed commit leaves lmdb-js showing rejected writes: only a fresh environment tells the truth. It takes
   * the place of the failed one within one turn, so that no reader meets a closed shard.
   */
  #recover(cause: unknown): void {
    this.#failures += 1;
    this.#room.yieldTurn(this.share);
    this.#onFailure(cause);
    const whole = new Memtable();
    for (const memtable of this.#applying.toReversed()) whole.absorbHalfApplied(memtable);
    // One memtable again: they would pile up as long as the failure lasts, and every read looks into each of them.
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
