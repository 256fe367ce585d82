import type { Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import {
  isActive,
  JOB_ERROR_CHARACTERS_MAX,
  JOB_RETRIES_MAX,
  JOB_TIMEOUT_MS,
  jobPriorities,
  type JobState,
  SUBMITTED_FIRST,
  SUBMITTED_JOBS_MAX,
  TIMEOUT_MARK,
} from '#runtime/jobs/job.ts';
import type { FailureOutcome } from '#runtime/jobs/ports.ts';
import type { ClaimableJobs } from './claimable-jobs.ts';
import {
  countDispatch,
  dropJob,
  dueJobs,
  readActive,
  readJob,
  readTotals,
  storeJob,
  submittedJobs,
} from './job-store.ts';
import { agendaId, agendaTime, type JobRow } from './jobs-tables.ts';
import type { ClaimedBy, ClaimJob, CompleteJob, EnqueueJob, FailJob, RenewJob } from './messages.ts';
import type { PassedJobs, Takes } from './passed-jobs.ts';

/** Bounds of the queue of one repository. */
export interface JobsLimits {
  /** Most active jobs; further jobs are refused. */
  readonly activeMax: number;
  /** Most final jobs; above it the next to be removed are removed early. */
  readonly finalMax: number;
  /** How long a completed or cancelled job is kept, in milliseconds. */
  readonly retentionMs: number;
  /** How long a failed job is kept, in milliseconds. */
  readonly deadLetterMs: number;
}

/** The queue of one repository. */
export interface JobQueue extends JobsLimits {
  readonly passed: PassedJobs;
  readonly claimable: ClaimableJobs;
}

/** Most jobs one command reclaims or removes. */
const SWEPT_MAX = 200;

/** Final jobs removed early with each one that becomes final. Two, so that their number shrinks. */
const FORGOTTEN_EARLY = 2;

/** @see messages.ts, EnqueueJob */
export function enqueue({ job }: Pick<EnqueueJob, 'job'>, turn: Turn, queue: JobQueue): JobRow {
  const known = readJob(turn, job.id) ?? (job.key === undefined ? undefined : readActive(turn, job.key));
  if (known !== undefined) return known;
  if (readTotals(turn).active >= queue.activeMax) {
    throw new ServiceError('OVERLOADED', `A repository has at most ${queue.activeMax} jobs waiting`);
  }
  const { about, id, key, payload, priority, retriesMax, submitter, timeoutMs, type } = job;
  const submitted = submitter === undefined ? 0 : submittedJobs(turn, submitter);
  if (submitted >= SUBMITTED_JOBS_MAX) {
    throw new ServiceError(
      'OVERLOADED',
      `A caller has at most ${SUBMITTED_JOBS_MAX} jobs waiting in a repository`,
    );
  }
  const row: JobRow = {
    id,
    type,
    about,
    payload,
    key: key ?? null,
    ...(submitter === undefined ? {} : { submitter }),
    // Who submits many does not keep those of others waiting.
    priority: priority ?? (submitted < SUBMITTED_FIRST ? 'normal' : 'low'),
    timeoutMs: timeoutMs ?? JOB_TIMEOUT_MS,
    retriesMax: retriesMax ?? JOB_RETRIES_MAX,
    state: 'scheduled',
    createdAtMs: turn.wallMs,
    dueAtMs: turn.wallMs,
    startedAtMs: null,
    finishedAtMs: null,
    heartbeatAtMs: null,
    retries: 0,
    progress: 0,
    error: null,
    result: null,
    claim: null,
    forgetAtMs: null,
  };
  storeJob(turn, undefined, row, queue.passed);
  return row;
}

/**
 * Claims the next due job, after reclaiming jobs whose leases have ended.
 *
 * @see messages.ts, ClaimJob
 */
export function claim(command: ClaimJob, turn: Turn, queue: JobQueue): JobRow | undefined {
  for (const lapsed of dueJobs(turn, 'leased', turn.wallMs, SWEPT_MAX)) takeBack(turn, lapsed, queue);
  const takes = takesOf(command);
  for (const priority of jobPriorities) {
    const first = queue.claimable.first(turn, priority, takes);
    if (first === undefined || agendaTime(first.key) > turn.wallMs) continue;
    // The worker is told that a job is due, and asks again: jobs of lower priorities do not overtake it.
    if (!first.isTaken) return undefined;
    const found = readJob(turn, agendaId(first.key)) as JobRow;
    const { leaseMs, token, worker } = command;
    const taken: JobRow = {
      ...found,
      state: 'running',
      startedAtMs: found.startedAtMs ?? turn.wallMs,
      heartbeatAtMs: turn.wallMs,
      claim: { token, worker, untilMs: turn.wallMs + leaseMs },
    };
    storeJob(turn, found, taken, queue.passed);
    countDispatch(turn, priority);
    return taken;
  }
  return undefined;
}

/** What the sender of a claim takes. */
export function takesOf({ busy = [], types }: ClaimJob): Takes {
  return { types: new Set(types), busy: new Set(busy) };
}

/** @returns whether the attempt still held the job. @see messages.ts, RenewJob */
export function renew(command: RenewJob, turn: Turn, { passed }: JobQueue): boolean {
  const job = heldBy(command, turn);
  if (job === undefined) return false;
  const { leaseMs, progress = job.progress, token } = command;
  const untilMs = turn.wallMs + leaseMs;
  const worker = job.claim?.worker ?? '';
  const renewed: JobRow = {
    ...job,
    progress: Math.min(Math.max(progress, 0), 1),
    heartbeatAtMs: turn.wallMs,
    claim: { token, worker, untilMs },
  };
  storeJob(turn, job, renewed, passed);
  return true;
}

/** @returns whether the attempt still held the job. @see messages.ts, CompleteJob */
export function complete(command: CompleteJob, turn: Turn, queue: JobQueue): boolean {
  const job = heldBy(command, turn);
  if (job === undefined) return false;
  const { result } = command;
  finish(turn, job, 'completed', { result, progress: 1, error: null, heartbeatAtMs: turn.wallMs }, queue);
  return true;
}

/** @returns whether the attempt still held the job. @see messages.ts, ReleaseJob */
export function release(command: ClaimedBy, turn: Turn, { passed }: JobQueue): boolean {
  const job = heldBy(command, turn);
  if (job === undefined) return false;
  storeJob(turn, job, { ...job, state: 'scheduled', dueAtMs: turn.wallMs, claim: null }, passed);
  return true;
}

/** @see messages.ts, FailJob */
export function fail(command: FailJob, turn: Turn, queue: JobQueue): FailureOutcome {
  const job = heldBy(command, turn);
  if (job === undefined) return 'lost';
  return failed(turn, job, command.error, command.retryAfterMs, queue);
}

/** Reclaims the jobs claimed by other processes. @see messages.ts, RecoverJobs */
export function recover(worker: string, turn: Turn, queue: JobQueue): void {
  for (const job of dueJobs(turn, 'leased', undefined, queue.activeMax)) {
    if (job.claim?.worker !== worker) takeBack(turn, job, queue);
  }
}

/** Removes final jobs whose retention has ended. @see messages.ts, CleanJobs */
export function clean(turn: Turn): void {
  for (const job of dueJobs(turn, 'final', turn.wallMs, SWEPT_MAX)) dropJob(turn, job);
}

/** @throws {ServiceError} `NOT_FOUND`, `CONFLICT`. @see messages.ts, CancelJob */
export function cancel(id: string, turn: Turn, queue: JobQueue): void {
  const job = requireJob(turn, id);
  if (job.state === 'cancelled') return;
  if (!isActive(job)) throw new ServiceError('CONFLICT', `Job '${id}' is ${job.state} already`);
  finish(turn, job, 'cancelled', {}, queue);
}

/** @throws {ServiceError} `NOT_FOUND`, `CONFLICT`. @see messages.ts, RemoveJob */
export function remove(id: string, turn: Turn): void {
  const job = requireJob(turn, id);
  if (isActive(job)) throw new ServiceError('CONFLICT', `Job '${id}' is active; cancel it first`);
  dropJob(turn, job);
}

/** @returns the number of removed jobs. @see messages.ts, RemoveJobs */
export function removeAll(ids: readonly string[], turn: Turn): number {
  let removed = 0;
  for (const id of new Set(ids)) {
    const job = readJob(turn, id);
    if (job === undefined || isActive(job)) continue;
    dropJob(turn, job);
    removed += 1;
  }
  return removed;
}

function requireJob(turn: Turn, id: string): JobRow {
  const job = readJob(turn, id);
  if (job === undefined) throw jobNotFound(id);
  return job;
}

/** The error for a job that is not there, or that the caller may not read. */
export function jobNotFound(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `Job '${id}' not found`);
}

