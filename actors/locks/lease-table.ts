import { PriorityQueue } from '#runtime/base/queues/priority-queue.ts';
import type { LeaseRow } from './locks-tables.ts';

/** A held lease with its deadline. */
export interface Lease extends LeaseRow {
  /** When it may be removed, on the monotonic clock, in milliseconds. */
  readonly deadlineMs: number;
}

/** The deadline of a lease when it was set. The lease may have been renewed or released since. */
interface Alarm {
  readonly key: string;
  readonly token: number;
  readonly deadlineMs: number;
}

/** Alarms allowed beyond twice the number of leases, for leases that were removed or renewed. */
const STALE_ALARMS_MAX = 1_024;

/**
 * The leases of a branch in memory, by key and by deadline.
 *
 * Invariant: every lease has an alarm with its deadline, unless {@link LeaseTable.takeDue} returned its key and the
 * lease was not changed since.
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

  /** Adds a lease, or replaces the one with the same key. */
  set(key: string, lease: Lease): void {
    this.#leases.set(key, lease);
    this.#alarms.push({ key, token: lease.token, deadlineMs: lease.deadlineMs });
    if (this.#alarms.size > 2 * this.#leases.size + STALE_ALARMS_MAX) this.#rebuildAlarms();
  }

  /** Adds all leases of another table; they replace leases with the same keys. */
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
   * Returns the key of an ended lease, each once; undefined when there is no other. Leases with the same deadline are
   * returned in the order of their grants, so that the result does not depend on the queue.
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
