import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let locks: LocksClient;

beforeAll(async () => {
  server = await startServer();
  await server.createRepository('shop');
  locks = new LocksClient(server, server.adminToken, 'shop');
});

afterAll(() => server.close());

describe('a lock', () => {
  it('is granted to one at a time, with a token and an expiry [LOCK-001] [LOCK-002]', async () => {
    const before = Date.now();
    const first = await locks.acquire('a', 30_000, { owner: 'till-1' });
    expect(first.status).toBe(200);
    expect(first.json).toEqual({
      acquired: true,
      key: 'a',
      token: expect.any(Number),
      expires_at_ms: expect.any(Number),
    });
    expect(first.json.expires_at_ms).toBeGreaterThanOrEqual(before + 30_000);
    expect(first.json.expires_at_ms).toBeLessThanOrEqual(Date.now() + 30_000);
    const second = await locks.acquire('a');
    expect([second.status, second.json]).toEqual([409, { acquired: false }]);
  });

  it('is not given to its owner again: owner is informational [LOCK-009]', async () => {
    const token = await locks.taken('own', 60_000, { owner: 'me' });
    const again = await locks.acquire('own', 60_000, { owner: 'me' });
    expect([again.status, again.json]).toEqual([409, { acquired: false }]);
    expect((await locks.post('/locks/release', { key: 'own', token, owner: 'other' })).json).toEqual({
      released: true,
    });
  });

  it('can be taken again after it was given back, with a higher token [LOCK-003] [LOCK-004]', async () => {
    const tokens: number[] = [];
    for (const key of ['b', 'b', 'c', 'b']) {
      const token = await locks.taken(key);
      tokens.push(token);
      expect((await locks.release(key, token)).json).toEqual({ released: true });
    }
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).toBe(4);
  });

  it('is not released by others, and not twice [LOCK-005]', async () => {
    const token = await locks.taken('d');
    for (const [key, wrong] of [
      ['d', token + 1],
      ['d', token - 1],
      ['unknown', token],
    ] as const) {
      const answer = await locks.release(key, wrong);
      expect([answer.status, answer.json]).toEqual([200, { released: false }]);
    }
    expect((await locks.release('d', token)).json).toEqual({ released: true });
    expect((await locks.release('d', token)).json).toEqual({ released: false });
  });

  it('lasts longer when it is renewed, counted from now [LOCK-006]', async () => {
    const token = await locks.taken('e', 60_000);
    const before = Date.now();
    expect((await locks.renew('e', token, 10_000)).json).toEqual({ renewed: true });
    const { json } = await locks.get('/locks/e');
    expect(json.expires_at_ms).toBeGreaterThanOrEqual(before + 10_000 - 50);
    expect(json.expires_at_ms).toBeLessThanOrEqual(Date.now() + 10_000 + 50);
    expect((await locks.acquire('e')).status).toBe(409);
  });

  it('cannot be renewed once it is lost [LOCK-007]', async () => {
    const token = await locks.taken('f');
    for (const [key, wrong] of [
      ['f', token + 1],
      ['never', 1],
    ] as const) {
      const answer = await locks.renew(key, wrong);
      expect([answer.status, answer.json]).toEqual([200, { renewed: false }]);
    }
    await locks.release('f', token);
    expect((await locks.renew('f', token)).json).toEqual({ renewed: false });
  });

  it('ends by itself when it is not renewed, and is free then [LOCK-008]', async () => {
    const token = await locks.taken('g', 40);
    const waited = await locks.acquire('g', 60_000, { wait_ms: 20_000 });
    expect(waited.status).toBe(200);
    expect(waited.json.token).toBeGreaterThan(token);
    expect((await locks.renew('g', token)).json).toEqual({ renewed: false });
    expect((await locks.release('g', token)).json).toEqual({ released: false });
  });

  it('is apart from content and from other branches: no revision, no head [LOCK-017]', async () => {
    const client = new ContentClient(server, 'shop');
    const space = await client.workspace();
    await space.add('/', 'node');
    const head = await client.headOf('main');
    await client.branch('fork', { upstream_branch: 'main' });
    await locks.taken('apart');
    const fork = new LocksClient(server, server.adminToken, 'shop', 'fork');
    expect((await fork.acquire('apart')).status).toBe(200);
    expect(await client.headOf('main')).toBe(head);
    expect(await client.headOf('fork')).toBe(head);
  });

  it('leaves an empty branch empty [LOCK-017]', async () => {
    const client = new ContentClient(server, 'shop');
    await client.branch('bare');
    await new LocksClient(server, server.adminToken, 'shop', 'bare').taken('a');
    expect(await client.headOf('bare')).toBe('0-0');
  });
});

