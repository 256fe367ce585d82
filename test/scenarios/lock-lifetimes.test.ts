import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { TestClock } from '#test/support/test-clock.ts';

let server: TestServer;
let content: ContentClient;
let locks: LocksClient;

async function begin(options: Parameters<typeof startServer>[0] = {}): Promise<void> {
  server = await startServer(options);
  await server.createRepository('shop');
  content = new ContentClient(server, 'shop');
  locks = new LocksClient(server, server.adminToken, 'shop');
}

afterEach(() => server.close());

/** Folders of the actors of a branch, by the name of the branch. */
async function actorsOf(branch: string): Promise<readonly string[]> {
  const tenant = await server.actorFolders('default');
  const repository = tenant.find((name) => name.startsWith('shop~')) as string;
  const folders = await server.actorFolders(`default/${repository}`);
  const own = folders.filter((name) => name.startsWith(`${branch}~`));
  const actors = await Promise.all(own.map((name) => server.actorFolders(`default/${repository}/${name}`)));
  return actors.flat();
}

describe('tokens', () => {
  beforeEach(() => begin());

  it('keep rising over a restart, a head move, the deletion and re-creation of the branch [LOCK-012]', async () => {
    await content.branch('dev');
    const dev = () => new LocksClient(server, server.adminToken, 'shop', 'dev');
    const tokens = [await dev().taken('a'), await dev().taken('b')];
    await server.restart();
    tokens.push(await dev().taken('c'));
    expectStatus(await content.managed('DELETE', '/branches/dev'), 204);
    expect((await dev().acquire('d')).status).toBe(404);
    await content.branch('dev', { upstream_branch: 'main' });
    tokens.push(await dev().taken('a'));
    const space = await content.workspace();
    await space.on('dev').add('/', 'one');
    const head = await content.headOf('dev');
    await space.on('dev').add('/', 'two');
    expectStatus(await content.managed('PUT', '/branches/dev/head', { revision: head }), 204);
    tokens.push(await dev().taken('e'));
    await server.restart();
    expectStatus(await content.managed('DELETE', '/branches/dev'), 204);
    await content.branch('dev');
    tokens.push(await dev().taken('a'));
    expect(tokens).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('rise above those of every repository there was by the name, on all branches [LOCK-012]', async () => {
    await content.branch('dev');
    const dev = () => new LocksClient(server, server.adminToken, 'shop', 'dev');
    const newest = { main: await locks.taken('a'), dev: await dev().taken('a') };
    expect(newest).toEqual({ main: 1, dev: 1 });
    for (let times = 0; times < 3; times += 1) {
      expectStatus(await server.admin('DELETE', '/api/repositories/shop'), 204);
      if (times === 1) await server.restart();
      await server.createRepository('shop');
      await content.branch('dev');
      const now = { main: await locks.taken('a'), dev: await dev().taken('a') };
      expect(now.main).toBeGreaterThan(newest.main);
      expect(now.dev).toBeGreaterThan(newest.dev);
      expect(Number.isSafeInteger(now.main)).toBe(true);
      Object.assign(newest, now);
    }
    expect((await server.admin('GET', '/api/repositories')).text).not.toContain('loor');
    await server.createRepository('another');
    expect(await new LocksClient(server, server.adminToken, 'another').taken('a')).toBe(1);
  });

  it('are granted again when a deletion is refused', async () => {
    await content.branch('kept', { protected: true });
    const kept = new LocksClient(server, server.adminToken, 'shop', 'kept');
    const token = await kept.taken('a');
    expect((await content.managed('DELETE', '/branches/kept')).status).toBe(403);
    expect(await kept.taken('b')).toBe(token + 1);
  });

  it('are of one branch alone', async () => {
    await content.branch('other');
    await locks.taken('a');
    await locks.taken('b');
    expect(await new LocksClient(server, server.adminToken, 'shop', 'other').taken('a')).toBe(1);
  });
});

describe('the locks of a branch', () => {
  beforeEach(() => begin());

  it('are made by the first use, not by looking, and go with the branch', async () => {
    await content.branch('dev');
    const dev = new LocksClient(server, server.adminToken, 'shop', 'dev');
    expect((await dev.get('/locks')).json).toEqual({ items: [], next_cursor: null });
    expect((await dev.get('/locks/a')).status).toBe(404);
    expect(await actorsOf('dev')).toEqual(['branch']);
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => dev.taken(key)));
    expect(await actorsOf('dev')).toEqual(['branch', 'locks']);
    expectStatus(await content.managed('DELETE', '/branches/dev'), 204);
    expect(await actorsOf('dev')).toEqual([]);
  });

  it('go also where the content of the branch stays for a tag', async () => {
    await content.branch('dev');
    const space = await content.workspace();
    await space.on('dev').add('/', 'one');
    const revision = await content.headOf('dev');
    expectStatus(await content.managed('POST', '/tags', { name: 'v1', revision }), 201);
    await new LocksClient(server, server.adminToken, 'shop', 'dev').taken('a');
    expectStatus(await content.managed('DELETE', '/branches/dev'), 204);
    expect(await actorsOf('dev')).toEqual(['branch']);
    expect(await space.on('v1').names()).toEqual(['one']);
    await content.branch('dev');
    expect(await new LocksClient(server, server.adminToken, 'shop', 'dev').taken('a')).toBe(2);
  });

  it('can be listed and looked at, page by page [LOCK-020]', async () => {
    const tokens = new Map<string, number>();
    for (const key of ['c', 'a/b', 'ä', 'b'])
      tokens.set(key, await locks.taken(key, 60_000, { owner: `of ${key}` }));
    await locks.claim('one', 1, 3);
    await locks.claim('two', 2, 2);
    const first = (await locks.get('/locks?limit=3')).json;
    expect(first.items.map(({ key }: { key: string }) => key)).toEqual(['a/b', 'b', 'c']);
    expect(first.items[0]).toEqual({
      key: 'a/b',
      token: tokens.get('a/b'),
      owner: 'of a/b',
      ttl_ms: 60_000,
      waiting: 0,
      acquired_at_ms: expect.any(Number),
      expires_at_ms: expect.any(Number),
    });
    const second = (await locks.get(`/locks?limit=3&cursor=${first.next_cursor}`)).json;
    expect(second.items.map(({ key }: { key: string }) => key)).toEqual(['ä']);
    expect(second.next_cursor).toBe(null);
    expect((await locks.get('/locks/a%2Fb')).json.token).toBe(tokens.get('a/b'));
    expect((await locks.get('/locks/nobody')).status).toBe(404);
    expect((await locks.get('/inventory')).json).toEqual({
      items: [
        { pool: 'one', capacity: 3, remaining: 2 },
        { pool: 'two', capacity: 2, remaining: 0 },
      ],
      next_cursor: null,
    });
    expect((await locks.get('/inventory/two')).json).toEqual({ pool: 'two', capacity: 2, remaining: 0 });
    expect((await locks.get('/locks?cursor=%21')).json.code).toBe('INVALID_CURSOR');
    expect((await locks.get('/locks?limit=ten')).status).toBe(400);
  });

  it('are in the description of the interface', async () => {
    const { json } = await server.request('GET', '/openapi.json');
    const paths = Object.keys(json.paths).filter((path) => path.startsWith('/api/{repo}/{branch}/'));
    expect(paths.toSorted()).toEqual([
      '/api/{repo}/{branch}/inventory/claim',
      '/api/{repo}/{branch}/inventory/release',
      '/api/{repo}/{branch}/inventory/{pool}',
      '/api/{repo}/{branch}/locks/acquire',
      '/api/{repo}/{branch}/locks/release',
      '/api/{repo}/{branch}/locks/renew',
      '/api/{repo}/{branch}/locks/{key}',
      '/api/{repo}/{branch}/{list}',
    ]);
  });
});

