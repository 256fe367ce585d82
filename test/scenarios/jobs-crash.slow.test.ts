import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, Space } from '#test/support/content-client.ts';
import { newJob } from '#test/support/job-fixtures.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';

const repository = 'blog';
const jobType = `RevisionHistoryCopy(${repository}/cut)`;

/** More than one commit of the job removes the orphaned versions of. */
const LATER_REVISIONS = 700;

let start: string;

const prepared = preparedFolder(async (server) => {
  await server.createRepository(repository);
  const space = await new ContentClient(server, repository).workspace();
  const folder = { node_type: 'svc:Folder', properties: {} };
  start = revisionOf(await space.post('/', { name: 'kept', ...folder }));
  const updates = Array.from({ length: LATER_REVISIONS }, (_, n) => n);
  for (let from = 0; from < updates.length; from += 50) {
    const some = updates.slice(from, from + 50);
    await Promise.all(some.map((n) => space.put('/kept', { properties: { title: `${n}` } })));
  }
});

it.each(['before-job-relay:1', 'after-job-relay:1', 'mid-job:1', 'mid-job:2', 'before-job-complete:1'])(
  'the job of a fork completes although the process is killed at %s [JOB-010, JOB-005]',
  async (point) => {
    const dataDir = prepared();
    try {
      const doomed = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: point } });
      const token = await doomed.logIn();
      const path = `/api/management/repositories/default/${repository}/branches`;
      const body = { name: 'cut', from_revision: start };
      const status = await doomed.request('POST', path, { token, body }).then(
        (answer) => answer.status,
        () => 0,
      );
      expect([0, 201]).toContain(status);
      expect((await doomed.exited).signal).toBe('SIGKILL');
      await doomed.close();

      const server = await startServer({ dataDir });
      const jobs = new JobsClient(server, server.adminToken);
      const client = new ContentClient(server, repository);
      expectStatus(await client.managed('GET', '/branches/cut'), 200);
      const listed = await found(jobs);
      const done = await jobs.ended(listed.id);
      expect(done).toMatchObject({ status: 'Completed', progress: 1 });
      // What was never begun is no retry; what was cut short is one.
      expect(done.retry_count).toBe(point.includes('relay') ? 0 : 1);
      const named = (await jobs.data('GET', '?limit=1000')).filter(
        (job: { job_type: string }) => job.job_type === jobType,
      );
      expect(named).toHaveLength(1);
      const again = newJob(
        { type: 'RevisionHistoryCopy', payload: await payloadOf(jobs, dataDir) },
        await jobs.scope(repository),
      );
      await server.member.queue.enqueue(await jobs.scope(repository), again);
      expect(await jobs.ended(again.id)).toMatchObject({ result: { revisions: 0, rows: 0 } });
      const space = new Space(client, 'space-1');
      expect(await space.on('cut').names()).toEqual(['kept']);
      expect((await space.on('cut').node('/kept')).properties.title).toBeUndefined();
      expect((await space.node('/kept')).properties.title).toBeDefined();
      await server.close();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);

/** What the job of the fork is given. */
async function payloadOf(jobs: JobsClient, dataDir: string): Promise<{ readonly branch: string }> {
  const scope = await jobs.scope(repository);
  const part = readdirSync(join(dataDir, 'actors', scope)).find((name) => name.startsWith('cut~')) as string;
  return { branch: `${scope}/${part}/branch` };
}

/** The job, once it has been found again after the start. */
async function found(jobs: JobsClient): Promise<{ readonly id: string }> {
  for (let tries = 0; tries < 500; tries++) {
    const job = await jobs.named(jobType);
    if (job !== undefined) return job;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the job is lost');
}
