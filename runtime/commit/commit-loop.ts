import { principalKey } from '#runtime/access/principal.ts';
import { assert, InvariantError } from '#runtime/base/assert.ts';
import { BoundedQueue } from '#runtime/base/queues/bounded-queue.ts';
import type { ChangeShare } from '#runtime/base/event-loop/change-room.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { encodeLargeEntry } from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { SpaceGuard, SpaceUse } from '#runtime/space/space-gate.ts';
import type { ActorBehaviour, ActorEvent, Caller, CallId, IdempotencyKey, Turn } from './behaviour.ts';
import { Breach, refusalOf } from './breach.ts';
import { CallOutcomes } from './call-outcomes.ts';
import { CommandMemtables } from './command-memtables.ts';
import { crashPoint } from './crash-point.ts';
import { EmptyRanges } from './empty-ranges.ts';
import { EncodedEntry } from './encoded-entry.ts';
import type { HybridClock } from './hybrid-clock.ts';
import {
  type IdempotencyLimits,
  isLasting,
  KEPT_WHOLE_CHARACTERS,
  remember,
  replayed,
} from './idempotency.ts';
import { Memtable } from './memtable.ts';
import { MemtableReader } from './memtable-reader.ts';
import { failDeferred, DeferredReply, settleDeferred } from './deferred-reply.ts';
import type { ShardWriter } from './shard-writer.ts';
import { type TurnLimits, TurnScope } from './turn-scope.ts';
import { requireWaiting, sliceOwner } from './waiting-caller.ts';

/** Limits of one commit loop. */
export interface CommitLimits extends TurnLimits {
  /** Commands that may be queued. Further ones are refused with `OVERLOADED`. */
  readonly mailboxMax: number;
  /** Maximum number of commands in one batch. */
  readonly batchCommandsMax: number;
  /** Bytes of changes above which a batch takes no further command. */
  readonly batchBytesMax: number;
  /** Unapplied bytes above which writes wait for the shard to catch up, for at most {@link ROOM_WAIT_MS}. */
  readonly applyPendingBytesMax: number;
  readonly idempotency: IdempotencyLimits;
}

/** How long the short commands of one batch may hold the event loop. */
const BATCH_MS = 6;

/** Callbacks of the loop, used for metrics and logs. */
export interface CommitObserver {
  /** A batch became durable: commands in it, bytes of changes, time from its start in milliseconds. */
  batchDurable(commands: number, bytes: number, elapsedMs: number): void;
  /** Events of durable commands, in order. */
  events(events: readonly ActorEvent[]): void;
  /** The actor stopped writing. */
  stopped(cause: unknown): void;
  /** A command met stored bytes that do not verify. */
  damaged?(cause: ServiceError): void;
}

/** Dependencies of a loop; passed in so that a simulation can control them. */
export interface CommitEnvironment {
  readonly actor: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly hybridClock: HybridClock;
  readonly random: Random;
  readonly limits: CommitLimits;
  readonly observer: CommitObserver;
  /** Schedules slices of long commands. */
  readonly slices: SliceScheduler;
  /** Checks disk space before a command. Absent: space is never refused. */
  readonly space?: {
    readonly guard: SpaceGuard;
    readonly useOf: ((command: never) => SpaceUse) | undefined;
  };
}

/** Temporary errors of the log: nothing of the batch is in it, and later batches may be tried. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'STORAGE_FULL',
  'OVERLOADED',
  'COMMIT_TOO_LARGE',
  'LOG_UNAVAILABLE',
]);

/** How long commands wait for the shard to catch up before they are refused, in milliseconds. */
const ROOM_WAIT_MS = 10_000;

/** Changes of a batch above which it is encoded in slices. */
const LARGE_BATCH_CHANGES = 4096;

/** Bytes of a batch above which it is encoded in slices. */
const LARGE_BATCH_BYTES = 8 * 1024 * 1024;