describe('time', () => {
  it('counts from the restart, for every lock that was held [LOCK-013]', async () => {
    const clock = new TestClock(Date.now());
    await begin({ clock });
    const token = await locks.taken('a', 60_000);
    clock.advance(59_000);
    await server.restart();
    clock.advance(59_000);
    expect((await locks.acquire('a')).status).toBe(409);
    expect((await locks.renew('a', token, 60_000)).json).toEqual({ renewed: true });
    await server.restart();
    clock.advance(60_000);
    expect((await locks.renew('a', token, 60_000)).json).toEqual({ renewed: false });
    expect(await locks.taken('a')).toBe(token + 1);
  });

  it('is not waited for by a server that stops', async () => {
    await begin();
    await locks.taken('a');
    const waiting = locks.openAcquire({ key: 'a', ttl_ms: 60_000, wait_ms: 60_000 });
    await locks.waiting('a', 1);
    await server.restart();
    expect(await waiting.status).toBe(503);
    expect((await locks.acquire('a')).status).toBe(409);
  });
});

describe('locks that are switched off', () => {
  it('answer 503 on every route, and to every write that names one [LOCK-011]', async () => {
    await begin({ config: '[locks]\nenabled = false\n' });
    const space = await content.workspace();
    const lock = { key: 'a', token: 1 };
    const answers = [
      await locks.acquire('a'),
      await locks.release('a', 1),
      await locks.renew('a', 1),
      await locks.claim('p', 1, 1),
      await locks.releaseUnits('p', 1),
      await locks.get('/locks'),
      await locks.get('/locks/a'),
      await locks.get('/inventory'),
      await locks.get('/inventory/p'),
      await space.post('/', { name: 'n', node_type: 'svc:Folder', properties: {}, lock }),
    ];
    for (const { json, status } of answers) expect([status, json.code]).toEqual([503, 'LOCKS_DISABLED']);
    await space.add('/', 'n');
    expect(await actorsOf('main')).toEqual(['branch']);
  });
});

