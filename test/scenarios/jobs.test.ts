import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RunningJob } from '#runtime/jobs/job-handler.ts';
import { ContentClient, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { newJob } from '#test/support/job-fixtures.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let jobs: JobsClient;
let client: ContentClient;

/** Ends of the gates that run, by the id of the job. */
const endings = new Map<string, () => void>();
/** Ids of jobs whose gate was opened. */
const opened = new Set<string>();

/** Runs until it is told to stop, or the test opens it; one whose payload is `broken` fails. */
const gate = {
  type: 'Gate',
  run: (job: RunningJob) =>
    new Promise<null>((resolve, reject) => {
      if (job.payload === 'broken') reject(new ServiceError('VALIDATION_FAILED', 'The payload is no good'));
      if (opened.has(job.id)) resolve(null);
      if (job.signal.aborted) reject(new Error('stopped'));
      endings.set(job.id, () => resolve(null));
      job.signal.addEventListener('abort', () => reject(new Error('stopped')));
    }),
};

/** Lets a gate end. A job is seen as `Running` before its gate runs: an opened one ends as soon as it does. */
function open(id: string): void {
  opened.add(id);
  endings.get(id)?.();
}

beforeAll(async () => {
  server = await startServer({ jobHandlers: [gate] });
  jobs = new JobsClient(server, server.adminToken);
  client = await ContentClient.on(server);
  // So that the repository has a queue.
  await client.branch('first', { upstream_branch: 'main' });
});

afterAll(() => server.close());

/** Enqueues a job in the repository. @returns its id */
async function enqueue(type: string, about = 'x'): Promise<string> {
  const scope = await jobs.scope(client.repository);
  const { id } = await server.member.queue.enqueue(scope, newJob({ type, about, retriesMax: 0 }, scope));
  return id;
}

const isRunning = ({ status }: { status: unknown }) => status === 'Running';

describe('a fork', () => {
  it('is followed by a job that can be watched [BR-006]', async () => {
    const space = await client.workspace();
    const revisions = [];
    for (let n = 0; n < 12; n++)
      revisions.push(revisionOf(await space.post('/', { name: `n${n}`, ...folder })));
    const made = await client.branch('watched', { from_revision: revisions[2] });
    expect(Object.keys(made).sort()).toEqual([
      'created_at',
      'created_by',
      'created_from',
      'description',
      'head',
      'name',
      'protected',
      'upstream_branch',
    ]);
    // It is listed as soon as the branch is answered, and the branch is whole before the job is done.
    const job = await jobs.named(`RevisionHistoryCopy(${client.repository}/watched)`);
    expect(await space.on('watched').names()).toEqual(['n0', 'n1', 'n2']);
    const done = await jobs.ended(job.id);
    expect(done).toEqual({
      id: job.id,
      job_type: `RevisionHistoryCopy(${client.repository}/watched)`,
      status: 'Completed',
      tenant: 'default',
      repository: client.repository,
      created_at: expect.any(String),
      started_at: expect.any(String),
      completed_at: expect.any(String),
      progress: 1,
      error: null,
      result: { revisions: 9, rows: expect.any(Number) },
      retry_count: 0,
      max_retries: 3,
      last_heartbeat: expect.any(String),
      timeout_seconds: 3600,
      next_retry_at: null,
    });
    expect(await jobs.data('GET', `/${job.id}`)).toBe('Completed');
    expect(await space.on('watched').names()).toEqual(['n0', 'n1', 'n2']);
    const { json } = await client.revisions('?branch=watched&limit=3');
    expect(json.revisions.map(({ revision }: { revision: string }) => revision)).toEqual(
      revisions.slice(0, 3).reverse(),
    );
  });

  it('is readable with its history while its job waits, and continues after a restart [BR-006]', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'grove-test-'));
    try {
      const idle = await startServer({ dataDir, config: '[limits]\njob_workers = 0\n' });
      const own = await ContentClient.on(idle);
      const space = await own.workspace();
      const one = revisionOf(await space.post('/', { name: 'one', ...folder }));
      const two = revisionOf(await space.post('/', { name: 'two', ...folder }));
      const three = revisionOf(await space.put('/one', { properties: { title: 'changed' } }));
      await own.branch('waiting', { from_revision: two, include_revision_history: false });
      const waiting = space.on('waiting');
      const jobType = `RevisionHistoryCopy(${own.repository}/waiting)`;
      const see = async () => [
        await waiting.names(),
        (await waiting.getAt(one, '/')).json.map(({ name }: { name: string }) => name),
        (await own.revisions(`/${three}?branch=waiting`)).status,
        (await own.revisions(`/${one}?branch=waiting`)).status,
        (await own.managed('PUT', '/branches/waiting/head', { revision: three })).status,
        (await own.managed('POST', '/branches/waiting/merge', { source_branch: 'main', dry_run: true })).json
          .success,
      ];
      const expected = [['one', 'two'], ['one'], 404, 200, 404, true];
      expect(await see()).toEqual(expected);
      const { id } = await new JobsClient(idle, idle.adminToken).named(jobType);
      expect(await new JobsClient(idle, idle.adminToken).data('GET', `/${id}`)).toBe('Scheduled');
      await idle.close();
      const working = await startServer({ dataDir });
      const done = await new JobsClient(working, working.adminToken).ended(id);
      expect(done).toMatchObject({ status: 'Completed', result: { revisions: 1 }, retry_count: 0 });
      const after = new ContentClient(working, own.repository);
      expect((await after.revisions(`/${three}?branch=waiting`)).status).toBe(404);
      const merged = await after.managed('POST', '/branches/waiting/merge', {
        source_branch: 'main',
        strategy: 'FastForward',
      });
      expect(merged.json).toMatchObject({ success: true, head: three });
      expect((await after.revisions(`/${three}?branch=waiting`)).status).toBe(200);
      await working.close();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('that is deleted before its job runs leaves the job nothing to do', async () => {
    const scope = await jobs.scope(client.repository);
    const gone = `${scope}/gone~0000000000/branch`;
    const job = newJob({ type: 'RevisionHistoryCopy', payload: { branch: gone } }, scope);
    await server.member.queue.enqueue(scope, job);
    expect(await jobs.ended(job.id)).toMatchObject({
      status: 'Completed',
      result: { revisions: 0, rows: 0 },
    });
  });
});

const folder = { node_type: 'svc:Folder', properties: {} };

describe('the jobs of a tenant', () => {
  it('are for its administrators only, in an envelope, errors too [JOB-003]', async () => {
    const id = await enqueue('Nobody');
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/stats'],
      ['GET', `/${id}`],
      ['GET', `/${id}/info`],
      ['POST', `/${id}/cancel`],
      ['DELETE', `/${id}`],
      ['POST', '/batch-delete'],
    ] as const) {
      const body = rest === '/batch-delete' ? { body: { job_ids: [id] } } : {};
      const anonymous = await server.request(method, `/management/jobs${rest}`, body);
      expect([method, rest, anonymous.status]).toEqual([method, rest, 401]);
      expect(anonymous.json).toEqual({ success: false, data: null, error: expect.any(String) });
    }
    const listed = await jobs.send('GET');
    expect(listed.json).toEqual({ success: true, data: expect.any(Array), error: null });
    const active = await jobs.send('DELETE', `/${id}`);
    expect([active.status, active.json.success, active.json.data]).toEqual([409, false, null]);
    await jobs.data('POST', `/${id}/cancel`);
    const deleted = await jobs.send('DELETE', `/${id}`);
    expect(deleted.json).toEqual({ success: true, data: null, error: null });
  });

  it('answer 404 where there is none, and are of one tenant alone [JOB-004]', async () => {
    const id = await enqueue('Nobody');
    const made = await server.admin('POST', '/api/management/registry/tenants', {
      tenant_id: 'other',
      admin: { password: 'Another-Horse-9-Battery', must_change_password: false },
    });
    expectStatus(made, 201);
    const login = await server.request('POST', '/api/svc/sys/other/auth', {
      body: { username: 'admin', password: 'Another-Horse-9-Battery' },
    });
    const foreign = new JobsClient(server, login.json.token);
    expect(await foreign.data('GET')).toEqual([]);
    expect((await foreign.data('GET', '/stats')).persisted.total_entries).toBe(0);
    for (const unknown of [
      `${id.slice(0, -11)}${id.at(-11) === '0' ? '1' : '0'}${id.slice(-10)}`,
      'x',
      '%20',
    ]) {
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/info'],
        ['POST', '/cancel'],
        ['DELETE', ''],
      ] as const) {
        const answer = await jobs.send(method, `/${unknown}${rest}`);
        expect([method, answer.status, answer.json.success]).toEqual([method, 404, false]);
      }
    }
    for (const method of ['GET', 'DELETE']) {
      expect((await foreign.send(method, `/${id}`)).status).toBe(404);
    }
    expect((await foreign.send('POST', `/${id}/cancel`)).status).toBe(404);
    expect(await foreign.data('POST', '/batch-delete', { job_ids: [id] })).toEqual({
      deleted: 0,
      skipped: 1,
    });
    expect(await jobs.data('GET', `/${id}`)).toBe('Scheduled');
    await jobs.data('POST', `/${id}/cancel`);
  });

  it('are cancelled for good, while they wait and while they run; active ones are not deleted [JOB-001]', async () => {
    const waiting = await enqueue('Nobody');
    const running = await enqueue('Gate');
    await jobs.until(running, isRunning);
    expect((await jobs.send('DELETE', `/${running}`)).status).toBe(409);
    expect((await jobs.send('DELETE', `/${waiting}`)).status).toBe(409);
    const unknown = newJob({}, await jobs.scope(client.repository)).id;
    const ids = [waiting, running, unknown, 'no id'];
    expect(await jobs.data('POST', '/batch-delete', { job_ids: ids })).toEqual({ deleted: 0, skipped: 4 });
    for (const id of [waiting, running]) {
      expect(await jobs.data('POST', `/${id}/cancel`)).toBeNull();
      expect(await jobs.data('GET', `/${id}`)).toBe('Cancelled');
    }
    open(running);
    // Another one has come and gone since on the same workers.
    const next = await enqueue('Gate');
    await jobs.until(next, isRunning);
    open(next);
    expect(await jobs.ended(next)).toMatchObject({ status: 'Completed' });
    for (const id of [waiting, running]) expect(await jobs.data('GET', `/${id}`)).toBe('Cancelled');
    expect(await jobs.data('POST', `/${running}/cancel`)).toBeNull();
    const done = await jobs.send('POST', `/${next}/cancel`);
    expect([done.status, done.json.success]).toEqual([409, false]);
    expect(await jobs.data('POST', '/batch-delete', { job_ids: [waiting, next, unknown] })).toEqual({
      deleted: 2,
      skipped: 1,
    });
    expect((await jobs.send('GET', `/${next}`)).status).toBe(404);
    expect(await jobs.data('DELETE', `/${running}`)).toBeNull();
    expect((await jobs.send('POST', '/batch-delete', { job_ids: 'all' })).status).toBe(422);
  });

  it('are listed newest first, page by page, over all repositories', async () => {
    const other = await ContentClient.on(server);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push(await enqueue('Nobody', `page ${n}`));
      await other.branch(`b${n}`, { upstream_branch: 'main' });
      ids.push((await jobs.named(`RevisionHistoryCopy(${other.repository}/b${n})`)).id);
    }
    const newest = ids.sort().reverse();
    const all = (await jobs.data('GET', '?limit=1000')).map(({ id }: { id: string }) => id);
    expect(all.filter((id: string) => ids.includes(id))).toEqual(newest);
    expect([...all].sort().reverse()).toEqual(all);
    const pages: string[] = [];
    for (let offset = 0; ; offset += 4) {
      const page = await jobs.data('GET', `?limit=4&offset=${offset}`);
      if (page.length === 0) break;
      pages.push(...page.map(({ id }: { id: string }) => id));
    }
    expect(pages).toEqual(all);
    expect((await jobs.send('GET', '?limit=ten')).status).toBe(400);
  });

  it('are counted; the word `stats` is no id', async () => {
    const before = await jobs.data('GET', '/stats');
    const orphan = await enqueue('Nobody');
    const running = await enqueue('Gate');
    await jobs.until(running, isRunning);
    const stats = await jobs.data('GET', '/stats');
    expect(Object.keys(stats).sort()).toEqual(['categories', 'persisted', 'queue', 'workers']);
    expect(stats.workers).toEqual({ pool_size: 4 });
    expect(stats.persisted.total_entries).toBe(before.persisted.total_entries + 2);
    expect(stats.persisted.orphaned_entries).toBe(before.persisted.orphaned_entries + 1);
    expect(stats.queue.normal_queue_len).toBe(before.queue.normal_queue_len + 1);
    expect(stats.queue.total_normal_dispatched).toBe(before.queue.total_normal_dispatched + 1);
    expect(stats.queue.high_capacity).toBeGreaterThan(0);
    expect(stats.categories).toContainEqual({ category: 'Gate', scheduled: 0, running: 1 });
    await jobs.data('POST', `/${orphan}/cancel`);
    await jobs.data('POST', `/${running}/cancel`);
  });

  it('are taken up again by the next start, uncounted, when a server stops', async () => {
    const held = await enqueue('Gate');
    await jobs.until(held, isRunning);
    await server.restart();
    const interrupted = await jobs.until(held, isRunning);
    // Given back by the server that stopped, not counted as a failure.
    expect(interrupted.retry_count).toBe(0);
    open(held);
    expect(await jobs.ended(held)).toMatchObject({ status: 'Completed' });
  });

  it('show why they failed', async () => {
    const scope = await jobs.scope(client.repository);
    const { id } = await server.member.queue.enqueue(
      scope,
      newJob({ type: 'Gate', payload: 'broken' }, scope),
    );
    expect(await jobs.ended(id)).toMatchObject({
      status: { Failed: 'The payload is no good' },
      error: 'The payload is no good',
      result: null,
    });
    expect(await jobs.data('GET', `/${id}`)).toEqual({ Failed: 'The payload is no good' });
    expect(await jobs.data('DELETE', `/${id}`)).toBeNull();
  });
});

it('moving a head leaves locks, pools and jobs as they are [BR-018]', async () => {
  const made = await client.branch('steady', { upstream_branch: 'main' });
  const space = (await client.workspace()).on('steady');
  const locks = new LocksClient(server, server.adminToken, client.repository, 'steady');
  await space.add('/', 'later');
  const token = await locks.taken('held');
  expect((await locks.claim('seats', 2, 10)).status).toBe(200);
  const waiting = await enqueue('Nobody');
  const see = async () => [
    (await locks.get('/locks')).json.items.map(({ key, token }: { key: string; token: number }) => [
      key,
      token,
    ]),
    (await locks.get('/inventory')).json,
    (await jobs.data('GET', '?limit=1000')).filter(({ id }: { id: string }) => id === waiting),
  ];
  const before = await see();
  const moved = await client.managed('PUT', '/branches/steady/head', { revision: made.head });
  expect(moved.status).toBe(204);
  expect(await space.names()).toEqual([]);
  expect(await see()).toEqual(before);
  expect((await locks.renew('held', token)).status).toBe(200);
  await jobs.data('POST', `/${waiting}/cancel`);
});
