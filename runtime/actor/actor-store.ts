import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { ReplicaStore } from '#runtime/commit/replica.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { Shard } from '#runtime/shard/shard.ts';
import { ActorFolders } from './actor-folders.ts';
import { actorKindOf } from './actor-id.ts';
import type { ActorId } from './ports.ts';

/** What actors leave on the disk: their folders, and the shards inside them. Whoever follows a log fills it. */
export class ActorStore implements ReplicaStore {
  readonly folders: ActorFolders;
  readonly #kinds: ReadonlyMap<string, ActorKind>;

  /**
   * @param folder holds one folder per actor
   * @param clock paces the removal of what is large
   */
  constructor(folder: string, kinds: readonly ActorKind[], clock: Clock) {
    this.folders = new ActorFolders(folder, clock);
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
  }

  /** The kind of an actor, by its id. */
  kindOf(actor: ActorId): ActorKind {
    const kind = this.#kinds.get(actorKindOf(actor));
    assert(kind !== undefined, `no actor kind for ${actor}`);
    return kind;
  }

  /** Every actor there is, sorted. */
  all(): Promise<readonly ActorId[]> {
    return this.folders.all((name) => this.#kinds.has(name));
  }

  /** Names of the tables of an actor's shard, in the order of their numbers. */
  tablesOf(actor: ActorId): readonly string[] {
    return [...commonTableNames, ...this.kindOf(actor).tables];
  }

  exists(actor: ActorId): boolean {
    return this.folders.exists(actor);
  }

  /** Opens the shard of an actor. @throws {ServiceError} what {@link LmdbShard} fails with */
  open(actor: ActorId): Shard {
    crashPoint('in-open');
    return new LmdbShard(this.folders.of(actor), this.tablesOf(actor));
  }

  /** Sequence of the newest record the shard of an actor has. @throws {ServiceError} what {@link LmdbShard} fails with */
  reached(actor: ActorId): number {
    const shard = this.open(actor);
    const { sequence } = shard.position;
    void shard.close();
    return sequence;
  }

  create(actor: ActorId): void {
    this.folders.create(actor);
  }

  async adopt(actor: ActorId, copy: (folder: string) => Promise<void>): Promise<void> {
    await copy(await this.folders.prepare(actor));
    this.folders.adopt(actor);
  }

  /** Removes what interrupted work left. To be called while nothing else uses the store. */
  sweep(): Promise<void> {
    return this.folders.sweep();
  }

  /** Removes every actor, for good. To be called while nothing else uses the store. */
  async clear(): Promise<void> {
    for (const tenant of this.folders.namesUnder('')) await this.folders.remove(encodeURIComponent(tenant));
  }

  remove(owner: string): Promise<void> {
    return this.folders.remove(owner);
  }
}
