import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkJobs, repairJobs } from '#actors/jobs/check-jobs.ts';
import { agendaKey, type JobRow, JobsTable, jobsTableNames } from '#actors/jobs/jobs-tables.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const job: JobRow = {
  id: '01a21a00-fbe4-7079-9562-0a6e8b6bb002',
  type: 'PropertyIndexBuild',
  about: 'magazine/main',
  payload: null,
  key: null,
  priority: 'low',
  timeoutMs: 1,
  retriesMax: 3,
  state: 'scheduled',
  createdAtMs: 1,
  dueAtMs: 1,
  startedAtMs: null,
  finishedAtMs: null,
  heartbeatAtMs: null,
  retries: 0,
  progress: 0,
  error: null,
  result: null,
  claim: null,
  forgetAtMs: null,
};

let folder: string;
let shard: LmdbShard;
let sequence = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jobs-'));
  shard = new LmdbShard(folder, [...commonTableNames, ...jobsTableNames]);
});
afterEach(async () => {
  await shard.close();
  rmSync(folder, { recursive: true, force: true });
});

async function write(writes: readonly Write[]): Promise<void> {
  sequence += 1;
  await shard.apply(writes, { sequence, clock: revisionZero }).committed;
}

function damage(): readonly string[] {
  const found: string[] = [];
  for (const _ of checkJobs(shard, (table, what) => found.push(`${table} ${what}`)));
  return found;
}

it('finds an entry of the agenda with another type than its job, and repairs it', async () => {
  const key = agendaKey(job);
  await write([
    { table: JobsTable.jobs, key: job.id, value: encodeJsonRow(job) },
    { table: JobsTable.agenda, key, value: Buffer.from(job.type) },
  ]);
  expect(damage()).toEqual([]);
  expect([...repairJobs(shard)]).toEqual([]);
  await write([{ table: JobsTable.agenda, key, value: Buffer.from('PropertiIndexBuild') }]);
  expect(damage()).toEqual([expect.stringMatching(/^agenda .*not of the type PropertyIndexBuild/)]);
  await write([...repairJobs(shard)]);
  expect(damage()).toEqual([]);
});
