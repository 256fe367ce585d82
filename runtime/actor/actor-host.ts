import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import type { WallSteps } from '#runtime/base/wall-steps.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorEvent,
  ActorKind,
  Caller,
  Precondition,
} from '#runtime/commit/behaviour.ts';
import { type CommitLimits, CommitLoop, type CommitObserver } from '#runtime/commit/commit-loop.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { type ApplyLimits, ShardWriter } from '#runtime/commit/shard-writer.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { isUnder, lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { ShardPosition, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import type { ActorCopies } from './actor-copies.ts';
import type { ActorStore } from './actor-store.ts';
import { actorKindOf } from './actor-id.ts';
import { BackupBehaviour } from './backup-behaviour.ts';
import { shardChunks, type ShardCopy } from './copy-shard.ts';
import { engineCaller } from './engine-caller.ts';
import { type DirectoryKey, HostStorage } from './host-storage.ts';
import { type Closable, OpenRoom, type RoomSharer } from './open-room.ts';
import { requirePrecondition } from './precondition.ts';
import { QueryScope } from './query-scope.ts';
import { READS_MS_MAX, readsEnded } from './reads-ended.ts';
import type { ActorId, ActorLifecycle, Delivery, ReplicaSource, Router } from './ports.ts';
import { type StoppedActor, stoppedActor } from './stopped-actors.ts';

/** Bounds of the host. */
export interface HostLimits {
  readonly commit: CommitLimits;
  readonly apply: ApplyLimits;
  /** Actors that may be open at once where no room is shared; above it the longest idle one is closed. */
  readonly openActorsMax: number;
  /** Time without use after which an actor is closed, in milliseconds. */
  readonly idleCloseMs: number;
}

/** Time after which a copy that nobody has begun to read is removed, in milliseconds. */
const UNREAD_COPY_MS = 60_000;

/** What the host tells about its actors. */
export interface HostObserver {
  batchDurable(kind: string, commands: number, bytes: number, elapsedMs: number): void;
  events(actor: ActorId, events: readonly ActorEvent[]): void;
  stopped(actor: ActorId, cause: unknown): void;
  applyFailed(actor: ActorId, cause: unknown): void;
  /** Stored bytes of an actor do not verify; whoever asked got `DATA_CORRUPTED`. */
  damaged?(actor: ActorId, cause: ServiceError): void;
  /** The process before this one may have ended over the file of an actor: it is read before it is opened. */
  verifying?(actor: ActorId, done: number, of: number): void;
}

/** A fork that stands in the log. */
export interface ForkMade {
  readonly source: ActorId;
  readonly target: ActorId;
  /** Of its record. */
  readonly sequence: number;
}

/** Everything the host works with. */
export interface HostEnvironment {
  /** Folder that holds one folder per actor. */
  readonly folder: string;
  /** The actors of that folder, where somebody else uses them before and after; default: made here. */
  readonly store?: ActorStore;
  readonly log: Log;
  readonly clock: Clock;
  /** The steps of the clock, where a host before this one saw some in this process; default: seen from now on. */
  readonly steps?: WallSteps;
  readonly random: Random;
  readonly kinds: readonly ActorKind[];
  readonly limits: HostLimits;
  /** For open actors, with other hosts of the process; default: one of its own. */
  readonly room?: OpenRoom;
  readonly observer: HostObserver;
  /** Gives long reads and commands their slices; one for the whole process. */
  readonly slices: SliceScheduler;
  /** Says whether there is room for what is written; without it there always is. */
  readonly space?: SpaceGuard;
  /** Time removed actors are kept on the disk while there is room, in milliseconds. Default: they go at once. */
  readonly removedKeepMs?: number;
  /** Actors nothing can be served without: where one of them is damaged, {@link ActorHost.recover} refuses. */
  readonly required?: readonly ActorId[];
  /** The key the folder is used with, which is compared with the one it was made with. */
  readonly key?: DirectoryKey;
}