describe('what is not allowed', () => {
  it.each([
    ['/locks/acquire', { ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: 'k' }, 'ttl_ms'],
    ['/locks/acquire', { key: 5, ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: 'k', ttl_ms: '1000' }, 'ttl_ms'],
    ['/locks/acquire', { key: 'k', ttl_ms: 10.5 }, 'ttl_ms'],
    ['/locks/acquire', { key: 'k', ttl_ms: 1000, owner: 7 }, 'owner'],
    ['/locks/acquire', { key: 'k', ttl_ms: 1000, wait_ms: true }, 'wait_ms'],
    ['/locks/release', { key: 'k' }, 'token'],
    ['/locks/release', { key: 'k', token: '1' }, 'token'],
    ['/locks/renew', { key: 'k', token: 1 }, 'ttl_ms'],
    ['/inventory/claim', { pool: 'p', n: 1 }, 'capacity'],
    ['/inventory/claim', { pool: 'p', n: 1.5, capacity: 3 }, 'n'],
    ['/inventory/claim', { n: 1, capacity: 3 }, 'pool'],
    ['/inventory/release', { pool: 'p' }, 'n'],
  ])('%s of %j is 422 and names the field [LOCK-010]', async (path, body, field) => {
    const answer = await locks.post(path, body);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(`\`${field}\``);
  });

  it.each([
    ['/locks/acquire', { key: 'k', ttl_ms: 9 }, 'ttl_ms'],
    ['/locks/acquire', { key: 'k', ttl_ms: 86_400_001 }, 'ttl_ms'],
    ['/locks/acquire', { key: 'k', ttl_ms: -1 }, 'ttl_ms'],
    ['/locks/acquire', { key: '', ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: 'k'.repeat(257), ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: 'a\u0000b', ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: '..', ttl_ms: 1000 }, 'key'],
    ['/locks/acquire', { key: 'k', ttl_ms: 1000, owner: 'o'.repeat(257) }, 'owner'],
    ['/locks/acquire', { key: 'k', ttl_ms: 1000, wait_ms: 60_001 }, 'wait_ms'],
    ['/locks/acquire', { key: 'k', ttl_ms: 1000, wait_ms: -1 }, 'wait_ms'],
    ['/locks/renew', { key: 'k', token: 1, ttl_ms: 1 }, 'ttl_ms'],
    ['/inventory/claim', { pool: 'p', n: 0, capacity: 3 }, 'n'],
    ['/inventory/claim', { pool: 'p', n: -1, capacity: 3 }, 'n'],
    ['/inventory/claim', { pool: 'p', n: 1_000_000_001, capacity: 3 }, 'n'],
    ['/inventory/claim', { pool: 'p', n: 1, capacity: -1 }, 'capacity'],
    ['/inventory/claim', { pool: '\u007f', n: 1, capacity: 1 }, 'pool'],
    ['/inventory/release', { pool: 'p', n: 0 }, 'n'],
  ])('%s of %j is 400 and names the field [LOCK-010]', async (path, body, field) => {
    const answer = await locks.post(path, body);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'VALIDATION_FAILED', field });
  });

  it('takes the shortest and the longest time [LOCK-010]', async () => {
    expect((await locks.acquire('short', 10)).status).toBe(200);
    expect((await locks.acquire('long', 86_400_000)).status).toBe(200);
  });

  it('is 404 for an unknown repository or branch, and leaves nothing behind [LOCK-017]', async () => {
    for (const [repository, branch, code] of [
      ['nothing', 'main', 'REPOSITORY_NOT_FOUND'],
      ['shop', 'nothing', 'BRANCH_NOT_FOUND'],
    ] as const) {
      const client = new LocksClient(server, server.adminToken, repository, branch);
      for (const answer of [
        await client.acquire('a'),
        await client.claim('p', 1, 1),
        await client.get('/locks'),
      ]) {
        expect([answer.status, answer.json.code]).toEqual([404, code]);
      }
    }
    const folders = await server.actorFolders('default');
    expect(folders.filter((name) => name.startsWith('nothing'))).toEqual([]);
  });

  it('is 405 at a tag', async () => {
    const client = new ContentClient(server, 'shop');
    const revision = await client.headOf('main');
    expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision }), 201);
    const answer = await new LocksClient(server, server.adminToken, 'shop', 'v1').acquire('a');
    expect([answer.status, answer.json.code]).toEqual([405, 'READ_ONLY_REVISION']);
  });

  it('is 401 without a login', async () => {
    const body = { key: 'a', ttl_ms: 1000 };
    expect((await server.request('POST', `${locks.base}/locks/acquire`, { body })).status).toBe(401);
    expect((await server.request('GET', `${locks.base}/locks`)).status).toBe(401);
  });
});

