import type { SliceOwner } from './slice-owner.ts';
import { getHeapStatistics } from 'node:v8';
import { ByteRoom } from './byte-room.ts';
import { ChangeRoom } from './change-room.ts';
import type { Clock } from './clock.ts';
import { HandlerTurns } from './handler-turns.ts';

/** Sliced work of the whole process in one turn of the event loop at most, in milliseconds. */
export const TURN_MS = 8;

/** What work may hold before it counts as sliced: a read as short as this is answered with its request. */
const QUICK_MS = 1;

/** How long after a short write sliced work makes way for the next one, in milliseconds. */
const WRITES_RECENT_MS = 50;

/** The shortest slice: below it, changing from one work to the next would cost more than the work. */
const SLICE_MS_MIN = 0.1;

/** Most that works hold together while they make large answers, in bytes, unless told otherwise. */
const ROOM_BYTES = 256 * 1024 * 1024;

/** Part of the heap that this may be at most. */
const ROOM_SHARE = 8;

/** Share of a turn that sliced work takes beside writers, of what everything else took. */
const SHARE_BESIDE_WRITERS = 0.25;

/**
 * Who waits for a piece of work:
 * - `command`: a long command, and with it every later command of its actor;
 * - `read`: the caller of one request;
 * - `background`: nobody, such as a scrub or statistics.
 */
export type SliceClass = 'command' | 'read' | 'background';

/** Shares of time when all of them wait: a long command always has half of it. */
const weights: Readonly<Record<SliceClass, number>> = { command: 4, read: 3, background: 1 };

/**
 * Divides the event loop between everything that may be long: there is one for the whole process.
 *
 * Work calls {@link SlicedWork.pause} in its loops, and goes on, or awaits its next slice. In one turn of the event loop
 * one work has a slice, so all sliced work together takes at most {@link TURN_MS} of it, besides one millisecond that
 * everybody may begin with: most reads end within that and never meet the scheduler.
 *
 * Who is next: the class whose time, divided by its weight, is least (start-time fair queueing); in it each key in
 * turn, so that callers have equal shares however many works each of them has; of a key first what had no slice yet, at
 * most every second time, so that a short read waits for one slice or two and not for everybody, then each in turn.
 *
 * While short writes are being made slices are shorter: a quarter of what everything else took of the turn before. A
 * write takes a handful of turns from its request to its answer, so 8 ms in each would make it many times slower. Sliced
 * work then has a fifth of the processor when writers are busy, and most of it while they wait for the disk.
 *
 * @see docs/decisions/0037-slice-scheduler.md
 */
export class SliceScheduler {
  /** For works that make something large: what all of them may hold together. */
  readonly room: ByteRoom;
  /** For changes on their way to the shards. */
  readonly changes: ChangeRoom;
  /** When handlers begin, whoever brings their requests: clients or other members. */
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
  /** Time of this turn that has been given away, in milliseconds. */
  #givenMs = 0;
  #isTurnOpen = false;
  #current: SlicedWork | undefined;
  #turnStartMs = Number.NaN;
  #wroteMs = Number.NEGATIVE_INFINITY;
  /** What the work with the slice of this turn is known to have used of it, in milliseconds. */
  #spentMs = 0;
  /** What everything else took of the last turn, in milliseconds. */
  #restMs = 0;

  /** @param roomBytes most that works hold together while they make large answers, at most an eighth of the heap */
  constructor(clock: Clock, roomBytes: number = ROOM_BYTES, changes: ChangeRoom = new ChangeRoom()) {
    this.#clock = clock;
    this.changes = changes;
    this.handlers = new HandlerTurns(clock);
    this.room = new ByteRoom(
      Math.min(roomBytes, Math.floor(getHeapStatistics().heap_size_limit / ROOM_SHARE)),
    );
  }

  /** Works that wait for a slice. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of the present turn; rises while there is sliced work. For {@link SlicedWork}. */
  get turn(): number {
    return this.#turn;
  }

