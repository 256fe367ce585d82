import type { ActorStore } from '#runtime/actor/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/** The one record of the journal the new directory begins with. */
export const FIRST_SEQUENCE = 1;

/** Shards that are open at the same time. */
const OPEN_SHARDS_MAX = 16;

/** Writes and bytes of values that wait to be stored at most, of all shards together. */
const WAITING_WRITES_MAX = 4_000;
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

interface NewShard {
  clock: Revision;
  waiting: Write[];
}

/** The shards of a new directory that are being filled, of which a bounded number is open. */
export class NewShards {
  /** Rows that were stored. */
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

  /** Makes the shard of an actor. @param clock newest revision it says that it has */
  async make(actor: ActorId, clock: Revision): Promise<void> {
    this.#shards.set(actor, { clock, waiting: [] });
    await this.#apply(actor, []);
  }

  /** Newest revision that any of them has. */
  get clock(): Revision {
    let newest = revisionZero;
    for (const { clock } of this.#shards.values()) if (compareRevisions(clock, newest) > 0) newest = clock;
    return newest;
  }

  /** An actor has what was written at a revision; its shard says so with what is stored next. */
  reach(actor: ActorId, clock: Revision): void {
    const shard = this.#shards.get(actor) as NewShard;
    if (compareRevisions(clock, shard.clock) > 0) shard.clock = clock;
  }

  has(actor: ActorId): boolean {
    return this.#shards.has(actor);
  }

  /** Stores a write, now or with those that follow; {@link flush} stores all. */
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

  /** What is stored of an actor, until another one is asked for. */
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