describe('a pool', () => {
  it('is seeded by the first claim and gives units until none remain [INV-001] [INV-002]', async () => {
    expect((await locks.claim('p1', 3, 10)).json).toEqual({ claimed: true, remaining: 7 });
    const tooMany = await locks.claim('p1', 8, 10);
    expect([tooMany.status, tooMany.json]).toEqual([409, { claimed: false }]);
    const rest = await locks.claim('p1', 7, 10);
    expect([rest.status, rest.json]).toEqual([200, { claimed: true, remaining: 0 }]);
    expect((await locks.claim('p1', 1, 10)).status).toBe(409);
  });

  it('takes units back, never beyond its capacity [INV-003] [INV-007]', async () => {
    await locks.claim('p2', 5, 5);
    expect((await locks.releaseUnits('p2', 2)).json).toEqual({ remaining: 2 });
    expect((await locks.releaseUnits('p2', 1000)).json).toEqual({ remaining: 5 });
    expect((await locks.claim('p2', 6, 100)).status).toBe(409);
  });

  it('is 404 for a release before the first claim [INV-005]', async () => {
    const answer = await locks.releaseUnits('untouched', 1);
    expect([answer.status, answer.json.code]).toEqual([404, 'POOL_NOT_FOUND']);
    expect((await locks.get('/inventory/untouched')).status).toBe(404);
  });

  it('keeps the capacity of its first touch, also when that claim got nothing [INV-006]', async () => {
    expect((await locks.claim('p3', 5, 4)).status).toBe(409);
    expect((await locks.claim('p3', 5, 1000)).status).toBe(409);
    expect((await locks.claim('p3', 4, 1)).json).toEqual({ claimed: true, remaining: 0 });
    expect((await locks.get('/inventory/p3')).json).toEqual({ pool: 'p3', capacity: 4, remaining: 0 });
  });

  it('is never oversold by parallel claims [INV-004]', async () => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) => locks.claim('hot', 1 + (index % 3), 100)),
    );
    const sold = answers
      .map(({ status }, index) => (status === 200 ? 1 + (index % 3) : 0))
      .reduce((sum, units) => sum + units, 0);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const { json } = await locks.get('/inventory/hot');
    expect(sold + json.remaining).toBe(100);
    // What is left was too little for somebody: there were single units to sell.
    expect(json.remaining).toBe(0);
  });
});

