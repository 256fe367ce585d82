import type { BuildIndexes, CountPendingIndexes } from '#actors/branch/index-messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';
import type { JobHandler, RunningJob } from '#runtime/jobs/job-handler.ts';
import type { IndexStep } from '#runtime/tree/index-writer.ts';
import { runBranchSteps, unlessDeleted } from './branch-steps.ts';

/** @see docs/interface/jobs.md#types-of-jobs */
const TYPE = 'PropertyIndexBuild';

/** Nodes of one commit: a few milliseconds of the branch's writer. */
const NODES_PER_COMMIT = 250;

/** Time limit of the whole job, in milliseconds: it is exceeded only after an error. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * Returns the job that builds the pending property indexes of a branch.
 *
 * @param branch its actor
 * @param since the revision that made the newest of them pending: later ones need another job, because this one may be
 *   about to end
 * @see docs/decisions/0059-property-indexes.md
 */
export function propertyIndexJob(branch: ActorId, since: string): JobRequest {
  const [repository, name] = branch.split('/').slice(1, 3).map(decodeURIComponent) as [string, string];
  return {
    type: TYPE,
    about: `${withoutUid(repository)}/${withoutUid(name)}`,
    payload: { branch },
    key: `${TYPE} ${name} ${since}`,
    priority: 'low',
    timeoutMs: TIMEOUT_MS,
  };
}

function withoutUid(part: string): string {
  return part.slice(0, part.lastIndexOf('~'));
}

/**
 * Builds the pending property indexes of a branch in small steps, with pauses of the same length for its writers. After an
 * interruption it continues where it was, because each step stores how far it is together with its rows.
 */
export class PropertyIndexBuild implements JobHandler {
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
    const built = { nodes: 0 };
    await unlessDeleted(() => this.#buildAll(branch, caller, job, built));
    return built;
  }

  async #buildAll(branch: ActorId, caller: Caller, job: RunningJob, built: { nodes: number }): Promise<void> {
    const count: CountPendingIndexes = { type: 'CountPendingIndexes' };
    const total = (await this.#router.query(branch, count, caller)) as number;
    if (total === 0) return;
    const command: BuildIndexes = { type: 'BuildIndexes', nodesMax: NODES_PER_COMMIT };
    await runBranchSteps(this.#clock, async () => {
      const step = (await this.#router.command(branch, command, { caller })) as IndexStep;
      built.nodes += step.nodes;
      // Nodes that were created meanwhile are not in the total.
      if (!step.isDone) job.progress(Math.min(built.nodes / total, 1));
      return step.isDone;
    });
  }
}
