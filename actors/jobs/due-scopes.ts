import { PriorityQueue } from '#runtime/base/priority-queue.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';

/** What is remembered of the queue of one repository. Times are milliseconds since the Unix epoch, or infinity. */
export interface RememberedQueue {
  readonly dueMs: number;
  readonly cleanMs: number;
  /** Rises with everything that may have made a job due. */
  readonly changes: number;
}

interface Known extends RememberedQueue {
  dueMs: number;
  cleanMs: number;
  changes: number;
  /** Time of its earliest entry among those that are due later; infinity when it has none. */
  queuedMs: number;
}

/** Somebody is looked at again at a time. */
interface Later {
  readonly scope: JobScope;
  readonly atMs: number;
}

/**
 * Which repositories have a job due, in the order of their turn. Looking them up costs as many steps as there are of
 * those, whatever the number of the others.
 */
export class DueScopes {
  readonly #known = new Map<JobScope, Known>();
  /** Those that had something due when last looked at; the one that was served last is behind the others. */
  readonly #due = new Set<JobScope>();
  readonly #later = new PriorityQueue<Later>((a, b) => a.atMs < b.atMs);

  get(scope: JobScope): RememberedQueue | undefined {
    return this.#known.get(scope);
  }

  /** Everyone there is. */
  all(): readonly JobScope[] {
    return [...this.#known.keys()];
  }

  /** Takes note of when a queue has something to do. */
  note(scope: JobScope, dueMs: number, cleanMs: number): void {
    const never = Number.POSITIVE_INFINITY;
    let known = this.#known.get(scope);
    if (known === undefined) {
      known = { dueMs, cleanMs, changes: 0, queuedMs: never };
      this.#known.set(scope, known);
    }
    known.dueMs = dueMs;
    known.cleanMs = cleanMs;
    known.changes += 1;
    if (!this.#due.has(scope)) this.#queue(scope, known);
  }

  delete(scope: JobScope): void {
    this.#known.delete(scope);
    this.#due.delete(scope);
  }

  /** Lets the others go first. */
  moveBack(scope: JobScope): void {
    if (this.#due.delete(scope)) this.#due.add(scope);
  }

  /** Those that have something due. */
  due(nowMs: number): readonly JobScope[] {
    for (
      let first = this.#later.first;
      first !== undefined && first.atMs <= nowMs;
      first = this.#later.first
    ) {
      this.#later.pop();
      const known = this.#known.get(first.scope);
      // A later entry of one that was deleted and made anew, or of one that came to be due earlier.
      if (known === undefined || known.queuedMs !== first.atMs) continue;
      known.queuedMs = Number.POSITIVE_INFINITY;
      this.#due.add(first.scope);
    }
    for (const scope of this.#due) {
      const known = this.#known.get(scope) as Known;
      if (known.dueMs <= nowMs) continue;
      this.#due.delete(scope);
      this.#queue(scope, known);
    }
    return [...this.#due];
  }

  /** When the next one has something due of those that have not; infinity when none will. */
  get nextMs(): number {
    return this.#later.first?.atMs ?? Number.POSITIVE_INFINITY;
  }

  #queue(scope: JobScope, known: Known): void {
    if (known.dueMs >= known.queuedMs) return;
    known.queuedMs = known.dueMs;
    this.#later.push({ scope, atMs: known.dueMs });
  }
}
