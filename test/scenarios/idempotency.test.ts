import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { AdminClient } from '#test/support/admin-client.ts';
import { ContentClient, type Space } from '#test/support/content-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const MS_PER_HOUR = 3_600_000;

let aheadMs = 0;
let server: TestServer;
let space: Space;

beforeAll(async () => {
  // Time passes on both: a step of the wall clock alone ages no key.
  const clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  server = await startServer({ clock });
  space = await (await ContentClient.on(server)).workspace();
});

afterAll(() => server.close());

const page = (name: string, title = name) => ({ name, node_type: 'svc:Page', properties: { title } });

function create(key: string, body: object, token = server.adminToken) {
  return server.request('POST', space.url('/'), { token, body, headers: { 'idempotency-key': key } });
}

async function historyOf(path: string): Promise<unknown[]> {
  const answer = await server.admin(
    'GET',
    `/api/history/${space.client.repository}/main/${space.name}${path}`,
  );
  return answer.json;
}

describe('a write under an Idempotency-Key', () => {
  const unusable: readonly [string, string][] = [
    ['is empty', ''],
    ['is blank', ' '],
    ['has a character beyond ASCII', 'caf\u00e9s'],
    ['is too long', 'k'.repeat(256)],
  ];

  it.each(unusable)('is refused for a key that %s, and does nothing [IDEM-007]', async (_, key) => {
    const headers = { 'idempotency-key': key };
    const token = server.adminToken;
    const requests = [
      server.request('POST', space.url('/'), { token, body: page('never'), headers }),
      server.request('DELETE', space.url('/never'), { token, headers }),
      server.request('PUT', space.url('/never'), { token, body: { properties: { title: 'x' } }, headers }),
    ];
    for (const { status, json } of await Promise.all(requests)) {
      expect({ status, code: json.code, field: json.field }).toEqual({
        status: 400,
        code: 'VALIDATION_FAILED',
        field: 'Idempotency-Key',
      });
    }
    expect((await server.request('GET', space.url('/never'), { token })).status).toBe(404);
  });

  it('takes effect once and answers the first outcome again [IDEM-001]', async () => {
    const first = await create('once', page('once'));
    const second = await create('once', page('once'));
    expect(first.status).toBe(201);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers['x-svc-revision']).toBe(first.headers['x-svc-revision']);
    expect(await historyOf('/once')).toHaveLength(1);
    const change = (title: string) =>
      server.request('PUT', space.url('/once'), {
        token: server.adminToken,
        body: { properties: { title } },
        headers: { 'idempotency-key': 'change' },
      });
    const changed = await change('changed');
    await server.admin('PUT', space.url('/once'), { properties: { title: 'changed again' } });
    expect((await change('changed')).text).toBe(changed.text);
    expect((await server.admin('GET', space.url('/once'))).json.properties.title).toBe('changed again');
  });

  it('answers a refusal again, even if it would succeed now [IDEM-002]', async () => {
    expect((await create('maker', page('there'))).status).toBe(201);
    const refused = await create('refused', page('there'));
    expect([400, 409]).toContain(refused.status);
    expect((await server.admin('DELETE', space.url('/there'))).status).toBeLessThan(300);
    const again = await create('refused', page('there'));
    const outcomeOf = ({ status, json: { code, message } }: typeof refused) => [status, code, message];
    expect(outcomeOf(again)).toEqual(outcomeOf(refused));
    expect((await server.admin('GET', space.url('/there'))).status).toBe(404);
  });

  it('answers a refusal with all it said: code, message, field and details [IDEM-002]', async () => {
    expect((await create('kept', page('kept'))).status).toBe(201);
    const send = (properties: object, headers: object) =>
      server.request('PUT', space.url('/kept'), {
        token: server.adminToken,
        headers: { 'idempotency-key': `kept-${Object.keys(headers).length}`, ...headers },
        body: { properties },
      });
    for (const [status, headers, fact] of [
      [412, { 'if-match': '"other"' }, { details: { version: 1, etag: expect.any(String) } }],
      [400, {}, { field: 'properties.title', details: { errors: [expect.any(String)] } }],
    ] as const) {
      const refused = await send({}, headers);
      expect([refused.status, refused.json]).toEqual([status, expect.objectContaining(fact)]);
      const again = await send({}, headers);
      expect([again.status, again.json]).toEqual([
        status,
        { ...refused.json, timestamp: again.json.timestamp },
      ]);
    }
  });

  it('is refused when the key was used for something else [IDEM-003]', async () => {
    expect((await create('used', page('used'))).status).toBe(201);
    for (const send of [
      () => create('used', page('used', 'another title')),
      () => create('used', page('other')),
      () =>
        server.request('DELETE', space.url('/used'), {
          token: server.adminToken,
          headers: { 'idempotency-key': 'used' },
        }),
    ]) {
      const answer = await send();
      expect([answer.status, answer.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    }
    expect((await server.admin('GET', space.url('/used'))).json.properties.title).toBe('used');
    expect((await server.admin('GET', space.url('/other'))).status).toBe(404);
  });

  it('happens once when it is sent many times at the same time [IDEM-004]', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create('crowd', page('crowd'))));
    const made = answers.filter((answer) => answer.status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map((answer) => answer.text)).size).toBe(1);
    for (const answer of answers.filter((each) => each.status !== 201)) {
      expect([answer.status, answer.json.code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    }
    expect(await historyOf('/crowd')).toHaveLength(1);
    expect((await create('crowd', page('crowd'))).text).toBe(made[0]?.text);
  });

  it('is one of its own for each caller [IDEM-006]', async () => {
    expect((await create('shared', page('mine'))).status).toBe(201);
    const other = await create('shared', page('theirs'), await new AdminClient(server).account('other'));
    expect([other.status, other.json.name]).toEqual([201, 'theirs']);
  });

  it('needs a key that can be kept', async () => {
    const answer = await create('k'.repeat(256), page('long-key'));
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(
      (await server.request('GET', space.url('/long-key'), { token: server.adminToken })).status,
    ).not.toBe(200);
  });

  it('is remembered across a restart and for 24 hours [IDEM-005]', async () => {
    const first = await create('lasting', page('lasting'));
    await server.restart();
    expect((await create('lasting', page('lasting'))).text).toBe(first.text);
    await server.admin('DELETE', space.url('/lasting'));
    const logIn = async () =>
      (
        await server.request('POST', '/api/svc/sys/default/auth', {
          body: { username: 'admin', password: ADMIN_PASSWORD },
        })
      ).json.token;
    aheadMs = 23 * MS_PER_HOUR;
    const kept = await create('lasting', page('lasting'), await logIn());
    expect([kept.status, kept.text]).toEqual([201, first.text]);
    expect((await server.request('GET', space.url('/lasting'), { token: await logIn() })).status).toBe(404);
    aheadMs = 25 * MS_PER_HOUR;
    const anew = await create('lasting', page('lasting'), await logIn());
    expect(anew.status).toBe(201);
    expect(anew.text).not.toBe(first.text);
    expect((await server.request('GET', space.url('/lasting'), { token: await logIn() })).status).toBe(200);
  });
});
