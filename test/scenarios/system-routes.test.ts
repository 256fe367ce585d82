import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '#protocols/http/openapi/openapi.ts';
import { addressesOf, describedOperations } from '#test/support/api-description.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

const origin = 'https://app.example';

beforeAll(async () => {
  server = await startServer({ env: { SVC_CORS_ALLOWED_ORIGINS: origin, SVC_HOST: '0.0.0.0' } });
});

afterAll(() => server.close());

describe('liveness and readiness', () => {
  it('answers ok as text, without a token [CONV-001]', async () => {
    const answer = await server.request('GET', '/health');
    expect([answer.status, answer.text]).toEqual([200, 'ok']);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
  });

  it('answers that it serves, as JSON [HTTP-035]', async () => {
    const answer = await server.request('GET', '/ready');
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        state: 'ready',
        version: '0.0.0-test',
        mode: 'embedded',
        durability: 'local',
        missing: [],
        stopped_actors: 0,
        rebuilt_partitions: 0,
        revisions_ahead_seconds: 0,
        space: 'enough',
      },
    ]);
  });
});

describe('metrics', () => {
  it('are answered to this machine, with counts and durations of requests [HTTP-032]', async () => {
    await server.request('GET', '/health');
    const { status, text, headers } = await server.request('GET', '/metrics');
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    const count = /svc_http_requests_total\{method="GET",route="\/health",status="2xx"\} (\d+)/.exec(
      text,
    )?.[1];
    expect(Number(count)).toBeGreaterThan(0);
    expect(text).toMatch(/svc_http_request_seconds_count\{method="GET",route="\/health"\} [1-9]/);
    expect(text).toMatch(/svc_commit_batches_total [1-9]/);
    expect(text).toMatch(/svc_journal_fsync_seconds_count [1-9]/);
    expect(text).toMatch(/svc_open_actors [1-9]/);
  });

  it('need an administrator from elsewhere and through a proxy [HTTP-037]', async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    const proxied = await server.request('GET', '/metrics', { headers: forwarded });
    expect([proxied.status, proxied.json.code]).toEqual([401, 'UNAUTHORIZED']);
    const admin = await server.request('GET', '/metrics', { headers: forwarded, token: server.adminToken });
    expect(admin.status).toBe(200);
    const outside = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find((address) => address.family === 'IPv4' && !address.internal)?.address;
    if (outside === undefined) return;
    expect((await fetch(`http://${outside}:${server.port}/metrics`)).status).toBe(401);
    const allowed = await fetch(`http://${outside}:${server.port}/metrics`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect(allowed.status).toBe(200);
  });
});

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

describe('the description of the interface', () => {
  it('is an OpenAPI document of the whole route table [HTTP-030]', async () => {
    const answer = await server.request('GET', '/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.json.openapi).toBe('3.1.0');
    const { paths } = answer.json as Described;
    for (const [path, method] of [
      ['/health', 'get'],
      ['/api/svc/sys/{tenant}/auth', 'post'],
      ['/api/repositories/{repo}', 'put'],
      ['/api/workspaces/{repo}/{name}/config', 'get'],
      ['/api/management/registry/tenants', 'post'],
    ] as const) {
      expect([path, paths[path]?.[method]?.operationId]).toEqual([path, expect.any(String)]);
    }
    const ids = Object.values(paths).flatMap((path) => Object.values(path).map((one) => one.operationId));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names only what exists, and the server has nothing it does not name [HTTP-031]', async () => {
    const document = (await server.request('GET', '/openapi.json')).json as OpenApiDocument;
    const operations = describedOperations(document);
    for (const operation of new Map(operations.map((one) => [one.path, one])).values()) {
      const there = document.paths[operation.path] ?? {};
      for (const address of addressesOf(operation, () => 'x')) {
        for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
          const answer = await server.request(method.toUpperCase(), address);
          const { code } = answer.text.startsWith('{') ? answer.json : { code: '' };
          const isThere = !['METHOD_NOT_ALLOWED', 'NOT_FOUND'].includes(code);
          if (Object.hasOwn(there, method))
            expect([method, address, isThere]).toEqual([method, address, true]);
          else if (code === 'METHOD_NOT_ALLOWED') {
            expect(answer.headers.allow).not.toContain(method.toUpperCase());
          }
        }
      }
    }
    const metrics = (await server.request('GET', '/metrics')).text;
    const served = [
      ...metrics.matchAll(/svc_http_requests_total\{method="([A-Z]+)",route="([^"]+)",status="2xx"\}/g),
    ]
      .filter(([, , route]) => route !== 'unmatched')
      .map(([, method, route]) => `${method} ${(route as string).replace(/\/?\{(\w+)\*\}/, '/{$1}')}`)
      .sort();
    // What is asked of a node at an address of its own is served by the route of the node.
    const described = operations.flatMap((operation) =>
      addressesOf(operation, (name) => `{${name}}`).map(
        (address) => `${operation.method} ${address.replace(/(?:\/\{path\})?\/svc:.*$/, '/{path}')}`,
      ),
    );
    expect(served).toEqual([...new Set(described)].sort());
  });
});

describe('addresses and methods that are not there', () => {
  it('answer 404 and 405 as JSON, the latter with the methods that are [HTTP-015, HTTP-016]', async () => {
    const unknown = await server.request('GET', '/api/nothing/here/at/all/really');
    expect([unknown.status, unknown.json.code]).toEqual([404, 'NOT_FOUND']);
    const method = await server.request('DELETE', '/health');
    expect([method.status, method.json.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(method.headers.allow).toContain('GET');
  });
});

describe('requests from browsers', () => {
  const preflight = (from: string) =>
    server.request('OPTIONS', '/api/repositories', {
      headers: { origin: from, 'access-control-request-method': 'POST' },
    });

  it('of a configured origin are allowed with credentials [HTTP-025]', async () => {
    const answer = await preflight(origin);
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      vary: expect.stringContaining('Origin'),
    });
  });

  it('of another origin are answered without CORS headers [HTTP-026]', async () => {
    const answer = await preflight('https://evil.example');
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });

  it('of any origin are allowed without credentials if the server is configured so [HTTP-027]', async () => {
    const open = await startServer({ env: { SVC_CORS_ALLOWED_ORIGINS: '*' } });
    try {
      const answer = await open.request('GET', '/health', { headers: { origin } });
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    } finally {
      await open.close();
    }
  });
});
