import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Backend } from '#test/support/balanced-backend.ts';
import { freePorts } from '#test/support/free-ports.ts';
import type { TestBalancer } from '#test/support/balancer-process.ts';
import { startBalancer } from '#test/support/haproxy.ts';
import { HttpClient } from '#test/support/http-client.ts';
import { startServer } from '#test/support/server.ts';

/** Time the balancer has to find out who is there, in milliseconds: a look a second, two to give one up. */
const FIND_OUT_MS = 15_000;

const closing: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

/** Two members behind a balancer that knows a third one nobody has started. */
async function behind(...backends: readonly [Backend, Backend]): Promise<TestBalancer> {
  for (const backend of backends) {
    await backend.listen();
    closing.push(backend);
  }
  return balancerFor(backends[0].address, backends[1].address);
}

async function balancerFor(first: string, second: string): Promise<TestBalancer> {
  const balancer = await startBalancer([first, second, `127.0.0.1:${await freePorts([0])}`]);
  closing.push(balancer);
  const answered = () =>
    fetch(`${balancer.url}/health`).then(
      ({ status }) => status < 500,
      () => false,
    );
  await expect.poll(answered, { timeout: FIND_OUT_MS }).toBe(true);
  return balancer;
}

function client(balancer: TestBalancer): HttpClient {
  const made = new HttpClient(balancer.port);
  closing.push(made);
  return made;
}

/** Sends text over a connection of its own. @returns what came until the end of a head, or of the connection */
function say(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    closing.push({ close: () => socket.destroy() });
    let heard = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      heard += part;
      if (heard.includes('\r\n\r\n')) resolve(heard);
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', () => resolve(heard));
  });
}

/** Who answers a few requests. */
async function answering(balancer: TestBalancer): Promise<string> {
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => fetch(`${balancer.url}/x`).then((answer) => answer.text())),
  );
  return [...new Set(answers)].sort().join(' ');
}

