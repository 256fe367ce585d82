import { assert } from '#runtime/base/assert.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { TIMEOUT_MARK } from '#runtime/jobs/job.ts';
import type { JobHandler } from '#runtime/jobs/job-handler.ts';
import type { ClaimedJob, Queue } from '#runtime/jobs/ports.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Dependencies of a runner. */
export interface JobRunnerEnvironment {
  readonly queue: Queue;
  readonly handlers: readonly JobHandler[];
  readonly clock: Clock;
  readonly log: Log;
  /** Number of concurrent jobs; with 0 jobs wait for another member or a later start. */
  readonly workers: number;
}

/** Number of renewals per lease: one renewal may be late and one may fail. */
const HEARTBEATS_PER_LEASE = 3;

/** Minimum interval of progress reports, in milliseconds: each is a commit. */
const PROGRESS_EVERY_MS = 1_000;

/** Time for a handler to stop after its timeout, in milliseconds. @see docs/interface/jobs.md#attempts */
const WATCHDOG_MS = 15_000;

/** Delay after a failed request to the queue, in milliseconds. */
const QUEUE_RETRY_MS = 1_000;

/** Why a job is being stopped. */
type StopReason = 'lost' | 'timeout' | 'draining';

/**
 * Runs the background jobs of a process: claims them, runs the handlers of their types, renews their leases and
 * reports their outcomes.
 */
export class JobRunner {
  readonly #queue: Queue;
  readonly #handlers: ReadonlyMap<string, JobHandler>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #workers: number;
  /** The jobs that run here, by their submitters. */
  readonly #shares = new Occupants();
  readonly #stopping = new AbortController();
  readonly #running = new Set<Attempt>();
  readonly #ended = new Set<Promise<void>>();
  #freed = (): void => undefined;
  #loop: Promise<void> | undefined;

  constructor({ clock, handlers, log, queue, workers }: JobRunnerEnvironment) {
    this.#queue = queue;
    this.#handlers = new Map(handlers.map((handler) => [handler.type, handler]));
    assert(this.#handlers.size === handlers.length, 'a type of job has one handler');
    this.#clock = clock;
    this.#log = log;
    this.#workers = workers;
  }

  /** Maximum number of concurrent jobs. */
  get workers(): number {
    return this.#workers;
  }

  /** Types of jobs with a handler here. */
  get types(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  /** Starts to take jobs. */
  start(): void {
    assert(this.#loop === undefined, 'a runner is started once');
    this.#loop = this.#workers === 0 || this.#handlers.size === 0 ? Promise.resolve() : this.#takeJobs();
  }

  /**
   * Takes no more jobs, stops those under way, and returns the stopped ones to the queue for other workers. Resolves
   * when all have stopped, after `graceMs` at the latest; the next start handles jobs that run longer.
   */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    for (const attempt of this.#running) attempt.stop('draining');
    let timer: Timer | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = this.#clock.after(graceMs, resolve);
    });
    await Promise.race([patience, this.#allEnded()]);
    timer?.cancel();
  }

  async #allEnded(): Promise<void> {
    await this.#loop;
    await Promise.all(this.#ended);
  }

  async #takeJobs(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#ended.size >= this.#workers) {
        await new Promise<void>((resolve) => {
          this.#freed = resolve;
        });
        continue;
      }
      try {
        const claim = await this.#queue.claim(this.types, signal, () => this.#busy());
        if (claim !== undefined) this.#begin(claim);
      } catch (error) {
        if (signal.aborted) return;
        this.#log.error('jobs could not be claimed; it is tried again', { error });
        await new Promise<void>((resolve) => void this.#clock.after(QUEUE_RETRY_MS, resolve));
      }
    }
  }

  /** The submitters who have half of the workers: the other half is for others. */
  #busy(): readonly string[] {
    return this.#shares.with(Math.max(1, Math.floor(this.#workers / 2)));
  }

