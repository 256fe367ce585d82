import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminClient } from '#test/support/admin-client.ts';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const INCREMENT = `properties = properties || JSONB_BUILD_OBJECT('count', (properties->>'count')::int + 1)`;

/** A repository with a workspace, and who uses it by statements. */
class Site {
  readonly server: TestServer;
  readonly client: ContentClient;
  readonly space: Space;
  readonly people: IdentityClient;
  readonly jobs: JobsClient;

  private constructor(server: TestServer, client: ContentClient, space: Space) {
    this.server = server;
    this.client = client;
    this.space = space;
    this.people = new IdentityClient(server);
    this.jobs = new JobsClient(server, server.adminToken);
  }

  /** The same over another start of the server. */
  over(server: TestServer): Site {
    const client = new ContentClient(server, this.client.repository);
    return new Site(server, client, new Space(client, this.space.name));
  }

  static async on(server: TestServer): Promise<Site> {
    const client = await ContentClient.on(server);
    const properties = [
      { name: 'count', type: 'Number' },
      { name: 'kind', type: 'String' },
    ];
    await client.defineType({ name: 'test:Item', strict: false, properties });
    return new Site(server, client, await client.workspace());
  }

  sql(sql: string, token = this.server.adminToken, more: object = {}): Promise<TestResponse> {
    const { headers, ...body } = { headers: {}, ...more } as { headers: Record<string, string> };
    const path = `/api/sql/${this.client.repository}`;
    return this.server.request('POST', path, { token, headers, body: { sql, ...body } });
  }

  /** Submits a statement. @returns the id of its job */
  async submit(sql: string, token?: string, more?: object): Promise<string> {
    const { json } = expectStatus(await this.sql(sql, token, more), 200);
    const [row] = json.rows;
    expect(row).toEqual({
      job_id: expect.any(String),
      status: 'accepted',
      message: `Bulk operation started. Poll /api/jobs/${row.job_id} for status.`,
    });
    return row.job_id as string;
  }

  /** Adds nodes of a kind, named `{kind}0` and so on. */
  async add(kind: string, count = 3): Promise<void> {
    for (let n = 0; n < count; n++) await this.space.add('/', `${kind}${n}`, { count: 0, kind }, 'test:Item');
  }

  /** What the nodes of a kind count. */
  async counts(kind: string): Promise<readonly number[]> {
    const select = `SELECT properties->>'count' AS count FROM '${this.space.name}' WHERE properties->>'kind' = $1 ORDER BY name`;
    const { json } = expectStatus(await this.sql(select, undefined, { params: [kind] }), 200);
    return json.rows.map(({ count }: { count: string }) => Number(count));
  }

  update(kind: string): string {
    return `UPDATE '${this.space.name}' SET ${INCREMENT} WHERE properties->>'kind' = '${kind}'`;
  }

  /** Somebody who may do operations with nodes of the workspace. @param where further fields of the permission */
  async person(operations: readonly string[], where: object = {}): Promise<Registered> {
    const person = await this.people.person(`/auth/${this.client.repository}`);
    const role = `role-${person.id}`;
    await this.setRole(role, operations, where, true);
    const home = `${this.access}${person.claims.home as string}`;
    expectStatus(await this.server.admin('PATCH', home, { properties: { roles: [role] } }), 200);
    return person;
  }

  async setRole(
    role: string,
    operations: readonly string[],
    where: object = {},
    isNew = false,
  ): Promise<void> {
    const permissions = [{ path: '**', workspace: this.space.name, operations, ...where }];
    const properties = { role_id: role, name: role, permissions };
    const made = isNew
      ? await this.server.admin('POST', `${this.access}/roles/`, {
          name: role,
          node_type: 'svc:Role',
          properties,
        })
      : await this.server.admin('PATCH', `${this.access}/roles/${role}`, { properties });
    expectStatus(made, 200, 201);
  }

  get access(): string {
    return `/api/repository/${this.client.repository}/main/head/svc:access_control`;
  }
}

