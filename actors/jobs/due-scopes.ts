import { PriorityQueue } from '#runtime/base/queues/priority-queue.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';

/** The known status of the queue of one repository. Times are milliseconds since the Unix epoch, or infinity. */
export interface RememberedQueue {
  readonly dueMs: number;
  readonly cleanMs: number;
  /** Increases with every change that may have made a job due. */
  readonly changes: number;
}

interface Known extends RememberedQueue {
  dueMs: number;
  cleanMs: number;
  changes: number;
  /** Time of its earliest entry in the queue of later times; infinity without an entry. */
  queuedMs: number;
}

/** When a repository is to be checked again. */
interface Later {
  readonly scope: JobScope;
  readonly atMs: number;
}

/**
 * The repositories with a due job, in round-robin order. The cost of a lookup depends on their number, not on the
 * number of all repositories.
 */
export class DueScopes {
  readonly #known = new Map<JobScope, Known>();
  /** Repositories that had a due job when last checked; the one served last is at the end. */
  readonly #due = new Set<JobScope>();
  readonly #later = new PriorityQueue<Later>((a, b) => a.atMs < b.atMs);

  get(scope: JobScope): RememberedQueue | undefined {
    return this.#known.get(scope);
  }

  /** All repositories. */
  all(): readonly JobScope[] {
    return [...this.#known.keys()];
  }

  /** Records when a queue next has work. */
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

  /** Moves a repository behind the others. */
  moveBack(scope: JobScope): void {
    if (this.#due.delete(scope)) this.#due.add(scope);
  }

  /** The repositories with a due job. */
  due(nowMs: number): readonly JobScope[] {
    for (
      let first = this.#later.first;
      first !== undefined && first.atMs <= nowMs;
      first = this.#later.first
    ) {
      this.#later.pop();
      const known = this.#known.get(first.scope);
      // An outdated entry: the repository was deleted and added again, or became due earlier.
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

  /** When the next repository without a due job will have one; infinity when none will. */
  get nextMs(): number {
    return this.#later.first?.atMs ?? Number.POSITIVE_INFINITY;
  }

  #queue(scope: JobScope, known: Known): void {
    if (known.dueMs >= known.queuedMs) return;
    known.queuedMs = known.dueMs;
    this.#later.push({ scope, atMs: known.dueMs });
  }
}
