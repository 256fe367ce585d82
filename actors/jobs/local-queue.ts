import { assert } from '#runtime/base/assert.ts';
import type { Timer } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ClaimedJob, JobScope } from '#runtime/jobs/ports.ts';
import { ActorQueue, type ActorQueueEnvironment, FAILED_RETRY_MS } from './actor-queue.ts';
import { DueScopes } from './due-scopes.ts';
import type { QueueStatus, QueueReply } from './messages.ts';

/** Dependencies of the queue of one process. */
export interface LocalQueueEnvironment extends ActorQueueEnvironment {
  /** Called when the queue of a repository cannot be reached; it is tried again. */
  readonly onFailure: (scope: JobScope, cause: unknown) => void;
}

/** Longest time between two checks for due jobs, in milliseconds, because the wall clock may be set. */
const POLL_MS_MAX = 60_000;

/** Interval between two removals of expired final jobs, in milliseconds. @see docs/interface/jobs.md#attempts */
const CLEAN_EVERY_MS = 3_600_000;

/** What a claimer takes, see {@link LocalQueue.claim}. */
interface Takes {
  readonly types: readonly string[];
  readonly busy: readonly string[];
}

/** The last answer of a queue to one claimer, valid until the queue changes. */
interface Told {
  readonly dueMs: number;
  readonly changes: number;
}

/**
 * The `Queue` of one process: the jobs actor of each repository stores its jobs, and the queue remembers which
 * repositories have due jobs. {@link LocalQueue.recover} restores this memory after a restart.
 *
 * The wall clock decides which jobs are due, because it continues across restarts. Setting it forward ends leases
 * early, and a job may then run twice; setting it back makes waits longer.
 */
export class LocalQueue extends ActorQueue {
  readonly #onFailure: LocalQueueEnvironment['onFailure'];
  readonly #scopes = new DueScopes();
  readonly #wakers = new Set<() => void>();
  #cleaning: Timer | undefined;

  constructor(environment: LocalQueueEnvironment) {
    super(environment);
    this.#onFailure = environment.onFailure;
    this.#scheduleCleaning();
  }

  /**
   * Recovers the queue of a repository after a start: jobs claimed by earlier processes are queued again.
   *
   * @returns whether the repository has a queue
   */
  async recover(scope: JobScope): Promise<boolean> {
    if (!(await this.has(scope))) return false;
    await this.tell<QueueReply>(scope, { type: 'RecoverJobs', worker: this.worker });
    return true;
  }

  /** Stops the removal of final jobs. Waiting claims end by their own signals. */
  close(): void {
    this.#cleaning?.cancel();
  }

  async claim(
    types: readonly string[],
    signal: AbortSignal,
    busyNow: () => readonly string[] = () => [],
  ): Promise<ClaimedJob | undefined> {
    assert(types.length > 0, 'a worker handles some type of job');
    const told = new Map<JobScope, Told>();
    let toldFor = '';
    while (!signal.aborted) {
      const busy = busyNow();
      const asked = JSON.stringify(busy);
      if (asked !== toldFor) told.clear();
      toldFor = asked;
      const changed = this.#untilChanged(signal);
      try {
        const { claim, nextMs } = await this.#claimDue({ types, busy }, told, signal);
        if (claim !== undefined) return claim;
        changed.checkAgainAt(nextMs);
        await changed.promise;
      } finally {
        changed.end();
      }
    }
    return undefined;
  }

  protected override heard(scope: JobScope, { cleanMs, dueMs }: QueueStatus): void {
    const never = Number.POSITIVE_INFINITY;
    this.#scopes.note(scope, dueMs ?? never, cleanMs ?? never);
    for (const wake of [...this.#wakers]) wake();
  }

  protected override ordered(scope: JobScope): void {
    this.recover(scope).catch((cause) => this.#onFailure(scope, cause));
  }

  /** Tries the queues with due jobs until one grants a claim. */
  async #claimDue(
    takes: Takes,
    told: Map<JobScope, Told>,
    signal: AbortSignal,
  ): Promise<{ readonly claim?: ClaimedJob; readonly nextMs: number }> {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const scope of this.#scopes.due(this.clock.wallMs())) {
      if (signal.aborted) break;
      const remembered = this.#scopes.get(scope);
      if (remembered === undefined) continue;
      const { changes } = remembered;
      const known = told.get(scope);
      const dueMs = known?.changes === changes ? known.dueMs : remembered.dueMs;
      if (dueMs > this.clock.wallMs()) {
        nextMs = Math.min(nextMs, dueMs);
        continue;
      }
      const answer = await this.#claimIn(scope, takes);
      if (typeof answer !== 'number') return { claim: answer, nextMs };
      // Outdated if the queue changed meanwhile; it is then asked again.
      told.set(scope, { dueMs: answer, changes });
      nextMs = Math.min(nextMs, answer);
    }
    return { nextMs: Math.min(nextMs, this.#scopes.nextMs) };
  }

  /** @returns the claim, or when to ask again */
  async #claimIn(scope: JobScope, { busy, types }: Takes): Promise<ClaimedJob | number> {
    try {
      const { answer, claim } = await this.claimFrom(scope, types, busy);
      if (claim === undefined) return answer.status.dueMs ?? Number.POSITIVE_INFINITY;
      this.heard(scope, answer.status);
      this.#scopes.moveBack(scope);
      return claim;
    } catch (cause) {
      if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') {
        this.#scopes.delete(scope);
        return Number.POSITIVE_INFINITY;
      }
      // The queues of other repositories are not affected.
      this.#onFailure(scope, cause);
      return this.clock.wallMs() + FAILED_RETRY_MS;
    }
  }

  /** A promise that resolves with the next change, when the signal aborts, or at the time of the next check. */
  #untilChanged(signal: AbortSignal): {
    readonly promise: Promise<void>;
    checkAgainAt(wallMs: number): void;
    end(): void;
  } {
    let wake = (): void => undefined;
    let timer: Timer | undefined;
    const promise = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#wakers.add(wake);
    signal.addEventListener('abort', wake);
    return {
      promise,
      checkAgainAt: (wallMs) => {
        timer = this.clock.after(Math.min(Math.max(wallMs - this.clock.wallMs(), 0), POLL_MS_MAX), wake);
      },
      end: () => {
        timer?.cancel();
        this.#wakers.delete(wake);
        signal.removeEventListener('abort', wake);
      },
    };
  }

  #scheduleCleaning(): void {
    this.#cleaning = this.clock.after(CLEAN_EVERY_MS, () => {
      void this.#clean();
      this.#scheduleCleaning();
    });
  }

  async #clean(): Promise<void> {
    for (const scope of this.#scopes.all()) {
      try {
        while ((this.#scopes.get(scope)?.cleanMs ?? Number.POSITIVE_INFINITY) <= this.clock.wallMs()) {
          await this.tell<QueueReply>(scope, { type: 'CleanJobs' });
        }
      } catch (cause) {
        if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') this.#scopes.delete(scope);
        else this.#onFailure(scope, cause);
      }
    }
  }
}