  #begin(claim: ClaimedJob): void {
    const handler = this.#handlers.get(claim.job.type);
    assert(handler !== undefined, 'a queue hands out the types asked for');
    const { submitter } = claim.job;
    const leave = submitter === undefined ? () => undefined : this.#shares.enter(submitter);
    const attempt = new Attempt(claim, handler, this.#queue, this.#clock, this.#log, leave);
    // Claimed while the process began to stop.
    if (this.#stopping.signal.aborted) attempt.stop('draining');
    this.#running.add(attempt);
    const ended = attempt.run().finally(() => {
      leave();
      this.#running.delete(attempt);
      this.#ended.delete(ended);
      this.#freed();
    });
    this.#ended.add(ended);
  }
}

/** Counts what is under way by the names of those whom it is done for. */
class Occupants {
  readonly #counts = new Map<string, number>();

  /** One more. @returns to be called when it has ended; again without effect */
  enter(name: string): () => void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#counts.get(name) ?? 1) - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    };
  }

  /** The names that have at least so many, in their order. */
  with(count: number): readonly string[] {
    return [...this.#counts].flatMap(([name, has]) => (has >= count ? [name] : [])).sort();
  }
}

/** One attempt at a job, from the claim to the report of its outcome. */
class Attempt {
  readonly #claim: ClaimedJob;
  readonly #handler: JobHandler;
  readonly #queue: Queue;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #leave: () => void;
  readonly #stopped = new AbortController();
  #reason: StopReason | undefined;
  #progress: number | undefined;
  #beat: Timer | undefined;
  #beatAtMs = 0;
  /** A heartbeat is under way: they are sent one after another. */
  #beating = false;
  #isOver = false;

  constructor(
    claim: ClaimedJob,
    handler: JobHandler,
    queue: Queue,
    clock: Clock,
    log: Log,
    leave: () => void,
  ) {
    this.#claim = claim;
    this.#handler = handler;
    this.#queue = queue;
    this.#clock = clock;
    this.#leave = leave;
    const { id, type } = claim.job;
    this.#log = log.child({ job: id, type });
  }

  /** Asks the handler to stop; the first reason counts. */
  stop(reason: StopReason): void {
    this.#reason ??= reason;
    this.#stopped.abort();
  }

  /** Never rejects: an outcome that cannot be reported is logged, and the lease ends. */
  async run(): Promise<void> {
    const { job, leaseMs, signal } = this.#claim;
    const lost = (): void => this.stop('lost');
    if (signal.aborted) lost();
    else signal.addEventListener('abort', lost);
    this.#scheduleBeat(leaseMs / HEARTBEATS_PER_LEASE);
    const overdue = this.#clock.after(job.timeoutMs, () => this.stop('timeout'));
    try {
      await this.#work();
    } catch (error) {
      this.#log.error('outcome of a job could not be stored; the job will run again', { error });
    } finally {
      this.#endBeats();
      overdue.cancel();
      signal.removeEventListener('abort', lost);
    }
  }

  #endBeats(): void {
    this.#isOver = true;
    this.#beat?.cancel();
  }