  /** Begins a piece of work. Costs nothing but the object: no end has to be told. */
  begin(kind: SliceClass, owner: SliceOwner): SlicedWork {
    return new SlicedWork(this, this.#clock, kind, owner);
  }

  /** A short command has been carried out: slices are short for a while. @param nowMs on the monotonic clock */
  noteWrite(nowMs: number): void {
    this.#wroteMs = nowMs;
  }

  /**
   * For work that began in this turn without having been given a slice.
   *
   * @returns how much longer it may go on, in milliseconds; 0: it has to wait
   */
  extend(nowMs: number): number {
    if (this.#waiting > 0) return 0;
    const left = this.#sliceMs(nowMs) - this.#givenMs;
    if (left <= 0) return 0;
    this.#givenMs += left;
    this.#openTurn();
    return left;
  }

  /** Queues work. @returns resolves in the turn it is given a slice; rejects with what its owner throws */
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

  /** How long a slice is at present, in milliseconds. */
  #sliceMs(nowMs: number): number {
    if (nowMs - this.#wroteMs > WRITES_RECENT_MS) return TURN_MS;
    return Math.min(Math.max(this.#restMs * SHARE_BESIDE_WRITERS, SLICE_MS_MIN), TURN_MS);
  }

  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    // The first callback may come in this very turn, when what opened it arrived from the network.
    this.#clock.soon(() => this.#clock.soon(() => this.#nextTurn()));
  }

  #nextTurn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#current !== undefined) this.#settle(this.#current);
    // NaN where the turn before had no beginning.
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

  /** Gives a slice to whoever is next. @returns whether they still wanted it */
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

  /** Counts what a work used of the slice it was given. */
  #settle(work: SlicedWork): void {
    if (work !== this.#current) return;
    this.#current = undefined;
    this.#spentMs = work.spentMs;
    this.#classes[work.kind].charge(work.spentMs);
  }
}

/** A work that waits for its slice. */
interface Waiting {
  readonly work: SlicedWork;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The waiting works of one key, each kind in the order they came. */
interface Line {
  /** Those that had no slice yet. */
  readonly fresh: Waiting[];
  readonly begun: Waiting[];
  /** Whether the last slice went to one that had none before. */
  wasFresh: boolean;
}

/** The waiting works of one class: round robin over the keys. */
class SliceQueue {
  /** Time the class has used, divided by its weight. */
  tag = 0;
  readonly #weight: number;
  /** The key that is next first; only those with waiting works. */
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

  /** Takes out who is next. Not to be called when nobody waits. */
  pop(): Waiting {
    const [key, line] = this.#lines.entries().next().value as [string, Line];
    const { begun, fresh } = line;
    // Every second slice goes to those that had one: however many short works come, the long ones go on.
    line.wasFresh = fresh.length > 0 && (begun.length === 0 || !line.wasFresh);
    const next = (line.wasFresh ? fresh : begun).shift() as Waiting;
    this.#lines.delete(key);
    if (begun.length + fresh.length > 0) this.#lines.set(key, line);
    return next;
  }

  /** Counts what a work has used. */
  charge(ms: number): void {
    this.tag += ms / this.#weight;
  }
}

/** A piece of work that gives the event loop back. Made by {@link SliceScheduler.begin}. */
export class SlicedWork {
  readonly kind: SliceClass;
  readonly owner: SliceOwner;
  readonly #scheduler: SliceScheduler;
  readonly #clock: Clock;
  /** Beginning of the present slice; negative before the first. */
  #startMs = -1;
  /** When it was last known to be at work. */
  #seenMs = -1;
  /** Length of the present slice, in milliseconds. */
  #sliceMs = QUICK_MS;
  /** Turn of the event loop in which the present slice was given. */
  #turn = 0;
  #isFresh = true;
  #wait: Promise<void> | undefined;

  constructor(scheduler: SliceScheduler, clock: Clock, kind: SliceClass, owner: SliceOwner) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.kind = kind;
    this.owner = owner;
  }

  /** Time known to have been used of the present slice, in milliseconds. For the scheduler. */
  get spentMs(): number {
    return this.#seenMs - this.#startMs;
  }

  /** Whether it was given no slice yet. For the scheduler. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** A slice is given. For the scheduler. */
  take(nowMs: number, sliceMs: number): void {
    this.#isFresh = false;
    this.#wait = undefined;
    this.#startMs = nowMs;
    this.#seenMs = nowMs;
    this.#sliceMs = sliceMs;
    this.#turn = this.#scheduler.turn;
  }

  /**
   * To be called in every long loop, every few dozen microseconds of work: says whether the slice is over, and then
   * waits for the next one. Cheap: one look at the clock.
   *
   * @returns undefined: go on; otherwise await it and hold no open range meanwhile
   * @throws what the owner throws when nobody waits for the result any more
   */
  pause(): Promise<void> | undefined {
    return this.isOver() ? this.rest() : undefined;
  }

  /** Waits for the next slice, whether the present one is over or not. */
  rest(): Promise<void> {
    this.#wait ??= this.#scheduler.wait(this);
    return this.#wait;
  }

  /** Whether {@link pause} would wait; for work that rather stops here than waits. Throws as that does. */
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
      // It was not at work when its slice ended, for it waited for something else.
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