interface Envelope {
  readonly command: unknown;
  readonly caller: Caller;
  readonly idempotency: IdempotencyKey | undefined;
  /** Used only without a client key, because a key has the same effect for longer. */
  readonly call: CallId | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A reply held behind the output gate. */
interface HeldReply {
  readonly envelope: Envelope;
  readonly result: unknown;
  readonly error: unknown;
}

/**
 * The single writer of one actor.
 *
 * Invariants:
 * 1. Commands run one at a time; each sees every earlier one that was not undone.
 * 2. A command that throws leaves no changes; the others of its batch are unaffected.
 * 3. One batch is one log entry. The next batch is not appended before this one's outcome is known, so an
 *    entry never builds on one that was refused.
 * 4. No reply, error or event is sent before the batch it was derived from is durable (output gate). Replies are
 *    sent in the order the commands ran. A deferred reply is sent with the batch of the command that answers it. The
 *    replies of a batch without changes are sent when the log confirms that the state they were derived from is
 *    still the newest.
 * 5. Other readers see durable changes only. A change moves from the batch to the durable memtables and then to the
 *    shard, and is never invisible in between.
 * 6. After a failed append the batch is discarded. A temporary refusal by the log (no space, too much waiting, an
 *    entry too large, a failing disk with a log that heals) leaves the loop open; any other stops it.
 * 7. A broken invariant stops the loop. Its whole batch is discarded, because the state behind the other commands
 *    cannot be trusted either. No command runs until the actor is reopened. Every command gets an answer in any case;
 *    the loop continues in order to send it.
 *
 * Enforcement: test/runtime/commit/commit-loop.test.ts, commit-loop.sim.test.ts, engine-crash.slow.test.ts.
 */
export class CommitLoop {
  /** Durable state, for queries. */
  readonly view: TableReader;
  readonly #environment: CommitEnvironment;
  readonly #behaviour: ActorBehaviour;
  readonly #writer: ShardWriter;
  readonly #mailbox: BoundedQueue<Envelope>;
  readonly #runningKeys = new Set<string>();
  readonly #calls: CallOutcomes;
  readonly #reader: MemtableReader;
  readonly #emptyRanges = new EmptyRanges();
  /** Share of the batch in the room for changes. */
  readonly #share: ChangeShare;
  readonly #memtables: CommandMemtables;
  #busy = false;
  #stopped: ServiceError | undefined;
  #stopCause: unknown;
  /** Set when the running batch must be discarded. */
  #broken: Breach | undefined;
  #idleWaiters: (() => void)[] = [];
  /** Work waiting to run between two batches. */
  #between: (() => Promise<void>)[] = [];

  constructor(environment: CommitEnvironment, behaviour: ActorBehaviour, writer: ShardWriter) {
    this.#environment = environment;
    this.#behaviour = behaviour;
    this.#writer = writer;
    this.#calls = new CallOutcomes(environment.clock);
    this.#mailbox = new BoundedQueue(environment.limits.mailboxMax);
    this.#share = environment.slices.changes.share();
    this.view = new MemtableReader(
      () => writer.memtables,
      () => writer.shard,
      () => writer.generation,
    );
    this.#memtables = new CommandMemtables(() => writer.memtables);
    this.#reader = new MemtableReader(
      () => this.#memtables.all,
      () => writer.shard,
      undefined,
      this.#emptyRanges,
    );
  }

  /** Whether nothing is queued or under way. */
  get idle(): boolean {
    return !this.#busy && this.#hasNothingToDo;
  }

