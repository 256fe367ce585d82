import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { ask, RawClient, route, start } from '../http-fixture.ts';

const thing = route('DELETE', '/thing', (request) => ({ status: 200, json: request.body ?? 'nothing' }));
const refused = { code: 'VALIDATION_FAILED', message: 'This takes no body; leave it out' };

/** Sends a body in chunks, and answers the status. */
async function chunked(port: number, body: string): Promise<string> {
  const client = await RawClient.connect(port);
  const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`;
  client.write(`DELETE /thing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`);
  await client.until('\r\n\r\n');
  return client.received;
}

describe('a body on a route that takes none', () => {
  it.each(['{"a":1}', '[1]', 'text', '0', 'false', '""', '{}{}', ' '.repeat(65), 'x'.repeat(300_000)])(
    'is refused when it has content: %.20s [HTTP-094]',
    async (body) => {
      const { port } = await start([thing]);
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (let turn = 0; turn < 2; turn += 1) {
        const { json, status } = await ask(port, '/thing', { method: 'DELETE', body, agent });
        expect([status, json]).toEqual([400, expect.objectContaining(refused)]);
      }
      expect((await ask(port, '/health', { agent })).text).toBe('ok');
      agent.destroy();
    },
  );

  it.each(['', '{}', ' { \n} ', '[]', 'null', ' \r\n'])('is let through as %j [HTTP-094]', async (body) => {
    const { port } = await start([thing]);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; turn < 2; turn += 1) {
      const { json, status } = await ask(port, '/thing', { method: 'DELETE', body, agent });
      expect([status, json]).toEqual([200, 'nothing']);
    }
    agent.destroy();
  });

  it('is judged in chunks as well [HTTP-094]', async () => {
    const { port } = await start([thing]);
    expect(await chunked(port, '')).toContain('HTTP/1.1 200');
    expect(await chunked(port, '{}')).toContain('HTTP/1.1 200');
    expect(await chunked(port, '{"a":1}')).toContain('HTTP/1.1 400');
    expect(await chunked(port, 'x'.repeat(1_000))).toContain('HTTP/1.1 400');
  });

  it('is judged in pieces as well [HTTP-094]', async () => {
    const { port } = await start([thing]);
    for (const [end, status] of [
      ['}', '200'],
      ['1', '400'],
    ] as const) {
      const client = await RawClient.connect(port);
      client.write('DELETE /thing HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{');
      client.write(end);
      await client.until('\r\n\r\n');
      expect(client.received).toContain(`HTTP/1.1 ${status}`);
    }
  });

  it('is of no account where the caller is refused anyway [HTTP-094]', async () => {
    const { port } = await start([{ ...thing, auth: 'required' }]);
    for (const body of ['{"a":1}', 'x'.repeat(1_000)]) {
      expect((await ask(port, '/thing', { method: 'DELETE', body })).status).toBe(401);
      const headers = { Authorization: 'Bearer ada' };
      expect((await ask(port, '/thing', { method: 'DELETE', body, headers })).status).toBe(400);
    }
  });

  it('is checked with asynchronous authentication too [HTTP-094]', async () => {
    const { port } = await start([{ ...thing, auth: 'required' }], {
      authenticate: async () => ({ name: 'ada' }),
    });
    expect((await ask(port, '/thing', { method: 'DELETE', body: '{}' })).status).toBe(200);
    expect((await ask(port, '/thing', { method: 'DELETE', body: '{"a":1}' })).status).toBe(400);
    expect((await ask(port, '/thing', { method: 'DELETE', body: 'x'.repeat(100_000) })).status).toBe(400);
  });

  it('is refused with a GET as well [HTTP-094]', async () => {
    const { port } = await start([route('GET', '/read', () => ({ status: 200 }))]);
    expect((await ask(port, '/read', { method: 'GET', body: '{"a":1}' })).status).toBe(400);
    expect((await ask(port, '/read', { method: 'GET', body: '{}' })).status).toBe(200);
    expect((await ask(port, '/health', { method: 'GET', body: '{"a":1}' })).text).toBe('ok');
    expect((await ask(port, '/nowhere', { method: 'POST', body: '{"a":1}' })).status).toBe(404);
  });
});
