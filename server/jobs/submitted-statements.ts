import type { BulkStatements, SubmittedStatement } from '#protocols/rest/sql/ports.ts';
import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { scopeOf } from '#runtime/jobs/outbox.ts';
import type { JobScope, Queue } from '#runtime/jobs/ports.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { EnqueuedStatement } from '#protocols/sql/session-ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { principalKey } from '#runtime/access/principal.ts';
import { assert } from '#runtime/base/assert.ts';
import { type StatementPayload, statementJob } from './bulk-statement-job.ts';

/** Dependencies of {@link SubmittedStatements}. */
export interface SubmittedStatementsEnvironment {
  readonly queue: Pick<Queue, 'submit' | 'refuse' | 'find'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Puts statements that are done in the background into the queue of their repository, as jobs of their callers. */
export class SubmittedStatements implements BulkStatements {
  readonly #environment: SubmittedStatementsEnvironment;

  constructor(environment: SubmittedStatementsEnvironment) {
    this.#environment = environment;
  }

  async enqueue(
    statement: SubmittedStatement,
    { caller, idempotency }: Delivery,
  ): Promise<EnqueuedStatement> {
    const { clock, queue, random } = this.#environment;
    const { branch, repository, restored } = statement;
    const id = jobIdOf(uuidV7(clock.wallMs(), random), repository.part);
    const scope = scopeOf(branch.actor);
    const job = statementJob(id, statement, caller.principal);
    const jobId = await queue.submit(scope, job, idempotency);
    const told = jobId === id ? restored : ((await this.#restored(scope, jobId)) ?? restored);
    return enqueued(jobId, told);
  }

  async refuse(
    repository: ActorId,
    refusal: ServiceError,
    { caller, idempotency }: Delivery,
  ): Promise<EnqueuedStatement> {
    assert(idempotency !== undefined, 'only a request with a key may be a repetition');
    const scope = scopeOf(repository);
    const submitter = principalKey(caller.principal);
    const jobId = await this.#environment.queue.refuse(scope, submitter, refusal, idempotency);
    return enqueued(jobId, await this.#restored(scope, jobId));
  }

  /** What the first request has told. @returns undefined for other statements, and where the job was removed */
  async #restored(scope: JobScope, id: string): Promise<StatementPayload['restored']> {
    const job = await this.#environment.queue.find(scope, id, engineCaller(''));
    return (job?.payload as unknown as StatementPayload | undefined)?.restored;
  }
}

function enqueued(jobId: string, restored: StatementPayload['restored']): EnqueuedStatement {
  return restored === undefined ? { jobId } : { jobId, restored };
}
