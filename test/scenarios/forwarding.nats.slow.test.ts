import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { checkLockHistory } from '#test/support/lock-history.ts';
import { HttpClient, type TestResponse } from '#test/support/http-client.ts';
import { LockLoad } from '#test/support/lock-load.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

const PARTITIONS = 6;

/** Writes of each repository before and after something happens. */
const WRITES = 15;

/** Requests of each kind that are under way when an owner dies. */
const REQUESTS = 5;

/** Nodes of a listing that does not fit into what is on the way. */
const LARGE_NODES = 60;

/** Revisions asked for at once. */
const PAGE = 1000;

/** Longest a test waits for what has to come, in milliseconds. */
const PATIENCE_MS = 30_000;

const REPOSITORY = 'red';
const repositories = [REPOSITORY, 'green', 'blue'] as const;

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: PARTITIONS });
  for (const repository of repositories) {
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
    const open = { allowed_node_types: [], allowed_root_node_types: [] };
    expectStatus(await cluster.admin('PUT', `/api/workspaces/${repository}/load`, open), 204);
  }
});

afterAll(() => cluster.close());

/** The owner of the repository, and another member. */
async function ownerAndOther(): Promise<{ readonly owner: ClusterMember; readonly other: ClusterMember }> {
  const owner = await cluster.ownerOf(REPOSITORY);
  const other = cluster.up.find((member) => member !== owner);
  if (other === undefined) throw new Error('there is no other member');
  return { owner, other };
}

function locksAt(member: ClusterMember): LocksClient {
  return new LocksClient(member.process, cluster.token, REPOSITORY);
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${PATIENCE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Makes a node; the revision has its name as its message. */
function create(member: ClusterMember, name: string): Promise<TestResponse> {
  const commit = { message: name, actor: 'test' };
  const node = { name, node_type: 'svc:Folder', properties: { title: name }, commit };
  return cluster.adminAt(member, 'POST', `/api/repository/${REPOSITORY}/main/head/load/`, node);
}

/** An answer that is begun, and read on when `rest` is asked for. */
async function slowly(member: ClusterMember, path: string): Promise<{ rest(): Promise<string> }> {
  const { port } = member.process;
  const headers = { authorization: `Bearer ${cluster.token}` };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, agent: false }, resolve).on('error', reject).end();
  });
  expect(response.statusCode).toBe(200);
  response.pause();
  return { rest: () => text(response) };
}

/** Messages of all revisions of the repository, newest first. */
async function messages(member: ClusterMember): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const path = `/api/management/repositories/default/${REPOSITORY}/revisions?limit=${PAGE}&offset=${all.length}`;
    const { revisions } = expectStatus(await cluster.adminAt(member, 'GET', path), 200).json;
    all.push(...revisions.map(({ message }: { message: string }) => message));
    if (revisions.length < PAGE) return all;
  }
}

describe('a forwarded command without a key whose owner dies', () => {
  it('is answered with what it did: the answer was lost behind the commit', async () => {
    const { owner, other } = await ownerAndOther();
    const locks = locksAt(other);
    const held = await locks.taken('held');
    const waiting = locks.acquire('held', 60_000, { wait_ms: 40_000 });
    await until(
      async () => (await locks.get('/locks/held')).json.waiting === 1,
      'an acquire stands in line at the owner',
    );
    // The next batch becomes durable, and nobody hears of it.
    await owner.arm('before-reply:1');
    const numbers = Array.from({ length: REQUESTS }, (_, number) => number);
    const acquires = numbers.map((number) => locks.acquire(`k${number}`));
    const claims = numbers.map(() => locks.claim('pool', 2, 100));
    const creates = numbers.map((number) => create(other, `lost-${number}`));
    const tokens = (await Promise.all(acquires)).map((answer) => expectStatus(answer, 200).json.token);
    expect(new Set([held, ...tokens]).size).toBe(REQUESTS + 1);
    for (const answer of await Promise.all(claims)) expectStatus(answer, 200);
    for (const answer of await Promise.all(creates)) expectStatus(answer, 201);
    await owner.died();
    // Who won holds it, and nobody else.
    for (const number of numbers) expect((await locks.acquire(`k${number}`)).status).toBe(409);
    for (const [number, token] of tokens.entries())
      expect((await locks.release(`k${number}`, token)).json).toEqual({ released: true });
    expect((await locks.get('/inventory/pool')).json).toMatchObject({ remaining: 100 - 2 * REQUESTS });
    const made = await messages(other);
    for (const number of numbers) expect(made.filter((each) => each === `lost-${number}`)).toHaveLength(1);
    // It goes on waiting at the next owner.
    await until(
      async () => (await locks.get('/locks/held')).json.waiting === 1,
      'the acquire stands in line at the next owner',
    );
    expect((await locks.release('held', held)).json).toEqual({ released: true });
    expect(expectStatus(await waiting, 200).json.token).toBeGreaterThan(held);
    await owner.start();
  });

  it('is answered also when it is a fork', async () => {
    const { owner, other } = await ownerAndOther();
    await owner.arm('mid-fork:1');
    const path = `/api/management/repositories/default/${REPOSITORY}/branches`;
    const branch = { name: 'dev', upstream_branch: 'main' };
    expectStatus(await cluster.adminAt(other, 'POST', path, branch), 201);
    await owner.died();
    const read = (name: string) =>
      cluster.adminAt(other, 'GET', `/api/repository/${REPOSITORY}/${name}/head/load/`);
    expect((await read('dev')).text).toBe((await read('main')).text);
    const twice = await cluster.adminAt(other, 'POST', path, branch);
    expect([twice.status, twice.json.code]).toEqual([409, 'BRANCH_ALREADY_EXISTS']);
    await owner.start();
  });
});

