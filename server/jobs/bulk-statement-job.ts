import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { SubmittedStatement } from '#protocols/rest/sql/ports.ts';
import type { RestoredRoot } from '#protocols/sql/session-ports.ts';
import { type Principal, principalKey } from '#runtime/access/principal.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { JOB_PAYLOAD_BYTES_MAX, type SubmittedJob } from '#runtime/jobs/job.ts';

/** Type of the jobs of UPDATE and DELETE. @see docs/interface/jobs.md#types-of-jobs */
export const BULK_SQL = 'BulkSql';

/** Type of the jobs of RESTORE TREE. @see docs/interface/jobs.md#types-of-jobs */
export const RESTORE_TREE = 'RestoreTree';

/** Time limit of one attempt at an UPDATE or DELETE, in milliseconds: it is exceeded only after an error. */
const BULK_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Retries of an UPDATE or DELETE. An attempt whose process ends counts as failed, although the next one goes on where it was;
 * in a day several may end.
 */
const BULK_RETRIES_MAX = 10;

/** Time limit of one attempt at a RESTORE TREE, in milliseconds: it is one commit. */
const RESTORE_TIMEOUT_MS = 3_600_000;

/** Characters of a statement in the subject of its job. */
const SHOWN_CHARACTERS = 200;

/** Payload of the job of a statement. */
export interface StatementPayload {
  readonly kind: SubmittedStatement['kind'];
  readonly branch: ActorId;
  /** Name of the branch, for messages. */
  readonly name: string;
  readonly sql: string;
  readonly parameters: readonly JsonValue[];
  /** Who has submitted it. What this caller may do is found anew when the job runs. */
  readonly principal: Principal;
  /** The nodes that match at this revision are changed; null for RESTORE TREE. */
  readonly at: Revision | null;
  readonly commit: CommitInfo | null;
  /** Of RESTORE TREE: what its submission has told, for repetitions. */
  readonly restored?: RestoredRoot;
}

/**
 * Returns the job of a statement that is done in the background.
 *
 * @param id of the job
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE` for a statement that is too long with its parameters
 */
export function statementJob(id: string, statement: SubmittedStatement, principal: Principal): SubmittedJob {
  const { at, branch, commit, kind, parameters, repository, restored, sql } = statement;
  const isRestore = kind === 'restore-tree';
  assert(isRestore || at !== undefined, 'an UPDATE or DELETE changes what matches at a revision');
  const payload: StatementPayload = {
    kind,
    branch: branch.actor,
    name: branch.name,
    sql,
    parameters,
    principal,
    at: at ?? null,
    commit: commit ?? null,
    ...(restored === undefined ? {} : { restored }),
  };
  requireShort(payload);
  return {
    id,
    type: isRestore ? RESTORE_TREE : BULK_SQL,
    about: `${repository.name}/${branch.name}: ${shown(sql)}`,
    payload: payload as unknown as JsonObject,
    ...(isRestore
      ? { timeoutMs: RESTORE_TIMEOUT_MS }
      : { timeoutMs: BULK_TIMEOUT_MS, retriesMax: BULK_RETRIES_MAX }),
    submitter: principalKey(principal),
  };
}

function requireShort(payload: StatementPayload): void {
  if (Buffer.byteLength(JSON.stringify(payload)) <= JOB_PAYLOAD_BYTES_MAX) return;
  const most = `${JOB_PAYLOAD_BYTES_MAX / 1024} KiB`;
  const remedy = 'Send several shorter ones, or run it between BEGIN and COMMIT';
  throw new ServiceError(
    'PAYLOAD_TOO_LARGE',
    `A statement that runs in the background has at most ${most} with its parameters. ${remedy}.`,
  );
}

/** The beginning of a statement on one line. */
function shown(sql: string): string {
  const line = sql.slice(0, SHOWN_CHARACTERS).toWellFormed().replace(/\s+/g, ' ').trim();
  return sql.length > SHOWN_CHARACTERS ? `${line}…` : line;
}
