import { actorKindOf } from '#runtime/actor/actor-id.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorEvent,
  ActorKind,
  Caller,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { JOB_PAYLOAD_BYTES_MAX, JOB_TEXT_CHARACTERS_MAX, type JobRequest, type NewJob } from './job.ts';
import { jobIdOf } from './job-id.ts';
import type { JobScope } from './ports.ts';

/** Rows of committed jobs that may not be in the queue yet, in the actor's meta table. */
const OUTBOX_PREFIX = `outbox${END}`;

/** Present when the queue of the repository knows the actor as a source of jobs, in the actor's meta table. */
const KNOWN_KEY = 'outbox_known';

const outboxRange = { start: OUTBOX_PREFIX, end: `outbox${AFTER_END}` };

/** Limit of rows in one answer to {@link ReadOutbox}. */
export const OUTBOX_PAGE = 100;

/** A commit of the actor enqueued jobs, which wait in its outbox. */
export const jobEnqueued: ActorEvent = Object.freeze({ type: 'JobEnqueued' });

/** Reads the oldest jobs in the outbox of an actor; internal to the engine. Answer: array of {@link NewJob}. */
export interface ReadOutbox {
  readonly type: 'ReadOutbox';
}

/**
 * Lets the commands of an actor enqueue jobs; internal to the engine. The queue must have been told of the actor before,
 * see {@link Queue.prepareSource}: a start reads only the outboxes that it knows. Result: undefined.
 */
export interface AllowJobs {
  readonly type: 'AllowJobs';
}

/** Removes jobs from the outbox that the queue has stored; internal to the engine. Result: undefined. */
export interface EmptyOutbox {
  readonly type: 'EmptyOutbox';
  readonly ids: readonly string[];
}

/**
 * Enqueues a job as part of the running command: the job exists exactly when the command is committed, whatever
 * crashes. The queue of the repository must have been prepared, see {@link Queue.prepare}, and the actor must be of a
 * kind {@link withOutbox}. An actor other than the repository actor must have been prepared itself, see
 * {@link AllowJobs}; without it the command fails.
 *
 * @param actor id of the actor of this command; it must belong to a repository
 * @returns the id of the job, unless an active job with the same key replaces it
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE`, `VALIDATION_FAILED`; `INTERNAL_SERVER_ERROR` for an actor that was not
 *   prepared
 */
export function enqueueJob(turn: Turn, actor: string, request: JobRequest): string {
  checkJob(request);
  if (actorKindOf(actor) !== 'repository' && !mayEnqueue(turn))
    throw new ServiceError('INTERNAL_SERVER_ERROR', `No start would find the outbox of ${actor}`);
  const repositoryPart = decodeURIComponent(scopeOf(actor).split('/')[1] as string);
  const job: NewJob = { ...request, id: jobIdOf(turn.newId(), repositoryPart) };
  turn.put(CommonTable.meta, OUTBOX_PREFIX + job.id, encodeJsonRow(job));
  turn.emit(jobEnqueued);
  return job.id;
}

/** The repository an actor belongs to. */
export function scopeOf(actor: string): JobScope {
  return actor.split('/', 2).join('/');
}

/** @throws {ServiceError} `PAYLOAD_TOO_LARGE`, `VALIDATION_FAILED` for a job that no queue would accept */
export function checkJob({ about, key = '', payload, type }: JobRequest): void {
  if (Buffer.byteLength(JSON.stringify(payload)) > JOB_PAYLOAD_BYTES_MAX) {
    throw new ServiceError('PAYLOAD_TOO_LARGE', `A job is given at most ${JOB_PAYLOAD_BYTES_MAX} bytes`);
  }
  for (const text of [type, about, key]) {
    if (text.length <= JOB_TEXT_CHARACTERS_MAX) continue;
    throw new ServiceError(
      'VALIDATION_FAILED',
      `Type, subject and key of a job have at most ${JOB_TEXT_CHARACTERS_MAX} characters`,
    );
  }
}