describe('a planned hand-over', () => {
  it('lets a reply that is being sent complete while the successor writes', async () => {
    const { owner, other } = await ownerAndOther();
    const path = `/api/repository/${REPOSITORY}/main/head/load`;
    expectStatus(
      await cluster.adminAt(other, 'POST', `${path}/`, { name: 'big', node_type: 'svc:Folder' }),
      201,
    );
    const properties = { text: 'ü'.repeat(200_000) };
    for (let n = 0; n < LARGE_NODES; n += 1)
      expectStatus(
        await cluster.adminAt(other, 'POST', `${path}/big/`, {
          name: `n${n}`,
          node_type: 'svc:Folder',
          properties,
        }),
        201,
      );
    // More than everything on the way holds: the owner waits for this reader.
    const listing = await slowly(other, `${path}/big/`);
    const drained = owner.drain();
    await until(
      async () => (await cluster.ownerOf(REPOSITORY).catch(() => owner)) !== owner,
      'another member owns the repository',
    );
    expectStatus(await create(other, 'while-told'), 201);
    expect(JSON.parse(await listing.rest())).toHaveLength(LARGE_NODES);
    expect(await drained).toBe(0);
    await owner.start();
  });

  it('waits for no lease and makes no request fail, as does a member that joins [CLU-006]', async () => {
    const { owner } = await ownerAndOther();
    const before = cluster.members.map((member) => openings(member).length);
    const openedSince = () => cluster.members.flatMap((each, at) => openings(each).slice(before[at]));
    const writes = new WriteLoad(cluster, repositories, 'hand-over').start();
    const locks = new LockLoad(cluster, REPOSITORY).start();
    await Promise.all([writes.progress(WRITES), locks.progress(50)]);
    const given = (await cluster.ownedCounts()).get(owner.id) ?? 0;
    expect(await owner.drain()).toBe(0);
    await Promise.all([writes.progress(WRITES), locks.progress(50)]);
    tellReport('a drain', await writes.stop());
    expect(given).toBeGreaterThan(0);
    expect(openedSince().length).toBeGreaterThanOrEqual(given);
    const joining = new WriteLoad(cluster, repositories, 'join').start(1);
    await joining.progress(WRITES);
    await owner.start();
    await cluster.settled();
    await joining.progress(WRITES);
    tellReport('a member that joins', await joining.stop());
    await locks.stop();
    expect([...writes.troubles, ...joining.troubles]).toEqual([]);
    expect(locks.history.events.filter(({ type }) => type === 'unknown')).toEqual([]);
    expect([...(await writes.check()), ...(await joining.check())]).toEqual([]);
    expect(checkLockHistory(locks.history.events)).toEqual([]);
    expect(await locks.checkUnits()).toEqual([]);
    // Each successor opened behind the good-bye of the owner before.
    expect(openedSince().filter(({ waitedMs }) => waitedMs > 0)).toEqual([]);
  });
});

/** What a member logged of partitions it opened. */
function openings(member: ClusterMember): { readonly partition: number; readonly waitedMs: number }[] {
  return member.linesOf('partition: opened') as never;
}

/**
 * Makes a node at a member that stands still: over a connection of its own, for one that was idle may be closed when
 * the member goes on; and again as long as the member says that nothing was done, for it may have to connect first.
 */
async function createLate(member: ClusterMember, name: string): Promise<TestResponse> {
  const client = new HttpClient(member.process.port);
  const body = { name, node_type: 'svc:Folder', commit: { message: name, actor: 'test' } };
  const path = `/api/repository/${REPOSITORY}/main/head/load/`;
  try {
    for (;;) {
      const answer = await client.request('POST', path, { token: cluster.token, body });
      if (answer.status !== 503) return answer;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    client.close();
  }
}

describe('paused owners', () => {
  it('one for 30 s and one, meanwhile, whose event loop is blocked for 15 s: nothing is lost or answered from old state', async () => {
    const { owner } = await ownerAndOther();
    const load = new WriteLoad(cluster, repositories, 'still').start(2);
    await load.progress(WRITES);
    owner.pause();
    const pausedMs = performance.now();
    await load.progress(WRITES);
    const next = await cluster.ownerOf(REPOSITORY);
    expect(next).not.toBe(owner);
    const blocked = next.block(15_000);
    await load.progress(WRITES);
    tellReport('SIGSTOP and a blocked event loop at the same time', await load.stop());
    await blocked;
    // It takes these when it goes on, and before it knows that others own what it had.
    const late = Array.from({ length: REQUESTS }, (_, number) => createLate(owner, `late-${number}`));
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 30_000 - (performance.now() - pausedMs))));
    const after = new WriteLoad(cluster, repositories, 'after').start(2);
    owner.resume();
    for (const answer of await Promise.all(late)) expectStatus(answer, 201);
    await after.progress(WRITES);
    tellReport('going on after 30 s', await after.stop());
    expect([...(await load.check()), ...(await after.check())]).toEqual([]);
    const made = await messages(owner);
    for (const number of late.keys())
      expect(made.filter((each) => each === `late-${number}`)).toHaveLength(1);
  });
});
