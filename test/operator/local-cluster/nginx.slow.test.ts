import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Backend } from '#test/support/balanced-backend.ts';
import type { TestBalancer } from '#test/support/balancer-process.ts';
import { HttpClient } from '#test/support/http-client.ts';
import { startNginx } from '#test/support/nginx.ts';
import { startServer } from '#test/support/server.ts';

const closing: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function inFrontOf(...members: readonly string[]): Promise<TestBalancer> {
  const balancer = await startNginx(members);
  closing.push(balancer);
  const answered = () =>
    fetch(`${balancer.url}/health`).then(
      ({ status }) => status < 500,
      () => false,
    );
  await expect.poll(answered, { timeout: 15_000, message: balancer.log }).toBe(true);
  return balancer;
}

async function backend(name: string): Promise<Backend> {
  const made = new Backend(name);
  await made.listen();
  closing.push(made);
  return made;
}

/** Sends text over a connection of its own. @returns what came until the end of a head, or of the connection */
function say(balancer: TestBalancer, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(balancer.port, '127.0.0.1', () => socket.write(text));
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

describe('nginx as it is configured here', () => {
  it('takes whole addresses, which members do not', async () => {
    const a = await backend('a');
    const balancer = await inFrontOf(a.address);
    const head = 'GET http://content.example/whole?x=1 HTTP/1.1\r\nHost: content.example\r\n\r\n';
    expect(await say(balancer, head)).toContain(' 200 ');
    expect(a.requests.at(-1)?.url).toBe('/whole?x=1');
  });

  it('keeps connections alive, forwards the address of the client instead of its headers, and hides the metrics', async () => {
    const a = await backend('a');
    const balancer = await inFrontOf(a.address);
    const asking = new HttpClient(balancer.port);
    closing.push(asking);
    const headers = {
      host: 'content.example:8443',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'gopher',
      'x-forwarded-host': 'evil.example',
      forwarded: 'for=203.0.113.9',
    };
    for (let count = 0; count < 10; count += 1)
      for (const method of ['GET', 'POST'])
        expect((await asking.request(method, '/x', { headers })).status).toBe(200);
    expect(a.connections).toBeLessThan(10);
    for (const method of ['GET', 'POST']) {
      const last = a.requests.filter((request) => request.url === '/x' && request.method === method).at(-1);
      expect(last?.headers).toMatchObject({
        host: 'content.example:8443',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'content.example:8443',
      });
      expect(last?.headers.forwarded).toBeUndefined();
    }
    expect((await asking.request('GET', '/metrics')).status).toBe(404);
    expect(a.requests.some(({ url }) => url === '/metrics')).toBe(false);
  });

  it('lets connections become WebSockets', async () => {
    const balancer = await inFrontOf((await backend('a')).address);
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
    await expect.poll(() => heard).toMatch(/a heard hello$/);
  });

  it('asks another member for a read whose answer was cut off, and never repeats a write', async () => {
    const [a, b] = [await backend('a'), await backend('b')];
    const balancer = await inFrontOf(a.address, b.address);
    a.cuts = true;
    const arrived = (url: string) => [...a.requests, ...b.requests].filter((each) => each.url === url).length;
    for (let count = 0; count < 8; count += 1)
      expect(await (await fetch(`${balancer.url}/read`)).text()).toBe('b');
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const statuses: number[] = [];
      for (let count = 0; count < 8; count += 1)
        statuses.push((await fetch(`${balancer.url}/${method}`, { method, body: '{}' })).status);
      expect(statuses.every((status) => status === 200 || status === 502)).toBe(true);
      // A member that failed is not asked for a second; then the write has not arrived anywhere.
      expect(arrived(`/${method}`)).toBeLessThanOrEqual(8);
    }
  });

  it('lets no request hide in the trailers of another one, and answers heads that are none', async () => {
    const member = await startServer();
    closing.push(member);
    const balancer = await inFrontOf(`127.0.0.1:${member.port}`);
    const trailers = 'X-Trailer: /hidden HTTP/1.1\r\nHost: x\r\n';
    const chunks = `Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${trailers}\r\n`;
    for (let round = 0; round < 30; round += 1)
      for (const line of ['POST /api/repositories', 'GET /health', 'PUT /api/repositories/none'])
        await say(balancer, `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${chunks}`);
    const numbers = await (await fetch(`${member.url}/metrics`)).text();
    expect(numbers).toContain('route="/health"');
    expect(numbers.match(/route="unmatched",status="4xx"\} [1-9]\d*/g)).toBeNull();
    const broken = [
      'nonsense\r\n\r\n',
      'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\n: nameless\r\nContent-Length: 2\r\n\r\n{}',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\nContent-Length: 40\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ];
    for (const head of broken) expect(await say(balancer, head)).toMatch(/^(HTTP\/1\.[01] 400 |<html>)/);
    // A line without a colon is dropped here; what reaches the member is whole.
    expect(await say(balancer, 'GET /health HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 (200|400) /,
    );
  });
});
