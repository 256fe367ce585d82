import { assert } from '#runtime/base/assert.ts';
import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { type JobPriority, jobPriorities, type JobRecord, type JobState } from '#runtime/jobs/job.ts';
import { AFTER_END, boundedPart, END, sortableNumber } from '#runtime/shard/binary-key.ts';
import type { Range } from '#runtime/shard/shard.ts';

/** Own tables of a jobs actor. */
export const JobsTable = {
  /** id → JSON row of {@link JobRow} */
  jobs: FIRST_OWN_TABLE,
  /** {@link agendaKey} → type of the job */
  agenda: FIRST_OWN_TABLE + 1,
  /** coalescing key → id of the active job that has it */
  keys: FIRST_OWN_TABLE + 2,
} as const;

/** Names of the tables, in the order of their numbers. */
export const jobsTableNames: readonly string[] = Object.freeze(Object.keys(JobsTable));

/** A job as stored. */
export interface JobRow extends JobRecord {
  /** The claim of the job while it is running. */
  readonly claim: JobLease | null;
  /** When a final job is removed, in milliseconds since the Unix epoch; null while it is active. */
  readonly forgetAtMs: number | null;
}

/** The lease of one attempt of a job. */
export interface JobLease {
  readonly token: string;
  /** Process that runs the attempt. */
  readonly worker: string;
  /** When the lease ends unless it is renewed, in milliseconds since the Unix epoch. */
  readonly untilMs: number;
}

/** Kind of an entry in the agenda: a job becomes due, a lease ends, a final job is removed. */
export type AgendaEntry = 'scheduled' | 'leased' | 'final';

const letters = { scheduled: 'w', leased: 'r', final: 'f' } as const;

/**
 * Key of a job in the agenda; each job has exactly one entry. While it waits: `w`, its priority, its due time, its id.
 * While it runs: `r`, the end of its lease, its id. When it is final: `f`, its removal time, its id.
 */
export function agendaKey(job: JobRow): string {
  const entry = entryOf(job.state);
  const place = entry === 'scheduled' ? priorityDigit(job.priority) : '';
  const at = entry === 'scheduled' ? job.dueAtMs : entry === 'leased' ? job.claim?.untilMs : job.forgetAtMs;
  assert(typeof at === 'number', 'a running job has a lease and a final one an end');
  return letters[entry] + place + sortableNumber(at) + job.id;
}

/**
 * The entries of one kind up to a time, the earliest first.
 *
 * @param upToMs inclusive; default: all
 * @param priority of waiting jobs
 */
export function agendaUpTo(
  entry: AgendaEntry,
  upToMs: number = Number.MAX_VALUE,
  priority?: JobPriority,
): Range {
  const start = letters[entry] + (priority === undefined ? '' : priorityDigit(priority));
  // No character of an id sorts after this one.
  return { start, end: `${start}${sortableNumber(upToMs)}\u00ff` };
}

/** The time in a key of the agenda, in milliseconds since the Unix epoch. */
export function agendaTime(key: string): number {
  const at = key.startsWith(letters.scheduled) ? 2 : 1;
  const bytes = Buffer.from(key.slice(at, at + 8), 'latin1');
  // Times are not negative, so sortableNumber inverted the sign bit only.
  bytes[0] = (bytes[0] as number) & 0x7f;
  return bytes.readDoubleBE();
}

/** The id in a key of the agenda. */
export function agendaId(key: string): string {
  return key.slice(key.startsWith(letters.scheduled) ? 10 : 9);
}

/** All jobs by id, which is the order of their creation. */
export const allJobs: Range = Object.freeze({ start: AFTER_END, end: '\u00ff' });

/** Key of a coalescing key in `keys`. */
export function coalescingKey(key: string): string {
  return boundedPart(key) + END;
}

function entryOf(state: JobState): AgendaEntry {
  if (state === 'scheduled') return 'scheduled';
  return state === 'running' ? 'leased' : 'final';
}

function priorityDigit(priority: JobPriority): string {
  return String(jobPriorities.indexOf(priority));
}
