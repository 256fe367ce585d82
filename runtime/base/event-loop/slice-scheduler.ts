import type { SliceOwner } from './slice-owner.ts';
import { getHeapStatistics } from 'node:v8';
import { ByteRoom } from './byte-room.ts';
import { ChangeRoom } from './change-room.ts';
import type { Clock } from '../time/clock.ts';
import { HandlerTurns } from './handler-turns.ts';

/** Limit of sliced work of the whole process in one turn of the event loop, in milliseconds. */
export const TURN_MS = 8;

/** Time before work counts as sliced: a read this short is answered at once. */
const QUICK_MS = 1;

/** How long after a short write slices stay short for the next one, in milliseconds. */
const WRITES_RECENT_MS = 50;

/** The shortest slice: below it, switching would cost more than the work. */
const SLICE_MS_MIN = 0.1;

/** Default limit of the bytes that tasks hold together while they make large answers. */
const ROOM_BYTES = 256 * 1024 * 1024;

/** Divisor of the heap: the largest part this limit may take. */
const ROOM_SHARE = 8;

/** Sliced work beside writers, as a share of the time everything else took. */
const SHARE_BESIDE_WRITERS = 0.25;

/**
 * Who waits for the work:
 * - `command`: a long command, and with it every later command of its actor;
 * - `read`: the caller of one request;
 * - `background`: nobody, for example a scrub or statistics.
 */
export type SliceClass = 'command' | 'read' | 'background';

/** Shares of time when all classes wait: a long command always has half of it. */
const weights: Readonly<Record<SliceClass, number>> = { command: 4, read: 3, background: 1 };

/**
 * Divides the event loop between all tasks that may be long: there is one for the whole process.
 *
 * Work calls {@link SlicedWork.pause} in its loops, and continues or awaits its next slice. One task gets a slice in
 * one turn of the event loop, so all sliced work together takes at most {@link TURN_MS} of it. In addition every task
 * may start with one millisecond: most reads end within that and never reach the scheduler.
 *
 * The next task is chosen as follows. First the class with the least time divided by its weight (start-time fair
 * queueing). In it each key in turn, so that callers have equal shares however many tasks each of them has. Within a
 * key, tasks without a slice so far come first, at most every second time, so that a short read waits for one slice or
 * two and not for all others; then each in turn.
 *
 * While there are short writes, slices are shorter: a quarter of the time everything else took in the turn before. A
 * write takes a handful of turns from its request to its answer, so 8 ms in each would make it many times slower.
 * Sliced work then has a fifth of the processor when writers are busy, and most of it while they wait for the disk.
 *
 * @see docs/decisions/0037-slice-scheduler.md
 */
