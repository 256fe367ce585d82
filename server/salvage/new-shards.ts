import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/** The only record of the journal with which the new directory begins. */
export const FIRST_SEQUENCE = 1;

/** Maximum number of open shards. */
const OPEN_SHARDS_MAX = 16;

/** Maximum number of writes, and bytes of values, that wait to be stored, of all shards together. */
const WAITING_WRITES_MAX = 4_000;
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

interface NewShard {
  clock: Revision;
  waiting: Write[];
}

/** The shards of a new directory; a bounded number of them is open. */
export class NewShards {
  /** Number of stored rows. */
  rows = 0;
  readonly #store: ActorStore;
  readonly #shards = new Map<ActorId, NewShard>();
  readonly #open = new Map<ActorId, LmdbShard>();
  #waitingWrites = 0;
  #waitingBytes = 0;

  constructor(store: ActorStore) {
    this.#store = store;
  }

  /** Actors that have a shard. */
  get actors(): readonly ActorId[] {
    return [...this.#shards.keys()];
  }

  /** Creates the shard of an actor. @param clock its newest revision */
  async make(actor: ActorId, clock: Revision): Promise<void> {
    this.#shards.set(actor, { clock, waiting: [] });
    await this.#apply(actor, []);
  }

  /** Newest revision of any shard. */
  get clock(): Revision {
    let newest = revisionZero;
    for (const { clock } of this.#shards.values()) if (compareRevisions(clock, newest) > 0) newest = clock;
    return newest;
  }

  /** Raises the clock of an actor; its shard stores it with the next write. */
  reach(actor: ActorId, clock: Revision): void {
    const shard = this.#shards.get(actor) as NewShard;
    if (compareRevisions(clock, shard.clock) > 0) shard.clock = clock;
  }

  has(actor: ActorId): boolean {
    return this.#shards.has(actor);
  }

  /** Stores a write, now or with later ones; {@link flush} stores all. */
  async put(actor: ActorId, write: Write): Promise<void> {
    (this.#shards.get(actor) as NewShard).waiting.push(write);
    this.#waitingWrites += 1;
    this.#waitingBytes += write.value?.length ?? 0;
    if (this.#waitingWrites >= WAITING_WRITES_MAX || this.#waitingBytes >= WAITING_BYTES_MAX)
      await this.flush();
  }

  async flush(): Promise<void> {
    for (const [actor, shard] of this.#shards) {
      if (shard.waiting.length === 0) continue;
      const { waiting } = shard;
      shard.waiting = [];
      await this.#apply(actor, waiting);
    }
    this.#waitingWrites = 0;
    this.#waitingBytes = 0;
  }

  /** Returns the stored data of an actor; valid until another one is requested. */
  async reading(actor: ActorId): Promise<LmdbShard> {
    await this.flush();
    return await this.#shardOf(actor);
  }

  async close(): Promise<void> {
    while (this.#open.size > 0) await this.#closeOldest();
  }

  async #apply(actor: ActorId, writes: readonly Write[]): Promise<void> {
    const { clock } = this.#shards.get(actor) as NewShard;
    this.rows += writes.length;
    await (await this.#shardOf(actor)).apply(writes, { sequence: FIRST_SEQUENCE, clock }).flushed;
  }

  async #shardOf(actor: ActorId): Promise<LmdbShard> {
    let shard = this.#open.get(actor);
    if (shard === undefined) {
      if (this.#open.size >= OPEN_SHARDS_MAX) await this.#closeOldest();
      shard = new LmdbShard(this.#store.folders.of(actor), this.#store.tablesOf(actor));
    } else this.#open.delete(actor);
    this.#open.set(actor, shard);
    return shard;
  }

  async #closeOldest(): Promise<void> {
    const [actor, shard] = this.#open.entries().next().value as [ActorId, LmdbShard];
    this.#open.delete(actor);
    await shard.close();
  }
}
