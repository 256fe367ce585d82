import type {
  CountLeftovers,
  CountOrphanedVersions,
  RemoveLeftovers,
  RemoveOrphanedVersions,
} from '#actors/branch/orphan-messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';
import type { JobHandler, RunningJob } from '#runtime/jobs/job-handler.ts';
import type { OrphansRemoved } from '#runtime/tree/orphaned-versions.ts';
import { runBranchSteps, unlessDeleted } from './branch-steps.ts';

/** @see docs/interface/jobs.md#types-of-jobs */
const TYPE = 'RevisionHistoryCopy';

/** Rows of one commit: a few milliseconds of the branch's writer. */
const ROWS_PER_COMMIT = 500;

/** Time limit of the whole job, in milliseconds: it is exceeded only after an error. */
const TIMEOUT_MS = 3_600_000;

/**
 * Returns the job that completes a fork after it was answered. Its history exists from the beginning, because a fork
 * is a copy. The rows that its source wrote after the fork revision are in the copy too, hidden, and take space until
 * they are removed.
 *
 * @param about for operators: names of repository and branch
 * @param branch actor of the fork
 * @see docs/decisions/0008-lines-and-forks.md
 */
export function historyCopyJob(about: string, branch: ActorId): JobRequest {
  return {
    type: TYPE,
    about,
    payload: { branch },
    key: `${TYPE} ${decodeURIComponent(branch.split('/')[2] as string)}`,
    priority: 'low',
    timeoutMs: TIMEOUT_MS,
  };
}

/**
 * Completes forks: removes the rows of their sources' later revisions in small steps, with pauses of the same length
 * for the writers of the branch. After an interruption it continues where it was.
 */
export class RevisionHistoryCopy implements JobHandler {
  readonly type = TYPE;
  readonly #router: Router;
  readonly #clock: Clock;

  constructor(router: Router, clock: Clock) {
    this.#router = router;
    this.#clock = clock;
  }

  async run(job: RunningJob): Promise<JsonValue> {
    const { branch } = job.payload as JsonObject as { readonly branch: ActorId };
    const caller: Caller = { ...engineCaller(job.tenant), signal: job.signal };
    const removed = { revisions: 0, rows: 0 };
    await unlessDeleted(() => this.#removeAll(branch, caller, job, removed));
    return removed;
  }

  async #removeAll(
    branch: ActorId,
    caller: Caller,
    job: RunningJob,
    removed: { revisions: number; rows: number },
  ): Promise<void> {
    const { command, total } = await this.#begin(branch, caller);
    await runBranchSteps(this.#clock, async () => {
      const step = (await this.#router.command(branch, command, { caller })) as OrphansRemoved;
      removed.revisions += step.revisions;
      removed.rows += step.rows;
      // Entries of the feed may be left although no revision is.
      if (total > 0) job.progress(removed.revisions / total);
      return step.isDone;
    });
  }

  /**
   * Counts what is to be removed.
   *
   * @returns it, and the command that removes a part of it, under the name that the owner of the branch knows: the
   *   retries of a job do not last as long as a rolling upgrade may
   */
  async #begin(branch: ActorId, caller: Caller): Promise<Beginning> {
    const count = async (query: CountOrphanedVersions | CountLeftovers): Promise<number> =>
      (await this.#router.query(branch, query, caller)) as number;
    try {
      const total = await count({ type: 'CountOrphanedVersions' });
      return { total, command: { type: 'RemoveOrphanedVersions', rowsMax: ROWS_PER_COMMIT } };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'MEMBER_VERSIONS_DIFFER') throw error;
      const total = await count({ type: 'CountLeftovers' });
      return { total, command: { type: 'RemoveLeftovers', rowsMax: ROWS_PER_COMMIT } };
    }
  }
}

interface Beginning {
  /** Number of revisions. */
  readonly total: number;
  readonly command: RemoveOrphanedVersions | RemoveLeftovers;
}
