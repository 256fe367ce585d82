import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { WallSteps } from '#runtime/base/time/wall-steps.ts';
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
import type { ActorCopies } from '../copies/actor-copies.ts';
import type { ActorStore } from '../store/actor-store.ts';
import { actorKindOf } from '../actor-id.ts';
import { BackupBehaviour } from '../copies/backup-behaviour.ts';
import { shardChunks, type ShardCopy } from '../copies/copy-shard.ts';
import { engineCaller } from '../engine-caller.ts';
import { type DirectoryKey, HostStorage } from './host-storage.ts';
import { type Closable, OpenRoom, type RoomSharer } from './open-room.ts';
import { ShardWatch } from './shard-watch.ts';
import { requirePrecondition } from '../precondition.ts';
import { answerQuery, QueryScope } from '../reads/query-scope.ts';
import { READS_MS_MAX, readsEnded } from '../reads/reads-ended.ts';
import type { ActorId, ActorLifecycle, Delivery, ReplicaSource, Router } from '../ports.ts';
import { type StoppedActor, stoppedActor } from '../damage/stopped-actors.ts';

/** Limits of the host. */
export interface HostLimits {
  readonly commit: CommitLimits;
  readonly apply: ApplyLimits;
  /** Actors that may be open at once when no room is shared. Above it, the least recently used one is closed. */
  readonly openActorsMax: number;
  /** Time without use after which an actor is closed, in milliseconds. */
  readonly idleCloseMs: number;
}

/** Time after which a copy is removed if nobody has started to read it, in milliseconds. */
const UNREAD_COPY_MS = 60_000;

/** Callbacks for events of the host's actors. */
export interface HostObserver {
  batchDurable(kind: string, commands: number, bytes: number, elapsedMs: number): void;
  events(actor: ActorId, events: readonly ActorEvent[]): void;
  stopped(actor: ActorId, cause: unknown): void;
  applyFailed(actor: ActorId, cause: unknown): void;
  /** An actor was opened to answer a message. */
  opened?(actor: ActorId): void;
  /** Stored bytes of an actor do not verify; the caller received `DATA_CORRUPTED`. */
  damaged?(actor: ActorId, cause: ServiceError): void;
  /** The file of an actor is verified before it is opened, because the previous process may have crashed on it. */
  verifying?(actor: ActorId, done: number, of: number): void;
}

/** A fork that is recorded in the log. */
export interface ForkMade {
  readonly source: ActorId;
  readonly target: ActorId;
  /** Sequence of the fork's record. */
  readonly sequence: number;
}

/** Dependencies of the host. */
export interface HostEnvironment {
  /** Folder that holds one folder per actor. */
  readonly folder: string;
  /** The store of that folder, when another component uses it before and after the host. Default: created here. */
  readonly store?: ActorStore;
  readonly log: Log;
  readonly clock: Clock;
  /** Observed clock steps, when an earlier host of this process recorded some. Default: observed from now on. */
  readonly steps?: WallSteps;
  readonly random: Random;
  readonly kinds: readonly ActorKind[];
  readonly limits: HostLimits;
  /** Room for open actors, shared with other hosts of the process. Default: a room of its own. */
  readonly room?: OpenRoom;
  readonly observer: HostObserver;
  /** Schedules slices of long reads and commands; one for the whole process. */
  readonly slices: SliceScheduler;
  /** Checks disk space before writes. Absent: space is never refused. */
  readonly space?: SpaceGuard;
  /** How long removed actors are kept on disk while there is room, in milliseconds. Default: deleted at once. */
  readonly removedKeepMs?: number;
  /** Actors that are required for any service. When one is damaged, {@link ActorHost.recover} fails. */
  readonly required?: readonly ActorId[];
  /** The key in use, compared with the key that the folder was created with. */
  readonly key?: DirectoryKey;
}

/** An actor that is being created. */
interface Making {
  readonly made: Promise<void>;
  /** Whether the log contains its removal after its creation. */
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
  /** Running reads that span several turns of the event loop. */
  reads: number;
  /** Whether it is currently being settled before it is closed. */
  isClosing: boolean;
}

