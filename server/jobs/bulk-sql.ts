import type {
  BulkProgress,
  ChangeSomeBySql,
  ForgetBulkProgress,
  MatchBySql,
  MatchedNodes,
  ReadBulkProgress,
} from '#actors/branch/sql-messages.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import { COMMIT_MESSAGE_BYTES_MAX } from '#actors/branch/commit-bounds.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { SQL_CHANGES_SINCE } from '#runtime/actor/message-version.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Random } from '#runtime/base/random.ts';
import { type Backoff, Retries } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobHandler, RunningJob } from '#runtime/jobs/job-handler.ts';
import { jobCreatedMs } from '#runtime/jobs/job-id.ts';
import { BULK_SQL, type StatementPayload } from './bulk-statement-job.ts';
import type { StatementCallers } from './statement-callers.ts';

/** Ids that are read at once. */
const PAGE_IDS = 10_000;

/** Nodes of one commit. @see docs/decisions/0082-bulk-statements.md */
const PART_NODES = 250;

/** Waits after a failure that passes. */
const RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 10_000 };

/** Failures one after another before the attempt is given up: some two minutes. */
const FAILURES_MAX = 16;

/** Errors of a part that has too many nodes: fewer may do. */
const tooMany: ReadonlySet<string> = new Set(['COMMIT_TOO_LARGE', 'REQUEST_TOO_EXPENSIVE']);

/** Dependencies of {@link BulkSql}. */
export interface BulkSqlEnvironment {
  readonly router: Router;
  readonly callers: Pick<StatementCallers, 'callerOf'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Nodes of one commit. Default: {@link PART_NODES}. */
  readonly partNodes?: number;
  /** Ids that are read at once. Default: {@link PAGE_IDS}. */
  readonly pageIds?: number;
}

/** What the job of a statement has done. */
export interface BulkResult {
  /** Nodes that the statement matched when it was submitted. */
  readonly matched: number;
  /** Of these, the nodes that were changed or removed. */
  readonly changed: number;
  /** Of these, the nodes that the caller may not change. */
  readonly skipped: number;
}

/**
 * Runs an UPDATE or DELETE in the background: the nodes that matched when it was submitted, in the order of their ids, some
 * in each commit, with pauses of the same length for other writers. The branch keeps how far it is with each commit, so an
 * interrupted attempt goes on where it was and no node is changed twice.
 *
 * @see docs/decisions/0082-bulk-statements.md
 */
export class BulkSql implements JobHandler {
  readonly type = BULK_SQL;
  readonly #environment: BulkSqlEnvironment;

  constructor(environment: BulkSqlEnvironment) {
    this.#environment = environment;
  }

  async run(job: RunningJob): Promise<JsonValue> {
    const { matched, changed, skipped } = await new BulkRun(this.#environment, job).finish();
    return { matched, changed, skipped };
  }

  async ended(job: Pick<RunningJob, 'id' | 'payload' | 'tenant'>): Promise<void> {
    const { branch } = job.payload as unknown as StatementPayload;
    const command: ForgetBulkProgress = {
      type: 'ForgetBulkProgress',
      job: job.id,
      since: SQL_CHANGES_SINCE,
    };
    await this.#environment.router.command(branch, command, { caller: engineCaller(job.tenant) });
  }
}

/** One attempt. */
class BulkRun {
  readonly #environment: BulkSqlEnvironment;
  readonly #job: RunningJob;
  readonly #payload: StatementPayload;
  readonly #retries: Retries;
  /** Lowered where the nodes are so large that one commit does not hold as many. */
  #partNodes: number;
  #progress: BulkProgress | undefined;
  /** Matched ids behind {@link BulkProgress.after}, in order. */
  #ids: readonly string[] = [];
  /** There are no others behind {@link #ids}. */
  #isLastPage = false;

  constructor(environment: BulkSqlEnvironment, job: RunningJob) {
    this.#environment = environment;
    this.#job = job;
    this.#payload = job.payload as unknown as StatementPayload;
    this.#retries = new Retries(environment.clock, environment.random, RETRIES);
    this.#partNodes = environment.partNodes ?? PART_NODES;
  }

  async finish(): Promise<BulkResult> {
    try {
      return await this.#all();
    } catch (error) {
      throw this.#told(error);
    }
  }

  async #all(): Promise<BulkResult> {
    const { clock } = this.#environment;
    this.#progress = await this.#patiently(() => this.#readProgress());
    await this.#fill();
    const total = this.#progress?.total ?? (await this.#count());
    while (this.#ids.length > 0) {
      if (this.#job.signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
      const startedMs = clock.monotonicMs();
      await this.#doPart(total);
      await this.#fill();
      crashPoint('mid-job');
      if (this.#ids.length > 0) await sleep(clock, clock.monotonicMs() - startedMs);
    }
    const { changed = 0, skipped = 0 } = this.#progress ?? {};
    return { matched: total, changed, skipped };
  }

  /** Reads ids until there are enough for a part, or no others. */
  async #fill(): Promise<void> {
    while (this.#ids.length < this.#partNodes && !this.#isLastPage) {
      const after = this.#ids.at(-1) ?? this.#progress?.after;
      const page = await this.#patiently(() => this.#match(after));
      this.#ids = [...this.#ids, ...page];
      this.#isLastPage = page.length < this.#pageIds;
    }
  }