const all = ['read', 'update', 'delete', 'create'];

describe('a bulk statement', () => {
  let server: TestServer;
  let site: Site;

  beforeAll(async () => {
    server = await startServer();
    site = await Site.on(server);
  });
  afterAll(() => server.close());

  it('is a job, and its state is Completed when it is done [SQL-042, SQL-043, SQL-044]', async () => {
    await site.add('plain');
    const id = await site.submit(site.update('plain'));
    const job = await site.jobs.ended(id);
    expect(job).toMatchObject({
      status: 'Completed',
      progress: 1,
      error: null,
      result: { matched: 3, changed: 3, skipped: 0 },
      repository: site.client.repository,
    });
    expect(job.job_type).toMatch(/^BulkSql\(.*: UPDATE '.*'\)$/);
    const done = { success: true, data: 'Completed', error: null };
    for (const path of [`/management/jobs/${id}`, `/api/jobs/${id}`])
      expect((await server.admin('GET', path)).json).toEqual(done);
    expect(await site.counts('plain')).toEqual([1, 1, 1]);
  });

  it('removes what matches, and completes where nothing does [SQL-051, JOB-014]', async () => {
    await site.add('old');
    const statement = `DELETE FROM '${site.space.name}' WHERE properties->>'kind' = 'old'`;
    for (const matched of [3, 0]) {
      const job = await site.jobs.ended(await site.submit(statement));
      expect([job.status, job.result]).toEqual(['Completed', { matched, changed: matched, skipped: 0 }]);
    }
    expect(await site.counts('old')).toEqual([]);
  });

  it('is any statement with another condition than one id or one path [SQLEX-064, SQLEX-069, SQL-051]', async () => {
    const name = site.space.name;
    await site.client.defineType({ name: 'grow:Bed', properties: [] });
    const { id } = await site.space.add('/', 'p', {}, 'grow:Bed');
    const statements = [
      `UPDATE '${name}' SET name = 'q' WHERE node_type = 'grow:Bed'`,
      `DELETE FROM '${name}' WHERE id IN ('${id}', 'p2')`,
    ];
    const results = [];
    for (const sql of statements) results.push((await site.jobs.ended(await site.submit(sql))).result);
    expect(results).toEqual([
      { matched: 1, changed: 1, skipped: 0 },
      { matched: 1, changed: 1, skipped: 0 },
    ]);
    expectStatus(await site.space.get('/q'), 404);
  });

  it('is refused at once where it is not valid, and makes no job', async () => {
    const name = site.space.name;
    const before = (await site.jobs.data('GET', '?limit=1000')).length;
    for (const sql of [
      `UPDATE '${name}' SET nothing = 1 WHERE name LIKE 'a%'`,
      `UPDATE '${name}' SET name = 'x' WHERE nothing > 1`,
      `DELETE FROM '${name}' WHERE id = (SELECT id FROM '${name}' LIMIT 1)`,
    ]) {
      const answer = await site.sql(sql);
      expect([sql, answer.status, answer.json.code]).toEqual([sql, 400, 'VALIDATION_FAILED']);
    }
    expect((await site.jobs.data('GET', '?limit=1000')).length).toBe(before);
  });

  it('that is too long is 413, and runs within a transaction [JOB-020]', async () => {
    await site.add('long');
    const long = `${site.update('long')} AND name <> $1`;
    const params = ['x'.repeat(70_000)];
    const refused = expectStatus(await site.sql(long, undefined, { params }), 413);
    expect(refused.json.code).toBe('PAYLOAD_TOO_LARGE');
    expect(refused.json.message).toContain('64 KiB');
    expectStatus(await site.sql(`BEGIN; ${long}; COMMIT`, undefined, { params }), 200);
    expect(await site.counts('long')).toEqual([1, 1, 1]);
  });

  it('is one job when its request is repeated with the same key [JOB-019]', async () => {
    await site.add('keyed');
    const headers = { 'idempotency-key': 'bulk-1' };
    const id = await site.submit(site.update('keyed'), undefined, { headers });
    expect(await site.submit(site.update('keyed'), undefined, { headers })).toBe(id);
    await site.jobs.ended(id);
    expect(await site.submit(site.update('keyed'), undefined, { headers })).toBe(id);
    expect(await site.counts('keyed')).toEqual([1, 1, 1]);
  });

  it('is watched by who has submitted it; for another person it is not there [JOB-018]', async () => {
    await site.add('own');
    const [person, other] = [await site.person(all), await site.person(all)];
    const id = await site.submit(site.update('own'), person.access);
    const done = await site.jobs.ended(id);
    expect(done.result).toEqual({ matched: 3, changed: 3, skipped: 0 });
    const see = (path: string, { access: token }: Registered) => server.request('GET', path, { token });
    for (const path of [`/management/jobs/${id}`, `/api/jobs/${id}`]) {
      expect((await see(path, person)).json).toEqual({ success: true, data: 'Completed', error: null });
      expectStatus(await see(path, other), 404);
    }
    expectStatus(await see(`/management/jobs/${id}/info`, person), 200);
    const end = (method: string, path: string, { access: token }: Registered) =>
      server.request(method, path, { token });
    expectStatus(await end('POST', `/management/jobs/${id}/cancel`, other), 404);
    expectStatus(await end('POST', `/management/jobs/${id}/cancel`, person), 409);
    expectStatus(await end('DELETE', `/management/jobs/${id}`, person), 403);
    expectStatus(await end('GET', '/management/jobs', person), 403);
    expectStatus(await server.request('GET', `/api/jobs/${id}`), 401);
  });

  it('changes nothing that its caller may not read, and skips what the caller may not change [JOB-017]', async () => {
    await site.add('skipped', 4);
    const person = await site.person(['read'], { path: 'skipped*' });
    await site.setRole(`role-${person.id}`, ['read'], { path: 'skipped*' });
    const permissions = [
      { path: 'skipped1', workspace: site.space.name, operations: ['read', 'update'] },
      { path: 'skipped2', workspace: site.space.name, operations: ['read'] },
    ];
    const role = `${site.access}/roles/role-${person.id}`;
    expectStatus(await server.admin('PATCH', role, { properties: { permissions } }), 200);
    const job = await site.jobs.ended(await site.submit(site.update('skipped'), person.access));
    expect(job.result).toEqual({ matched: 2, changed: 1, skipped: 1 });
    expect(await site.counts('skipped')).toEqual([0, 1, 0, 0]);
  });

  it('RESTORE TREE is a job whose result is the answer of the statement', async () => {
    await site.space.add('/', 'tree', { count: 1, kind: 'tree' }, 'test:Item');
    await site.space.add('/tree', 'leaf', { count: 1, kind: 'tree' }, 'test:Item');
    const revision = await site.client.headOf('main');
    for (const path of ['/tree', '/tree/leaf'])
      expectStatus(await site.space.put(path, { properties: { count: 9, kind: 'tree' } }), 200);
    const statement = `RESTORE TREE NODE path='/tree' IN WORKSPACE '${site.space.name}' TO REVISION '${revision}'`;
    const { json } = expectStatus(await site.sql(statement), 200);
    const [{ job_id: id, status }] = json.rows;
    expect(status).toBe('queued');
    const job = await site.jobs.ended(id);
    expect(job).toMatchObject({ status: 'Completed', result: { revision: expect.any(String) } });
    expect(job.job_type).toMatch(/^RestoreTree\(/);
    expect(await site.counts('tree')).toEqual([1, 1]);
  });
});

describe('a bulk statement that waits', () => {
  let dataDir: string;
  let server: TestServer;
  let site: Site;
  const ids = new Map<string, string>();

  /** Submits statements with a server that runs none, then takes access away, then lets another server run them. */
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'grove-test-'));
    const idle = await startServer({ dataDir, config: '[limits]\njob_workers = 0\n' });
    const before = await Site.on(idle);
    const admins = new AdminClient(idle);
    const submit = async (kind: string, token: string): Promise<void> => {
      await before.add(kind);
      ids.set(kind, await before.submit(before.update(kind), token));
    };
    const deactivated = await before.person(all);
    await submit('deactivated', deactivated.access);
    const narrowed = await before.person(all);
    await submit('narrowed', narrowed.access);
    const removed = await before.person(all);
    await submit('removed', removed.access);
    const leaver = await before.person(all);
    await submit('left', leaver.access);
    await submit('administrator', await admins.account('leaver'));
    const key = await idle.admin('POST', '/api/svc/me/api-keys', { name: 'import' });
    await submit('key', key.json.token);
    const actor = await before.person(all);
    const home = actor.claims.home as string;
    const impersonator = await admins.account('actor', { access_flags: { can_impersonate: true } });
    await before.add('impersonated');
    const acting = { headers: { 'x-svc-impersonate': home } };
    ids.set('impersonated', await before.submit(before.update('impersonated'), impersonator, acting));
    const own = await before.person(all);
    await submit('cancelled', own.access);

    const base = '/api/svc/sys/default/identity-users';
    expectStatus(await idle.admin('PATCH', `${base}/${deactivated.id}`, { is_active: false }), 200);
    expectStatus(await idle.admin('DELETE', `${base}/${removed.id}`), 204);
    const login = { token: leaver.access };
    expectStatus(await before.people.send('POST', '/auth/logout', login), 200, 204);
    await before.setRole(`role-${narrowed.id}`, ['read']);
    expectStatus(await idle.admin('DELETE', `/api/svc/me/api-keys/${key.json.key.key_id}`), 204);
    await admins.change('leaver', { is_active: false });
    await admins.change('actor', { access_flags: { can_impersonate: false } });
    const cancel = `/management/jobs/${ids.get('cancelled')}/cancel`;
    expectStatus(await idle.request('POST', cancel, { token: own.access }), 200);
    await before.client.branch('gone', { upstream_branch: 'main' });
    const path = `/api/sql/${before.client.repository}/gone`;
    const { json } = expectStatus(await idle.admin('POST', path, { sql: before.update('left') }), 200);
    ids.set('branch', json.rows[0].job_id);
    expectStatus(await before.client.managed('DELETE', '/branches/gone'), 200, 204);
    await idle.close();
    server = await startServer({ dataDir });
    site = before.over(server);
  });
  afterAll(async () => {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const ended = (kind: string) => site.jobs.ended(ids.get(kind) as string);

  it.each([
    ['deactivated', /The account is deactivated/],
    ['removed', /The account is not there any more/],
    ['administrator', /The account is deactivated/],
    ['key', /The API key is not valid any more/],
    ['impersonated', /The account has no can_impersonate/],
  ])('fails when its caller has no access any more: %s [JOB-017]', async (kind, reason) => {
    const { retry_count: retries, status } = await ended(kind);
    expect(status).toEqual({ Failed: expect.stringMatching(reason) });
    expect(retries).toBe(0);
    expect(await site.counts(kind)).toEqual([0, 0, 0]);
  });

  it('has the permissions of its caller at present, and outlives the login [JOB-017]', async () => {
    expect(await ended('narrowed')).toMatchObject({
      status: 'Completed',
      result: { matched: 3, changed: 0, skipped: 3 },
    });
    expect(await site.counts('narrowed')).toEqual([0, 0, 0]);
    expect(await ended('left')).toMatchObject({
      status: 'Completed',
      result: { matched: 3, changed: 3, skipped: 0 },
    });
  });

  it('fails when its branch is deleted', async () => {
    const { status } = await ended('branch');
    expect(status).toEqual({ Failed: expect.stringContaining("Branch 'gone' is not there any more") });
  });

  it('that its caller has cancelled stays cancelled and changes nothing [JOB-016]', async () => {
    expect((await ended('cancelled')).status).toBe('Cancelled');
    expect(await site.counts('cancelled')).toEqual([0, 0, 0]);
  });
});