describe('HAProxy as it is configured here', () => {
  it('sends requests only to the members that are ready', async () => {
    const [a, b] = [new Backend('a'), new Backend('b')];
    const balancer = await behind(a, b);
    await expect.poll(() => answering(balancer), { timeout: FIND_OUT_MS }).toBe('a b');
    b.isReady = false;
    await expect.poll(() => answering(balancer), { timeout: FIND_OUT_MS }).toBe('a');
    b.isReady = true;
    await expect.poll(() => answering(balancer), { timeout: FIND_OUT_MS }).toBe('a b');
  });

  it('keeps connections alive, forwards the address of the client instead of its headers, and hides the metrics', async () => {
    const [a, b] = [new Backend('a'), new Backend('b')];
    const balancer = await behind(a, b);
    const asking = client(balancer);
    for (let count = 0; count < 20; count += 1) {
      const { status } = await asking.request('GET', '/x', {
        headers: {
          host: 'content.example:8443',
          'x-forwarded-for': '203.0.113.9',
          'x-forwarded-proto': 'gopher',
          'x-forwarded-host': 'evil.example',
          forwarded: 'for=203.0.113.9',
        },
      });
      expect(status).toBe(200);
    }
    expect(a.connections + b.connections).toBeLessThan(10);
    const last = [...a.requests, ...b.requests].filter(({ url }) => url === '/x').at(-1);
    expect(last?.headers).toMatchObject({
      host: 'content.example:8443',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'content.example:8443',
    });
    expect(last?.headers.forwarded).toBeUndefined();
    expect((await asking.request('GET', '/metrics')).status).toBe(404);
    expect([...a.requests, ...b.requests].some(({ url }) => url === '/metrics')).toBe(false);
  });

  it('lets connections become WebSockets', async () => {
    const balancer = await behind(new Backend('a'), new Backend('b'));
    const socket = connect(balancer.port, '127.0.0.1');
    closing.push({ close: () => socket.destroy() });
    let heard = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
    });
    socket.write(
      'GET /ws HTTP/1.1\r\nHost: grove.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await expect.poll(() => heard).toContain('101 Switching Protocols');
    socket.write('hello');
    await expect.poll(() => heard).toMatch(/[ab] heard hello$/);
  });

  it('asks another member for a read whose answer was cut off, and never repeats a write', async () => {
    const [a, b] = [new Backend('a'), new Backend('b')];
    const balancer = await behind(a, b);
    await expect.poll(() => answering(balancer), { timeout: FIND_OUT_MS }).toBe('a b');
    a.cuts = true;
    const asking = client(balancer);
    for (let count = 0; count < 8; count += 1) expect((await asking.request('GET', '/read')).text).toBe('b');
    expect(a.requests.some(({ url }) => url === '/read')).toBe(true);
    // Over a connection that is used again the client is cut off as well, and knows as much as with a 502.
    const write = () =>
      fetch(`${balancer.url}/write`, { method: 'POST', body: '{}' }).then(
        ({ status }) => status,
        () => 502,
      );
    const answers: number[] = [];
    for (let count = 0; count < 8; count += 1) answers.push(await write());
    const arrived = [...a.requests, ...b.requests].filter(({ url }) => url === '/write').length;
    expect(arrived).toBe(answers.length);
    expect([...new Set(answers)].sort()).toEqual([200, 502]);
  });

  it('takes whole addresses, which members do not', async () => {
    const members = [await startServer(), await startServer()] as const;
    closing.push(...members);
    const balancer = await balancerFor(`127.0.0.1:${members[0].port}`, `127.0.0.1:${members[1].port}`);
    expect(
      await say(members[0].port, 'GET http://a.example/health HTTP/1.1\r\nHost: a.example\r\n\r\n'),
    ).toContain(' 505 ');
    for (const address of ['http://a.example/health', 'HTTP://a.example/health?x=1', '/health'])
      expect(await say(balancer.port, `GET ${address} HTTP/1.1\r\nHost: a.example\r\n\r\n`)).toContain(
        ' 200 ',
      );
  });

  it('lets no request hide in the trailers of another one, and answers heads that are none', async () => {
    const members = [await startServer(), await startServer()] as const;
    closing.push(...members);
    const balancer = await balancerFor(`127.0.0.1:${members[0].port}`, `127.0.0.1:${members[1].port}`);
    const sayThere = (text: string): Promise<string> => say(balancer.port, text);
    const trailers = 'X-Trailer: /hidden HTTP/1.1\r\nHost: x\r\n';
    const chunks = `Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${trailers}\r\n`;
    for (let round = 0; round < 50; round += 1)
      for (const line of ['POST /api/repositories', 'GET /health', 'PUT /api/repositories/none'])
        await sayThere(`${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${chunks}`);
    for (const { url } of members) {
      const numbers = await (await fetch(`${url}/metrics`)).text();
      expect(numbers).toContain('route="/ready"');
      // A hidden request has a method and a path that no route takes.
      expect(numbers.match(/route="unmatched",status="4xx"\} [1-9]\d*/g)).toBeNull();
    }
    for (const head of [
      'GET / HTTP/1.1\r\nno colon\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\n: nameless\r\nContent-Length: 2\r\n\r\n{}',
      'nonsense\r\n\r\n',
    ])
      expect(await sayThere(head)).toMatch(/^HTTP\/1\.[01] 400 /);
    for (const head of ['Content-Length:\r\nContent-Length: 40', 'Content-Length: 1\r\nContent-Length: 2'])
      expect(await sayThere(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`)).toMatch(/^HTTP\/1\.[01] 400 /);
  });

  it('loses no request when a member of Grove drains under load', async () => {
    const [first, second] = [await startServer(), await startServer()];
    closing.push(second);
    const balancer = await balancerFor(`127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`);
    const served = async () => {
      const text = await (await fetch(`${second.url}/metrics`)).text();
      return Number(/method="POST",route="\/api\/repositories",status="4xx"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    let isOver = false;
    const statuses = new Map<number, number>();
    const workers = Array.from({ length: 6 }, async () => {
      const asking = client(balancer);
      while (!isOver) {
        // One that needs a token is answered at once; what counts is that it was answered by a member.
        const { status } = await asking.request('POST', '/api/repositories', { body: { repo_id: 'x' } });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    await expect.poll(() => statuses.get(401) ?? 0).toBeGreaterThan(100);
    await first.close();
    const before = await served();
    await expect.poll(served).toBeGreaterThan(before + 100);
    isOver = true;
    await Promise.all(workers);
    expect([...statuses.keys()]).toEqual([401]);
  });
});