/**
 * Owns the actors of this process: opens them on demand, closes idle ones, and brings their shards up to date with
 * the log at start. It is also the embedded `Router`.
 *
 * An actor exists when the catalogue lists it; with a log shared between members, when its folder exists. Only
 * {@link ActorHost.create} and {@link ActorHost.fork} create one, so that a request for an unknown actor never leaves
 * anything on disk.
 */
export class ActorHost implements Router, ActorLifecycle, ActorCopies, ReplicaSource {
  readonly #environment: HostEnvironment;
  readonly #store: ActorStore;
  readonly #hybridClock: HybridClock;
  readonly #storage: HostStorage;
  readonly #open = new Map<ActorId, OpenActor>();
  readonly #shardWatch: ShardWatch;
  readonly #room: OpenRoom;
  readonly #sharer: RoomSharer;
  readonly #forkWatchers = new Set<(fork: ForkMade) => void>();
  /** Number of copies made so far; used in their names. */
  #copies = 0;
  /** What {@link OpenRoom.uses} was at each of the last checks for idle actors, oldest first. */
  readonly #usesAt: { readonly atMs: number; readonly uses: number }[] = [];
  /** Owners that are being removed. Messages to actors under them are refused. */
  readonly #destroying = new Map<string, Promise<void>>();
  /** Actors that are being created. A concurrent fork and creation of one actor would undo each other in the log. */
  readonly #making = new Map<ActorId, Making>();
  readonly #servingSinceMs: number;
  /** The caller of queries between actors: the engine itself. */
  readonly #engine: Caller = engineCaller('');
  /** `draining`: commands are refused; `closed`: actors are no longer opened. */
  #state: 'running' | 'draining' | 'closed' = 'running';

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
    this.#shardWatch = new ShardWatch(environment.clock, this.#open);
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

