import type { OnDamage } from '#runtime/check/check-rows.ts';
import { damagedRow, eachRow, everyKey, shownKey } from '#runtime/check/check-rows.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { agendaId, agendaKey, type JobRow, JobsTable } from './jobs-tables.ts';

/** Verifies the jobs of a repository: each has a valid checksum, its own key, and one entry in the agenda. */
export function* checkJobs(reader: TableReader, tell: OnDamage): Generator<undefined, void> {
  const jobOf = (id: string): JobRow | undefined => {
    const bytes = reader.get(JobsTable.jobs, id);
    return bytes === undefined ? undefined : (decodeJsonRow(bytes) as JobRow);
  };
  yield* eachRow(reader, JobsTable.jobs, 'jobs', tell, ({ key, value }) => {
    const job = decodeJsonRow(value) as JobRow;
    if (job.id !== key) throw damagedRow(`it holds job ${job.id}`);
    const entry = agendaKey(job);
    if (reader.get(JobsTable.agenda, entry) === undefined)
      tell('agenda', `${shownKey(entry)} of job ${key} is missing`);
  });
  yield* eachRow(reader, JobsTable.agenda, 'agenda', tell, ({ key, value }) => {
    const job = jobOf(agendaId(key));
    if (job === undefined || agendaKey(job) !== key) throw damagedRow('it follows from no job');
    if (!hasTypeOf(value, job)) throw damagedRow(`it is not of the type ${job.type}`);
  });
  yield* eachRow(reader, JobsTable.keys, 'keys', tell, ({ value }) => {
    const id = Buffer.from(value).toString('latin1');
    if (jobOf(id) === undefined) throw damagedRow(`it names job ${id}, which is not there`);
  });
}

function hasTypeOf(value: Uint8Array, job: JobRow): boolean {
  return Buffer.from(value).toString('utf8') === job.type;
}

/** Makes the agenda and the coalescing keys agree with the stored jobs. */
export function* repairJobs(reader: TableReader): Generator<Write, void> {
  const jobOf = (id: string): JobRow | undefined => {
    const bytes = reader.get(JobsTable.jobs, id);
    return bytes === undefined ? undefined : (decodeJsonRow(bytes) as JobRow);
  };
  for (const { value } of reader.range(JobsTable.jobs, everyKey)) {
    const job = decodeJsonRow(value) as JobRow;
    const key = agendaKey(job);
    const entry = reader.get(JobsTable.agenda, key);
    if (entry === undefined || !hasTypeOf(entry, job))
      yield { table: JobsTable.agenda, key, value: Buffer.from(job.type, 'utf8') };
  }
  for (const { key } of reader.range(JobsTable.agenda, everyKey)) {
    const job = jobOf(agendaId(key));
    if (job === undefined || agendaKey(job) !== key) yield { table: JobsTable.agenda, key, value: null };
  }
  for (const { key, value } of reader.range(JobsTable.keys, everyKey)) {
    if (jobOf(Buffer.from(value).toString('latin1')) === undefined)
      yield { table: JobsTable.keys, key, value: null };
  }
}