  async #work(): Promise<void> {
    const { payload, id } = this.#claim.job;
    const handled = this.#handle({
      id,
      tenant: this.#tenant,
      payload,
      signal: this.#stopped.signal,
      progress: (fraction) => this.#note(fraction),
    });
    const outcome = await this.#orAbandoned(handled);
    this.#endBeats();
    // The report makes the queue look for the next job, which may be one of the same submitter.
    if (outcome !== 'abandoned') this.#leave();
    await this.#tell(outcome);
    // A handler that does not stop keeps its slot, because it still uses the resources that slots limit.
    if (outcome === 'abandoned') await handled;
  }

  async #handle(job: Parameters<JobHandler['run']>[0]): Promise<Outcome> {
    if (job.signal.aborted) return { error: new ServiceError('REQUEST_CANCELLED') };
    try {
      return { result: await this.#handler.run(job) };
    } catch (error) {
      return { error };
    }
  }

  /** Stops waiting for a handler long after it was asked to stop. */
  async #orAbandoned(handled: Promise<Outcome>): Promise<Outcome | 'abandoned'> {
    let timer: Timer | undefined;
    const abandoned = new Promise<'abandoned'>((resolve) => {
      const { signal } = this.#stopped;
      const watch = (): void => {
        timer = this.#clock.after(WATCHDOG_MS, () => resolve('abandoned'));
      };
      if (signal.aborted) watch();
      else signal.addEventListener('abort', watch, { once: true });
    });
    const outcome = await Promise.race([handled, abandoned]);
    timer?.cancel();
    return outcome;
  }

  async #tell(outcome: Outcome | 'abandoned'): Promise<void> {
    if (this.#reason === 'lost') return;
    const isDone = outcome !== 'abandoned' && 'result' in outcome;
    if (this.#reason === 'timeout' && !isDone) {
      const seconds = this.#claim.job.timeoutMs / 1000;
      await this.#fail(`${TIMEOUT_MARK} The job took longer than ${seconds} s`, true);
      return;
    }
    if (this.#reason === 'draining' && !isDone) {
      if (outcome !== 'abandoned') await this.#queue.release(this.#claim);
      return;
    }
    assert(outcome !== 'abandoned', 'only a stopped handler is abandoned');
    if ('error' in outcome) {
      this.#log.warn('job failed', { error: outcome.error });
      await this.#fail(textOf(outcome.error), isHopeless(outcome.error));
      return;
    }
    crashPoint('before-job-complete');
    await this.#complete(outcome.result);
  }

  async #complete(result: JsonValue): Promise<void> {
    try {
      if (await this.#queue.complete(this.#claim, result)) await this.#cleanUp();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'PAYLOAD_TOO_LARGE') throw error;
      await this.#fail(error.message, true);
    }
  }

  async #fail(text: string, isFinal: boolean): Promise<void> {
    const outcome = await this.#queue.fail(this.#claim, text, isFinal);
    if (outcome !== 'dead') return;
    this.#log.error('job failed; it is not tried again', { reason: text });
    await this.#cleanUp();
  }

  /** After the outcome is stored, so that no other attempt needs what is removed. */
  async #cleanUp(): Promise<void> {
    const { id, payload } = this.#claim.job;
    try {
      await this.#handler.ended?.({ id, payload, tenant: this.#tenant });
    } catch (error) {
      this.#log.warn('what a job has kept could not be removed', { error });
    }
  }

  get #tenant(): string {
    return decodeURIComponent(this.#claim.scope.split('/')[0] as string);
  }

  #note(fraction: number): void {
    this.#progress = Math.min(Math.max(fraction, 0), 1);
    const sinceMs = this.#clock.monotonicMs() - this.#beatAtMs;
    if (sinceMs >= PROGRESS_EVERY_MS) void this.#sendBeat();
  }

  #scheduleBeat(delayMs: number): void {
    this.#beat?.cancel();
    this.#beat = this.#clock.after(delayMs, () => void this.#sendBeat());
  }

  async #sendBeat(): Promise<void> {
    if (this.#beating || this.#isOver) return;
    this.#beating = true;
    this.#beatAtMs = this.#clock.monotonicMs();
    try {
      const isHeld = await this.#queue.heartbeat(this.#claim, this.#progress);
      if (!isHeld && !this.#isOver) this.stop('lost');
    } catch (error) {
      // The lease has time for another one.
      this.#log.warn('heartbeat of a job could not be sent', { error });
    } finally {
      this.#beating = false;
    }
    if (!this.#isOver) this.#scheduleBeat(this.#claim.leaseMs / HEARTBEATS_PER_LEASE);
  }
}

/** Outcome of a handler. */
type Outcome = { readonly result: JsonValue } | { readonly error: unknown };

/** Returns the stored text of an error; of internal errors only what the registry permits. */
function textOf(error: unknown): string {
  if (!(error instanceof ServiceError)) return errorRegistry.INTERNAL_SERVER_ERROR.title;
  return error.entry.isPublic ? error.message : error.entry.title;
}

/** Returns whether a retry cannot help. */
function isHopeless(error: unknown): boolean {
  return error instanceof ServiceError && error.entry.advice === 'give-up' && error.entry.status < 500;
}