/** The job of an attempt; undefined when it was cancelled, removed or claimed by another attempt. */
function heldBy({ id, token }: ClaimedBy, turn: Turn): JobRow | undefined {
  const job = readJob(turn, id);
  return job?.claim?.token === token ? job : undefined;
}

/**
 * Ends an attempt whose lease has ended. It counts as failed, so that a job that kills its worker is not retried
 * forever.
 */
function takeBack(turn: Turn, job: JobRow, queue: JobQueue): void {
  failed(turn, job, `${TIMEOUT_MARK} Nothing was heard of the worker any more`, 0, queue);
}

function failed(
  turn: Turn,
  job: JobRow,
  text: string,
  retryAfterMs: number | null,
  queue: JobQueue,
): FailureOutcome {
  const error = text.slice(0, JOB_ERROR_CHARACTERS_MAX);
  if (retryAfterMs === null || job.retries >= job.retriesMax) {
    finish(turn, job, 'failed', { error }, queue);
    return 'dead';
  }
  const dueAtMs = turn.wallMs + retryAfterMs;
  const again = {
    ...job,
    state: 'scheduled',
    dueAtMs,
    error,
    retries: job.retries + 1,
    claim: null,
  } as const;
  storeJob(turn, job, again, queue.passed);
  return 'retried';
}

function finish(turn: Turn, job: JobRow, state: JobState, change: Partial<JobRow>, queue: JobQueue): void {
  const keptMs = state === 'failed' ? queue.deadLetterMs : queue.retentionMs;
  const finishedAtMs = turn.wallMs;
  const ended = { ...job, ...change, state, finishedAtMs, claim: null, forgetAtMs: finishedAtMs + keptMs };
  storeJob(turn, job, ended, queue.passed);
  if (readTotals(turn).final <= queue.finalMax) return;
  for (const early of dueJobs(turn, 'final', undefined, FORGOTTEN_EARLY)) {
    if (early.id !== job.id) dropJob(turn, early);
  }
}
