import type { Clock } from '#runtime/base/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Shard, ShardSnapshot } from '#runtime/shard/shard.ts';
import { crashPoint } from './crash-point.ts';
import type { Layer } from './layer.ts';
import { LayeredReader } from './layered-reader.ts';

/** When durable changes are applied to the shard. */
export interface ApplyLimits {
  /** Unapplied bytes that start an application at once. */
  readonly applyBytes: number;
  /** Time after which fewer bytes are applied too, in milliseconds. */
  readonly applyDelayMs: number;
}

/** Writes of one LMDB transaction: enqueuing them holds the event loop for two to four milliseconds. */
const WRITES_PER_TRANSACTION = 4000;

/** A batch above this many changes becomes a layer of its own instead of being copied into the newest one. */
const ABSORB_CHANGES_MAX = 2000;

/** Layers above which an application starts at once, because every read looks into each of them. */
const LAYERS_MAX = 12;

/** Waiting time before a failed application is tried again, in milliseconds. */
const RETRY_DELAY_MS = 500;

/** Failed applications in a row after which the shard counts as lagging. */
const FAILURES_BEFORE_LAGGING = 1;

/**
 * Takes durable batches and brings them to the shard in larger, later transactions. Until an application is
 * committed its layers stay readable above the shard, so no reader ever misses a change.
 *
 * A large application is cut into several LMDB transactions; only the last one carries the new position.
 * Layers hide the unfinished middle from readers, and after a crash the log writes the same bytes again.
 */
export class ShardWriter {
  readonly #actor: string;
  readonly #openShard: () => Shard;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: ApplyLimits;
  readonly #onFailure: (cause: unknown) => void;
  #shard: Shard;
  /** Newest first. */
  #durable: readonly Layer[] = [];
  #applying: readonly Layer[] = [];
  #layers: readonly Layer[] = [];
  #sequence: number;
  #revision: Revision;
  #running: Promise<void> | undefined;
  #timerSet = false;
  /** Whether a pinned reader holds the newest layer. */
  #sealed = false;
  #failures = 0;
  #closed = false;

  /**
   * @param openShard opens the shard; called again after a failed application
   * @param onFailure told about every failed application
   */
  constructor(
    actor: string,
    openShard: () => Shard,
    log: Log,
    clock: Clock,
    limits: ApplyLimits,
    onFailure: (cause: unknown) => void,
  ) {
    this.#actor = actor;
    this.#openShard = openShard;
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
    this.#onFailure = onFailure;
    this.#shard = openShard();
    this.#sequence = this.#shard.position.sequence;
    this.#revision = this.#shard.position.clock;
  }

  /** Durable changes the shard does not show yet, newest first. The array is replaced, never changed. */
  get layers(): readonly Layer[] {
    return this.#layers;
  }

  get shard(): Shard {
    return this.#shard;
  }

  /** Sequence of the newest accepted record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Bytes not applied yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const layer of this.#layers) bytes += layer.bytes;
    return bytes;
  }

  /** Whether applications fail at present, so that pending bytes pile up for want of space. */
  get lagging(): boolean {
    return this.#failures >= FAILURES_BEFORE_LAGGING;
  }

  /** Takes over a batch that is durable in the log. */
  accept(batch: Layer, sequence: number, revision: Revision): void {
    const newest = this.#durable[0];
    if (newest !== undefined && !this.#sealed && batch.count <= ABSORB_CHANGES_MAX) newest.absorb(batch);
    else this.#durable = [batch, ...this.#durable];
    this.#sealed = false;
    this.#sequence = sequence;
    this.#revision = revision;
    this.#restack();
    this.#schedule();
  }

  /** Applies everything accepted so far and waits until it is committed and flushed. */
  async settle(): Promise<void> {
    while (this.#layers.length > 0 || this.#running !== undefined) {
      await (this.#running ?? this.#start());
      if (this.#failures > 0) return;
    }
  }

  /**
   * Pins the durable state: an LMDB snapshot under the present layers. The newest layer takes no further
   * batch, so what was pinned stays as it is.
   */
  pin(): ShardSnapshot {
    const layers = this.#layers;
    const snapshot = this.#shard.snapshot();
    this.#sealed = true;
    const reader = new LayeredReader(
      () => layers,
      () => snapshot,
    );
    return {
      get: (table, key) => reader.get(table, key),
      range: (table, range) => reader.range(table, range),
      close: () => snapshot.close(),
    };
  }

  /** Applies what is pending, then closes the shard. */
  async close(): Promise<void> {
    await this.settle();
    this.#closed = true;
    await this.#shard.close();
  }

  #restack(): void {
    this.#layers = [...this.#durable, ...this.#applying];
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#closed) return;
    const bytes = this.#durable.reduce((sum, layer) => sum + layer.bytes, 0);
    if (bytes >= this.#limits.applyBytes || this.#layers.length > LAYERS_MAX) {
      void this.#start();
      return;
    }
    if (this.#timerSet) return;
    this.#timerSet = true;
    this.#clock.after(this.#limits.applyDelayMs, () => {
      this.#timerSet = false;
      if (this.#durable.length > 0 && this.#running === undefined && !this.#closed) void this.#start();
    });
  }

  #start(): Promise<void> {
    this.#running = this.#apply().finally(() => {
      this.#running = undefined;
      if (this.#durable.length > 0) this.#schedule();
    });
    return this.#running;
  }

  async #apply(): Promise<void> {
    // After a failure the same layers are tried again, with what was accepted since.
    this.#applying = [...this.#durable, ...this.#applying];
    this.#durable = [];
    this.#sealed = false;
    this.#restack();
    const position = { sequence: this.#sequence, clock: this.#revision };
    const writes: Write[] = [];
    for (const layer of this.#applying.toReversed()) for (const write of layer.writes()) writes.push(write);
    try {
      // In class `relaxed` a record is acknowledged before it is on disk, and a shard must not run ahead.
      await this.#log.flush();
      crashPoint('before-apply');
      for (let start = 0; start < writes.length; start += WRITES_PER_TRANSACTION) {
        const isLast = start + WRITES_PER_TRANSACTION >= writes.length;
        const part = writes.slice(start, start + WRITES_PER_TRANSACTION);
        const applied = this.#shard.apply(part, isLast ? position : this.#shard.position);
        await applied.committed;
        crashPoint('mid-apply');
        // A flush can fail after the commit was seen; until it is on disk the layers stay.
        if (isLast) await applied.flushed;
      }
      crashPoint('after-apply');
      this.#applying = [];
      this.#restack();
      this.#failures = 0;
      this.#log.released(this.#actor, position.sequence);
    } catch (cause) {
      await this.#recover(cause);
    }
  }

  /** A failed commit leaves lmdb-js showing rejected writes: only a fresh environment tells the truth. */
  async #recover(cause: unknown): Promise<void> {
    this.#failures += 1;
    this.#onFailure(cause);
    try {
      await this.#shard.close();
      this.#shard = this.#openShard();
    } catch (failedAgain) {
      this.#onFailure(failedAgain);
    }
    await new Promise<void>((resolve) => void this.#clock.after(RETRY_DELAY_MS, resolve));
  }
}