  /** Counts the matched nodes before the first part, which tells the branch. */
  async #count(): Promise<number> {
    let total = this.#ids.length;
    let after = this.#ids.at(-1);
    for (let isMore = !this.#isLastPage; isMore; ) {
      const page = await this.#patiently(() => this.#match(after));
      total += page.length;
      after = page.at(-1);
      isMore = page.length === this.#pageIds;
    }
    return total;
  }

  /** Does the next part, or learns that another attempt has done it. */
  async #doPart(total: number): Promise<void> {
    const ids = this.#ids.slice(0, this.#partNodes);
    const part = (this.#progress?.parts ?? 0) + 1;
    try {
      const progress = await this.#patiently(() => this.#send(ids, part, total));
      const isOwn = progress.parts === part && progress.after === ids.at(-1);
      this.#progress = progress;
      this.#job.progress(progress.total === 0 ? 1 : progress.done / progress.total);
      this.#ids = isOwn ? this.#ids.slice(ids.length) : [];
      if (!isOwn) this.#isLastPage = false;
    } catch (error) {
      if (!isTooMuch(error) || ids.length === 1) throw error;
      this.#partNodes = Math.ceil(ids.length / 2);
    }
  }

  async #send(ids: readonly string[], part: number, total: number): Promise<BulkProgress> {
    const { parameters, sql } = this.#payload;
    const command: ChangeSomeBySql = {
      type: 'ChangeSomeBySql',
      sql,
      parameters,
      ids,
      commit: this.#commitOf(part, total),
      job: this.#job.id,
      part,
      total,
      nowMs: this.#nowMs,
      since: SQL_CHANGES_SINCE,
    };
    const caller = await this.#caller();
    return (await this.#environment.router.command(this.#payload.branch, command, {
      caller,
    })) as BulkProgress;
  }

  async #readProgress(): Promise<BulkProgress | undefined> {
    const { id, tenant } = this.#job;
    const query: ReadBulkProgress = { type: 'ReadBulkProgress', job: id, since: SQL_CHANGES_SINCE };
    const { branch } = this.#payload;
    const found = await this.#environment.router.query(branch, query, engineCaller(tenant));
    return (found as BulkProgress | null) ?? undefined;
  }

  async #match(after: string | undefined): Promise<readonly string[]> {
    const { at, branch, parameters, sql } = this.#payload;
    assert(at !== null, 'an UPDATE or DELETE changes what matches at a revision');
    const query: MatchBySql = {
      type: 'MatchBySql',
      sql,
      parameters,
      at,
      limit: this.#pageIds,
      nowMs: this.#nowMs,
      since: SQL_CHANGES_SINCE,
      ...(after === undefined ? {} : { after }),
    };
    const { ids } = (await this.#environment.router.query(
      branch,
      query,
      await this.#caller(),
    )) as MatchedNodes;
    return ids;
  }

  /** NOW() is the same in all parts and attempts, however long the job has waited. */
  get #nowMs(): number {
    return jobCreatedMs(this.#job.id);
  }

  get #pageIds(): number {
    return this.#environment.pageIds ?? PAGE_IDS;
  }

  /** Found anew for each message, because an account may be deactivated meanwhile. */
  #caller(): ReturnType<StatementCallers['callerOf']> {
    return this.#environment.callers.callerOf(this.#job, this.#payload.principal);
  }

  /** The message tells the part, so that the revisions of one statement are recognized. */
  #commitOf(part: number, total: number): CommitInfo {
    const { commit, kind } = this.#payload;
    const undone = total - (this.#progress?.done ?? 0);
    const parts = part - 1 + Math.max(Math.ceil(undone / this.#partNodes), 1);
    const suffix = ` [svc:sql bucket ${part} of ${parts}]`;
    const message = commit?.message ?? `SQL ${kind.toUpperCase()}`;
    return { ...commit, message: shortened(message, COMMIT_MESSAGE_BYTES_MAX - suffix.length) + suffix };
  }

  /** Repeats something that fails for a while, such as a branch whose owner changes. */
  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        const result = await work();
        this.#retries.reset();
        return result;
      } catch (error) {
        if (this.#job.signal.aborted || !passes(error) || failures === FAILURES_MAX) throw error;
      }
      await this.#retries.wait();
    }
  }

  /** An error with what was done before it. The internal ones are not told to callers. */
  #told(error: unknown): unknown {
    if (!(error instanceof ServiceError) || this.#job.signal.aborted) return error;
    const { name } = this.#payload;
    const told =
      error.code === 'NOT_FOUND'
        ? new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' is not there any more`)
        : error;
    const { done = 0, changed = 0, total } = this.#progress ?? {};
    if (total === undefined) return told;
    const sofar = `${changed} nodes were changed before that; ${total - done} of ${total} were left`;
    return new ServiceError(told.code, `${told.message} (${sofar})`, { cause: error });
  }
}

/** Whether a failure may pass by itself. */
function passes(error: unknown): boolean {
  return error instanceof ServiceError && error.entry.advice !== 'give-up';
}

function isTooMuch(error: unknown): boolean {
  return error instanceof ServiceError && tooMany.has(error.code);
}

/** The beginning of a text, of at most so many bytes of UTF-8. */
function shortened(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return Buffer.from(text)
    .subarray(0, bytesMax)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
}
