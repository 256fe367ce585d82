import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemberLocks } from '#server/provisioning/branch-locks.ts';
import { createHttpServer, type HttpServer } from '#protocols/http/uws-server.ts';
import { contentRoutes } from '#protocols/rest/content-routes.ts';
import { WaitingCallers } from '#protocols/rest/access/waiting-callers.ts';
import { lockRoutes } from '#protocols/rest/locks/locks.ts';
import type { DefinitionsContext } from '#protocols/rest/schema/definitions.ts';
import type { SqlRouteContext } from '#protocols/rest/sql/run-text.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { FarMember } from '#test/support/far-member.ts';
import { adminOf, callers } from '#test/support/host-fixture.ts';
import { HttpClient, type TestRequest, type TestResponse } from '#test/support/http-client.ts';

/** Nodes that are made, in pages of fewer. */
const NODES = 5;

let member: FarMember;
let server: HttpServer;
let client: HttpClient;

beforeEach(async () => {
  member = await FarMember.open();
  await makeRepository();
  await member.follow();
  const { directory, router } = member;
  const locks = new MemberLocks(router, member.owner.host, true);
  const jobs = { indexBuildListed: () => Promise.resolve() };
  const unused = () => Promise.reject(new Error('no request here needs it'));
  const context: DefinitionsContext & SqlRouteContext = {
    router,
    directory,
    locks,
    clock: systemClock,
    jobs,
    slices: new SliceScheduler(systemClock),
    bulk: { enqueue: unused, refuse: unused },
    authFunctions: { answers: unused, change: unused },
    branches: { createBranch: unused, removeBranch: unused, createTag: unused, removeTag: unused },
  };
  const waitingCallers = new WaitingCallers({ present: () => Promise.resolve() });
  server = createHttpServer<Principal>({
    routes: [...contentRoutes(context), ...lockRoutes({ ...context, waitingCallers })],
    authenticate: () => adminOf('default'),
    clock: systemClock,
    random: systemRandom,
    log: { error: () => undefined },
    observe: () => undefined,
    limits: { bodyBytesMax: 1_000_000, jsonDepthMax: 64, pathBytesMax: 10_000, inFlightMax: 100 },
  });
  client = new HttpClient((await server.listen('127.0.0.1', 0)).port);
});

afterEach(async () => {
  client.close();
  await server.close();
  await member.close();
});

/** Makes `blog` with a branch `dev` and a workspace; the member has not read of it. */
async function makeRepository(): Promise<void> {
  await member.create();
  const { actor } = await member.found();
  await member.owner.command(
    actor,
    {
      type: 'PutWorkspace',
      name: 'load',
      definition: { allowed_node_types: [], allowed_root_node_types: [] },
    } as never,
    callers.admin,
  );
  await member.fork('dev');
}

/** Sends a request. @returns the answer, and the messages the owner was sent for it, by type */
async function send(
  method: string,
  path: string,
  options: TestRequest = {},
): Promise<TestResponse & { readonly asked: readonly string[] }> {
  member.asked = [];
  const answer = await client.request(method, path, options);
  return Object.assign(answer, { asked: member.asked });
}

const headOf = (branch: string): string => `/api/repository/blog/${branch}/head/load/`;

function create(name: string, branch = 'dev', headers = {}) {
  const node = { name, node_type: 'svc:Folder', properties: { title: `${name} of ${branch}` } };
  return send('POST', headOf(branch), { body: node, headers });
}

const read = (name: string, branch = 'dev', headers = {}) =>
  send('GET', `${headOf(branch)}${name}`, { headers });

const acquire = (key: string, branch = 'dev') =>
  send('POST', `/api/blog/${branch}/locks/acquire`, { body: { key, ttl_ms: 60_000 } });

/** The member has used the branch, so that nothing has to be looked up for it any more. */
async function used(branch = 'dev'): Promise<void> {
  expectStatus(await create('first', branch), 201);
  expectStatus(await acquire('first', branch), 200);
}

async function tagDev(name: string, revision: string): Promise<void> {
  const tag = {
    name,
    revision: parseRevision(revision),
    createdBy: 'system',
    message: null,
    protected: false,
  };
  await member.branches.createTag(await member.found(), tag, { caller: callers.admin });
}