export class SliceScheduler {
  /** Limit of memory for tasks with large results. */
  readonly room: ByteRoom;
  /** Limit of changes on their way to the shards. */
  readonly changes: ChangeRoom;
  /** Starts the handlers of requests from clients and other members. */
  readonly handlers: HandlerTurns;
  readonly #clock: Clock;
  readonly #classes: Readonly<Record<SliceClass, SliceQueue>> = {
    command: new SliceQueue(weights.command),
    read: new SliceQueue(weights.read),
    background: new SliceQueue(weights.background),
  };
  /** Weighted time of the class that was served last. */
  #served = 0;
  #waiting = 0;
  /** Number of the present turn. */
  #turn = 0;
  /** Time of this turn given to slices, in milliseconds. */
  #givenMs = 0;
  #isTurnOpen = false;
  #current: SlicedWork | undefined;
  #turnStartMs = Number.NaN;
  #wroteMs = Number.NEGATIVE_INFINITY;
  /** Known time used by the task that has this turn's slice, in milliseconds. */
  #spentMs = 0;
  /** Time everything else took in the last turn, in milliseconds. */
  #restMs = 0;

  /** @param roomBytes limit of memory for large answers, at most an eighth of the heap */
  constructor(clock: Clock, roomBytes: number = ROOM_BYTES, changes: ChangeRoom = new ChangeRoom()) {
    this.#clock = clock;
    this.changes = changes;
    this.handlers = new HandlerTurns(clock);
    this.room = new ByteRoom(
      Math.min(roomBytes, Math.floor(getHeapStatistics().heap_size_limit / ROOM_SHARE)),
    );
  }

  /** Number of tasks waiting for a slice. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of the present turn; rises while there is sliced work. For {@link SlicedWork}. */
  get turn(): number {
    return this.#turn;
  }

  /** Creates a task. It costs only the object; its end need not be reported. */
  begin(kind: SliceClass, owner: SliceOwner): SlicedWork {
    return new SlicedWork(this, this.#clock, kind, owner);
  }

  /** A short command has run: slices are short for a while. @param nowMs on the monotonic clock */
  noteWrite(nowMs: number): void {
    this.#wroteMs = nowMs;
  }

  /**
   * For work that started in this turn without a slice.
   *
   * @returns how much longer it may run, in milliseconds; 0: it has to wait
   */
  extend(nowMs: number): number {
    if (this.#waiting > 0) return 0;
    const left = this.#sliceMs(nowMs) - this.#givenMs;
    if (left <= 0) return 0;
    this.#givenMs += left;
    this.#openTurn();
    return left;
  }

  /** Queues work. @returns resolves in the turn of its slice; rejects with its owner's error */
  wait(work: SlicedWork): Promise<void> {
    this.#settle(work);
    return new Promise((resolve, reject) => {
      const queue = this.#classes[work.kind];
      if (queue.isEmpty) queue.tag = Math.max(queue.tag, this.#served);
      queue.push({ work, resolve, reject });
      this.#waiting += 1;
      this.#openTurn();
    });
  }

  /** Present length of a slice, in milliseconds. */
  #sliceMs(nowMs: number): number {
    if (nowMs - this.#wroteMs > WRITES_RECENT_MS) return TURN_MS;
    return Math.min(Math.max(this.#restMs * SHARE_BESIDE_WRITERS, SLICE_MS_MIN), TURN_MS);
  }

  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    // The first callback may run in this same turn, when a network event started it.
    this.#clock.soon(() => this.#clock.soon(() => this.#nextTurn()));
  }

  #nextTurn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#current !== undefined) this.#settle(this.#current);
    // NaN when the turn before has no start.
    this.#restMs = Math.max(nowMs - this.#turnStartMs - this.#spentMs, 0) || 0;
    this.#spentMs = 0;
    this.#turn += 1;
    this.#givenMs = 0;
    this.#turnStartMs = nowMs;
    while (this.#waiting > 0) {
      if (!this.#give(nowMs)) continue;
      this.#clock.soon(() => this.#nextTurn());
      return;
    }
    this.#isTurnOpen = false;
    this.#turnStartMs = Number.NaN;
  }

  /** Gives a slice to the next task. @returns whether its caller still waited */
  #give(nowMs: number): boolean {
    const queue = this.#next();
    this.#served = queue.tag;
    const { work, resolve, reject } = queue.pop();
    this.#waiting -= 1;
    try {
      work.owner.requireWaiting();
    } catch (error) {
      reject(error);
      return false;
    }
    this.#givenMs = this.#sliceMs(nowMs);
    this.#current = work;
    work.take(nowMs, this.#givenMs);
    resolve();
    return true;
  }

  #next(): SliceQueue {
    let next: SliceQueue | undefined;
    for (const queue of Object.values(this.#classes)) {
      if (!queue.isEmpty && (next === undefined || queue.tag < next.tag)) next = queue;
    }
    return next as SliceQueue;
  }

  /** Counts the time a task used of its slice. */
  #settle(work: SlicedWork): void {
    if (work !== this.#current) return;
    this.#current = undefined;
    this.#spentMs = work.spentMs;
    this.#classes[work.kind].charge(work.spentMs);
  }
}

/** A task waiting for its slice. */
interface Waiting {
  readonly work: SlicedWork;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The waiting tasks of one key, each kind in order of arrival. */
interface Line {
  /** Tasks without a slice so far. */
  readonly fresh: Waiting[];
  readonly begun: Waiting[];
  /** Whether the last slice went to a task without one. */
  wasFresh: boolean;
}

/** The waiting tasks of one class: round robin over the keys. */
class SliceQueue {
  /** Time used by the class, divided by its weight. */
  tag = 0;
  readonly #weight: number;
  /** Keys with waiting tasks, the next one first. */
  readonly #lines = new Map<string, Line>();

  constructor(weight: number) {
    this.#weight = weight;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  push(waiting: Waiting): void {
    const { work } = waiting;
    const key = work.owner.sliceKey;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { fresh: [], begun: [], wasFresh: false };
      this.#lines.set(key, line);
    }
    (work.isFresh ? line.fresh : line.begun).push(waiting);
  }

  /** Removes the next task. The queue must not be empty. */
  pop(): Waiting {
    const [key, line] = this.#lines.entries().next().value as [string, Line];
    const { begun, fresh } = line;
    // Every second slice goes to started tasks: long ones progress however many short ones arrive.
    line.wasFresh = fresh.length > 0 && (begun.length === 0 || !line.wasFresh);
    const next = (line.wasFresh ? fresh : begun).shift() as Waiting;
    this.#lines.delete(key);
    if (begun.length + fresh.length > 0) this.#lines.set(key, line);
    return next;
  }

  /** Counts time used by a task. */
  charge(ms: number): void {
    this.tag += ms / this.#weight;
  }
}

/** A task that yields the event loop. Created by {@link SliceScheduler.begin}. */
export class SlicedWork {
  readonly kind: SliceClass;
  readonly owner: SliceOwner;
  readonly #scheduler: SliceScheduler;
  readonly #clock: Clock;
  /** Start of the present slice; negative before the first. */
  #startMs = -1;
  /** Last time it was known to be running. */
  #seenMs = -1;
  /** Length of the present slice, in milliseconds. */
  #sliceMs = QUICK_MS;
  /** Turn of the event loop of the present slice. */
  #turn = 0;
  #isFresh = true;
  #wait: Promise<void> | undefined;

  constructor(scheduler: SliceScheduler, clock: Clock, kind: SliceClass, owner: SliceOwner) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.kind = kind;
    this.owner = owner;
  }

  /** Known time used of the present slice, in milliseconds. For the scheduler. */
  get spentMs(): number {
    return this.#seenMs - this.#startMs;
  }

  /** Whether it has had no slice yet. For the scheduler. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** Starts a slice. For the scheduler. */
  take(nowMs: number, sliceMs: number): void {
    this.#isFresh = false;
    this.#wait = undefined;
    this.#startMs = nowMs;
    this.#seenMs = nowMs;
    this.#sliceMs = sliceMs;
    this.#turn = this.#scheduler.turn;
  }

  /**
   * To be called in every long loop, every few dozen microseconds of work: checks whether the slice is over, and then
   * waits for the next one. It costs one read of the clock.
   *
   * @returns undefined: continue; otherwise await it, and hold no open range meanwhile
   * @throws the owner's error when the caller has gone
   */
  pause(): Promise<void> | undefined {
    return this.isOver() ? this.rest() : undefined;
  }

  /** Waits for the next slice, whether the present one is over or not. */
  rest(): Promise<void> {
    this.#wait ??= this.#scheduler.wait(this);
    return this.#wait;
  }

  /** Whether {@link pause} would wait; for work that stops instead of waiting. Throws like it. */
  isOver(): boolean {
    if (this.#wait !== undefined) {
      this.owner.requireWaiting();
      return true;
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#startMs < 0) {
      this.#startMs = nowMs;
      this.#seenMs = nowMs;
      this.#turn = this.#scheduler.turn;
      return false;
    }
    if (this.#turn !== this.#scheduler.turn) {
      // It was not running when its slice ended, because it waited for something else.
      this.#turn = this.#scheduler.turn;
      this.#startMs = nowMs;
      this.#sliceMs = 0;
    }
    this.#seenMs = nowMs;
    const usedMs = nowMs - this.#startMs;
    if (usedMs < this.#sliceMs) return false;
    this.owner.requireWaiting();
    const moreMs = this.#scheduler.extend(nowMs);
    this.#sliceMs = usedMs + moreMs;
    return moreMs <= 0;
  }
}
