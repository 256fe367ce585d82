import { requireAdministrator } from '#runtime/access/policy.ts';
import { principalKey } from '#runtime/access/principal.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorKind,
  Caller,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isActive, type JobRecord } from '#runtime/jobs/job.ts';
import { jobWaiting } from '#runtime/jobs/job-waiting.ts';
import type { JobCounts } from '#runtime/jobs/ports.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import { ClaimableJobs } from './claimable-jobs.ts';
import {
  activeIds,
  countActive,
  newestJobs,
  readJob,
  readTotals,
  statusOf,
  statusOfSome,
} from './job-store.ts';
import { forgetSource, noteSource, readSources } from './job-sources.ts';
import {
  cancel,
  claim,
  clean,
  complete,
  enqueue,
  fail,
  jobNotFound,
  type JobQueue,
  type JobsLimits,
  recover,
  release,
  remove,
  removeAll,
  renew,
  takesOf,
} from './job-transitions.ts';
import { jobsTableNames, type JobRow } from './jobs-tables.ts';
import type { JobsCommand, JobsQuery } from './messages.ts';
import { PassedJobs } from './passed-jobs.ts';

/**
 * The background jobs of one repository: their records and their queue. The actor is a state machine and runs no job
 * itself: workers claim jobs and report the outcome.
 *
 * Invariants: invariants.md in this folder.
 */
class JobsActor implements ActorBehaviour {
  readonly #queue: JobQueue;
  readonly #tenant: string;

  constructor(context: ActorContext, limits: JobsLimits) {
    this.#tenant = decodeURIComponent(context.id.split('/')[0] as string);
    const passed = new PassedJobs();
    this.#queue = { ...limits, passed, claimable: new ClaimableJobs(passed) };
  }

  execute(command: JobsCommand, turn: Turn): unknown {
    const queue = this.#queue;
    switch (command.type) {
      case 'CancelJob':
        this.#requireReadable(command.id, turn, turn.caller);
        return cancel(command.id, turn, queue);
      case 'RemoveJob':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return remove(command.id, turn);
      case 'RemoveJobs':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return removeAll(command.ids, turn);
      default:
        requireEngine(turn.caller);
        return this.#work(command, turn);
    }
  }

  #work(
    command: Exclude<JobsCommand, { type: 'CancelJob' | 'RemoveJob' | 'RemoveJobs' }>,
    turn: Turn,
  ): unknown {
    const queue = this.#queue;
    switch (command.type) {
      case 'EnqueueJob': {
        const job = enqueue(command, turn, queue);
        if (isActive(job)) turn.emit(jobWaiting(job.id));
        return { job: recordOf(job), status: statusOf(turn) };
      }
      case 'SubmitJob': {
        const { id } = enqueue(command, turn, queue);
        turn.emit(jobWaiting(id));
        return id;
      }
      case 'RefuseJob': {
        const { code, message, details, field } = command;
        throw new ServiceError(code, message, {
          ...(details === undefined ? {} : { details }),
          ...(field === undefined ? {} : { field }),
        });
      }
      case 'ClaimJob': {
        const job = claim(command, turn, queue);
        const takes = takesOf(command);
        const status = statusOfSome(turn, (priority) => queue.claimable.first(turn, priority, takes)?.key);
        const { dueMs } = status;
        const waitMs = dueMs === null ? null : Math.max(0, dueMs - turn.wallMs);
        const { active } = readTotals(turn);
        return { job: job === undefined ? null : recordOf(job), status, waitMs, active };
      }
      case 'RenewJob':
        return { isHeld: renew(command, turn, queue), status: statusOf(turn) };
      case 'CompleteJob':
        return { isHeld: complete(command, turn, queue), status: statusOf(turn) };
      case 'ReleaseJob':
        return { isHeld: release(command, turn, queue), status: statusOf(turn) };
      case 'FailJob':
        return { outcome: fail(command, turn, queue), status: statusOf(turn) };
      case 'RecoverJobs':
        recover(command.worker, turn, queue);
        return { status: statusOf(turn) };
      case 'NoteSource':
        noteSource(turn, command.actor);
        return { status: statusOf(turn) };
      case 'ForgetSource':
        forgetSource(turn, command.actor);
        return { status: statusOf(turn) };
      case 'CleanJobs':
        clean(turn);
        return { status: statusOf(turn) };
      default:
        return unknownMessage(command);
    }
  }

  /** Whether a caller may read and cancel a job: an administrator, and who has submitted it. */
  #mayRead(job: JobRow, caller: Caller): boolean {
    if (caller.policy.administers) return true;
    return caller.principal.tenant === this.#tenant && isSubmitter(job, caller);
  }

  /** @throws {ServiceError} `NOT_FOUND`, also for a job of another caller */
  #requireReadable(id: string, reader: TableReader, caller: Caller): void {
    const job = readJob(reader, id);
    if (job === undefined || !this.#mayRead(job, caller)) throw jobNotFound(id);
  }

  forget(): void {
    this.#queue.passed.forget();
  }

  query(query: JobsQuery, { caller, view }: QueryContext): unknown {
    if (query.type === 'FindJob') {
      const job = readJob(view, query.id);
      return job === undefined || !this.#mayRead(job, caller) ? undefined : recordOf(job);
    }
    requireAdministrator(caller.policy, caller.principal);
    switch (query.type) {
      case 'ListJobs':
        return newestJobs(view, query.limit, query.offset).map(recordOf);
      case 'CountJobs':
        return countsOf(view, this.#queue);
      case 'ListActiveJobs':
        requireEngine(caller);
        return activeIds(view);
      case 'ListSources':
        requireEngine(caller);
        return readSources(view);
      default:
        return unknownMessage(query);
    }
  }
}

/** Whether a caller has submitted a job. Anonymous callers are not told apart, so they have none. */
function isSubmitter({ submitter }: JobRow, { principal }: Caller): boolean {
  return principal.kind !== 'anonymous' && submitter === principalKey(principal);
}

/** Refuses callers other than the engine. */
function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

/** The public part of a job, without its claim and its removal time. */
function recordOf({ claim: _claim, forgetAtMs: _forgetAtMs, ...record }: JobRow): JobRecord {
  return record;
}

function countsOf(view: TableReader, { activeMax }: JobsLimits): JobCounts {
  const { active, dispatched, final } = readTotals(view);
  return { ...countActive(view), dispatched, activeMax, kept: active + final };
}

/** The kind `jobs`: one actor for each repository that has had a job, id `{tenant}/{repository}~{uid}/jobs`. */
export function jobsActor(limits: JobsLimits): ActorKind {
  return Object.freeze({
    kind: 'jobs',
    tables: jobsTableNames,
    // Jobs write their results, so none is enqueued or claimed without disk space. Running jobs may finish.
    spaceUse: spaceUseByType<JobsCommand['type']>([
      'RenewJob',
      'CompleteJob',
      'ReleaseJob',
      'FailJob',
      'RecoverJobs',
      'CleanJobs',
      'CancelJob',
      'RemoveJob',
      'RemoveJobs',
      'ForgetSource',
    ]),
    create: (context: ActorContext) => new JobsActor(context, limits),
  });
}
