import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { callsOf as heardCalls } from '#test/support/heard-calls.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const REPOSITORY = 'garden';
const local = { 'x-svc-consistency': 'local' };

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: 1 });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: REPOSITORY }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${REPOSITORY}/g`, open), 204);
  await cluster.settled();
});

afterAll(() => cluster?.close());

const folder = (path: string) => `INSERT INTO 'g' (path, node_type) VALUES ('${path}', 'svc:Folder')`;

function ask(member: ClusterMember, sql: string, headers = {}): Promise<TestResponse> {
  return cluster.adminAt(member, 'POST', `/api/sql/${REPOSITORY}`, { sql }, headers);
}

async function rows(member: ClusterMember, sql: string, headers = {}): Promise<unknown> {
  return expectStatus(await ask(member, sql, headers), 200).json.rows;
}

async function othersThanOwner(): Promise<readonly [ClusterMember, ClusterMember]> {
  const owner = await cluster.ownerOf(REPOSITORY);
  return cluster.members.filter((each) => each !== owner) as [ClusterMember, ClusterMember];
}

async function callsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  return heardCalls(nats(), await cluster.ownerOf(REPOSITORY), REPOSITORY, work);
}

it('a text that writes is run by any member, with one call for each command [SQL-074]', async () => {
  const [other] = await othersThanOwner();
  // So that the member has looked everything up once.
  await rows(other, `${folder('/first')}; SELECT 1 AS a`);
  const calls = await callsOf(async () => {
    const read = `SELECT path FROM 'g' WHERE PATH_STARTS_WITH(path, '/a') ORDER BY path`;
    expect(await rows(other, `${folder('/a')}; ${folder('/a/b')}; ${read}`)).toEqual([
      { path: '/a' },
      { path: '/a/b' },
    ]);
    expect(await rows(other, `BEGIN; ${folder('/c')}; ${folder('/d')}; COMMIT`)).toEqual([
      { message: 'Transaction committed' },
    ]);
  });
  expect(calls).toEqual(['ChangeBySql', 'ChangeBySql', 'ReadAtHead', 'ChangeBySql']);
});

it('a text of reads takes one call, and none where the own copy suffices [SQL-059]', async () => {
  const [other] = await othersThanOwner();
  const revision = revisionOf(await ask(other, folder('/seen')));
  const sql = "SELECT 1 AS a; SELECT path FROM 'g' WHERE path = '/seen'";
  expect(await callsOf(() => rows(other, sql))).toEqual(['ReadAtHead']);
  const calls = await callsOf(async () => {
    expect(await rows(other, sql, { ...local, 'x-svc-min-revision': revision })).toEqual([{ path: '/seen' }]);
    expect(await rows(other, sql, local)).toEqual([{ path: '/seen' }]);
  });
  expect(calls).toEqual([]);
});

it('reads of a text that writes go to the owner, whatever is asked for [SQL-072]', async () => {
  for (const member of cluster.members) {
    const path = `/strict-${member.id.replaceAll(/[^a-z0-9]/gi, '-')}`;
    const read = `SELECT path FROM 'g' WHERE path = '${path}'`;
    const strict = { 'x-svc-consistency': 'strict' };
    expect(await rows(member, `${folder(path)}; ${read}`, strict)).toEqual([{ path }]);
  }
  for (const [index, member] of (await othersThanOwner()).entries()) {
    // So that the member has looked everything up once.
    await rows(member, folder(`/once-${index}`), local);
    const path = `/own-${index}`;
    const calls = await callsOf(async () => {
      const read = `SELECT path FROM 'g' WHERE path = '${path}'`;
      expect(await rows(member, `${folder(path)}; ${read}`, local)).toEqual([{ path }]);
    });
    expect(calls).toEqual(['ChangeBySql', 'ReadAtHead']);
  }
});
