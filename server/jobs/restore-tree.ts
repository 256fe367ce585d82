import type { ChangeBySql, SqlChanged } from '#actors/branch/sql-messages.ts';
import { SQL_CHANGES_SINCE } from '#runtime/actor/message-version.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobHandler, RunningJob } from '#runtime/jobs/job-handler.ts';
import { RESTORE_TREE, type StatementPayload } from './bulk-statement-job.ts';
import type { StatementCallers } from './statement-callers.ts';

/** Dependencies of {@link RestoreTree}. */
export interface RestoreTreeEnvironment {
  readonly router: Router;
  readonly callers: Pick<StatementCallers, 'callerOf'>;
}

/**
 * Runs a RESTORE TREE in the background: one commit, all or nothing. Its result is the answer of the statement, and the
 * revision. It is sent with a key, so an attempt after a crash does not undo what others have written since.
 *
 * @see docs/interface/sql-tree.md
 */
export class RestoreTree implements JobHandler {
  readonly type = RESTORE_TREE;
  readonly #environment: RestoreTreeEnvironment;

  constructor(environment: RestoreTreeEnvironment) {
    this.#environment = environment;
  }

  async run(job: RunningJob): Promise<JsonValue> {
    const { branch, commit, name, parameters, principal, sql } = job.payload as unknown as StatementPayload;
    const command: ChangeBySql = {
      type: 'ChangeBySql',
      sql,
      parameters,
      isTransaction: false,
      since: SQL_CHANGES_SINCE,
      ...(commit === null ? {} : { commit }),
    };
    const { callers, router } = this.#environment;
    const caller = await callers.callerOf(job, principal);
    const idempotency = { key: `job:${job.id}`, requestHash: job.id };
    try {
      const changed = (await router.command(branch, command, { caller, idempotency })) as SqlChanged;
      crashPoint('mid-job');
      return { revision: changed.revision, rows: JSON.parse(changed.rows) as JsonValue };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
      throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' is not there any more`);
    }
  }
}
