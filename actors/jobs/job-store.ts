import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { isActive, type JobPriority, jobPriorities, type JobState } from '#runtime/jobs/job.ts';
import { boundedPart, END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import type { QueueStatus } from './messages.ts';
import {
  type AgendaEntry,
  agendaId,
  agendaKey,
  agendaTime,
  agendaUpTo,
  allJobs,
  coalescingKey,
  JobsTable,
  type JobRow,
} from './jobs-tables.ts';
import type { PassedJobs } from './passed-jobs.ts';

/** Counters that are stored, because computing them would read every row. */
export interface JobTotals {
  readonly active: number;
  readonly final: number;
  readonly dispatched: Readonly<Record<JobPriority, number>>;
}

const TOTALS_KEY = 'totals';

/** Numbers of active jobs by their submitters, in the meta table. */
const SUBMITTED_PREFIX = `submitted${END}`;

const noTotals: JobTotals = { active: 0, final: 0, dispatched: { high: 0, normal: 0, low: 0 } };

/** The totals of a queue. */
export function readTotals(reader: TableReader): JobTotals {
  const bytes = reader.get(CommonTable.meta, TOTALS_KEY);
  return bytes === undefined ? noTotals : (decodeJsonRow(bytes) as JobTotals);
}

/** Counts a dispatched attempt. */
export function countDispatch(turn: Turn, priority: JobPriority): void {
  const totals = readTotals(turn);
  const dispatched = { ...totals.dispatched, [priority]: totals.dispatched[priority] + 1 };
  turn.put(CommonTable.meta, TOTALS_KEY, encodeJsonRow({ ...totals, dispatched }));
}

/** A job by its id. */
export function readJob(reader: TableReader, id: string): JobRow | undefined {
  // LMDB refuses empty and overlong keys. No id of a job is longer than this.
  if (id === '' || id.length > 100) return undefined;
  const bytes = reader.get(JobsTable.jobs, id);
  return bytes === undefined ? undefined : (decodeJsonRow(bytes) as JobRow);
}

/** The active job with a coalescing key. */
export function readActive(reader: TableReader, key: string): JobRow | undefined {
  const bytes = reader.get(JobsTable.keys, coalescingKey(key));
  return bytes === undefined ? undefined : readJob(reader, Buffer.from(bytes).toString('latin1'));
}

/**
 * Stores a job with its index entries.
 *
 * @param before the stored job; undefined for a new one
 */
export function storeJob(turn: Turn, before: JobRow | undefined, job: JobRow, passed: PassedJobs): void {
  if (before !== undefined) turn.remove(JobsTable.agenda, agendaKey(before));
  turn.put(JobsTable.agenda, agendaKey(job), Buffer.from(job.type, 'utf8'));
  if (job.state === 'scheduled') passed.written(job);
  turn.put(JobsTable.jobs, job.id, encodeJsonRow(job));
  setKey(turn, job);
  recount(turn, before?.state, job.state);
  recountSubmitted(turn, before?.state, job);
}

/** Removes a job with its index entries. */
export function dropJob(turn: Turn, job: JobRow): void {
  turn.remove(JobsTable.agenda, agendaKey(job));
  turn.remove(JobsTable.jobs, job.id);
  recount(turn, job.state, undefined);
}

/** Number of active jobs that a caller has submitted. */
export function submittedJobs(reader: TableReader, submitter: string): number {
  const bytes = reader.get(CommonTable.meta, submittedKey(submitter));
  return bytes === undefined ? 0 : (decodeJsonRow(bytes) as number);
}

/** At most `most` jobs of one kind of entry up to a time, the earliest first. */
export function dueJobs(
  reader: TableReader,
  entry: 'leased' | 'final',
  upToMs: number | undefined,
  most: number,
): JobRow[] {
  const jobs: JobRow[] = [];
  for (const { key } of reader.range(JobsTable.agenda, agendaUpTo(entry, upToMs))) {
    jobs.push(readJob(reader, agendaId(key)) as JobRow);
    if (jobs.length === most) break;
  }
  return jobs;
}

/** The status of the queue, with all types of jobs. */
export function statusOf(reader: TableReader): QueueStatus {
  return statusWith(reader, (priority) => earliest(reader, 'scheduled', priority));
}

/**
 * The status of the queue with some of the waiting jobs.
 *
 * @param first key in the agenda of the first one of a priority
 */
export function statusOfSome(
  reader: TableReader,
  first: (priority: JobPriority) => string | undefined,
): QueueStatus {
  return statusWith(reader, (priority) => {
    const key = first(priority);
    return key === undefined ? null : agendaTime(key);
  });
}

/** Counts active jobs by priority and by type. The cost grows with their number. */
export function countActive(reader: TableReader): {
  readonly scheduled: Record<JobPriority, number>;
  readonly types: Record<string, { scheduled: number; running: number }>;
} {
  const scheduled = { high: 0, normal: 0, low: 0 };
  const types = new Map<string, { scheduled: number; running: number }>();
  const note = (value: Uint8Array, state: 'scheduled' | 'running'): void => {
    const type = Buffer.from(value).toString('utf8');
    const counts = types.get(type) ?? { scheduled: 0, running: 0 };
    counts[state] += 1;
    types.set(type, counts);
  };
  for (const priority of jobPriorities) {
    for (const { value } of reader.range(JobsTable.agenda, agendaUpTo('scheduled', undefined, priority))) {
      scheduled[priority] += 1;
      note(value, 'scheduled');
    }
  }
  for (const { value } of reader.range(JobsTable.agenda, agendaUpTo('leased'))) note(value, 'running');
  return { scheduled, types: Object.fromEntries(types) };
}

/** Ids of the active jobs. The cost grows with their number. */
export function activeIds(reader: TableReader): string[] {
  const ids: string[] = [];
  const note = (entries: Range): void => {
    for (const { key } of reader.range(JobsTable.agenda, entries)) ids.push(agendaId(key));
  };
  for (const priority of jobPriorities) note(agendaUpTo('scheduled', undefined, priority));
  note(agendaUpTo('leased'));
  return ids;
}

/** Jobs newest first. */
export function newestJobs(reader: TableReader, limit: number, offset: number): JobRow[] {
  const jobs: JobRow[] = [];
  let passed = 0;
  if (limit <= 0) return jobs;
  for (const { value } of reader.range(JobsTable.jobs, { ...allJobs, reverse: true })) {
    passed += 1;
    if (passed <= offset) continue;
    jobs.push(decodeJsonRow(value) as JobRow);
    if (jobs.length === limit) break;
  }
  return jobs;
}

/** @param waiting when the first job of a priority is due */
function statusWith(reader: TableReader, waiting: (priority: JobPriority) => number | null): QueueStatus {
  const times = [earliest(reader, 'leased'), ...jobPriorities.map(waiting)].filter((at) => at !== null);
  return { dueMs: times.length === 0 ? null : Math.min(...times), cleanMs: earliest(reader, 'final') };
}

function earliest(reader: TableReader, entry: AgendaEntry, priority?: JobPriority): number | null {
  for (const { key } of reader.range(JobsTable.agenda, agendaUpTo(entry, undefined, priority)))
    return agendaTime(key);
  return null;
}

/** Only an active job holds its key, so that a new job with the key can follow a final one. */
function setKey(turn: Turn, { id, key, state }: JobRow): void {
  if (key === null) return;
  if (isActive({ state })) turn.put(JobsTable.keys, coalescingKey(key), Buffer.from(id, 'latin1'));
  else turn.remove(JobsTable.keys, coalescingKey(key));
}

/** A name may be longer than a key. */
function submittedKey(submitter: string): string {
  return SUBMITTED_PREFIX + boundedPart(submitter) + END;
}

/** The row of a caller without active jobs is removed, so that rows do not pile up. */
function recountSubmitted(turn: Turn, before: JobState | undefined, { state, submitter }: JobRow): void {
  if (submitter === undefined) return;
  const wasActive = before !== undefined && isActive({ state: before });
  if (wasActive === isActive({ state })) return;
  const count = submittedJobs(turn, submitter) + (wasActive ? -1 : 1);
  if (count <= 0) turn.remove(CommonTable.meta, submittedKey(submitter));
  else turn.put(CommonTable.meta, submittedKey(submitter), encodeJsonRow(count));
}

function recount(turn: Turn, before: JobState | undefined, after: JobState | undefined): void {
  const isCounted = (state: JobState | undefined, active: boolean): number =>
    state !== undefined && isActive({ state }) === active ? 1 : 0;
  const active = isCounted(after, true) - isCounted(before, true);
  const final = isCounted(after, false) - isCounted(before, false);
  if (active === 0 && final === 0) return;
  const totals = readTotals(turn);
  const next = { ...totals, active: totals.active + active, final: totals.final + final };
  turn.put(CommonTable.meta, TOTALS_KEY, encodeJsonRow(next));
}
