import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

type Json = TestResponse['json'];

/** More than one commit of the job of a fork removes the orphaned versions of. */
const LATER_REVISIONS = 600;

/** Time within which another member has to finish what one left: the lease of a job, and a take-over. */
const FINISHED_MS_MAX = 120_000;

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: 3 });
});

afterAll(() => cluster.close());

async function until(isSo: () => Promise<boolean>, msMax: number): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${msMax} ms: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function makeRepository(name: string): Promise<void> {
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: name }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${name}/load`, open), 204);
}

const managed = (repository: string): string => `/api/management/repositories/default/${repository}`;

/** Makes a branch that begins at a revision; a member that dies meanwhile does not answer. */
async function fork(member: ClusterMember, repository: string, name: string, from: string): Promise<void> {
  const body = { name, upstream_branch: 'main', from_revision: from };
  await cluster.adminAt(member, 'POST', `${managed(repository)}/branches`, body).catch(() => undefined);
}

describe('jobs of a cluster whose members die', () => {
  const repository = 'forked';
  let start: string;

  beforeAll(async () => {
    await makeRepository(repository);
    const path = `/api/repository/${repository}/main/head/load`;
    const node = { name: 'kept', node_type: 'svc:Folder', properties: {} };
    start = revisionOf(await cluster.admin('POST', `${path}/`, node));
    for (let from = 0; from < LATER_REVISIONS; from += 50) {
      const updates = Array.from({ length: 50 }, (_, n) => ({ properties: { title: `${from + n}` } }));
      await Promise.all(updates.map((update) => cluster.admin('PUT', `${path}/kept`, update)));
    }
  });

  const jobs = async (): Promise<readonly Json[]> =>
    expectStatus(await cluster.admin('GET', '/management/jobs?limit=1000'), 200).json.data;

  const jobOf = async (branch: string): Promise<Json> =>
    (await jobs()).find((job) => job.job_type.includes(`${repository}/${branch})`));

  let cut: readonly string[];

  it('are cut short when the member that runs them is killed', async () => {
    const doomed = cluster.member(0);
    await doomed.arm('mid-job:1');
    let isDead = false;
    const death = doomed.died().then(() => {
      isDead = true;
    });
    // Whoever is free takes a job: soon it is that one.
    for (let forks = 0; !isDead && forks < 40; forks++)
      await fork(cluster.member(1), repository, `f${forks}`, start);
    await death;
    cut = (await jobs()).filter(({ status }) => status !== 'Completed').map(({ id }) => id);
    expect(cut.length).toBeGreaterThan(0);
    await doomed.start();
  });

  it.each(['before-job-relay:1', 'after-job-relay:1', 'before-job-ticket:1'])(
    'are done when the owner is killed between commit and the telling of it, at %s [CLU-041]',
    async (point) => {
      const branch = point.slice(0, -2);
      const owner = await cluster.ownerOf(repository);
      await owner.arm(point);
      const death = owner.died();
      await fork(owner, repository, branch, start);
      await death;
      const others = cluster.up;
      await until(async () => {
        const found = await cluster.adminAt(
          others[0] as ClusterMember,
          'GET',
          `${managed(repository)}/branches/${branch}`,
        );
        return found.status === 200 && (await jobOf(branch))?.status === 'Completed';
      }, FINISHED_MS_MAX);
      expect((await jobOf(branch)).retry_count).toBe(0);
      await owner.start();
    },
  );

  it('are finished by others when the member that runs them is killed [CLU-040]', async () => {
    await until(async () => (await jobs()).every(({ status }) => status === 'Completed'), FINISHED_MS_MAX);
    const done = await jobs();
    expect(done.filter(({ id, retry_count }) => cut.includes(id) && retry_count > 0).length).toBeGreaterThan(
      0,
    );
    // What nobody was killed at was done at once.
    expect(done.filter(({ retry_count }) => retry_count === 0).length).toBeGreaterThan(0);
  });
});

describe('bulk statements of a cluster whose members die', () => {
  const repository = 'bulk';
  const sqlPath = `/api/sql/${repository}`;
  /** A revision of a statement has 250 of them. */
  const nodes = 1_500;
  const counters = ['a', 'b', 'c', 'd'];

  const run = async (sql: string): Promise<Json> =>
    expectStatus(await cluster.admin('POST', sqlPath, { sql }), 200).json.rows;

  beforeAll(async () => {
    await until(async () => cluster.up.length === 3, FINISHED_MS_MAX);
    await makeRepository(repository);
    const properties = counters.map((name) => ({ name, type: 'Number' }));
    const definition = { node_type: { name: 'test:Item', properties } };
    const types = `/api/management/${repository}/main/nodetypes`;
    expectStatus(await cluster.admin('POST', types, definition), 200, 201);
    const zero = JSON.stringify(Object.fromEntries(counters.map((name) => [name, 0])));
    for (let from = 0; from < nodes; from += 250) {
      const rows = Array.from({ length: 250 }, (_, n) => `('/n${from + n}', 'test:Item', '${zero}')`);
      await run(`INSERT INTO 'load' (path, node_type, properties) VALUES ${rows.join(', ')}`);
    }
  });

  /** Submits statements, each of which counts all nodes in a property of its own. @returns the ids of their jobs */
  async function submitAll(at: ClusterMember): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const name of counters) {
      const value = `JSONB_BUILD_OBJECT('${name}', (properties->>'${name}')::int + 1)`;
      const sql = `UPDATE 'load' SET properties = properties || ${value} WHERE node_type = 'test:Item'`;
      const answer = await cluster.adminAt(at, 'POST', sqlPath, { sql });
      ids.push(expectStatus(answer, 200).json.rows[0].job_id);
    }
    return ids;
  }

  async function expectDone(ids: readonly string[], count: number): Promise<void> {
    await until(async () => {
      // While the owner changes, a request may fail.
      const ask = (id: string) => cluster.admin('GET', `/api/jobs/${id}`).catch(() => undefined);
      const asked = await Promise.all(ids.map(ask));
      return asked.every((answer) => answer?.json?.data === 'Completed');
    }, FINISHED_MS_MAX);
    for (const id of ids) {
      const { json } = expectStatus(await cluster.admin('GET', `/management/jobs/${id}/info`), 200);
      expect(json.data.result).toEqual({ matched: nodes, changed: nodes, skipped: 0 });
    }
    const columns = counters.map(
      (name) => `MIN(properties->>'${name}') || '-' || MAX(properties->>'${name}')`,
    );
    const [row] = await run(
      `SELECT ${columns.map((text, n) => `${text} AS c${n}`).join(', ')} FROM 'load' WHERE node_type = 'test:Item'`,
    );
    expect(Object.values(row)).toEqual(counters.map(() => `${count}-${count}`));
  }

  it('change every node once when the owner of their branch is killed [JOB-012]', async () => {
    const owner = await cluster.ownerOf(repository);
    const other = cluster.up.find((member) => member !== owner) as ClusterMember;
    const ids = await submitAll(other);
    await owner.arm('after-durable:5');
    await owner.died();
    await expectDone(ids, 1);
    await owner.start();
  });

  it('change every node once when a member that runs them is killed [JOB-012]', async () => {
    const owner = await cluster.ownerOf(repository);
    const doomed = cluster.up.find((member) => member !== owner) as ClusterMember;
    await doomed.arm('mid-job:2');
    const ids = await submitAll(owner);
    await doomed.died();
    await expectDone(ids, 2);
    await doomed.start();
  });
});
