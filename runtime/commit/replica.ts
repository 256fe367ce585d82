import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { type Lifecycle, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { LogEntry, LogRecord } from '#runtime/log/log-entry.ts';
import type { Shard } from '#runtime/shard/shard.ts';
import { applyLayers } from './apply-layers.ts';
import { crashPoint } from './crash-point.ts';
import { Layer } from './layer.ts';

/** Shards open at once. */
const OPEN_SHARDS_MAX = 256;

/** Bytes gathered over all actors before they are applied. */
const GATHERED_BYTES_MAX = 32 * 1024 * 1024;

/** The actors a replica keeps, on the disk. */
export interface ReplicaStore {
  exists(actor: string): boolean;
  /** Opens the shard of an actor that exists. */
  open(actor: string): Shard;
  /** Makes the folder of an actor, on disk when it returns. */
  create(actor: string): void;
  /**
   * Makes an actor of what `copy` puts into the folder it is given, on disk when it resolves; a crash in between
   * leaves no actor.
   */
  adopt(actor: string, copy: (folder: string) => Promise<void>): Promise<void>;
  /** Removes every actor under an owner. */
  remove(owner: string): Promise<void>;
}

/** Changes of one actor that are not applied yet. */
interface Gathered {
  readonly layer: Layer;
  sequence: number;
  clock: Revision;
}

/**
 * Follows the log: brings the shards of its actors to what the records say, in their order. A restart uses it for
 * what the shards have not got yet, and a follower all the time.
 *
 * Invariants:
 * 1. A shard never has an effect the log does not hold, nor one without those before it.
 * 2. An entry that a shard has already is skipped, and one that is applied twice gives the same bytes, so being
 *    interrupted does no harm.
 * 3. A fork is made when its source has everything before the fork's place in the log and nothing behind it.
 *    Nothing behind it is applied to the source before the fork is there, by whoever makes it.
 *
 * Enforcement: test/runtime/commit/replica.test.ts, engine-crash.slow.test.ts.
 */
export class Replica {
  readonly #store: ReplicaStore;
  readonly #clock: Clock;
  readonly #released: (actor: string, sequence: number) => void;
  readonly #gathered = new Map<string, Gathered>();
  /** Least recently used first. */
  readonly #shards = new Map<string, Shard>();
  /** Sequence each actor's shard has reached; undefined for an actor that is not there. */
  readonly #reached = new Map<string, number | undefined>();
  #gatheredBytes = 0;
  #turns: Promise<void> = Promise.resolve();

  /** @param released told of every actor and the sequence its shard has on disk */
  constructor(store: ReplicaStore, clock: Clock, released: (actor: string, sequence: number) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#released = released;
  }

  /** Bytes of effects that are not in the shards yet. */
  get gatheredBytes(): number {
    return this.#gatheredBytes;
  }

  /**
   * Takes the next record. Effects are gathered; call {@link settle} to have them in the shards.
   *
   * @throws {ServiceError} what a shard fails with: the replica is of no use any more, make a new one
   */
  take(record: LogRecord): Promise<void> {
    return this.#inTurn(() => this.#take(record));
  }

  /** Applies everything taken so far; resolves when it is on disk. */
  settle(): Promise<void> {
    return this.#inTurn(() => this.#settle());
  }

  /** What is taken while something is being applied would be forgotten with it: one after the other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turns.then(work);
    this.#turns = turn.catch(() => undefined);
    return turn;
  }

  async #take({ sequence, entries }: LogRecord): Promise<void> {
    for (const entry of entries) {
      const lifecycle = lifecycleOf(entry);
      if (lifecycle === undefined) this.#gather(entry, sequence);
      else await this.#change(entry.actor, lifecycle, sequence);
    }
    if (this.#gatheredBytes >= GATHERED_BYTES_MAX) await this.#settle();
  }

  async #settle(): Promise<void> {
    for (const actor of [...this.#gathered.keys()]) await this.#apply(actor);
  }

  /** Applies everything and closes the shards. */
  async close(): Promise<void> {
    await this.settle();
    await this.abandon();
  }

  /** Closes the shards and forgets what was gathered: the log has it. */
  abandon(): Promise<void> {
    return this.#inTurn(() => this.#abandon());
  }

  async #abandon(): Promise<void> {
    this.#gathered.clear();
    this.#gatheredBytes = 0;
    this.#reached.clear();
    const shards = [...this.#shards.values()];
    this.#shards.clear();
    await Promise.all(shards.map((shard) => shard.close()));
  }

  #gather({ actor, writes, clock }: LogEntry, sequence: number): void {
    const reached = this.#reachedBy(actor);
    if (reached === undefined || reached >= sequence) return;
    const gathered = this.#gathered.get(actor) ?? { layer: new Layer(), sequence, clock };
    this.#gathered.set(actor, gathered);
    gathered.sequence = sequence;
    gathered.clock = clock;
    const before = gathered.layer.bytes;
    for (const { table, key, value } of writes) gathered.layer.set(table, key, value);
    this.#gatheredBytes += gathered.layer.bytes - before;
  }

  #drop(actor: string): void {
    this.#gatheredBytes -= this.#gathered.get(actor)?.layer.bytes ?? 0;
    this.#gathered.delete(actor);
  }

  #reachedBy(actor: string): number | undefined {
    if (!this.#reached.has(actor)) {
      const reached = this.#store.exists(actor) ? this.#shard(actor).position.sequence : undefined;
      this.#reached.set(actor, reached);
    }
    return this.#reached.get(actor);
  }

  #shard(actor: string): Shard {
    const open = this.#shards.get(actor) ?? this.#store.open(actor);
    this.#shards.delete(actor);
    this.#shards.set(actor, open);
    if (this.#shards.size > OPEN_SHARDS_MAX) {
      const [oldest, shard] = this.#shards.entries().next().value as [string, Shard];
      this.#shards.delete(oldest);
      // Nothing is being applied to it: an application is waited for.
      void shard.close();
    }
    return open;
  }

  async #apply(actor: string): Promise<void> {
    const gathered = this.#gathered.get(actor);
    if (gathered === undefined) return;
    crashPoint('in-recovery');
    const { layer, sequence, clock } = gathered;
    await applyLayers(this.#shard(actor), [layer], { sequence, clock }, this.#clock);
    this.#drop(actor);
    this.#reached.set(actor, sequence);
    this.#released(actor, sequence);
  }

  async #change(actor: string, lifecycle: Lifecycle, sequence: number): Promise<void> {
    switch (lifecycle.kind) {
      case 'create':
        if (!this.#store.exists(actor)) this.#store.create(actor);
        this.#reached.delete(actor);
        break;
      case 'fork':
        await this.#fork(lifecycle.source, actor, sequence);
        break;
      case 'destroy':
        await this.#forget(actor);
        await this.#store.remove(actor);
        break;
    }
    this.#released(actor, sequence);
  }

  async #fork(source: string, target: string, sequence: number): Promise<void> {
    const gathered = this.#gathered.get(source);
    assert(
      gathered === undefined || gathered.sequence < sequence,
      'nothing of a source shares the record of its fork',
    );
    // A source that is gone was removed by a later record, and its fork with it or after it.
    if (this.#store.exists(target) || this.#reachedBy(source) === undefined) return;
    await this.#apply(source);
    await this.#store.adopt(target, async (folder) => {
      await this.#shard(source).copyTo?.(folder);
    });
    this.#reached.delete(target);
  }

  async #forget(owner: string): Promise<void> {
    const isOwned = (actor: string): boolean => actor === owner || actor.startsWith(`${owner}/`);
    for (const actor of [...this.#gathered.keys()]) if (isOwned(actor)) this.#drop(actor);
    for (const actor of [...this.#reached.keys()]) if (isOwned(actor)) this.#reached.delete(actor);
    for (const [actor, shard] of [...this.#shards]) {
      if (!isOwned(actor)) continue;
      this.#shards.delete(actor);
      await shard.close();
    }
  }
}
