import { requireAdministrator } from '#runtime/access/policy.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import type { ActorBehaviour, ActorKind, Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isActive, type JobRecord } from '#runtime/jobs/job.ts';
import { jobWaiting } from '#runtime/jobs/job-waiting.ts';
import type { JobCounts } from '#runtime/jobs/ports.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import {
  activeIds,
  countActive,
  newestJobs,
  readJob,
  readTotals,
  statusOf,
  statusOfTypes,
} from './job-store.ts';
import { forgetSource, noteSource, readSources } from './job-sources.ts';
import {
  cancel,
  claim,
  clean,
  complete,
  enqueue,
  fail,
  type JobQueue,
  type JobsLimits,
  recover,
  release,
  remove,
  removeAll,
  renew,
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

  constructor(limits: JobsLimits) {
    this.#queue = { ...limits, passed: new PassedJobs() };
  }

  execute(command: JobsCommand, turn: Turn): unknown {
    const queue = this.#queue;
    switch (command.type) {
      case 'CancelJob':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
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
      case 'ClaimJob': {
        const job = claim(command, turn, queue);
        const status = statusOfTypes(turn, queue.passed, new Set(command.types));
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

  forget(): void {
    this.#queue.passed.forget();
  }

  query(query: JobsQuery, { caller, view }: QueryContext): unknown {
    requireAdministrator(caller.policy, caller.principal);
    switch (query.type) {
      case 'FindJob': {
        const job = readJob(view, query.id);
        return job === undefined ? undefined : recordOf(job);
      }
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
    create: () => new JobsActor(limits),
  });
}
