import { assert } from '#runtime/base/assert.ts';
import type { Timer } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ClaimedJob, JobScope } from '#runtime/jobs/ports.ts';
import { ActorQueue, type ActorQueueEnvironment, FAILED_RETRY_MS } from './actor-queue.ts';
import { DueScopes } from './due-scopes.ts';
import type { QueueStatus, QueueReply } from './messages.ts';

/** What the queue of one process works with. */
export interface LocalQueueEnvironment extends ActorQueueEnvironment {
  /** Told when the queue of a repository cannot be asked; it is tried again. */
  readonly onFailure: (scope: JobScope, cause: unknown) => void;
}

/** Longest time nobody looks whether something is due, in milliseconds: the wall clock may have been set. */
const POLL_MS_MAX = 60_000;

/** How often final jobs are looked through for those to be forgotten, in milliseconds. @see docs/interface/jobs.md#attempts */
const CLEAN_EVERY_MS = 3_600_000;

/** What one claimer was told of a queue, good until it changes. */
interface Told {
  readonly dueMs: number;
  readonly changes: number;
}

/**
 * The `Queue` of one process: every repository's jobs actor keeps its own jobs, and this remembers which of them
 * have something due. Nothing in here is lost with the process: {@link LocalQueue.recover} looks it up again.
 *
 * The wall clock decides what is due, for it is what survives a restart. Setting it forward ends leases early, and a
 * job may then run twice; setting it back makes waits longer.
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
   * Takes up the queue of a repository after a start: what earlier processes had taken is given out again.
   *
   * @returns whether the repository has a queue
   */
  async recover(scope: JobScope): Promise<boolean> {
    if (!(await this.has(scope))) return false;
    await this.tell<QueueReply>(scope, { type: 'RecoverJobs', worker: this.worker });
    return true;
  }

  /** Stops looking for what is to be forgotten. Claims that wait end with their own signals. */
  close(): void {
    this.#cleaning?.cancel();
  }

  async claim(types: readonly string[], signal: AbortSignal): Promise<ClaimedJob | undefined> {
    assert(types.length > 0, 'a worker handles some type of job');
    const told = new Map<JobScope, Told>();
    while (!signal.aborted) {
      const changed = this.#untilChanged(signal);
      try {
        const { claim, nextMs } = await this.#claimDue(types, told, signal);
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

  /** Goes through the queues that have something due until one hands a job out. */
  async #claimDue(
    types: readonly string[],
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
      const answer = await this.#claimIn(scope, types);
      if (typeof answer !== 'number') return { claim: answer, nextMs };
      // Not good any more when something changed meanwhile: then it is asked again.
      told.set(scope, { dueMs: answer, changes });
      nextMs = Math.min(nextMs, answer);
    }
    return { nextMs: Math.min(nextMs, this.#scopes.nextMs) };
  }

  /** @returns the claim, or when to ask again */
  async #claimIn(scope: JobScope, types: readonly string[]): Promise<ClaimedJob | number> {
    try {
      const { answer, claim } = await this.claimFrom(scope, types);
      if (claim === undefined) return answer.status.dueMs ?? Number.POSITIVE_INFINITY;
      this.heard(scope, answer.status);
      this.#scopes.moveBack(scope);
      return claim;
    } catch (cause) {
      if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') {
        this.#scopes.delete(scope);
        return Number.POSITIVE_INFINITY;
      }
      // The other repositories go on.
      this.#onFailure(scope, cause);
      return this.clock.wallMs() + FAILED_RETRY_MS;
    }
  }

  /** A promise that ends with the next change, when the signal aborts, or when it is time to look again. */
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
