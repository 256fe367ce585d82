import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { isUnder, type Lifecycle, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import { isSameRecord, type LogEntry, type LogRecord, type RecordMark } from '#runtime/log/log-entry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { applyMemtables } from './apply-memtables.ts';
import { crashPoint } from './crash-point.ts';
import { Memtable } from './memtable.ts';
import { ReplicaView } from './replica-view.ts';

/** Maximum number of open shards. */
const OPEN_SHARDS_MAX = 256;

/** Gathered bytes over all actors above which they are applied. */
const GATHERED_BYTES_MAX = 32 * 1024 * 1024;

/** On-disk storage of a replica's actors. */
export interface ReplicaStore {
  exists(actor: string): boolean;
  /** Opens the shard of an actor that exists. */
  open(actor: string): Shard;
  /** Creates an actor. @param sequence of its record @returns resolves when it is on disk */
  create(actor: string, sequence: number): void | Promise<void>;
  /**
   * Creates an actor from the files that `copy` writes into the given folder. It is on disk when the promise resolves;
   * a crash before that leaves no actor.
   *
   * @param sequence of its record
   */
  adopt(actor: string, sequence: number, copy: (folder: string) => Promise<void>): Promise<void>;
  /**
   * Adopts a fork whose copy was complete but not yet recorded when the process crashed.
   *
   * @param sequence of its record
   * @returns whether there is one
   * @throws {ServiceError} `DATA_CORRUPTED` when the copy cannot be read or is not that fork
   */
  adoptWhole?(actor: string, sequence: number): Promise<boolean>;
  /** Removes every actor under an owner. @param sequence of the record of the removal */
  remove(owner: string, sequence: number): Promise<void>;
  /**
   * Sequence of the record that created an existing actor, as far as it is known. Earlier records are of an actor that
   * had the same id, and are skipped. Absent: 0.
   */
  createdAt?(actor: string): number;
  /** Whether the actor that a record creates was removed by a record that has left the log. Absent: no. */
  isOver?(actor: string, sequence: number): boolean;
  /** Whether an existing actor has lost its shard. A fork is then created again. */
  isMissing?(actor: string): boolean;
  /**
   * Called when the log cannot be applied to an actor because its own data is damaged.
   *
   * @returns whether to continue without it, as if it did not exist; absent: no
   */
  giveUp?(actor: string, cause: unknown): boolean;
  /**
   * Called for a fork that can no longer be created, because its source has advanced or was removed.
   *
   * @param sequence of the record of the fork
   * @returns the error it is refused with; undefined when the fork should not exist
   */
  missingFork?(target: string, sequence: number): unknown;
  /**
   * Called for a fork that cannot be created because its source was given up.
   *
   * @param sequence of the record of the fork, with its mark
   */
  giveUpFork?(
    target: string,
    source: string,
    sequence: number,
    mark: RecordMark | undefined,
  ): void | Promise<void>;
  /**
   * Called when a removal failed.
   *
   * @param sequence of the record of the removal
   * @returns whether to continue and keep that record in the log; absent: no
   */
  putOff?(owner: string, sequence: number, cause: unknown): boolean;
  /** Called before a shard is written or copied. @returns called when that is finished */
  handling?(actor: string): () => void;
}

/** Changes of one actor that are not applied yet. */
interface Gathered {
  /** Newest first. Replaced, never changed. */
  memtables: readonly Memtable[];
  /** Whether a pinned reader holds the newest memtable, so that it must stay as it is. */
  isSealed: boolean;
  bytes: number;
  sequence: number;
  clock: Revision;
  mark: RecordMark | undefined;
}

/** The log position of an actor's shard. */
type Reached = Pick<ShardPosition, 'sequence' | 'mark'>;

/** Callbacks for the progress of a replica on disk. */
export interface ReplicaDisk {
  /**
   * Awaited before any effect of a record is written to disk.
   *
   * @param actor whose shard is written; undefined: an actor is created or removed
   */
  before(sequence: number, actor?: string): Promise<void>;
  /** The shard of an actor has everything up to a record on disk; also called for records it already had. */
  applied(actor: string, sequence: number, mark: RecordMark | undefined): void;
  /** A record of an actor that was given up was skipped. */
  skipped?(actor: string, sequence: number, mark: RecordMark | undefined): void;
}

const noMemtables: readonly Memtable[] = [];

/** The shards of a replica while no changes are applied to them. */
export interface StillShards {
  /** Sequence an actor's shard has reached; undefined for an actor that does not exist. */
  sequenceOf(actor: string): number | undefined;
  /**
   * Copies the shard of an existing actor into a new folder. The copy is on disk when the promise resolves.
   *
   * @param signal cancels the copy
   */
  copy(actor: string, folder: string, signal: AbortSignal): Promise<void>;
}

/**
 * Follows the log: applies its records to the shards of its actors, in order. A restart uses it to bring the shards up
 * to date; a follower uses it continuously.
 *
 * Invariants:
 * 1. A shard never has an effect the log does not hold, nor one without those before it.
 * 2. An entry that a shard already has is skipped, and applying an entry twice gives the same bytes, so an
 *    interruption does no harm.
 * 3. A fork is created when its source has everything before the fork's position in the log and nothing after it.
 *    Whoever creates the fork applies nothing after that position to the source until the fork exists.
 * 4. When the replica has settled, the disk callbacks were called for every taken record: either the shard of its
 *    actor has it, or it was skipped with an actor that was given up. Callers that store a later position rely on it.
 * 5. A {@link ReplicaView} shows one actor after some entry, with all of that entry and of every earlier one. Gathered
 *    changes cover the shard until all of them are applied, and both change within one turn of the event loop.
 *
 * Enforcement: test/runtime/commit/replica.test.ts, replica-view.slow.test.ts, engine-crash.slow.test.ts.
 */
export class Replica {
  readonly #store: ReplicaStore;
  readonly #clock: Clock;
  readonly #released: (actor: string, sequence: number) => void;
  readonly #disk: ReplicaDisk | undefined;
  readonly #gathered = new Map<string, Gathered>();
  /** Least recently used first. */
  readonly #shards = new Map<string, Shard>();
  /** Undefined for an actor that does not exist. */
  readonly #reached = new Map<string, Reached | undefined>();
  readonly #views = new Map<string, ReplicaView>();
  /** Actors that are skipped, with the reason. */
  readonly #givenUp = new Map<string, unknown>();
  /** Number of users that keep a shard open: snapshot readers, applications and copies. */
  readonly #held = new Map<Shard, number>();
  /** The owner whose actors are being removed. */
  #leaving: string | undefined;
  #isAbandoned = false;
  #gatheredBytes = 0;
  #turns: Promise<void> = Promise.resolve();

  /**
   * @param released called with every actor and the sequence its shard has on disk
   */
  constructor(
    store: ReplicaStore,
    clock: Clock,
    released: (actor: string, sequence: number) => void,
    disk?: ReplicaDisk,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#released = released;
    this.#disk = disk;
  }

  /** Bytes of effects that are not in the shards yet. */
  get gatheredBytes(): number {
    return this.#gatheredBytes;
  }

  /**
   * The view of an actor, valid until {@link ReplicaView.isGone}.
   *
   * @returns undefined for an actor it does not have, or no longer has
   * @throws {ServiceError} the errors of opening its shard; the reason why it was given up
   */
  view(actor: string): ReplicaView | undefined {
    const known = this.#views.get(actor);
    if (known !== undefined || this.#isAbandoned) return known;
    if (this.#leaving !== undefined && isUnder(actor, this.#leaving)) return undefined;
    // Checked first, so that unknown names are not kept in memory.
    if (!this.#store.exists(actor)) return undefined;
    if (this.#reachedOf(actor) === undefined) return undefined;
    const view = new ReplicaView({
      memtables: () => this.#gathered.get(actor)?.memtables ?? noMemtables,
      shard: () => this.#shard(actor),
      clock: () => this.#gathered.get(actor)?.clock ?? this.#shard(actor).position.clock,
      onPinned: (shard) => this.#pinned(actor, shard),
    });
    this.#views.set(actor, view);
    return view;
  }

  /**
   * Takes the next record. Effects are gathered; {@link settle} applies them to the shards.
   *
   * @throws {ServiceError} the errors of a shard; the replica is then unusable and must be replaced
   */
  take(record: LogRecord): Promise<void> {
    return this.#inTurn(() => this.#take(record));
  }

  /** Applies everything taken so far; resolves when it is on disk. */
  settle(): Promise<void> {
    return this.#inTurn(() => this.#settle());
  }

  /**
   * Runs `work` while the shards do not change: everything taken before is applied and on disk, and later records are
   * applied only after it.
   *
   * @throws the errors of `work` and of {@link Replica.take}
   */
  still<Result>(work: (shards: StillShards) => Promise<Result>): Promise<Result> {
    return this.#inTurn(async () => {
      await this.#settle();
      return work({
        sequenceOf: (actor) => this.#reachedOf(actor)?.sequence,
        copy: (actor, folder, signal) => this.#holding(actor, (shard) => shard.copyTo?.(folder, signal)),
      });
    });
  }

  /** Runs operations one after the other: records taken during an application would be dropped with it. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turns.then(work);
    this.#turns = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  async #take({ sequence, entries, mark }: LogRecord): Promise<void> {
    for (const entry of entries) {
      const lifecycle = lifecycleOf(entry);
      if (lifecycle === undefined) this.#gather(entry, sequence, mark);
      else await this.#change(entry.actor, lifecycle, sequence, mark);
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

  /** Closes the shards and drops gathered changes, which the log has. */
  abandon(): Promise<void> {
    return this.#inTurn(() => this.#abandon());
  }

  async #abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#dropViews(() => true);
    this.#gathered.clear();
    this.#gatheredBytes = 0;
    this.#reached.clear();
    const shards = [...this.#shards.values()];
    this.#shards.clear();
    await Promise.all(shards.map((shard) => shard.close()));
  }

  #gather({ actor, writes, clock }: LogEntry, sequence: number, mark: RecordMark | undefined): void {
    const reached = this.#reachedBy(actor);
    if (reached === undefined) {
      if (this.#givenUp.has(actor)) this.#disk?.skipped?.(actor, sequence, mark);
      return;
    }
    if (reached.sequence >= sequence) {
      const other = reached.sequence === sequence ? otherRecord(actor, reached, mark) : undefined;
      if (other === undefined) {
        // The process that applied it may have crashed before it reported it.
        this.#disk?.applied(actor, sequence, mark);
        return;
      }
      this.#leaveOut(actor, other);
      this.#disk?.skipped?.(actor, sequence, mark);
      return;
    }
    const gathered = this.#gathered.get(actor) ?? {
      memtables: noMemtables,
      isSealed: true,
      bytes: 0,
      sequence,
      clock,
      mark,
    };
    this.#gathered.set(actor, gathered);
    gathered.sequence = sequence;
    gathered.mark = mark;
    gathered.clock = clock;
    const memtable = gathered.isSealed ? new Memtable() : (gathered.memtables[0] as Memtable);
    const before = memtable.bytes;
    for (const { table, key, value } of writes) memtable.set(table, key, value);
    if (gathered.isSealed) gathered.memtables = [memtable, ...gathered.memtables];
    gathered.isSealed = false;
    gathered.bytes += memtable.bytes - before;
    this.#gatheredBytes += memtable.bytes - before;
    this.#views.get(actor)?.changed();
  }

  #drop(actor: string): void {
    this.#gatheredBytes -= this.#gathered.get(actor)?.bytes ?? 0;
    this.#gathered.delete(actor);
  }

  #dropViews(isMeant: (actor: string) => boolean): void {
    for (const [actor, view] of [...this.#views]) {
      if (!isMeant(actor)) continue;
      this.#views.delete(actor);
      view.end();
    }
  }

  /** @returns must be called when the reader has ended */
  #pinned(actor: string, shard: Shard): () => void {
    const gathered = this.#gathered.get(actor);
    if (gathered !== undefined) gathered.isSealed = true;
    return this.#hold(shard);
  }

  /** @returns releases the hold */
  #hold(shard: Shard): () => void {
    this.#held.set(shard, (this.#held.get(shard) ?? 0) + 1);
    return () => {
      const left = (this.#held.get(shard) ?? 0) - 1;
      if (left > 0) this.#held.set(shard, left);
      else this.#held.delete(shard);
    };
  }

  #reachedBy(actor: string): Reached | undefined {
    if (!this.#reached.has(actor)) {
      this.#reached.set(actor, this.#find(actor));
    }
    return this.#reached.get(actor);
  }

  #find(actor: string): Reached | undefined {
    if (!this.#store.exists(actor)) return undefined;
    try {
      const { position } = this.#shard(actor);
      const createdAt = this.#store.createdAt?.(actor) ?? 0;
      // A shard that was never written to is at 0.
      return position.sequence >= createdAt ? position : { sequence: createdAt, mark: undefined };
    } catch (error) {
      this.#leaveOut(actor, error);
      return undefined;
    }
  }

  /** Skips an actor. @throws the damage when the replica cannot continue without the actor */
  #leaveOut(actor: string, cause: unknown): void {
    if (this.#store.giveUp?.(actor, cause) !== true) throw cause;
    this.#dropViews((each) => each === actor);
    this.#givenUp.set(actor, cause);
    this.#reached.set(actor, undefined);
  }

  /** As {@link #reachedBy}, for callers that must learn of damage. @throws the reason why the actor was given up */
  #reachedOf(actor: string): Reached | undefined {
    const reached = this.#reachedBy(actor);
    if (reached === undefined && this.#givenUp.has(actor)) throw this.#givenUp.get(actor);
    return reached;
  }

  #shard(actor: string): Shard {
    const open = this.#shards.get(actor) ?? this.#store.open(actor);
    this.#shards.delete(actor);
    this.#shards.set(actor, open);
    if (this.#shards.size > OPEN_SHARDS_MAX) this.#closeOldest(actor);
    return open;
  }

  /** Closes the least recently used shard that nobody holds. */
  #closeOldest(wanted: string): void {
    for (const [actor, shard] of this.#shards) {
      if (actor === wanted || this.#held.has(shard)) continue;
      this.#shards.delete(actor);
      void shard.close();
      return;
    }
  }

  async #apply(actor: string): Promise<void> {
    const gathered = this.#gathered.get(actor);
    if (gathered === undefined) return;
    crashPoint('in-recovery');
    const { clock, memtables, mark, sequence } = gathered;
    await this.#disk?.before(sequence, actor);
    const handled = this.#store.handling?.(actor);
    // No record is taken meanwhile, so the changes that readers see above the shard stay the same.
    try {
      await this.#holding(actor, (shard) =>
        applyMemtables(shard, memtables, { sequence, clock, mark }, this.#clock),
      );
    } catch (error) {
      if (this.#store.giveUp?.(actor, error) !== true) throw error;
      await this.#forget(actor);
      this.#givenUp.set(actor, error);
      this.#reached.set(actor, undefined);
      this.#disk?.skipped?.(actor, sequence, mark);
      return;
    } finally {
      handled?.();
    }
    this.#drop(actor);
    this.#reached.set(actor, { sequence, mark });
    this.#disk?.applied(actor, sequence, mark);
    this.#released(actor, sequence);
  }

  /** Holds a shard open during `work`, because queries may open further shards and close unused ones at any moment. */
  async #holding(actor: string, work: (shard: Shard) => Promise<void> | undefined): Promise<void> {
    const shard = this.#shard(actor);
    const letGo = this.#hold(shard);
    try {
      await work(shard);
    } finally {
      letGo();
    }
  }

  async #change(
    actor: string,
    lifecycle: Lifecycle,
    sequence: number,
    mark: RecordMark | undefined,
  ): Promise<void> {
    if (lifecycle.kind !== 'destroy' && this.#store.isOver?.(actor, sequence) === true) return;
    await this.#disk?.before(sequence);
    switch (lifecycle.kind) {
      case 'create':
        // An actor without a shard was being created when the previous process ended.
        if (!this.#store.exists(actor) || this.#store.isMissing?.(actor) === true)
          await this.#store.create(actor, sequence);
        this.#reached.delete(actor);
        break;
      case 'fork':
        await this.#fork(lifecycle.source, actor, sequence, mark);
        break;
      case 'destroy':
        await this.#remove(actor, sequence);
        break;
    }
    this.#released(actor, sequence);
  }

  async #fork(source: string, target: string, sequence: number, mark: RecordMark | undefined): Promise<void> {
    const gathered = this.#gathered.get(source);
    assert(
      gathered === undefined || gathered.sequence < sequence,
      'nothing of a source shares the record of its fork',
    );
    if (this.#store.exists(target) && this.#store.isMissing?.(target) !== true) return;
    if (await this.#adoptWhole(target, sequence)) return;
    // A missing source was removed by a later record. A source that is ahead had created the fork before; what became
    // of the fork can no longer be derived from it.
    const reached = this.#reachedBy(source);
    if (reached !== undefined && reached.sequence > sequence) {
      this.#miss(target, sequence, mark);
      return;
    }
    await this.#apply(source);
    if (this.#reachedBy(source) === undefined) {
      if (!this.#givenUp.has(source) || this.#store.giveUpFork === undefined) {
        this.#miss(target, sequence, mark);
        return;
      }
      await this.#store.giveUpFork(target, source, sequence, mark);
      this.#reached.delete(target);
      return;
    }
    // Mark the source as in use, because damaged pages of it are copied and the copy is opened.
    const handled = this.#store.handling?.(source);
    try {
      await this.#store.adopt(target, sequence, async (folder) => {
        await this.#holding(source, (shard) => shard.copyTo?.(folder));
      });
    } finally {
      handled?.();
    }
    this.#reached.delete(target);
  }

  /** Refuses a missing fork that should exist. Ignores one that was removed or never completed. */
  #miss(target: string, sequence: number, mark: RecordMark | undefined): void {
    const cause = this.#store.missingFork?.(target, sequence);
    if (cause === undefined) return;
    this.#leaveOut(target, cause);
    this.#disk?.skipped?.(target, sequence, mark);
  }

  /** Adopts a complete copy. Tried first, because the source may have advanced. @returns whether the fork is handled */
  async #adoptWhole(target: string, sequence: number): Promise<boolean> {
    try {
      if ((await this.#store.adoptWhole?.(target, sequence)) !== true) return false;
    } catch (error) {
      this.#leaveOut(target, error);
      return true;
    }
    this.#reached.delete(target);
    return true;
  }

  async #remove(owner: string, sequence: number): Promise<void> {
    this.#leaving = owner;
    try {
      await this.#forget(owner);
      await this.#store.remove(owner, sequence);
    } finally {
      this.#leaving = undefined;
    }
  }

  async #forget(owner: string): Promise<void> {
    const isOwned = (actor: string): boolean => isUnder(actor, owner);
    this.#dropViews(isOwned);
    for (const actor of [...this.#gathered.keys()]) if (isOwned(actor)) this.#drop(actor);
    for (const actor of [...this.#reached.keys()]) if (isOwned(actor)) this.#reached.delete(actor);
    for (const actor of [...this.#givenUp.keys()]) if (isOwned(actor)) this.#givenUp.delete(actor);
    for (const [actor, shard] of [...this.#shards]) {
      if (!isOwned(actor)) continue;
      this.#shards.delete(actor);
      await shard.close();
    }
  }
}

/** @returns the error if the last record of a shard is not the one in the log; undefined if it is */
function otherRecord(
  actor: string,
  reached: Reached,
  mark: RecordMark | undefined,
): ServiceError | undefined {
  if (mark === undefined || reached.mark === undefined || isSameRecord(mark, reached.mark)) return undefined;
  return new ServiceError(
    'DATA_CORRUPTED',
    `the data of ${actor} reaches another record ${reached.sequence} than the log has`,
  );
}