describe('a request for a branch of another member', () => {
  it('is sent to its owner in one message', async () => {
    await used();
    for (const name of ['a', 'b', 'c', 'd']) expect((await create(name)).asked).toEqual(['CreateNode']);
    const node = await read('a');
    expect([node.status, node.json.properties.title, node.asked]).toEqual([200, 'a of dev', ['ReadAtHead']]);
    const at = revisionOf(node);
    expect((await send('GET', `/api/repository/blog/dev/rev/${at}/load/a`)).asked).toEqual(['ReadAtHead']);
    expect((await send('GET', '/api/history/blog/dev/load/a')).asked).toEqual(['ReadAtHead']);
    expect((await acquire('key')).asked).toEqual(['AcquireLock']);
    const missing = await read('nothing');
    expect([missing.status, missing.json.code, missing.asked]).toEqual([
      404,
      'NODE_NOT_FOUND',
      ['ReadAtHead'],
    ]);
    const list = await send('GET', `${headOf('dev')}?limit=2`);
    expect([list.json.items.length, list.asked]).toEqual([2, ['ReadAtHead']]);
    const all = await send('GET', `${headOf('dev')}?level=3&format=array`);
    expect([expectStatus(all, 200).json.length >= NODES, all.asked]).toEqual([true, ['ReadAtHead']]);
  });

  it('names the head the owner is at', async () => {
    await used();
    const written = await create('a');
    expect(revisionOf(await read('a'))).toBe(revisionOf(written));
    expect(revisionOf(await create('b'))).toBe(revisionOf(await read('a')));
  });

  it('is refused first for an impossible minimum revision, as without a guess', async () => {
    await used();
    const future = { 'x-svc-min-revision': '4000000000000-0' };
    for (const name of ['first', 'nothing'])
      expect((await read(name, 'dev', future)).json.code).toBe('CONFLICT');
    expect(
      (await read('first', 'dev', { 'x-svc-min-revision': revisionOf(await read('first')) })).status,
    ).toBe(200);
  });

  it('asks without a guess when it sets its consistency', async () => {
    await used();
    const { asked, status } = await read('first', 'dev', { 'x-svc-consistency': 'strict' });
    expect([status, asked]).toEqual([200, ['FindRepository', 'FindBranch', 'ReadBranchState', 'ReadNode']]);
  });
});

describe('a request for a branch that was replaced meanwhile', () => {
  it('is answered by the new one of its name, also where a tag has kept the old one', async () => {
    await used();
    const old = await create('old');
    await tagDev('kept', revisionOf(old));
    const list = await send('GET', `${headOf('dev')}?limit=1`);
    const before = await read('old');
    expect(before.status).toBe(200);
    await member.removeBranch('dev');
    const made = await member.fork('dev');
    // The member has not read of it.
    const gone = await read('old');
    expect([gone.status, gone.json.code, gone.asked[0]]).toEqual([404, 'NODE_NOT_FOUND', 'ReadAtHead']);
    const written = expectStatus(await create('new'), 201);
    expect(revisionOf(await read('new'))).toBe(revisionOf(written));
    expect((await read('new', 'kept')).status).toBe(404);
    expect(expectStatus(await read('old', 'kept'), 200).json).toEqual(before.json);
    expectStatus(await acquire('first'), 200);
    // A cursor is of the branch that answered, wherever the member took it to be.
    expectStatus(await create('newer'), 201);
    const page = expectStatus(await send('GET', `${headOf('dev')}?limit=1`), 200).json;
    await member.follow();
    const next = `${headOf('dev')}?limit=1&cursor=${page.next_cursor}`;
    const names = [page, expectStatus(await send('GET', next), 200).json].map(({ items }) => items[0].name);
    expect(names.sort()).toEqual(['new', 'newer']);
    const stale = `${headOf('dev')}?limit=1&cursor=${list.json.next_cursor}`;
    expect((await send('GET', stale)).json.code).toBe('INVALID_CURSOR');
    const again = await read('new');
    expect([again.status, again.asked]).toEqual([200, ['ReadAtHead']]);
    expect(
      ((await member.directory.likelyBranch('default', 'blog', 'dev', 'read')) as { uid: string }).uid,
    ).toBe(made.uid);
  });

  it('writes once, under its key too', async () => {
    await used();
    await member.removeBranch('dev');
    await member.fork('dev');
    const key = { 'idempotency-key': 'k1' };
    const written = await create('once', 'dev', key);
    expect(written.status).toBe(201);
    expect(written.asked.filter((type) => type === 'CreateNode')).toHaveLength(2);
    const repeated = expectStatus(await create('once', 'dev', key), 201);
    expect([repeated.json, revisionOf(repeated)]).toEqual([written.json, revisionOf(written)]);
    expect((await create('once')).json.message).toMatch(/already exists/);
  });

  it('is refused where there is none of its name', async () => {
    await used();
    await member.removeBranch('dev');
    for (const answer of [await read('first'), await create('late'), await acquire('late')])
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    await member.remove();
    for (const answer of [await read('first'), await create('late'), await acquire('late')])
      expect([answer.status, answer.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
  });

  it('reaches the recreated repository', async () => {
    await used();
    await member.remove();
    await makeRepository();
    expect((await read('first')).json.code).toBe('NODE_NOT_FOUND');
    expectStatus(await create('late'), 201);
    expectStatus(await acquire('first'), 200);
  });

  it('meets the tag of its name, and writes nothing there', async () => {
    await used();
    const old = await create('old');
    await tagDev('kept', revisionOf(old));
    await member.removeBranch('dev');
    await tagDev('dev', revisionOf(old));
    const answer = expectStatus(await read('old'), 200);
    expect([answer.json.properties.title, revisionOf(answer)]).toEqual(['old of dev', revisionOf(old)]);
    for (const refused of [await create('late'), await acquire('late')])
      expect(refused.json.code).toBe('READ_ONLY_REVISION');
  });
});