describe('a write that names a lock', () => {
  let space: Space;
  let token: number;

  beforeEach(async () => {
    await begin();
    space = await content.workspace();
    token = await locks.taken('order; 7', 60_000);
  });

  const body = (name: string) => ({ name, node_type: 'svc:Folder', properties: {} });

  function send(method: string, path: string, lock: string, payload?: unknown) {
    return server.request(method, space.url(path), {
      token: server.adminToken,
      headers: { 'x-svc-lock': lock },
      ...(payload === undefined ? {} : { body: payload }),
    });
  }

  it('happens while the lock is held, by the body or by the header [LOCK-014]', async () => {
    const lock = { key: 'order; 7', token };
    const header = `${encodeURIComponent(lock.key)};${token}`;
    expectStatus(await space.post('/', { ...body('a'), lock }), 201);
    expectStatus(await space.put('/a', { properties: { x: 1 }, lock }), 200);
    expectStatus(await space.command('/a', 'rename', { newName: 'b', lock }), 200);
    const operations = [{ type: 'create', node: body('c') }];
    expectStatus(await space.command('/', 'commit', { message: 'm', operations, lock }), 200);
    expectStatus(await space.delete('/c', { lock }), 200);
    expectStatus(await send('POST', '/', header, body('d')), 201);
    expectStatus(await send('PUT', '/d@x', header, 5), 200);
    expectStatus(await send('DELETE', '/d', header), 200);
    expect(await space.names()).toEqual(['b']);
  });

  it('is another request with another lock: a repetition with a fresh one does not get the refusal of the first', async () => {
    const repeated = (lock: string) =>
      server.request('POST', space.url('/'), {
        token: server.adminToken,
        headers: { 'x-svc-lock': lock, 'idempotency-key': 'k' },
        body: body('a'),
      });
    const key = encodeURIComponent('order; 7');
    const stale = await repeated(`${key};${token + 1}`);
    expect([stale.status, stale.json.code]).toEqual([409, 'LOCK_NOT_HELD']);
    const fresh = await repeated(`${key};${token}`);
    expect([fresh.status, fresh.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
  });

  it('is refused in the commit when it is not, and leaves nothing behind [LOCK-014]', async () => {
    const head = await content.headOf('main');
    const key = 'order; 7';
    const header = `${encodeURIComponent(key)};${token - 1}`;
    const stale = [
      await space.post('/', { ...body('a'), lock: { key, token: token + 1 } }),
      await space.post('/', { ...body('a'), lock: { key: 'other', token } }),
      await send('POST', '/', header, body('a')),
      await space.command('/', 'commit', {
        message: 'm',
        operations: [{ type: 'create', node: body('a') }],
        lock: { key, token: 0 },
      }),
    ];
    await locks.release(key, token);
    stale.push(await space.post('/', { ...body('a'), lock: { key, token } }));
    const next = await locks.taken(key);
    stale.push(await space.post('/', { ...body('a'), lock: { key, token } }));
    for (const { json, status } of stale) expect([status, json.code]).toEqual([409, 'LOCK_NOT_HELD']);
    expect(await content.headOf('main')).toBe(head);
    expectStatus(await space.post('/', { ...body('a'), lock: { key, token: next } }), 201);
  });

  it('is refused on a branch without any lock so far', async () => {
    await content.branch('dev', { upstream_branch: 'main' });
    const answer = await space.on('dev').post('/', { ...body('a'), lock: { key: 'order; 7', token } });
    expect([answer.status, answer.json.code]).toEqual([409, 'LOCK_NOT_HELD']);
  });

  it('is refused with the error in the lock reference', async () => {
    expect((await send('POST', '/', 'nonsense', body('a'))).status).toBe(400);
    expect((await send('POST', '/', 'key;', body('a'))).status).toBe(400);
    expect((await send('POST', '/', `k;${token}`, { ...body('a'), lock: { key: 'k', token } })).status).toBe(
      400,
    );
    const untyped = await space.post('/', { ...body('a'), lock: { key: 'k' } });
    expect([untyped.status, untyped.text]).toEqual([422, 'missing field `lock.token`']);
    expect((await space.post('/', { ...body('a'), lock: 'k' })).status).toBe(422);
  });

  it('completes before another caller gets the lock: releases wait for it', async () => {
    const lock = { key: 'order; 7', token };
    const writes = Array.from({ length: 40 }, (_, index) => space.post('/', { ...body(`n${index}`), lock }));
    const release = locks.release(lock.key, token);
    const next = locks.acquire(lock.key, 60_000, { wait_ms: 10_000 });
    const [released, granted, ...written] = await Promise.all([release, next, ...writes]);
    expect([released.json, granted.status]).toEqual([{ released: true }, 200]);
    const made = written.filter(({ status }) => status === 201);
    expect(
      written.filter(({ status }) => status !== 201).every(({ json }) => json.code === 'LOCK_NOT_HELD'),
    ).toBe(true);
    expect(await space.names()).toHaveLength(made.length);
  });
});