/** An actor that is being made. */
interface Making {
  readonly made: Promise<void>;
  /** Whether the log has its removal, behind what makes it. */
  isRemoved: boolean;
}

interface OpenActor {
  readonly id: ActorId;
  readonly behaviour: ActorBehaviour;
  readonly loop: CommitLoop;
  readonly writer: ShardWriter;
  readonly view: TableReader;
  readonly pin: () => ShardSnapshot;
  /** Number of its last use, see {@link OpenRoom.uses}. */
  used: number;
  /** Reads under way that span several turns of the event loop. */
  reads: number;
  /** Whether it is settled at present in order to be closed. */
  isClosing: boolean;
}

/**
 * Owns the actors of this process: opens them on demand, closes idle ones, brings their shards up to the log
 * at start. It is the embedded `Router` as well.
 *
 * An actor exists when the catalogue lists it; where the log is not of this process alone, when its folder does. Only
 * {@link ActorHost.create} and {@link ActorHost.fork} make one, so that a request for something unknown never leaves
 * anything on disk.
 */
export class ActorHost implements Router, ActorLifecycle, ActorCopies, ReplicaSource {
  readonly #environment: HostEnvironment;
  readonly #store: ActorStore;
  readonly #hybridClock: HybridClock;
  readonly #storage: HostStorage;
  readonly #open = new Map<ActorId, OpenActor>();
  readonly #room: OpenRoom;
  readonly #sharer: RoomSharer;
  readonly #forkWatchers = new Set<(fork: ForkMade) => void>();
  /** Copies made for others so far: their names. */
  #copies = 0;
  /** What {@link OpenRoom.uses} was at each of the last checks for idle actors, oldest first. */
  readonly #usesAt: { readonly atMs: number; readonly uses: number }[] = [];
  /** Owners that are being removed: nothing under them is answered any more. */
  readonly #destroying = new Map<string, Promise<void>>();
  /** Actors that are being made; in the log a fork and a creation of the same one would undo each other. */
  readonly #making = new Map<ActorId, Making>();
  readonly #servingSinceMs: number;
  /** Who asks when one actor asks another: the engine itself. */
  readonly #engine: Caller = engineCaller('');
  /** `draining`: no new commands; `closed`: nothing is opened any more. */
  #state: 'running' | 'draining' | 'closed' = 'running';

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
    this.#room = environment.room ?? new OpenRoom(environment.limits.openActorsMax);
    this.#sharer = { staying: () => this.#staying(), oldestIdle: () => this.#oldestIdle() };
    const damaged = (actor: ActorId, cause: ServiceError): void =>
      environment.observer.damaged?.(actor, cause);
    const verifying = (actor: ActorId, done: number, of: number): void =>
      environment.observer.verifying?.(actor, done, of);
    this.#storage = new HostStorage({ ...environment, damaged, verifying });
    this.#store = this.#storage.store;
    this.#hybridClock = new HybridClock(environment.clock, environment.log.lastClock, environment.steps);
    this.#servingSinceMs = environment.clock.monotonicMs();
  }

  /** How many actors are open. */
  get openActors(): number {
    return this.#open.size;
  }

  /** How far the newest revision is ahead of the wall clock, in milliseconds; 0 where it is not. */
  get revisionsAheadMs(): number {
    return Math.max(0, this.#hybridClock.last.ms - Math.floor(this.#environment.clock.wallMs()));
  }

  /** Actors that take no commands any more, although they are open, and those that are not served. */
  get stoppedActors(): readonly StoppedActor[] {
    const stopped: StoppedActor[] = [...this.#storage.stopped];
    for (const { id, loop } of this.#open.values()) {
      const told = loop.isStopped ? stoppedActor(id, loop.stopCause) : undefined;
      if (told !== undefined) stopped.push(told);
    }
    return stopped;
  }

  /** Bytes of durable changes that are not in their shards yet, over all open actors. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const { writer } of this.#open.values()) bytes += writer.pendingBytes;
    return bytes;
  }

  /**
   * Brings every shard the log still holds records for up to the end of the log. Cost follows the log's
   * retained tail, not what is stored. An actor whose own data is damaged is left out and refuses every message; the log
   * keeps what it has of it.
   *
   * What is found is compared before anything is changed: what refuses for what is on the disk leaves all of it as it was.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` for damage of the log, the catalogue or an actor that is required;
   *   `STORAGE_FULL`, because what was acknowledged could not be shown
   */
  async recover(): Promise<void> {
    await this.#storage.recover((actor) => this.#open.has(actor));
    this.#scheduleIdleCheck();
  }

  exists(actor: ActorId): boolean {
    return !this.#isDestroying(actor) && this.#store.exists(actor);
  }

  async create(actor: ActorId, precondition?: Precondition): Promise<void> {
    // One at a time, so that nothing but the call that makes an actor ever takes it back.
    for (let making = this.#making.get(actor); making !== undefined; making = this.#making.get(actor))
      await making.made.catch(() => {});
    await this.#make(actor, () => this.#create(actor, precondition));
  }

  async #create(actor: ActorId, precondition: Precondition | undefined): Promise<void> {
    if (this.#state !== 'running') throw new ServiceError('SHUTTING_DOWN');
    if (precondition !== undefined) requirePrecondition(this, precondition);
    this.#storage.requireKept(actor);
    // Behind the record of the removal it would come back with a start, and be there for whoever follows the log.
    if (this.#isDestroying(actor) || this.#isRemoved(actor)) throw new ServiceError('NOT_FOUND');
    if (this.#store.hasLeft(actor)) {
      await this.#store.putAwayLeft(actor);
      return await this.#create(actor, precondition);
    }
    this.#storage.requireCaughtUp(actor);
    if (this.#store.exists(actor)) return;
    this.#requireSpace();
    crashPoint('before-shard-create');
    const { log } = this.#environment;
    // Who follows the log makes the actor at this place.
    const sequence = await log.append(lifecycleEntry(actor, { kind: 'create' }, this.#hybridClock.last));
    // Else a power cut could leave a folder of which the log knows nothing; and see below, of one that is gone.
    await log.flush();
    try {
      if (precondition !== undefined) requirePrecondition(this, precondition);
    } catch (error) {
      return await this.#takeBack(actor, error);
    }
    // What is removed by a later record is not made. One that is going to be is: its removal may fail.
    try {
      const known = this.#isRemoved(actor) ? Promise.resolve() : this.#store.create(actor, sequence);
      this.#releaseWhen(known, actor, sequence);
    } catch (error) {
      this.#environment.observer.applyFailed(actor, error);
      await this.#store.folders.remove(actor, true).catch(() => undefined);
      return await this.#takeBack(actor, error);
    }
  }

  async fork(source: ActorId, target: ActorId): Promise<void> {
    assert(actorKindOf(source) === actorKindOf(target), 'a fork is of the kind of its source');
    if (this.#state !== 'running') throw new ServiceError('SHUTTING_DOWN');
    if (this.#making.has(target)) throw new ServiceError('ALREADY_EXISTS');
    this.#requireSpace();
    await this.#make(target, () => this.#fork(source, target));
  }

  async #make(actor: ActorId, make: () => Promise<void>): Promise<void> {
    const making: Making = { made: make(), isRemoved: false };
    this.#making.set(actor, making);
    try {
      await making.made;
    } finally {
      if (this.#making.get(actor) === making) this.#making.delete(actor);
    }
  }

  async #fork(source: ActorId, target: ActorId): Promise<void> {
    const open = this.#actor(source);
    const { log } = this.#environment;
    const requireSource = (): void => {
      const isGone = this.#open.get(source) !== open || this.#isDestroying(source);
      if (isGone || this.#isDestroying(target) || this.#isRemoved(target))
        throw new ServiceError('NOT_FOUND');
      if (this.#store.exists(target)) throw new ServiceError('ALREADY_EXISTS');
    };
    open.reads += 1;
    try {
      if (this.#store.hasLeft(target) && !this.#isDestroying(target)) await this.#store.putAwayLeft(target);
      const folder = await this.#store.folders.prepare(target);
      let known: Promise<void> = Promise.resolve();
      const { sequence, copied } = await open.loop.between(async () => {
        requireSource();
        const entry = lifecycleEntry(target, { kind: 'fork', source }, this.#hybridClock.last);
        const appended = await log.append(entry);
        for (const hear of this.#forkWatchers) hear({ source, target, sequence: appended });
        const finish = async (): Promise<void> => {
          // Else a power cut could leave a fork of which the log knows nothing.
          const [position] = await Promise.all([this.#store.claimCopy(target, appended), log.flush()]);
          requireSource();
          known = this.#store.takeCopy(target, appended, position);
          // Told below.
          known.catch(() => undefined);
        };
        return { sequence: appended, copied: open.writer.copyTo(folder, finish) };
      });
      await copied.catch((error: unknown) => this.#takeBack(target, error));
      this.#releaseWhen(known, target, sequence);
      // What came to the source by now would keep a restart from making the fork again.
      await known.catch((error: unknown) => this.#undo(target, error));
    } finally {
      open.reads -= 1;
    }
  }

  async copy(actor: ActorId, folder: string): Promise<ShardPosition> {
    if (this.#state !== 'running') throw new ServiceError('SHUTTING_DOWN');
    if (this.#isDestroying(actor)) throw new ServiceError('NOT_FOUND');
    const open = this.#actor(actor);
    open.reads += 1;
    try {
      return await open.writer.copyTo(folder, () => {});
    } catch (error) {
      throw this.#isDestroying(actor) || !this.exists(actor) ? new ServiceError('NOT_FOUND') : error;
    } finally {
      open.reads -= 1;
    }
  }

  /**
   * Tells of every fork as soon as the log has it.
   *
   * @param hear must not throw
   * @returns ends it
   */
  watchForks(hear: (fork: ForkMade) => void): () => void {
    this.#forkWatchers.add(hear);
    return () => void this.#forkWatchers.delete(hear);
  }

  /** Newest record the shard of an actor has; what is durable and waits to be applied is not in it. */
  appliedSequence(actor: ActorId): number {
    return this.#actor(actor).writer.shard.position.sequence;
  }

  destroyUnder(owner: string): Promise<void> {
    const running = this.#destroying.get(owner);
    if (running !== undefined) return running;
    // What is being made is not there yet, and would be when it is done.
    const isMaking = [...this.#making.keys()].some((actor) => isUnder(actor, owner));
    if (!isMaking && !this.#store.hasUnder(owner)) return Promise.resolve();
    const destroyed = this.#destroy(owner).finally(() => this.#destroying.delete(owner));
    this.#destroying.set(owner, destroyed);
    return destroyed;
  }

  namesUnder(owner: string): readonly string[] {
    return this.#store.folders.namesUnder(owner);
  }

  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown> {
    try {
      if (this.#state !== 'running') throw new ServiceError('SHUTTING_DOWN');
      if (this.#isDestroying(actor)) throw new ServiceError('NOT_FOUND');
      const { call, caller, idempotency } = delivery;
      return this.#actor(actor).loop.submit(command, caller, idempotency, call);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  query(actor: ActorId, query: unknown, caller: Caller): unknown {
    if (this.#isDestroying(actor)) throw new ServiceError('NOT_FOUND');
    return this.#answer(actor, query, caller);
  }

  clockOf(actor: ActorId): Revision {
    if (this.#isDestroying(actor)) throw new ServiceError('NOT_FOUND');
    return this.#actor(actor).writer.revision;
  }

  /** Gives up the replies that wait for later commands: the process is going to stop. */
  endWaits(): void {
    for (const { behaviour } of this.#open.values()) behaviour.endWaits?.(new ServiceError('SHUTTING_DOWN'));
  }

  /** Answers every queued command. Commands are refused from now on, and nothing happens by itself any more. */
  async drain(): Promise<void> {
    if (this.#state === 'running') this.#state = 'draining';
    // A command may still open another actor by asking it.
    for (const { loop } of this.#open.values()) await loop.drained();
    for (const open of this.#open.values()) quiet(open, new ServiceError('SHUTTING_DOWN'));
  }

  /**
   * Drains, applies everything, closes all shards. Queries are refused as soon as their actor is closed.
   *
   * @param readsMs time long answers under way have to end, in milliseconds
   * @param signal cuts them short
   */
  async close(readsMs: number = READS_MS_MAX, signal?: AbortSignal): Promise<void> {
    await this.drain();
    await readsEnded(this.#environment.clock, () => this.#open.values(), readsMs, signal);
    this.#state = 'closed';
    await Promise.all([...this.#open.values()].map((open) => this.#settleAndClose(open)));
    this.#room.leave(this.#sharer);
    await this.#storage.close();
  }

  /** A copy for whoever asked: it is made at once, of what there is now, and removed when it has been told. */
  async #tellCopy(actor: ActorId): Promise<ShardCopy> {
    this.#requireSpace();
    const { folders } = this.#store;
    const name = `${actor} copy ${++this.#copies}`;
    const discard = (): Promise<void> => folders.discard(name);
    const folder = folders.unfinished(name);
    try {
      const position = await this.copy(actor, folder);
      const unread = this.#environment.clock.after(UNREAD_COPY_MS, () => void discard());
      return { chunks: shardChunks(folder, position, discard, () => unread.cancel()) };
    } catch (error) {
      await discard();
      throw error;
    }
  }

  /** @throws {ServiceError} `STORAGE_FULL` when there is no room for another shard */
  #requireSpace(): void {
    const refusal = this.#environment.space?.refusal('grows');
    if (refusal !== undefined) throw refusal;
  }

  async #destroy(owner: string): Promise<void> {
    const isOwned = (actor: ActorId): boolean => isUnder(actor, owner);
    // In a later turn, when the owner is on the list and nothing under it is opened any more.
    await null;
    const owned = [...this.#open.values()].filter(({ id }) => isOwned(id));
    await Promise.all(owned.map(({ loop }) => loop.drained()));
    const { log } = this.#environment;
    // Before anything is let go of: when this fails the actors stay, with all they have in memory.
    const sequence = await log.append(lifecycleEntry(owner, { kind: 'destroy' }, this.#hybridClock.last));
    for (const [actor, making] of this.#making) if (isOwned(actor)) making.isRemoved = true;
    await Promise.all(owned.map((open) => this.#abandon(open)));
    // A disk that takes nothing more needs the space.
    await log.flush().catch(() => undefined);
    const failed = await this.#storage.remove(owner, sequence, isOwned);
    const through = failed === undefined ? log.lastSequence : sequence - 1;
    for (const actor of log.pending().keys()) if (isOwned(actor)) log.released(actor, through);
    this.#releaseWhen(failed === undefined ? Promise.resolve() : Promise.reject(failed), owner, sequence);
  }

  /** The log keeps what made or removed an actor until the catalogue has it. */
  #releaseWhen(known: Promise<void>, actor: ActorId, sequence: number): void {
    const release = (): void => this.#environment.log.released(actor, sequence);
    known.then(release, (cause: unknown) => {
      this.#environment.observer.applyFailed(actor, cause);
      // What the catalogue could not store is tried again; anything else stays in the log for the next start.
      if (cause instanceof ServiceError) void this.#storage.stored().then(release);
    });
  }

  /** An actor that could not be made after the log had it: whoever follows has made it and must hear that it is gone. */
  async #takeBack(target: ActorId, cause: unknown): Promise<never> {
    const { log } = this.#environment;
    await this.#store.folders.discard(target);
    const sequence = await log.append(lifecycleEntry(target, { kind: 'destroy' }, this.#hybridClock.last));
    log.released(target, sequence);
    throw cause;
  }

  /** Removes an actor that was made and cannot be noted. Where that fails as well, the log has the removal. */
  async #undo(actor: ActorId, cause: unknown): Promise<never> {
    await this.destroyUnder(actor).catch(() => undefined);
    throw cause;
  }

  #answer(actor: ActorId, query: unknown, caller: Caller): unknown {
    const open = this.#actor(actor);
    try {
      const answer = open.behaviour.query(
        query as never,
        new QueryScope(
          open,
          caller,
          this.#environment.clock,
          this.#environment.slices,
          this.#environment.limits.commit.request,
        ),
      );
      if (!(answer instanceof Promise)) return answer;
      open.reads += 1;
      return answer
        .catch((error: unknown) => this.#refuse(actor, error))
        .finally(() => {
          open.reads -= 1;
        });
    } catch (error) {
      return this.#refuse(actor, error);
    }
  }

  /** Tells of stored bytes that do not verify; a log that lost its end is another matter. @throws the error */
  #refuse(actor: ActorId, error: unknown): never {
    if (isDamage(error)) this.#environment.observer.damaged?.(actor, error);
    throw error;
  }

  #isDestroying(actor: ActorId): boolean {
    if (this.#destroying.size === 0) return false;
    for (const owner of this.#destroying.keys()) if (isUnder(actor, owner)) return true;
    return false;
  }

  /** Whether an actor that is being made was removed meanwhile. */
  #isRemoved(actor: ActorId): boolean {
    return this.#making.get(actor)?.isRemoved === true;
  }

  #actor(actor: ActorId): OpenActor {
    const open = this.#open.get(actor);
    if (open !== undefined) {
      open.used = this.#room.use();
      return open;
    }
    if (this.#state === 'closed') throw new ServiceError('SHUTTING_DOWN');
    try {
      this.#storage.requireKept(actor);
      // Also one that is not listed because it could not be brought up to the log.
      this.#storage.requireCaughtUp(actor);
      if (!this.exists(actor)) throw new ServiceError('NOT_FOUND');
      const opened = this.#openActor(actor);
      this.#storage.opened(actor);
      return opened;
    } catch (error) {
      this.#storage.failed(actor, error);
      return this.#refuse(actor, error);
    }
  }

  #openActor(actor: ActorId): OpenActor {
    const { log, clock, random, limits, observer, slices, space } = this.#environment;
    const kind = this.#store.kindOf(actor);
    const own = kind.create(this.#contextOf(actor));
    const behaviour = new BackupBehaviour(own, kind.tables.length, () => this.#tellCopy(actor));
    const writer = new ShardWriter(
      actor,
      () => this.#storage.open(actor),
      log,
      clock,
      limits.apply,
      (cause) => {
        // Told of until the next start, which looks at the files again.
        if (isDamage(cause)) this.#storage.failed(actor, cause);
        observer.applyFailed(actor, cause);
      },
      slices.changes,
    );
    this.#storage.requireNewest(actor, writer);
    this.#hybridClock.observe(writer.shard.position.clock);
    const commitObserver: CommitObserver = {
      batchDurable: (commands, bytes, elapsedMs) =>
        observer.batchDurable(kind.kind, commands, bytes, elapsedMs),
      events: (events) => observer.events(actor, events),
      stopped: (cause) => observer.stopped(actor, cause),
      damaged: (cause) => observer.damaged?.(actor, cause),
    };
    const loop = new CommitLoop(
      {
        actor,
        log,
        clock,
        hybridClock: this.#hybridClock,
        random,
        limits: limits.commit,
        observer: commitObserver,
        slices,
        ...(space === undefined ? {} : { space: { guard: space, useOf: kind.spaceUse } }),
      },
      behaviour,
      writer,
    );
    const used = this.#room.use();
    const open: OpenActor = {
      id: actor,
      behaviour,
      loop,
      writer,
      view: loop.view,
      pin: () => writer.pin(),
      used,
      reads: 0,
      isClosing: false,
    };
    this.#room.join(this.#sharer);
    this.#room.make();
    this.#open.set(actor, open);
    return open;
  }

  #contextOf(actor: ActorId): ActorContext {
    return {
      id: actor,
      ask: (other, query) => this.#answer(other, query, this.#engine),
      clock: this.#environment.clock,
      servingSinceMs: this.#servingSinceMs,
      submit: (command) => {
        const open = this.#open.get(actor);
        if (open === undefined || this.#state === 'closed') {
          return Promise.reject(new ServiceError('SHUTTING_DOWN'));
        }
        return open.loop.submit(command, this.#engine);
      },
    };
  }

  #staying(): number {
    let staying = 0;
    for (const open of this.#open.values()) if (!open.isClosing) staying += 1;
    return staying;
  }

  #oldestIdle(): Closable | undefined {
    let oldest: OpenActor | undefined;
    for (const open of this.#open.values()) {
      if (isIdle(open) && !open.isClosing && open.used < (oldest?.used ?? Number.POSITIVE_INFINITY))
        oldest = open;
    }
    if (oldest === undefined) return undefined;
    const found = oldest;
    return { used: found.used, close: () => void this.#closeUnused(found) };
  }

  #scheduleIdleCheck(): void {
    const { clock, limits } = this.#environment;
    this.#usesAt.push({ atMs: clock.monotonicMs(), uses: this.#room.uses });
    clock.after(Math.max(limits.idleCloseMs / 4, 50), () => {
      if (this.#state !== 'running') return;
      const lastUnused = this.#usesBefore(clock.monotonicMs() - limits.idleCloseMs);
      for (const open of this.#open.values())
        if (open.used <= lastUnused && isIdle(open) && !open.isClosing) void this.#closeUnused(open);
      this.#room.make();
      this.#storage.purge();
      this.#scheduleIdleCheck();
    });
  }

  /** The last use that certainly lies before a moment; what is older than the check that says so is forgotten. */
  #usesBefore(ms: number): number {
    const since = this.#usesAt.findLastIndex(({ atMs }) => atMs <= ms);
    if (since < 0) return 0;
    this.#usesAt.splice(0, since);
    return this.#usesAt[0]?.uses ?? 0;
  }

  /**
   * Closes an actor unless somebody uses it meanwhile. It serves as ever while it is settled; taking it off the
   * list and closing its shard happen in one turn, so nobody ever meets one that is closing. An actor with
   * changes that cannot be applied stays open, because only the log has them besides.
   */
  async #closeUnused(open: OpenActor): Promise<void> {
    const { used } = open;
    open.isClosing = true;
    await open.writer.settle();
    open.isClosing = false;
    if (this.#state === 'closed' || this.#isDestroying(open.id)) return;
    if (open.used !== used || !isIdle(open) || !open.writer.isSettled) return;
    this.#open.delete(open.id);
    open.behaviour.close?.();
    void open.writer.close();
  }

  async #settleAndClose(open: OpenActor): Promise<void> {
    quiet(open, new ServiceError('SHUTTING_DOWN'));
    await open.writer.settle();
    this.#open.delete(open.id);
    await open.writer.close();
  }

  async #abandon(open: OpenActor): Promise<void> {
    quiet(open, new ServiceError('NOT_FOUND'));
    // What the actor told itself to do meanwhile; from here on it does nothing more by itself.
    await open.loop.drained();
    await open.writer.abandon();
    this.#open.delete(open.id);
  }
}

/** Whether an actor may be closed at this moment. One that stopped writing must not start again by being reopened. */
function isIdle({ behaviour, loop, reads }: OpenActor): boolean {
  return loop.idle && !loop.isStopped && reads === 0 && behaviour.mustStayOpen !== true;
}

/** Nobody waits for it any more, and it does nothing by itself. */
function quiet({ behaviour }: OpenActor, reason: ServiceError): void {
  behaviour.endWaits?.(reason);
  behaviour.close?.();
}
