import { describe, expect, it } from 'vitest';
import type { CorsPolicy } from '#protocols/http/replies/cors.ts';
import { type Answer, ask, type RunningServer, route, start } from '../http-fixture.ts';

const table = [
  route('GET', '/data', () => ({ status: 200, json: [1] })),
  route('POST', '/data', (request) => ({ status: 200, json: request.body ?? null }), { body: 'json' }),
  route('GET', '/broken', () => {
    throw new Error('x');
  }),
];

const listing =
  (...origins: string[]): CorsPolicy =>
  () =>
    origins;

const corsHeadersOf = (answer: Answer): string[] =>
  Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));

function preflight(server: RunningServer, origin: string, path = '/data', method = 'PUT'): Promise<Answer> {
  return ask(server.port, path, {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': method },
  });
}

describe('cross-origin requests', () => {
  it('answers a preflight of a listed origin with 204, methods, headers and credentials [HTTP-025, ORIGIN-003]', async () => {
    const server = await start(table, { cors: listing('https://app.example') });
    const answer = await preflight(server, 'https://app.example');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, POST, PUT, DELETE, OPTIONS, PATCH',
      'access-control-max-age': '86400',
      vary: 'Origin',
    });
    const allowed = answer.headers['access-control-allow-headers'];
    for (const name of [
      'Content-Type',
      'Authorization',
      'Accept',
      'Content-Range',
      'X-Tenant-Id',
      'X-Svc-Impersonate',
      'Cache-Control',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'X-Request-Id',
      'X-Svc-Consistency',
      'X-Svc-Lock',
      'X-Svc-Min-Revision',
    ]) {
      expect(allowed?.split(', ')).toContain(name);
    }
  });

  it('answers a preflight of any other origin with 204 and no CORS headers [HTTP-026, ORIGIN-003]', async () => {
    const server = await start(table, { cors: listing('https://app.example') });
    for (const origin of ['https://evil.example', 'https://app.example.evil', 'http://app.example', 'null']) {
      const answer = await preflight(server, origin);
      expect([answer.status, corsHeadersOf(answer)]).toEqual([204, []]);
    }
    expect(corsHeadersOf(await preflight(await start(table), 'https://app.example'))).toEqual([]);
  });

  it('reflects a listed origin with credentials and Vary on answers and errors', async () => {
    const { port } = await start(table, { cors: listing('https://app.example', '*') });
    const headers = { Origin: 'https://app.example' };
    for (const path of ['/data', '/broken', '/nothing']) {
      const answer = await ask(port, path, { headers });
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-credentials': 'true',
        vary: 'Origin',
      });
      const exposed = answer.headers['access-control-expose-headers']?.split(', ');
      expect(exposed).toEqual([
        'Content-Range',
        'Accept-Ranges',
        'ETag',
        'Retry-After',
        'X-Request-Id',
        'X-Svc-Revision',
      ]);
    }
  });

  it('answers * without credentials [HTTP-027]', async () => {
    const server = await start(table, { cors: listing('*') });
    const answer = await ask(server.port, '/data', { headers: { Origin: 'https://any.example' } });
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect((await preflight(server, 'https://any.example')).headers['access-control-allow-origin']).toBe('*');
  });

  it('serves a disallowed origin without CORS headers, and sends Vary even without an origin', async () => {
    const { port } = await start(table, { cors: listing('https://app.example') });
    const answer = await ask(port, '/data', { headers: { Origin: 'https://evil.example' } });
    expect([answer.status, answer.text, corsHeadersOf(answer)]).toEqual([200, '[1]', []]);
    expect((await ask(port, '/data')).headers.vary).toBe('Origin');
  });

  it('waits for a policy that has to look the origins up, also before a body', async () => {
    const server = await start(table, {
      cors: async (_, { param }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return param('name') === undefined ? ['https://app.example'] : [];
      },
    });
    const headers = { Origin: 'https://app.example' };
    const answer = await ask(server.port, '/data', { headers });
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example');
    const posted = await ask(server.port, '/data', { headers, body: '{"a":1}' });
    expect([posted.text, posted.headers['access-control-allow-origin']]).toEqual([
      '{"a":1}',
      'https://app.example',
    ]);
    const refused = await ask(server.port, '/data', { headers, body: '{' });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([
      400,
      'https://app.example',
    ]);
    expect((await preflight(server, 'https://app.example')).headers['access-control-max-age']).toBe('86400');
  });

  it('tells the policy the parts of the address, of a preflight those of the request it announces', async () => {
    const server = await start(
      [
        route('GET', '/places/{place}', () => ({ status: 200, json: 1 })),
        route('PUT', '/places/{town}', () => ({ status: 200, json: 2 })),
      ],
      {
        cors: (_, { header, param }) => [
          `https://${param('place') ?? 'none'}.${param('town') ?? 'none'}.${header('x-tenant-id') ?? 'none'}`,
        ],
      },
    );
    const allowed = async (answer: Promise<Answer>): Promise<unknown> =>
      (await answer).headers['access-control-allow-origin'];
    const at = (origin: string, headers = {}): Promise<Answer> =>
      ask(server.port, '/places/a%20b', { headers: { Origin: origin, ...headers } });
    expect(await allowed(at('https://a%20b.none.none'))).toBe('https://a%20b.none.none');
    expect(await allowed(at('https://a%20b.none.t', { 'X-Tenant-Id': 't' }))).toBe('https://a%20b.none.t');
    const preflights = (origin: string, method: string): Promise<unknown> =>
      allowed(preflight(server, origin, '/places/x', method));
    expect(await preflights('https://x.none.none', 'GET')).toBe('https://x.none.none');
    expect(await preflights('https://none.x.none', 'PUT')).toBe('https://none.x.none');
    expect(await preflights('https://none.none.none', 'DELETE')).toBe('https://none.none.none');
  });

  it('answers 500 when the policy fails', async () => {
    const { port, log } = await start(table, { cors: () => Promise.reject(new Error('lookup failed')) });
    const answer = await ask(port, '/data', { headers: { Origin: 'https://app.example' } });
    expect([answer.status, log.length]).toEqual([500, 1]);
  });
});
