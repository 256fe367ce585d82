import type { Clock } from './clock.ts';
import { heapShare } from './heap-share.ts';

/** Part of what the heap has for load that changes may take before those who make more wait. */
const HEAP_SHARE = 5;

/** How often those who wait look whether somebody waits for them, in milliseconds. */
const WAITING_CHECK_MS = 100;

/**
 * Bytes of changes that may be on their way to the shards, of all actors together; no single commit makes more. Most of
 * them are outside the heap, but what a process may take of its machine is told by its heap.
 *
 * @param heapBytes what the heap may grow to
 */
export function changeBytesMax(heapBytes?: number): number {
  return heapShare(HEAP_SHARE, heapBytes);
}

/** What one holder has of a {@link ChangeRoom}. */
export interface ChangeShare {
  /** Bytes it holds. */
  readonly bytes: number;
}

/**
 * Memory of changes that are in no shard yet, of all actors of a process: batches that are being made, and what is
 * durable and waits to be applied. Each actor has bounds of its own, but many that are written to at once would take
 * many times as much.
 *
 * What is there already cannot be refused, so the room may be overfull. Then new batches wait, and so do the long
 * commands under way, all but one: that one comes to its end whatever the others hold, and the next one follows when its
 * changes are in the shard. Above the bound there is thus at most one large commit, and one step of each of the others.
 */
export class ChangeRoom {
  readonly #bytesMax: number;
  #used = 0;
  /** The one that goes on although the room is full. */
  #leader: ChangeShare | undefined;
  readonly #waiters = new Set<() => void>();

  /** @param bytesMax default: a fifth of what the heap has for load */
  constructor(bytesMax: number = changeBytesMax()) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are held. */
  get used(): number {
    return this.#used;
  }

  /** Whether nothing new should be begun. */
  get isFull(): boolean {
    return this.#used > this.#bytesMax;
  }

  /** What a new holder has. */
  share(): ChangeShare {
    return { bytes: 0 };
  }

  /** Says what a holder has now. One that has nothing any more makes way for another one to go on. */
  hold(share: ChangeShare, bytes: number): void {
    const before = share.bytes;
    if (bytes === before) return;
    (share as { bytes: number }).bytes = bytes;
    this.#used += bytes - before;
    if (bytes === 0 && this.#leader === share) this.#leader = undefined;
    if (bytes < before && (!this.isFull || this.#leader === undefined)) this.#wake();
  }

  /** What one holder made goes to another one: nobody else goes on without room before that one has nothing any more. */
  handOver(from: ChangeShare, to: ChangeShare): void {
    if (this.#leader === from) this.#leader = to;
  }

  /** For a holder that cannot get rid of what it has for now: somebody else may go on. */
  yieldTurn(share: ChangeShare): void {
    if (this.#leader !== share) return;
    this.#leader = undefined;
    this.#wake();
  }

  /**
   * For a holder that is going to take more.
   *
   * @param requireWaiting throws when nobody waits for its work any more; asked while it waits, too
   * @returns undefined: go on; otherwise resolves when it may, and rejects with what `requireWaiting` throws
   */
  grow(share: ChangeShare, requireWaiting: () => void, clock: Clock): Promise<void> | undefined {
    return this.#mayGrow(share) ? undefined : this.#untilMayGrow(share, requireWaiting, clock);
  }

  async #untilMayGrow(share: ChangeShare, requireWaiting: () => void, clock: Clock): Promise<void> {
    while (!this.#mayGrow(share)) {
      await this.#changeWithin(WAITING_CHECK_MS, clock);
      requireWaiting();
    }
  }

  /** Whether there is room, or it is the one that goes on without. */
  #mayGrow(share: ChangeShare): boolean {
    if (!this.isFull) return true;
    this.#leader ??= share;
    return this.#leader === share;
  }

  /** Resolves when it is worth asking {@link isFull} again. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  #changeWithin(ms: number, clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      const waiter = (): void => {
        timer.cancel();
        this.#waiters.delete(waiter);
        resolve();
      };
      const timer = clock.after(ms, waiter);
      this.#waiters.add(waiter);
    });
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}