  /** Whether the loop no longer takes commands, see invariants 6 and 7. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Stops the loop if another file was copied over that of its shard: what it reads there is no longer its state. */
  checkShard(): void {
    if (this.#stopped !== undefined) return;
    try {
      this.#writer.requireUntouched();
    } catch (cause) {
      this.#stopWithWaits(cause, cause);
    }
  }

  /** Why the loop stopped; undefined while it runs. */
  get stopCause(): unknown {
    return this.#stopCause;
  }

  /**
   * Queues a command. Resolves with its result when the command is durable.
   *
   * @param idempotency makes a repetition of the same request return the first outcome
   * @param call makes a repetition of the same call of another member return the first outcome
   * @throws {ServiceError} the errors of the command; `OVERLOADED`, `WRITES_STOPPED`, `STORAGE_FULL`,
   *   `ACTOR_STOPPED`, `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`, `IDEMPOTENCY_IN_PROGRESS`, `IDEMPOTENCY_MISMATCH`
   * @throws {InvariantError} the command detected a broken invariant; see invariant 7
   */
  submit(command: unknown, caller: Caller, idempotency?: IdempotencyKey, call?: CallId): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const kept = idempotency === undefined ? call : undefined;
      const envelope: Envelope = { command, caller, idempotency, call: kept, resolve, reject };
      const refusal = this.#refusal(envelope);
      if (refusal !== undefined) return reject(refusal);
      if (!this.#mailbox.push(envelope)) return reject(new ServiceError('OVERLOADED'));
      if (idempotency !== undefined) this.#runningKeys.add(runningKey(envelope));
      this.#wake();
    });
  }

  /**
   * Runs `work` while no batch is in progress: every earlier batch has been accepted, and the next one begins when
   * `work` has resolved. For entries that need a fixed position between batches in the log. `work` must be short.
   *
   * @throws the errors of `work`
   */
  between<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      this.#wake();
    });
  }

  /** Resolves when every queued command has its answer. */
  drained(): Promise<void> {
    if (this.idle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #refusal(envelope: Envelope): ServiceError | undefined {
    if (this.#stopped !== undefined) return this.#stopped;
    if (envelope.idempotency !== undefined && this.#runningKeys.has(runningKey(envelope))) {
      return new ServiceError('IDEMPOTENCY_IN_PROGRESS');
    }
    const { space } = this.#environment;
    return space?.guard.refusal(space.useOf?.(envelope.command as never) ?? 'grows');
  }

  /** Whether so many changes are unapplied that none may be added. */
  get #isOverfull(): boolean {
    return this.#writer.pendingBytes > this.#environment.limits.applyPendingBytesMax;
  }

  /**
   * Waits until the shard has caught up enough for a batch to begin; nothing is applied while the shard is copied for
   * a fork or a backup. Also waits for other actors while the unapplied changes of all actors exceed the room. The
   * commands waiting meanwhile are bounded by the mailbox, and are refused after {@link ROOM_WAIT_MS}.
   */
  async #untilRoom(): Promise<void> {
    const { clock, slices } = this.#environment;
    const { changes } = slices;
    if (!this.#isOverfull && !changes.isFull) return;
    const untilMs = clock.monotonicMs() + ROOM_WAIT_MS;
    while (this.#isOverfull || changes.isFull) {
      if (this.#writer.lagging) return this.#refuseQueued(new ServiceError('STORAGE_FULL'));
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0) return this.#refuseQueued(new ServiceError('OVERLOADED'));
      await new Promise<void>((resolve) => {
        const timer = clock.after(leftMs, resolve);
        const progress = this.#writer.progress();
        void (this.#isOverfull ? progress : changes.change()).then(() => {
          timer.cancel();
          // In a later turn, so that the loop does not spin when closing ends all progress.
          clock.soon(resolve);
        });
      });
    }
  }

  #refuseQueued(error: ServiceError): void {
    for (let envelope = this.#mailbox.shift(); envelope !== undefined; envelope = this.#mailbox.shift())
      this.#answer({ envelope, result: undefined, error });
  }

  get #hasNothingToDo(): boolean {
    return this.#mailbox.length === 0 && this.#between.length === 0;
  }

  #wake(): void {
    if (this.#busy) return;
    this.#busy = true;
    // In a later turn, so that all requests of one turn of the event loop share a batch.
    this.#environment.clock.soon(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (!this.#hasNothingToDo) {
      for (const work of this.#between.splice(0)) await work();
      await this.#untilRoom();
      if (this.#mailbox.length === 0) continue;
      await this.#runBatch();
      // Commands that arrived meanwhile form the next batch; more of them may arrive first.
      if (this.#mailbox.length > 0)
        await new Promise<void>((resolve) => this.#environment.clock.soon(resolve));
    }
    this.#busy = false;
    for (const waiter of this.#idleWaiters.splice(0)) waiter();
  }

  /** Executes the queued commands as one batch. Afterwards only its durable memtable is kept in memory. */
  async #runBatch(): Promise<void> {
    this.checkShard();
    const startedMs = this.#environment.clock.monotonicMs();
    const memtable = new Memtable();
    this.#memtables.batch = memtable;
    const held: HeldReply[] = [];
    const events: ActorEvent[] = [];
    try {
      await this.#fill(memtable, held, events, startedMs);
      this.#requireSameShard();
      if (memtable.count > 0) await this.#makeDurable(memtable);
      else await this.#environment.log.confirm();
      this.#memtables.batch = undefined;
      this.#release(held);
      const told = settleDeferred(events);
      if (told.length > 0) this.#environment.observer.events(told);
      const elapsedMs = this.#environment.clock.monotonicMs() - startedMs;
      this.#environment.observer.batchDurable(held.length, memtable.bytes, elapsedMs);
    } catch (error) {
      this.#throwAway(held, error);
      failDeferred(events, error);
    }
    this.#endBatch();
  }

  /** Refuses a batch whose commands may have read another file: long ones take turns. */
  #requireSameShard(): void {
    this.checkShard();
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  async #fill(memtable: Memtable, held: HeldReply[], events: ActorEvent[], startedMs: number): Promise<void> {
    const { limits, clock, slices } = this.#environment;
    let nowMs = startedMs;
    while (held.length < limits.batchCommandsMax && memtable.bytes < limits.batchBytesMax) {
      const envelope = this.#mailbox.shift();
      if (envelope === undefined) return;
      const reply = this.#execute(envelope, memtable, events, nowMs);
      held.push(reply instanceof Promise ? await reply : reply);
      slices.changes.hold(this.#share, memtable.memoryBytes);
      if (this.#broken !== undefined) throw this.#broken;
      nowMs = clock.monotonicMs();
      if (nowMs - startedMs > BATCH_MS) return;
    }
  }

  /** @param nowMs monotonic time */
  #execute(
    envelope: Envelope,
    memtable: Memtable,
    events: ActorEvent[],
    nowMs: number,
  ): HeldReply | Promise<HeldReply> {
    const { hybridClock, random } = this.#environment;
    const { caller } = envelope;
    const wallMs = hybridClock.steps.now();
    const turn = new TurnScope(
      caller,
      wallMs,
      this.#reader,
      memtable,
      hybridClock,
      random,
      this.#environment.limits,
    );
    try {
      // The command has not run yet, so these errors are not kept as outcomes under the idempotency key.
      if (this.#stopped !== undefined) throw this.#stopped;
      requireWaiting(caller, nowMs);
      const earlier = this.#earlier(envelope, turn);
      if (earlier !== undefined) return this.#recall(envelope, turn, earlier.result);
    } catch (error) {
      return { envelope, result: undefined, error };
    }
    try {
      const result = this.#behaviour.execute(envelope.command as never, turn);
      if (!isGenerator(result)) return this.#finish(envelope, turn, result, events);
      // Most generators finish in the first step.
      const step = result.next();
      if (step.done === true) return this.#finish(envelope, turn, step.value, events);
      return this.#executeLong(envelope, turn, result, events);
    } catch (error) {
      return this.#fail(envelope, turn, error);
    }
  }

  async #executeLong(
    envelope: Envelope,
    turn: TurnScope,
    steps: Generator<unknown, unknown>,
    events: ActorEvent[],
  ): Promise<HeldReply> {
    const work = this.#begin(envelope.caller);
    try {
      const result = await this.#runSlices(work, turn, steps);
      return this.#finish(envelope, turn, result, events, !work.isFresh);
    } catch (error) {
      return this.#failLong(envelope, turn, error);
    }
  }

  #begin(caller: Caller): SlicedWork {
    const { clock, slices } = this.#environment;
    return slices.begin('command', sliceOwner(caller, clock));
  }

  /** The kept outcome of the command that this one repeats. @throws {ServiceError} the kept error */
  #earlier({ call, caller, idempotency }: Envelope, turn: TurnScope): { result: unknown } | undefined {
    if (idempotency !== undefined) {
      const limits = this.#environment.limits.idempotency;
      const earlier = replayed(this.#reader, caller, idempotency, turn, limits);
      if (earlier !== undefined) return earlier;
    }
    return call === undefined ? undefined : this.#calls.earlier(this.#reader, call);
  }

  /** Answers a repetition. Later commands wait, so that none of them changes what is read for the answer. */
  #recall(envelope: Envelope, turn: TurnScope, kept: unknown): HeldReply | Promise<HeldReply> {
    const steps = this.#behaviour.recall?.(kept, envelope.command as never, turn);
    if (steps === undefined) return { envelope, result: kept, error: undefined };
    const step = steps.next();
    if (step.done === true) return { envelope, result: step.value, error: undefined };
    return this.#runSlices(this.#begin(envelope.caller), turn, steps).then(
      (result) => ({ envelope, result, error: undefined }),
      // Not kept: the outcome is that of the first command.
      (error: unknown) => ({ envelope, result: undefined, error }),
    );
  }

  async #runSlices<T>(work: SlicedWork, turn: TurnScope, steps: Generator<unknown, T>): Promise<T> {
    try {
      for (;;) {
        const wait = work.pause();
        if (wait !== undefined) await wait;
        const step = steps.next();
        if (step.done === true) return step.value;
        const crowded = this.#untilMayGrow(turn, work);
        if (crowded !== undefined) await crowded;
      }
    } catch (error) {
      abandon(steps);
      throw error;
    }
  }

  /** Makes a long command wait while unapplied changes of others leave no room for it to grow. */
  #untilMayGrow({ heldBytes, undoBytes }: TurnScope, { owner }: SlicedWork): Promise<void> | undefined {
    const { clock, slices } = this.#environment;
    const batchBytes = this.#memtables.batch?.memoryBytes ?? 0;
    slices.changes.hold(this.#share, batchBytes + undoBytes + heldBytes);
    return slices.changes.grow(this.#share, () => owner.requireWaiting(), clock);
  }

  /** Runs work of the engine itself in slices. It cannot be cancelled. */
  async #inSlices<T>(steps: Generator<unknown, T>): Promise<T> {
    const { actor, slices } = this.#environment;
    const work = slices.begin('command', { sliceKey: actor, requireWaiting: () => {} });
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const wait = work.pause();
      if (wait !== undefined) await wait;
    }
  }

  /** As {@link #fail}, for a command that may have written much. */
  async #failLong(envelope: Envelope, turn: TurnScope, error: unknown): Promise<HeldReply> {
    try {
      await this.#inSlices(turn.undoInSteps());
    } catch (broken) {
      this.#broken = new Breach(broken);
      return { envelope, result: undefined, error };
    }
    return this.#fail(envelope, turn, error);
  }

  #finish(
    envelope: Envelope,
    turn: TurnScope,
    result: unknown,
    events: ActorEvent[],
    isLong = false,
  ): HeldReply {
    assert(!(result instanceof Promise), 'a command waits for nothing; long ones are generators');
    const limits = this.#environment.limits.idempotency;
    const { call, caller, idempotency } = envelope;
    if (result instanceof DeferredReply) {
      const keep = (at: Turn, answer: unknown): void => {
        if (idempotency !== undefined) {
          remember(at, idempotency, { result: this.#shorten(answer, KEPT_WHOLE_CHARACTERS) }, limits, caller);
        } else if (call !== undefined) this.#calls.keep(at, call, this.#shorten(answer, 0));
      };
      result.bind({ keep, isKeyed: idempotency !== undefined });
    } else if (idempotency !== undefined) {
      remember(turn, idempotency, { result: this.#shorten(result, KEPT_WHOLE_CHARACTERS) }, limits);
    } else if (call !== undefined && turn.hasChanges) this.#calls.keep(turn, call, this.#shorten(result, 0));
    for (const event of turn.events) events.push(event);
    if (!isLong) this.#environment.slices.noteWrite(this.#environment.clock.monotonicMs());
    return { envelope, result, error: undefined };
  }

  #fail(envelope: Envelope, turn: TurnScope, error: unknown): HeldReply {
    try {
      turn.undo();
      this.#behaviour.forget?.();
    } catch (broken) {
      this.#broken = new Breach(broken);
      return { envelope, result: undefined, error };
    }
    if (error instanceof InvariantError) this.#broken = new Breach(error);
    if (isDamage(error)) this.#environment.observer.damaged?.(error);
    if (envelope.idempotency !== undefined && isLasting(error))
      remember(turn, envelope.idempotency, { error }, this.#environment.limits.idempotency);
    return { envelope, result: undefined, error };
  }

  async #makeDurable(memtable: Memtable): Promise<void> {
    const { actor, log, hybridClock, slices } = this.#environment;
    const isLarge = memtable.count > LARGE_BATCH_CHANGES || memtable.bytes > LARGE_BATCH_BYTES;
    const encoded = isLarge ? await this.#encode(memtable) : undefined;
    crashPoint('before-append');
    const appended = log.append(encoded ?? { actor, writes: memtable.writes(), clock: hybridClock.last });
    crashPoint('after-append-sent');
    // Sorted during the append; otherwise the first listing after it would block the event loop.
    const sorted = isLarge ? this.#inSlices(memtable.sortKeys()) : undefined;
    const [sequence] = await Promise.all([appended, sorted]);
    crashPoint('after-durable');
    slices.changes.handOver(this.#share, this.#writer.share);
    this.#writer.accept(memtable, sequence, hybridClock.last);
    crashPoint('before-reply');
  }

  async #encode(memtable: Memtable): Promise<LogEntry> {
    const { actor, hybridClock, slices } = this.#environment;
    slices.changes.hold(this.#share, memtable.memoryBytes + memtable.contentBytes);
    slices.changes.lead(this.#share);
    let clock = hybridClock.last;
    const large = {
      actor,
      count: memtable.count,
      bytes: memtable.contentBytes,
      writes: memtable.eachWrite(),
    };
    const encoded = await this.#inSlices(
      encodeLargeEntry(large, () => {
        clock = hybridClock.last;
        return clock;
      }),
    );
    return new EncodedEntry(actor, clock, encoded);
  }

  /** Opens the output gate: sends replies in the order their commands ran. */
  #release(held: readonly HeldReply[]): void {
    for (const reply of held) {
      if (!(reply.result instanceof DeferredReply)) this.#answer(reply);
      else void reply.result.outcome.then((outcome) => this.#answer({ ...reply, ...outcome }));
    }
  }

  #answer({ envelope, result, error }: HeldReply): void {
    if (envelope.idempotency !== undefined) this.#runningKeys.delete(runningKey(envelope));
    if (error !== undefined) envelope.reject(error);
    else envelope.resolve(result);
  }

  #shorten(result: unknown, wholeMax: number): unknown {
    return this.#behaviour.shorten === undefined ? result : this.#behaviour.shorten(result, wholeMax);
  }

  /** Discards a batch that could not be made durable. None of its changes becomes visible or is acknowledged. */
  #throwAway(held: readonly HeldReply[], cause: unknown): void {
    this.#memtables.batch = undefined;
    this.#emptyRanges.forget();
    this.#broken = undefined;
    let breach = cause instanceof Breach ? cause : undefined;
    try {
      this.#behaviour.forget?.();
    } catch (broken) {
      breach ??= new Breach(broken);
    }
    const error = refusalOf(cause);
    for (const { result } of held) if (result instanceof DeferredReply) result.fail(error);
    this.#release(
      held.map((reply) => ({
        envelope: reply.envelope,
        result: undefined,
        // Commands that found a broken invariant get that error; the others only learn that nothing was done.
        error: reply.error instanceof InvariantError ? reply.error : error,
      })),
    );
    if (breach !== undefined) this.#stopWithWaits(breach, breach.cause);
    else if (!passing.has(error.code) && !this.#mayHeal(cause)) this.#stop(error, cause);
  }

  /** Whether the log refused temporarily: nothing of the batch is in it once it resumes. */
  #mayHeal(cause: unknown): boolean {
    const isRefusal = cause instanceof ServiceError && cause.code === 'WRITES_STOPPED';
    return isRefusal && this.#environment.log.heals === true;
  }

  #endBatch(): void {
    this.#environment.slices.changes.hold(this.#share, 0);
    try {
      this.#behaviour.batchEnded?.();
    } catch (broken) {
      const breach = new Breach(broken);
      this.#stopWithWaits(breach, breach.cause);
    }
  }

  /**
   * Stops the loop, and fails the deferred replies, which no later command could answer. After a refusal of the log they
   * are left alone: another owner may answer their repetition.
   */
  #stopWithWaits(reason: unknown, cause: unknown): void {
    const refusal = refusalOf(reason);
    this.#stop(refusal, cause);
    try {
      this.#behaviour.endWaits?.(refusal);
    } catch {
      // The first error is reported as the cause; deferred replies end at their own time limits.
    }
  }

  #stop(refusal: ServiceError, cause: unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = refusal;
    this.#stopCause = cause;
    this.#environment.observer.stopped(cause);
  }
}

function runningKey(envelope: Envelope): string {
  return `${principalKey(envelope.caller.principal)}\0${envelope.idempotency?.key}`;
}

/** Lets an unfinished generator clean up; errors of the cleanup are ignored. */
function abandon(steps: Generator<unknown, unknown>): void {
  try {
    steps.return(undefined);
  } catch {
    // The error that led here is the one that is sent.
  }
}

function isGenerator(value: unknown): value is Generator<unknown, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Generator).next === 'function' &&
    Symbol.iterator in value
  );
}