describe('an idempotency key', () => {
  it('makes a repetition hear of the grant instead of a 409 [LOCK-019]', async () => {
    const body = { key: 'i1', ttl_ms: 60_000 };
    const headers = { 'idempotency-key': 'acquire-i1' };
    const first = await locks.post('/locks/acquire', body, headers);
    const second = await locks.post('/locks/acquire', body, headers);
    expect([second.status, second.json]).toEqual([200, first.json]);
    expect((await locks.acquire('i1')).status).toBe(409);
  });

  it('makes a claim count once, and keeps a refusal [LOCK-019]', async () => {
    const body = { pool: 'i2', n: 2, capacity: 3 };
    const claim = (key: string) => locks.post('/inventory/claim', body, { 'idempotency-key': key });
    expect((await claim('one')).json).toEqual({ claimed: true, remaining: 1 });
    expect((await claim('one')).json).toEqual({ claimed: true, remaining: 1 });
    expect((await claim('two')).status).toBe(409);
    await locks.releaseUnits('i2', 2);
    expect((await claim('two')).status).toBe(409);
    expect((await claim('three')).status).toBe(200);
  });

  it('makes the repetition of an acquire that waited hear of its grant [LOCK-019]', async () => {
    const token = await locks.taken('i3');
    const body = { key: 'i3', ttl_ms: 60_000, wait_ms: 20_000 };
    const headers = { 'idempotency-key': 'acquire-i3' };
    const waiting = locks.post('/locks/acquire', body, headers);
    await locks.waiting('i3', 1);
    const early = await locks.post('/locks/acquire', body, headers);
    expect([early.status, early.json.code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    await locks.release('i3', token);
    const granted = await waiting;
    expect(granted.status).toBe(200);
    expect((await locks.post('/locks/acquire', body, headers)).json).toEqual(granted.json);
  });
});

describe('an acquire that waits', () => {
  it('is granted the lock in order of arrival, by the release [LOCK-018]', async () => {
    let token = await locks.taken('w1');
    const granted: number[] = [];
    const waiting = [];
    for (let index = 0; index < 5; index += 1) {
      waiting.push(
        locks.acquire('w1', 60_000, { wait_ms: 20_000 }).then(({ json }) => {
          granted.push(index);
          return json.token as number;
        }),
      );
      await locks.waiting('w1', index + 1);
    }
    for (const next of waiting) {
      expect((await locks.release('w1', token)).json).toEqual({ released: true });
      const later = await next;
      expect(later).toBeGreaterThan(token);
      token = later;
    }
    expect(granted).toEqual([0, 1, 2, 3, 4]);
  });

  it('is refused when its time is up, and gets nothing afterwards [LOCK-018]', async () => {
    const token = await locks.taken('w2');
    const answer = await locks.acquire('w2', 60_000, { wait_ms: 30 });
    expect([answer.status, answer.json]).toEqual([409, { acquired: false }]);
    await locks.release('w2', token);
    expect((await locks.acquire('w2')).status).toBe(200);
  });

  it('leaves the queue when its client disconnects [LOCK-018]', async () => {
    const token = await locks.taken('w3');
    const gone = locks.openAcquire({ key: 'w3', ttl_ms: 60_000, wait_ms: 20_000 });
    await locks.waiting('w3', 1);
    const staying = locks.acquire('w3', 60_000, { wait_ms: 20_000 });
    await locks.waiting('w3', 2);
    gone.giveUp();
    await locks.waiting('w3', 1);
    await locks.release('w3', token);
    expect((await staying).status).toBe(200);
  });

  it('is notified when the branch is deleted', async () => {
    const client = new ContentClient(server, 'shop');
    await client.branch('going');
    const going = new LocksClient(server, server.adminToken, 'shop', 'going');
    await going.taken('a');
    const waiting = going.acquire('a', 60_000, { wait_ms: 20_000 });
    await going.waiting('a', 1);
    expectStatus(await client.managed('DELETE', '/branches/going'), 204);
    expect((await waiting).json.code).toBe('BRANCH_NOT_FOUND');
  });
});

it('gives one of 10,000 parallel acquires of a key the lock [LOCK-015]', async () => {
  const answers = await Promise.all(Array.from({ length: 10_000 }, () => locks.acquire('rush')));
  const granted = answers.filter(({ status }) => status === 200);
  expect(granted).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(9_999);
});
