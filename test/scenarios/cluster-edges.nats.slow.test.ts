import { expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { HttpClient, type TestResponse } from '#test/support/http-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const nats = sharedNatsCluster(1);

const login = { username: 'admin', password: ADMIN_PASSWORD };

/** Starts one member of a cluster. */
function startOne(name: string, id: string, port = 0): Promise<TestServer> {
  return startServer({
    config: `[cluster]\nname = "${name}"\npartitions = 2\nreplicas = 1\nlog_bytes_max = 67_108_864\n`,
    env: {
      PORT: `${port}`,
      SVC_NATS_URL: nats().urls.join(','),
      SVC_MEMBER_ID: id,
      SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
      JWT_SECRET: 'a secret that all members of a cluster share',
      SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
    },
  });
}

async function tokenOf(server: TestServer): Promise<string> {
  const answer = await server.request('POST', '/api/svc/sys/default/auth', { body: login });
  return expectStatus(answer, 200).json.token as string;
}

/** How often a member is started whose first moments are to be seen: a machine may be too quick, or too slow, for once. */
const STARTS_MAX = 8;

it('a cluster that starts for the first time refuses with 503 what it cannot answer yet, the right password too', async () => {
  const waits: (string | undefined)[] = [];
  for (let start = 0; waits.length === 0; start += 1) {
    expect(start).toBeLessThan(STARTS_MAX);
    const port = await freePorts([0]);
    const starting = startOne(`first-${start}`, 'a', port);
    const client = new HttpClient(port);
    const ask = (method: string, path: string, body?: object): Promise<TestResponse | undefined> =>
      client.request(method, path, body === undefined ? {} : { body }).catch(() => undefined);
    const statuses: number[] = [];
    // It listens before it is ready: the others have to know where.
    while (statuses.at(-1) !== 200) {
      const ready = await ask('GET', '/ready');
      if (ready?.status === 503) waits.push(ready.headers['retry-after']);
      const answers = await Promise.all([1, 2].map(() => ask('POST', '/api/svc/sys/default/auth', login)));
      for (const answer of answers) {
        if (answer === undefined) continue;
        statuses.push(answer.status);
        if (answer.status === 503) expect(answer.headers['retry-after']).toBe('1');
      }
      await new Promise<void>((resolve) => systemClock.after(1, resolve));
    }
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    client.close();
    await (await starting).close();
  }
  expect(new Set(waits)).toEqual(new Set(['1']));
});

it('a member that joins answers from its first connection on as the others do: it waits until it knows whom to ask', async () => {
  const one = await startOne('joined', 'a');
  const token = await tokenOf(one);
  const shop = { repo_id: 'shop' };
  expectStatus(await one.request('POST', '/api/repositories', { token, body: shop }), 201);
  let early = 0;
  for (let start = 0; early === 0; start += 1) {
    expect(start).toBeLessThan(STARTS_MAX);
    const port = await freePorts([0]);
    const joining = startOne('joined', `b${start}`, port);
    const client = new HttpClient(port);
    const locks = new LocksClient({ port, request: (...given) => client.request(...given) }, token, 'shop');
    let isReady = false;
    for (let count = 0; !isReady; count += 1) {
      const read = await client.request('GET', '/api/repositories/shop', { token }).catch(() => undefined);
      if (read === undefined) continue;
      expectStatus(read, 200);
      expectStatus(await locks.acquire(`early-${start}-${count}`), 200);
      expect((await client.request('GET', '/api/repositories/shed', { token })).status).toBe(404);
      isReady = (await client.request('GET', '/ready')).status === 200;
      if (!isReady) early += 1;
    }
    client.close();
    await (await joining).close();
  }
  await one.close();
});

it('a member that stops answers its callers that wait for a lock of any member; the others continue to wait', async () => {
  const [one, other] = await Promise.all([startOne('last', 'a'), startOne('last', 'b')]);
  const token = await tokenOf(one);
  for (const name of ['shop', 'shed', 'barn']) {
    const made = await one.request('POST', '/api/repositories', { token, body: { repo_id: name } });
    expectStatus(made, 201);
  }
  const body = { key: 'till', ttl_ms: 60_000, wait_ms: 60_000 };
  const lines = await Promise.all(
    ['shop', 'shed', 'barn'].map(async (name) => {
      const [here, there] = [one, other].map((server) => new LocksClient(server, token, name)) as [
        LocksClient,
        LocksClient,
      ];
      const held = await here.taken('till');
      const [stays, goes] = [here.openAcquire(body), there.openAcquire(body)];
      await here.waiting('till', 2);
      return { here, held, stays, goes };
    }),
  );
  await other.close();
  for (const { goes } of lines) expect(await goes.status).toBe(503);
  for (const { here, held, stays } of lines) {
    expectStatus(await here.release('till', held), 200);
    expect(await stays.status).toBe(200);
  }
  await one.close();
});

it('a member that stops answers what others do not answer it before it cuts connections', async () => {
  const [one, other] = await Promise.all([startOne('cut', 'a'), startOne('cut', 'b')]);
  const token = await tokenOf(one);
  const names = ['shop', 'shed', 'barn', 'mill', 'kiln', 'dock'];
  for (const name of names) {
    const made = await one.request('POST', '/api/repositories', { token, body: { repo_id: name } });
    expectStatus(made, 201);
  }
  const client = new HttpClient(other.port);
  const ask = (): Promise<TestResponse>[] =>
    names.map((name) =>
      client.request('GET', `/api/management/repositories/default/${name}/branches`, { token }),
    );
  // Connections that are kept: it takes no new ones when it stops.
  for (const answer of await Promise.all(ask())) expectStatus(answer, 200);
  const server = nats().server('n1');
  await server.pause();
  let answered = 0;
  const asked = ask();
  for (const each of asked) void each.finally(() => (answered += 1)).catch(() => undefined);
  await until(async () => {
    const { text } = await other.request('GET', '/metrics');
    const underWay = Number(/^svc_in_flight_requests (\d+)$/m.exec(text)?.[1]);
    return underWay + answered === names.length;
  }, 'all requests are under way');
  expect(answered).toBeLessThan(names.length);
  const closed = other.close();
  try {
    for (const { headers, status } of await Promise.all(asked)) {
      expect([200, 503, 504]).toContain(status);
      if (status === 503) expect(headers['retry-after']).toBe('1');
    }
  } finally {
    server.resume();
    await closed;
    client.close();
    await one.close();
  }
});
