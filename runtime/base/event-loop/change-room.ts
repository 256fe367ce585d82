import type { Clock } from '../time/clock.ts';
import { heapShare } from '../process/heap-share.ts';

/** Divisor of the heap available for load: the part that changes may take before new ones wait. */
const HEAP_SHARE = 5;

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
 * Changes that exist cannot be refused, so the limit may be exceeded. Then new batches wait, and so do all running long
 * commands but one. That one continues to its end whatever the others hold, and the next one continues when its changes
 * are in the shard. Above the limit there is thus at most one large commit, and one step of each of the others.
 */
export class ChangeRoom {
  readonly #bytesMax: number;
  #used = 0;
  /** The holder that continues although the limit is exceeded. */
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

  /** Whether new work must wait. */
  get isFull(): boolean {
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
    if (bytes === 0 && this.#leader === share) this.#leader = undefined;
    if (bytes <= before && (!this.isFull || this.#leader === undefined)) this.#wake();
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
    if (!this.isFull) return true;
    this.#leader ??= share;
    return this.#leader === share;
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
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}
