import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { isUnder, type Lifecycle, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import { isSameRecord, type LogEntry, type LogRecord, type RecordMark } from '#runtime/log/log-entry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { applyMemtables } from './apply-memtables.ts';
import { crashPoint } from './crash-point.ts';
import { Memtable } from './memtable.ts';
import { ReplicaView } from './replica-view.ts';

/** Shards open at once. */
const OPEN_SHARDS_MAX = 256;

/** Bytes gathered over all actors before they are applied. */
const GATHERED_BYTES_MAX = 32 * 1024 * 1024;

/** The actors a replica keeps, on the disk. */
export interface ReplicaStore {
  exists(actor: string): boolean;
  /** Opens the shard of an actor that exists. */
  open(actor: string): Shard;
  /** Makes an actor. @param sequence of the record that says so @returns resolves when it is on the disk */
  create(actor: string, sequence: number): void | Promise<void>;
  /**
   * Makes an actor of what `copy` puts into the folder it is given, on disk when it resolves; a crash in between
   * leaves no actor.
   *
   * @param sequence of the record that says so
   */
  adopt(actor: string, sequence: number, copy: (folder: string) => Promise<void>): Promise<void>;
  /**
   * Takes a fork that was whole and not noted yet when a crash came.
   *
   * @param sequence of the record that says so
   * @returns whether there is one
   * @throws {ServiceError} `DATA_CORRUPTED` when what is there cannot be read or is not that fork
   */
  adoptWhole?(actor: string, sequence: number): Promise<boolean>;
  /** Removes every actor under an owner. @param sequence of the record that says so */
  remove(owner: string, sequence: number): Promise<void>;
  /** Whether an actor that exists has lost its shard. A fork is made again then. */
  isMissing?(actor: string): boolean;
  /**
   * Told that an actor cannot be brought up to the log because its own data is damaged.
   *
   * @returns whether to go on without it, as if it were not there; left out: no
   */
  giveUp?(actor: string, cause: unknown): boolean;
  /**
   * Asked about a fork that can be made no more: its source has gone on, or is gone.
   *
   * @param sequence of the record that says so
   * @returns what it is refused with; undefined where there should be no such fork
   */
  missingFork?(target: string, sequence: number): unknown;
  /**
   * Told of a fork that cannot be made because its source was given up.
   *
   * @param sequence of the record that says so, with its mark
   */
  giveUpFork?(
    target: string,
    source: string,
    sequence: number,
    mark: RecordMark | undefined,
  ): void | Promise<void>;
  /**
   * Told that a removal failed.
   *
   * @param sequence of the record that says so
   * @returns whether to go on, with that record kept in the log; left out: no
   */
  putOff?(owner: string, sequence: number, cause: unknown): boolean;
  /** Told that a shard is going to be written or copied. @returns called when that is over */
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

/** Where the shard of an actor stands. */
type Reached = Pick<ShardPosition, 'sequence' | 'mark'>;

/** Hears of what a replica brings to the disk. */
export interface ReplicaDisk {
  /**
   * Waited for before something of a record is brought to the disk.
   *
   * @param actor whose shard gets it; undefined: an actor is made or removed
   */
  before(sequence: number, actor?: string): Promise<void>;
  /** The shard of an actor has everything up to a record on the disk; told of those records too that it had before. */
  applied(actor: string, sequence: number, mark: RecordMark | undefined): void;
  /** A record of an actor that was given up was left out. */
  skipped?(actor: string, sequence: number, mark: RecordMark | undefined): void;
}

const noMemtables: readonly Memtable[] = [];

/** The shards of a replica while nothing is applied to them. */
export interface StillShards {
  /** Sequence an actor's shard has reached; undefined for an actor that is not there. */
  sequenceOf(actor: string): number | undefined;
  /**
   * Copies the shard of an actor that is there into a new folder, on the disk when it resolves.
   *
   * @param signal gives it up
   */
  copy(actor: string, folder: string, signal: AbortSignal): Promise<void>;
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
 * 4. Of every record that was taken the disk was told when the replica has settled: that the shard of its actor has it,
 *    or that it was left out with an actor that was given up. Whoever stores a position behind it relies on that.
 * 5. A {@link ReplicaView} shows one actor after some entry of it, with all of that entry and all before it: what is
 *    gathered lies over the shard until all of it is there, and both change within one turn of the event loop.
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
  /** Undefined for an actor that is not there. */
  readonly #reached = new Map<string, Reached | undefined>();
  readonly #views = new Map<string, ReplicaView>();
  /** Actors that are gone on without, and why. */
  readonly #givenUp = new Map<string, unknown>();
  /** How many hold a shard open: readers of a snapshot, whoever applies or copies. */
  readonly #held = new Map<Shard, number>();
  /** The owner whose actors are being removed. */
  #leaving: string | undefined;
  #isAbandoned = false;
  #gatheredBytes = 0;
  #turns: Promise<void> = Promise.resolve();

  /**
   * @param released told of every actor and the sequence its shard has on disk
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
   * What it shows of an actor, until that says that it is gone.
   *
   * @returns undefined for an actor it does not have, or has no more
   * @throws {ServiceError} what opening its shard fails with; why it was given up
   */
  view(actor: string): ReplicaView | undefined {
    const known = this.#views.get(actor);
    if (known !== undefined || this.#isAbandoned) return known;
    if (this.#leaving !== undefined && isUnder(actor, this.#leaving)) return undefined;
    // Asked first, so that names of actors that never were are not kept.
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

  /**
   * Lets `work` look at the shards while they stand still: everything taken before is in them and on the disk, and
   * nothing that is taken meanwhile goes into them before it is done.
   *
   * @throws what `work` throws, and as {@link Replica.take}
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

  /** What is taken while something is being applied would be forgotten with it: one after the other. */
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

  /** Closes the shards and forgets what was gathered: the log has it. */
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
        // Whoever applied it may have died before anybody heard of it.
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

  /** @returns to be called when the reader has ended */
  #pinned(actor: string, shard: Shard): () => void {
    const gathered = this.#gathered.get(actor);
    if (gathered !== undefined) gathered.isSealed = true;
    return this.#hold(shard);
  }

  /** @returns lets go of it */
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
      return this.#shard(actor).position;
    } catch (error) {
      this.#leaveOut(actor, error);
      return undefined;
    }
  }

  /** Goes on without an actor. @throws its damage where it cannot be gone on without it */
  #leaveOut(actor: string, cause: unknown): void {
    if (this.#store.giveUp?.(actor, cause) !== true) throw cause;
    this.#dropViews((each) => each === actor);
    this.#givenUp.set(actor, cause);
    this.#reached.set(actor, undefined);
  }

  /** As {@link #reachedBy}, for who is to be told of damage. @throws why it was given up */
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

  /** Closes the one that was not used for longest, of those nobody works with at present. */
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
    // Nothing is taken meanwhile, so what readers see over the shard stays as it is.
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

  /** Queries open shards at any moment, which must not close the one that is worked with. */
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
    await this.#disk?.before(sequence);
    switch (lifecycle.kind) {
      case 'create':
        // One without a shard was being made when the process before this one died.
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
    // A source that is gone was removed by a later record. One that has more by now had made the fork before that: what
    // became of the fork cannot be found in it any more.
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
    // What is damaged of it is so in the copy, which is opened.
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

  /** A fork that should be there is refused. One that was removed or never finished is left out. */
  #miss(target: string, sequence: number, mark: RecordMark | undefined): void {
    const cause = this.#store.missingFork?.(target, sequence);
    if (cause === undefined) return;
    this.#leaveOut(target, cause);
    this.#disk?.skipped?.(target, sequence, mark);
  }

  /** First, for the source may have gone on since. @returns whether nothing is left to do */
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

/** @returns why the record a shard reaches is not the one the log has; undefined where it is */
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
