import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { checkLockHistory } from '#test/support/lock-history.ts';
import { LockLoad } from '#test/support/lock-load.ts';
import { MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { expectSameRows } from '#test/support/same-rows.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

/** So that every member owns some, and a take-over has to do with several. */
const PARTITIONS = 6;

/** Writes of each repository before and after something happens. */
const WRITES = 15;

/** Names of repositories; enough for every member to own one most likely. */
const repositories = ['red', 'green', 'blue', 'white'] as const;

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: PARTITIONS });
  for (const repository of repositories) {
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
    expectStatus(
      await cluster.admin('PUT', `/api/workspaces/${repository}/load`, {
        allowed_node_types: [],
        allowed_root_node_types: [],
      }),
      204,
    );
  }
});

afterAll(() => cluster.close());

/** Members of the cluster as clients: the first request goes to the first one, and so on. */
const at =
  (index: number) =>
  (method: string, path: string, body?: unknown, headers = {}) =>
    cluster.adminAt(cluster.member(index), method, path, body, headers);

describe('a cluster of three members', () => {
  const [one, two, three] = [at(0), at(1), at(2)];

  it('answers everything at any member, with the same codes and headers [CLU-002]', async () => {
    expectStatus(await one('POST', '/api/repositories', { repo_id: 'site' }), 201);
    const open = { allowed_node_types: [], allowed_root_node_types: [] };
    expectStatus(await two('PUT', '/api/workspaces/site/content', open), 204);
    const base = '/api/repository/site/main/head/content';
    const node = (name: string) => ({ name, node_type: 'svc:Folder', properties: { title: name } });
    const made = expectStatus(await two('POST', `${base}/`, node('a')), 201);
    const seen = await Promise.all([one, two, three].map((member) => member('GET', `${base}/a`)));
    for (const answer of seen) {
      expect(answer.json).toEqual(made.json);
      expect(revisionOf(answer)).toBe(revisionOf(made));
    }
    for (const member of [one, two, three]) {
      const missing = await member('GET', `${base}/none`);
      expect([missing.status, missing.json.code]).toEqual([404, 'NODE_NOT_FOUND']);
      const twice = await member('POST', `${base}/`, node('a'));
      expect([twice.status, twice.json.code]).toEqual([400, 'VALIDATION_FAILED']);
      const nowhere = await member('GET', '/api/repository/nowhere/main/head/content/a');
      expect([nowhere.status, nowhere.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
    }
    const managed = '/api/management/repositories/default/site';
    expectStatus(await three('POST', `${managed}/branches`, { name: 'dev', upstream_branch: 'main' }), 201);
    const dev = '/api/repository/site/dev/head/content';
    expectStatus(await one('POST', `${dev}/`, node('b')), 201);
    expect((await two('GET', `${base}/b`)).status).toBe(404);
    expectStatus(
      await two('POST', `${managed}/branches/main/merge`, { source_branch: 'dev', message: 'bring' }),
      200,
    );
    expect((await three('GET', `${base}/b`)).json.name).toBe('b');
    const locks = '/api/site/main/locks';
    const grant = expectStatus(await one('POST', `${locks}/acquire`, { key: 'k', ttl_ms: 60_000 }), 200);
    expect((await two('POST', `${locks}/acquire`, { key: 'k', ttl_ms: 60_000 })).status).toBe(409);
    const { token } = grant.json;
    expect((await three('POST', `${locks}/release`, { key: 'k', token })).json).toEqual({ released: true });
    // The fork left a job, which the member that owns the repository does, and all tell of.
    for (const member of [one, two, three]) {
      const { data } = (await member('GET', '/management/jobs?limit=1000')).json;
      expect(data.some((job: { job_type: string }) => job.job_type.includes('site/dev'))).toBe(true);
    }
  });

  it('streams a long listing through every member, whole and the same [CLU-002]', async () => {
    const base = '/api/repository/red/main/head/load';
    expectStatus(
      await one('POST', `${base}/`, { name: 'many', node_type: 'svc:Folder', properties: {} }),
      201,
    );
    // Megabytes, hence many frames.
    const text = 'ü'.repeat(20_000);
    const create = (n: number) => ({ name: `n${n}`, node_type: 'svc:Folder', properties: { text } });
    for (let n = 0; n < 100; n += 20) {
      const batch = Array.from({ length: 20 }, (_, index) => two('POST', `${base}/many/`, create(n + index)));
      for (const answer of await Promise.all(batch)) expectStatus(answer, 201);
    }
    const [first, second, third] = await Promise.all(
      [one, two, three].map((member) => member('GET', `${base}/many/`)),
    );
    expect(first?.json).toHaveLength(100);
    expect(second?.text === first?.text && third?.text === first?.text).toBe(true);
  });

  it('reports the same members, partitions and owners on each member, to administrators only [CLU-001] [CLU-007]', async () => {
    await cluster.settled();
    const views = await Promise.all(cluster.members.map((member) => cluster.overview(member)));
    const owners = views.map(({ partitions }) =>
      partitions.map(({ epoch, owner }: { epoch: number; owner: string }) => [owner, epoch]),
    );
    expect(owners[1]).toEqual(owners[0]);
    expect(owners[2]).toEqual(owners[0]);
    for (const { members, mode } of views) {
      expect(mode).toBe('cluster');
      expect(members.map(({ id }: { id: string }) => id)).toEqual(['m1', 'm2', 'm3']);
    }
    // As a load balancer asks for somebody without a token.
    const headers = { 'x-forwarded-for': '192.0.2.7' };
    for (const member of cluster.members)
      expect((await member.request('GET', '/api/management/cluster', { headers })).status).toBe(401);
    const password = 'Another-Horse-7-Battery';
    const admin = { username: 'boss', password, must_change_password: false };
    expectStatus(await two('POST', '/api/management/registry/tenants', { tenant_id: 'other', admin }), 201);
    const login = await cluster.member(2).request('POST', '/api/svc/sys/other/auth', {
      body: { username: 'boss', password },
    });
    for (const member of cluster.members) {
      const foreign = await member.request('GET', '/api/management/cluster', { token: login.json.token });
      expect([foreign.status, foreign.json.code]).toEqual([403, 'FORBIDDEN']);
    }
  });
});

describe('under load', () => {
  it('kill -9 of an owner loses and duplicates no write, and writes continue [CLU-005]', async () => {
    const load = new WriteLoad(cluster, repositories, 'kill').start();
    await load.progress(WRITES);
    const victim = await cluster.ownerOf('red');
    await victim.kill();
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('kill -9 of an owner', report);
    // Only clients of the killed member itself may not know.
    expect(load.troubles.filter((trouble) => /: \d{3} /.test(trouble))).toEqual([]);
    expect(await load.check()).toEqual([]);
    await victim.start();
    expect(await load.check()).toEqual([]);
  });

  it('a rolling restart of all members makes no request fail', async () => {
    await cluster.settled();
    const load = new WriteLoad(cluster, repositories, 'roll').start();
    for (const member of cluster.members) {
      await load.progress(WRITES);
      expect(await member.drain()).toBe(0);
      await load.progress(WRITES);
      await member.start();
    }
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('a rolling restart', report);
    expect(load.troubles).toEqual([]);
    expect(await load.check()).toEqual([]);
  });

  it('kill -9 of the NATS server that leads a log loses and doubles no write', async () => {
    const load = new WriteLoad(cluster, repositories, 'nats').start();
    await load.progress(WRITES);
    const server = nats().server(await cluster.logLeaderOf('red', nats()));
    await server.kill();
    await load.progress(WRITES);
    server.start();
    await load.progress(WRITES);
    const report = await load.stop();
    await nats().ready();
    tellReport('kill -9 of the leader of a log', report);
    expect(await load.check()).toEqual([]);
  });

  it('locks and pools keep their promises through kill -9 and a drain of their owner [LOCK-016] [INV-004]', async () => {
    await cluster.settled();
    const load = new LockLoad(cluster, 'red').start();
    await load.progress(100);
    const held = await load.hold('held', 600_000);
    const end = await load.endOf('held');
    const victim = await cluster.ownerOf('red');
    await victim.kill();
    await load.progress(100);
    // With a new owner its whole time begins anew.
    const later = await load.endOf('held');
    expect(later).toBeGreaterThan(end as number);
    await victim.start();
    await cluster.settled();
    const next = await cluster.ownerOf('red');
    await load.progress(50);
    expect(await next.drain()).toBe(0);
    await load.progress(50);
    await next.start();
    await load.stop();
    expect(await load.endOf('held')).toBeGreaterThan(later as number);
    expect(await load.hold('later', 600_000)).toBeGreaterThan(held);
    expect(checkLockHistory(load.history.events)).toEqual([]);
    expect(await load.checkUnits()).toEqual([]);
  });

  it('tokens increase when a repository is removed at one member and recreated at another [LOCK-012]', async () => {
    const repo_id = 'made-anew';
    const tokens: number[] = [];
    for (const member of cluster.members) {
      expectStatus(await cluster.adminAt(member, 'POST', '/api/repositories', { repo_id }), 201);
      for (const asked of cluster.members) {
        const grant = { key: `by-${asked.id}`, ttl_ms: 600_000 };
        const granted = await cluster.adminAt(asked, 'POST', `/api/${repo_id}/main/locks/acquire`, grant);
        tokens.push(expectStatus(granted, 200).json.token);
      }
      expectStatus(await cluster.adminAt(member, 'DELETE', `/api/repositories/${repo_id}`), 204);
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(tokens.slice(0, 3)).toEqual([1, 2, 3]);
  });
});

describe('after all of that', () => {
  it('every member has the same rows, and every index is whole', async () => {
    await cluster.settled();
    await expectSameRows(cluster, repositories, 100);
  });
});
