import { assert } from '#runtime/base/assert.ts';
import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { type JobPriority, jobPriorities, type JobRecord, type JobState } from '#runtime/jobs/job.ts';
import { AFTER_END, boundedPart, END, sortableNumber } from '#runtime/shard/binary-key.ts';
import type { Range } from '#runtime/shard/shard.ts';

/** Own tables of a jobs actor. */
export const JobsTable = {
  /** id → JSON row of {@link JobRow} */
  jobs: FIRST_OWN_TABLE,
  /** What is to be done when, see {@link agendaKey} → type of the job */
  agenda: FIRST_OWN_TABLE + 1,
  /** coalescing key → id of the active job that has it */
  keys: FIRST_OWN_TABLE + 2,
} as const;

/** Names of the tables, in the order of their numbers. */
export const jobsTableNames: readonly string[] = Object.freeze(Object.keys(JobsTable));

/** A job as stored. */
export interface JobRow extends JobRecord {
  /** Who works on it while it is running. */
  readonly claim: JobLease | null;
  /** When a final job is forgotten, in milliseconds since the Unix epoch; null while it is active. */
  readonly forgetAtMs: number | null;
}

/** An attempt at a job. */
export interface JobLease {
  readonly token: string;
  /** Process that works on it. */
  readonly worker: string;
  /** When it is given to somebody else unless it is renewed, in milliseconds since the Unix epoch. */
  readonly untilMs: number;
}

/** What an entry of the agenda is about: a waiting job, a lease that ends, a final job that is forgotten. */
export type AgendaEntry = 'scheduled' | 'leased' | 'final';

const letters = { scheduled: 'w', leased: 'r', final: 'f' } as const;

/**
 * Where a job stands in the agenda, each exactly once: `w`, its priority, the time it is due and its id while it
 * waits; `r`, the end of its lease and its id while it runs; `f`, the time it is forgotten and its id afterwards.
 */
export function agendaKey(job: JobRow): string {
  const entry = entryOf(job.state);
  const place = entry === 'scheduled' ? priorityDigit(job.priority) : '';
  const at = entry === 'scheduled' ? job.dueAtMs : entry === 'leased' ? job.claim?.untilMs : job.forgetAtMs;
  assert(typeof at === 'number', 'a running job has a lease and a final one an end');
  return letters[entry] + place + sortableNumber(at) + job.id;
}

/**
 * The entries of one sort up to a time, the earliest first.
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
  // No character of an id is above this one.
  return { start, end: `${start}${sortableNumber(upToMs)}\u00ff` };
}

/** The time in a key of the agenda, in milliseconds since the Unix epoch. */
export function agendaTime(key: string): number {
  const at = key.startsWith(letters.scheduled) ? 2 : 1;
  const bytes = Buffer.from(key.slice(at, at + 8), 'latin1');
  // Times are not negative, so only the sign was turned over, see sortableNumber.
  bytes[0] = (bytes[0] as number) & 0x7f;
  return bytes.readDoubleBE();
}

/** The id in a key of the agenda. */
export function agendaId(key: string): string {
  return key.slice(key.startsWith(letters.scheduled) ? 10 : 9);
}

/** Every job, by id and hence in the order they were made. */
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