/** Clears the outbox of a copied actor, because the source delivers its own jobs. The queue does not know the copy. */
export function forgetOutbox(turn: Turn): void {
  turn.remove(CommonTable.meta, KNOWN_KEY);
  const keys = [...turn.range(CommonTable.meta, outboxRange)].map(({ key }) => key);
  for (const key of keys) turn.remove(CommonTable.meta, key);
}

/** Whether a row of an actor's meta table is a job in its outbox. */
export function isOutboxKey(key: string): boolean {
  return key.startsWith(OUTBOX_PREFIX);
}

/** Whether the commands of an actor may enqueue jobs, see {@link AllowJobs}. */
export function mayEnqueue(reader: TableReader): boolean {
  return hasRow(reader, CommonTable.meta, KNOWN_KEY);
}

/** All jobs in an outbox, oldest first. @throws {ServiceError} `DATA_CORRUPTED` */
export function outboxJobs(reader: TableReader): readonly NewJob[] {
  const rows = [...reader.range(CommonTable.meta, outboxRange)];
  return rows.map(({ value }) => decodeJsonRow(value) as NewJob);
}

/**
 * A kind of actor whose commands may call {@link enqueueJob}: it answers {@link ReadOutbox}, {@link EmptyOutbox} and
 * {@link AllowJobs} in addition to its own messages.
 */
export function withOutbox(kind: ActorKind): ActorKind {
  return Object.freeze({
    ...kind,
    // The delivered jobs are in the queue, and their rows are removed.
    spaceUse: (command: { readonly type: string }) =>
      command.type === 'EmptyOutbox' ? 'ends' : (kind.spaceUse?.(command as never) ?? 'grows'),
    create: (context: ActorContext) => new OutboxBehaviour(kind.create(context)),
  });
}

class OutboxBehaviour implements ActorBehaviour {
  readonly #inner: ActorBehaviour;

  constructor(inner: ActorBehaviour) {
    this.#inner = inner;
  }

  get mustStayOpen(): boolean {
    return this.#inner.mustStayOpen === true;
  }

  forget(): void {
    this.#inner.forget?.();
  }

  batchEnded(): void {
    this.#inner.batchEnded?.();
  }

  endWaits(reason: ServiceError): void {
    this.#inner.endWaits?.(reason);
  }

  close(): void {
    this.#inner.close?.();
  }

  shorten(result: unknown, wholeMax: number): unknown {
    return this.#inner.shorten === undefined ? result : this.#inner.shorten(result, wholeMax);
  }

  *recall(kept: unknown, command: never, turn: Turn): Generator<undefined, unknown> {
    return this.#inner.recall === undefined ? kept : yield* this.#inner.recall(kept, command, turn);
  }

  execute(command: EmptyOutbox | AllowJobs, turn: Turn): unknown {
    if (command.type === 'AllowJobs') {
      requireEngine(turn.caller);
      turn.put(CommonTable.meta, KNOWN_KEY, encodeJsonRow(true));
      return undefined;
    }
    if (command.type !== 'EmptyOutbox') return this.#inner.execute(command as never, turn);
    requireEngine(turn.caller);
    for (const id of command.ids) turn.remove(CommonTable.meta, OUTBOX_PREFIX + id);
    return undefined;
  }

  query(query: ReadOutbox, context: QueryContext): unknown {
    if (query.type !== 'ReadOutbox') return this.#inner.query(query as never, context);
    requireEngine(context.caller);
    return waiting(context.view);
  }
}

function waiting(reader: TableReader): NewJob[] {
  const jobs: NewJob[] = [];
  for (const { value } of reader.range(CommonTable.meta, outboxRange)) {
    jobs.push(decodeJsonRow(value) as NewJob);
    if (jobs.length === OUTBOX_PAGE) break;
  }
  return jobs;
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
