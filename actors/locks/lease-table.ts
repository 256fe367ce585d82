import { PriorityQueue } from '#runtime/base/priority-queue.ts';
import type { LeaseRow } from './locks-tables.ts';

/** A lease that is held, with its end on the monotonic clock. */
export interface Lease extends LeaseRow {
  /** When it may be taken away, on the monotonic clock, in milliseconds. */
  readonly deadlineMs: number;
}

/** A lease as it was when its end was noted; it may have been renewed or released since. */
interface Alarm {
  readonly key: string;
  readonly token: number;
  readonly deadlineMs: number;
}

/** Alarms of leases that are gone or renewed may pile up to this many beyond twice the leases. */
const STALE_ALARMS_MAX = 1_024;

/**
 * The leases of a branch in memory, by key and by when they end.
 *
 * Invariant: every lease has an alarm with its deadline, unless {@link LeaseTable.takeDue} handed its key out and
 * nothing was done about it.
 */
export class LeaseTable {
  readonly #leases = new Map<string, Lease>();
  #alarms = newAlarms();

  /** Number of leases. */
  get size(): number {
    return this.#leases.size;
  }

  get(key: string): Lease | undefined {
    return this.#leases.get(key);
  }

  /** Adds a lease, or replaces that of the same key. */
  set(key: string, lease: Lease): void {
    this.#leases.set(key, lease);
    this.#alarms.push({ key, token: lease.token, deadlineMs: lease.deadlineMs });
    if (this.#alarms.size > 2 * this.#leases.size + STALE_ALARMS_MAX) this.#rebuildAlarms();
  }

  /** Adds all leases of another table; they replace those of the same keys. */
  setAll(other: LeaseTable): void {
    for (const [key, lease] of other.#leases) this.set(key, lease);
  }

  delete(key: string): void {
    this.#leases.delete(key);
  }

  /** When the first lease ends; undefined without leases. */
  nextDeadline(): number | undefined {
    for (let alarm = this.#alarms.first; alarm !== undefined; alarm = this.#alarms.first) {
      if (this.#isCurrent(alarm)) return alarm.deadlineMs;
      this.#alarms.pop();
    }
    return undefined;
  }

  /**
   * The key of a lease that has ended, each once; undefined when there is no further one. Of those that end at one moment
   * the one that was granted first comes first, so that the order of what follows does not depend on the queue.
   */
  takeDue(nowMs: number): string | undefined {
    const deadline = this.nextDeadline();
    return deadline === undefined || deadline > nowMs ? undefined : this.#alarms.pop()?.key;
  }

  #isCurrent({ key, token, deadlineMs }: Alarm): boolean {
    const lease = this.#leases.get(key);
    return lease !== undefined && lease.token === token && lease.deadlineMs === deadlineMs;
  }

  #rebuildAlarms(): void {
    this.#alarms = newAlarms();
    for (const [key, { token, deadlineMs }] of this.#leases) this.#alarms.push({ key, token, deadlineMs });
  }
}

function newAlarms(): PriorityQueue<Alarm> {
  return new PriorityQueue((a, b) =>
    a.deadlineMs === b.deadlineMs ? a.token < b.token : a.deadlineMs < b.deadlineMs,
  );
}
