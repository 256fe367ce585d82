import type { BulkStatements, SubmittedStatement } from '#protocols/rest/sql/ports.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { scopeOf } from '#runtime/jobs/outbox.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import { statementJob } from './bulk-statement-job.ts';

/** Dependencies of {@link SubmittedStatements}. */
export interface SubmittedStatementsEnvironment {
  readonly queue: Pick<Queue, 'submit'>;
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
  ): Promise<{ readonly jobId: string }> {
    const { clock, queue, random } = this.#environment;
    const { branch, repository } = statement;
    const id = jobIdOf(uuidV7(clock.wallMs(), random), repository.part);
    const job = statementJob(id, statement, caller.principal);
    return { jobId: await queue.submit(scopeOf(branch.actor), job, idempotency) };
  }
}
