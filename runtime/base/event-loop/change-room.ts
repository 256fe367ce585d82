import type { Clock } from '../time/clock.ts';
import { heapShare } from '../process/heap-share.ts';

/** Divisor of the heap available for load: the part that changes may take before new ones wait. */
const HEAP_SHARE = 5;

/** Divisor of the limit: a long command with less than this part of it is a small commit. */
const SMALL_PARTS = 16;

/** How often waiting tasks check that their caller still waits, in milliseconds. */
const WAITING_CHECK_MS = 100;

/**
 * Limit of changes on their way to the shards, in bytes, for all actors together; no single commit makes more. Most of
 * them are outside the heap, but the heap size tells how much of the machine the process may use.
 *
 * @param heapBytes maximum size of the heap
 */
export function changeBytesMax(heapBytes?: number): number {
  return heapShare(HEAP_SHARE, heapBytes);
}

/** The share of one holder in a {@link ChangeRoom}. */
export interface ChangeShare {
  /** Bytes it holds. */
  readonly bytes: number;
}

/**
 * Memory of changes that are not in a shard yet, of all actors of a process: batches being built, and durable changes
 * waiting to be applied. Each actor has its own bounds, but many actors written to at once would take many times as
 * much.
 *
 * Changes that exist cannot be refused, so the limit may be exceeded. Then one long command, the leader, continues to its
 * end whatever the others hold, and all other large ones wait. The next one leads when the changes of the leader are in
 * the shard. Small commits do not wait for it: its changes do not count against them, and the others have the limit
 * together. When they hold more than that, new batches wait as well. Above the limit there is thus at most one large
 * commit, and one step of each of the others.
 */
export class ChangeRoom {
  readonly #bytesMax: number;
  #used = 0;
  /** The holder that continues although the limit is exceeded; undefined while it is not. */
  #leader: ChangeShare | undefined;
  readonly #waiters = new Set<() => void>();

  /** @param bytesMax default: a fifth of the heap available for load */
  constructor(bytesMax: number = changeBytesMax()) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held. */
  get used(): number {
    return this.#used;
  }

  /** Whether new batches must wait. */
  get isFull(): boolean {
    return this.#used - (this.#leader?.bytes ?? 0) > this.#bytesMax;
  }

  get #isExceeded(): boolean {
    return this.#used > this.#bytesMax;
  }

  /** The share of a new holder. */
  share(): ChangeShare {
    return { bytes: 0 };
  }

  /** Sets the bytes of a holder. At 0 another holder may continue. */
  hold(share: ChangeShare, bytes: number): void {
    const before = share.bytes;
    if (bytes === before && this.#leader !== share) return;
    (share as { bytes: number }).bytes = bytes;
    this.#used += bytes - before;
    if (!this.#isExceeded || (bytes === 0 && this.#leader === share)) this.#leader = undefined;
    if (!this.isFull || (bytes <= before && this.#leader === undefined)) this.#wake();
  }

  /** For a holder that takes more without waiting: it leads where nobody does and the limit is exceeded. */
  lead(share: ChangeShare): void {
    if (!this.#isExceeded || this.#leader !== undefined) return;
    this.#leader = share;
    if (!this.isFull) this.#wake();
  }

  /** Transfers changes to another holder: nobody else continues above the limit before that one holds nothing. */
  handOver(from: ChangeShare, to: ChangeShare): void {
    if (this.#leader === from) this.#leader = to;
  }

  /** For a holder that cannot release its changes for now: another holder may continue. */
  yieldTurn(share: ChangeShare): void {
    if (this.#leader !== share) return;
    this.#leader = undefined;
    this.#wake();
  }

  /**
   * Call it before a holder takes more.
   *
   * @param requireWaiting throws when the caller has gone; checked during the wait, too
   * @returns undefined: continue; otherwise resolves when it may, and rejects with the error of `requireWaiting`
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

  /** Whether there is space, or this holder may continue without. */
  #mayGrow(share: ChangeShare): boolean {
    this.lead(share);
    if (!this.#isExceeded || this.#leader === share) return true;
    return !this.isFull && share.bytes <= this.#bytesMax / SMALL_PARTS;
  }

  /** Resolves when {@link isFull} may have changed. */
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
    if (this.#waiters.size === 0) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}
