/** A lock somebody holds, as the model has it. */
interface ModelLease {
  readonly token: number;
  readonly endsAtMs: number;
  readonly ttlMs: number;
}

/** Who waits, as the model has it. */
interface ModelWaiter {
  readonly id: number;
  readonly ttlMs: number;
  readonly untilMs: number;
}

/** What became of somebody who waited. */
export interface Ended {
  readonly id: number;
  /** The token they were granted; null: refused. */
  readonly token: number | null;
}

/**
 * What the locks and pools of a branch do, said as plainly as can be: one moment after the other, nothing kept
 * anywhere, no batches, no timers.
 */
export class LocksModel {
  nowMs = 0;
  token = 0;
  readonly leases = new Map<string, ModelLease>();
  readonly lines = new Map<string, ModelWaiter[]>();
  readonly pools = new Map<string, { readonly capacity: number; remaining: number }>();
  #waiters = 0;

  /** @returns the token, null for a refusal, or the number of the waiter */
  acquire(key: string, ttlMs: number, waitMs: number): { token: number | null } | { waiter: number } {
    if (!this.leases.has(key)) return { token: this.#grant(key, ttlMs) };
    if (waitMs === 0) return { token: null };
    this.#waiters += 1;
    const line = this.lines.get(key) ?? [];
    this.lines.set(key, line);
    line.push({ id: this.#waiters, ttlMs, untilMs: this.nowMs + waitMs });
    return { waiter: this.#waiters };
  }

  release(key: string, token: number): { released: boolean; ended: Ended[] } {
    if (this.leases.get(key)?.token !== token) return { released: false, ended: [] };
    return { released: true, ended: this.#passOn(key) };
  }

  renew(key: string, token: number, ttlMs: number): boolean {
    if (this.leases.get(key)?.token !== token) return false;
    this.leases.set(key, { token, ttlMs, endsAtMs: this.nowMs + ttlMs });
    return true;
  }

  /** Lets time pass, moment by moment. */
  advance(ms: number): Ended[] {
    const ended: Ended[] = [];
    for (let step = 0; step < ms; step += 1) {
      this.nowMs += 1;
      for (const line of this.lines.values()) {
        for (const waiter of [...line]) {
          if (waiter.untilMs > this.nowMs) continue;
          line.splice(line.indexOf(waiter), 1);
          ended.push({ id: waiter.id, token: null });
        }
      }
      const due = [...this.leases].filter(([, { endsAtMs }]) => endsAtMs <= this.nowMs);
      for (const [key] of due.sort(([, a], [, b]) => a.token - b.token)) ended.push(...this.#passOn(key));
    }
    return ended;
  }

  /** Everything stops and starts: who waits is gone, leases last their whole time again. */
  restart(): number[] {
    const gone = [...this.lines.values()].flat().map(({ id }) => id);
    this.lines.clear();
    for (const [key, lease] of this.leases) {
      this.leases.set(key, { ...lease, endsAtMs: this.nowMs + lease.ttlMs });
    }
    return gone;
  }

  claim(pool: string, n: number, capacity: number): number | null {
    const known = this.pools.get(pool) ?? { capacity, remaining: capacity };
    this.pools.set(pool, known);
    if (n > known.remaining) return null;
    known.remaining -= n;
    return known.remaining;
  }

  releaseUnits(pool: string, n: number): number | null {
    const known = this.pools.get(pool);
    if (known === undefined) return null;
    known.remaining = Math.min(known.capacity, known.remaining + n);
    return known.remaining;
  }

  #grant(key: string, ttlMs: number): number {
    this.token += 1;
    this.leases.set(key, { token: this.token, ttlMs, endsAtMs: this.nowMs + ttlMs });
    return this.token;
  }

  #passOn(key: string): Ended[] {
    this.leases.delete(key);
    const next = this.lines.get(key)?.shift();
    return next === undefined ? [] : [{ id: next.id, token: this.#grant(key, next.ttlMs) }];
  }
}