  /** How far the newest revision is ahead of the wall clock, in milliseconds; 0 when it is not. */
  get revisionsAheadMs(): number {
    return Math.max(0, this.#hybridClock.last.ms - Math.floor(this.#environment.clock.wallMs()));
  }

  /** Open actors that no longer take commands, and actors that are not served. */
  get stoppedActors(): readonly StoppedActor[] {
    // An open actor may be one whose files were found damaged by an application.
    const stopped = new Map(this.#storage.stopped.map((each) => [each.actor, each]));
    for (const { id, loop } of this.#open.values()) {
      const told = loop.isStopped ? stoppedActor(id, loop.stopCause) : undefined;
      if (told !== undefined) stopped.set(id, told);
    }
    return [...stopped.values()];
  }

  /** Bytes of durable changes that are not applied to their shards yet, over all open actors. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const { writer } of this.#open.values()) bytes += writer.pendingBytes;
    return bytes;
  }

  /**
   * Applies the retained log to every shard that has records in it. The cost depends on the retained log, not on the
   * stored data. An actor with damaged data is skipped and refuses every message; the log keeps its entries.
   *
   * All checks run before anything is changed, so a refused recovery leaves the disk unchanged.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` for damage of the log, the catalogue or an actor that is required;
   *   `STORAGE_FULL`, because acknowledged writes could not be made visible
   */
  async recover(): Promise<void> {
    await this.#storage.recover((actor) => this.#open.has(actor));
    this.#scheduleIdleCheck();
    this.#shardWatch.start();
  }

  exists(actor: ActorId): boolean {
    return !this.#isDestroying(actor) && this.#store.exists(actor);
  }

  async create(actor: ActorId, precondition?: Precondition): Promise<void> {
    // One creation at a time, so that only the call that creates an actor ever undoes it.
    for (let making = this.#making.get(actor); making !== undefined; making = this.#making.get(actor))
      await making.made.catch(() => {});
    await this.#make(actor, () => this.#create(actor, precondition));
  }

  async #create(actor: ActorId, precondition: Precondition | undefined): Promise<void> {
    if (this.#state !== 'running') throw new ServiceError('SHUTTING_DOWN');
    if (precondition !== undefined) requirePrecondition(this, precondition);
    this.#storage.requireKept(actor);
    // A creation after the record of the removal would reappear at the next start and for followers of the log.
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
    // Followers of the log create the actor at this position.
    const sequence = await log.append(lifecycleEntry(actor, { kind: 'create' }, this.#hybridClock.last));
    // Without the flush, a power failure could leave a folder that the log does not know, or whose removal it has lost.
    await log.flush();
    try {
      if (precondition !== undefined) requirePrecondition(this, precondition);
    } catch (error) {
      return await this.#takeBack(actor, error);
    }
    // Not created if a later record already removed it. A pending removal does not count, because it may fail.
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
          // Without the flush, a power failure could leave a fork that the log does not know.
          const [position] = await Promise.all([this.#store.claimCopy(target, appended), log.flush()]);
          requireSource();
          known = this.#store.takeCopy(target, appended, position);
          // The error is reported below.
          known.catch(() => undefined);
        };
        return { sequence: appended, copied: open.writer.copyTo(folder, finish) };
      });
      await copied.catch((error: unknown) => this.#takeBack(target, error));
      this.#releaseWhen(known, target, sequence);
      // Writes to the source after this point would keep a restart from repeating the fork.
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
   * Reports every fork as soon as it is in the log.
   *
   * @param hear called for each fork; must not throw
   * @returns stops the reports
   */
  watchForks(hear: (fork: ForkMade) => void): () => void {
    this.#forkWatchers.add(hear);
    return () => void this.#forkWatchers.delete(hear);
  }

  /** Newest record applied to the shard of an actor; durable records that are not applied yet are not counted. */
  appliedSequence(actor: ActorId): number {
    return this.#actor(actor).writer.shard.position.sequence;
  }

  destroyUnder(owner: string): Promise<void> {
    const running = this.#destroying.get(owner);
    if (running !== undefined) return running;
    // An actor that is being created does not exist in the store yet, but would after its creation.
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

  /** Fails the replies that wait for later commands, because the process is about to stop. */
  endWaits(): void {
    for (const { behaviour } of this.#open.values()) behaviour.endWaits?.(new ServiceError('SHUTTING_DOWN'));
  }

  /** Answers every queued command. New commands are refused and timers of the actors are stopped. */
  async drain(): Promise<void> {
    if (this.#state === 'running') this.#state = 'draining';
    // A command may still open another actor by querying it.
    for (const { loop } of this.#open.values()) await loop.drained();
    for (const open of this.#open.values()) quiet(open, new ServiceError('SHUTTING_DOWN'));
  }

  /**
   * Drains, applies all changes and closes all shards. Queries are refused once their actor is closed.
   *
   * @param readsMs time that running long reads have to finish, in milliseconds
   * @param signal ends this wait early
   */
  async close(readsMs: number = READS_MS_MAX, signal?: AbortSignal): Promise<void> {
    await this.drain();
    await readsEnded(this.#environment.clock, () => this.#open.values(), readsMs, signal);
    this.#state = 'closed';
    this.#shardWatch.end();
    await Promise.all([...this.#open.values()].map((open) => this.#settleAndClose(open)));
    this.#room.leave(this.#sharer);
    await this.#storage.close();
  }

  /** Creates a copy of the present state for another member. The copy is removed once it was sent. */
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
    // Resumes in a later turn: by then the owner is in the list and no actor under it is opened any more.
    await null;
    const owned = [...this.#open.values()].filter(({ id }) => isOwned(id));
    await Promise.all(owned.map(({ loop }) => loop.drained()));
    const { log } = this.#environment;
    // Append before anything is released: when it fails, the actors stay open with their state in memory.
    const sequence = await log.append(lifecycleEntry(owner, { kind: 'destroy' }, this.#hybridClock.last));
    for (const [actor, making] of this.#making) if (isOwned(actor)) making.isRemoved = true;
    await Promise.all(owned.map((open) => this.#abandon(open)));
    // A failed flush is ignored: if the disk is full, the removal is what frees space.
    await log.flush().catch(() => undefined);
    const failed = await this.#storage.remove(owner, sequence, isOwned);
    const through = failed === undefined ? log.lastSequence : sequence - 1;
    for (const actor of log.pending().keys()) if (isOwned(actor)) log.released(actor, through);
    this.#releaseWhen(failed === undefined ? Promise.resolve() : Promise.reject(failed), owner, sequence);
  }

  /** Keeps the record that created or removed an actor in the log until the catalogue has it. */
  #releaseWhen(known: Promise<void>, actor: ActorId, sequence: number): void {
    const release = (): void => this.#environment.log.released(actor, sequence);
    known.then(release, (cause: unknown) => {
      this.#environment.observer.applyFailed(actor, cause);
      // A failed write of the catalogue is retried. After any other error the record stays for the next start.
      if (cause instanceof ServiceError) void this.#storage.stored().then(release);
    });
  }

  /** Appends a removal for an actor whose creation failed after it was logged, because followers have created it. */
  async #takeBack(target: ActorId, cause: unknown): Promise<never> {
    const { log } = this.#environment;
    await this.#store.folders.discard(target);
    const sequence = await log.append(lifecycleEntry(target, { kind: 'destroy' }, this.#hybridClock.last));
    log.released(target, sequence);
    throw cause;
  }

  /** Removes a created actor that could not be added to the catalogue. If that fails too, the log has the removal. */
  async #undo(actor: ActorId, cause: unknown): Promise<never> {
    await this.destroyUnder(actor).catch(() => undefined);
    throw cause;
  }

  #answer(actor: ActorId, query: unknown, caller: Caller): unknown {
    const open = this.#actor(actor);
    const { clock, limits, slices } = this.#environment;
    const scope = new QueryScope(open, caller, clock, slices, limits.commit.request);
    return answerQuery(
      open,
      scope,
      () => open.behaviour.query(query as never, scope),
      (error) => this.#refuse(actor, error),
    );
  }

  /** Reports stored bytes that do not verify. The lost end of a log is reported elsewhere. @throws the error */
  #refuse(actor: ActorId, error: unknown): never {
    if (isDamage(error)) this.#environment.observer.damaged?.(actor, error);
    throw error;
  }

  #isDestroying(actor: ActorId): boolean {
    if (this.#destroying.size === 0) return false;
    for (const owner of this.#destroying.keys()) if (isUnder(actor, owner)) return true;
    return false;
  }

  /** Whether an actor was removed while it is being created. */
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
      // Also for an actor that is not listed because the log could not be applied to it.
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
        // Reported until the next start, which checks the files again.
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
    observer.opened?.(actor);
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

  /** Number of the last use that is certainly before a moment; older checks are discarded. */
  #usesBefore(ms: number): number {
    const since = this.#usesAt.findLastIndex(({ atMs }) => atMs <= ms);
    if (since < 0) return 0;
    this.#usesAt.splice(0, since);
    return this.#usesAt[0]?.uses ?? 0;
  }

  /**
   * Closes an actor unless it is used meanwhile. It is served normally while it is settled. Removing it from the list
   * and closing its shard happen in one turn, so no caller ever sees an actor that is being closed. An actor with
   * changes that cannot be applied stays open, because otherwise only the log has them.
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
    // Wait for commands that the actor submitted to itself; it submits no more after this.
    await open.loop.drained();
    await open.writer.abandon();
    this.#open.delete(open.id);
  }
}

/** Whether an actor may be closed now. A stopped actor must not resume writing by being reopened. */
function isIdle({ behaviour, loop, reads }: OpenActor): boolean {
  return loop.idle && !loop.isStopped && reads === 0 && behaviour.mustStayOpen !== true;
}

/** Fails the deferred replies of an actor and stops its timers. */
function quiet({ behaviour }: OpenActor, reason: ServiceError): void {
  behaviour.endWaits?.(reason);
  behaviour.close?.();
}
