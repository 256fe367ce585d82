import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const ofServer = 'https://server.example';
const ofRepository = 'https://site.example';

let server: TestServer;
let repository: string;
let other: string;

beforeAll(async () => {
  server = await startServer({ env: { SVC_CORS_ALLOWED_ORIGINS: ofServer } });
  repository = await server.createRepository();
  other = await server.createRepository();
  const made = await server.admin('POST', `/api/repository/${repository}/main/head/svc:system/config/repos`, {
    name: repository,
    node_type: 'svc:RepoAuthConfig',
    properties: { repo_id: repository, cors_allowed_origins: [ofRepository] },
  });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
});

afterAll(() => server.close());

function preflight(origin: string, name: string, method = 'POST'): Promise<TestResponse> {
  return server.request('OPTIONS', `/api/repository/${name}/main/head/default/`, {
    headers: { origin, 'access-control-request-method': method },
  });
}

const grantOf = ({ headers }: TestResponse): unknown => headers['access-control-allow-origin'];

describe('origins of a repository', () => {
  it('may call it, and no others may, with answers and preflights that vary by origin [ORIGIN-004]', async () => {
    const granted = await preflight(ofRepository, repository);
    expect([granted.status, granted.text]).toEqual([204, '']);
    expect(granted.headers).toMatchObject({
      'access-control-allow-origin': ofRepository,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, POST, PUT, DELETE, OPTIONS, PATCH',
      'access-control-max-age': '86400',
      vary: 'Origin',
    });
    const refused = await preflight(ofServer, repository);
    expect([
      refused.status,
      Object.keys(refused.headers).filter((name) => /^access-control/.test(name)),
    ]).toEqual([204, []]);
    const path = `/api/repository/${repository}/main/head/default/`;
    const answer = await server.request('GET', path, {
      headers: { origin: ofRepository },
      token: server.adminToken,
    });
    expect([answer.status, grantOf(answer)]).toEqual([200, ofRepository]);
    // A page can read that its token is refused.
    const denied = await server.request('POST', path, { headers: { origin: ofRepository }, body: {} });
    expect([denied.status, grantOf(denied)]).toEqual([401, ofRepository]);
  });

  it('may not call others; one that does not exist is answered like one without a list [ORIGIN-005]', async () => {
    for (const name of [other, 'no-repository']) {
      expect([name, grantOf(await preflight(ofRepository, name))]).toEqual([name, undefined]);
      expect([name, grantOf(await preflight(ofServer, name))]).toEqual([name, ofServer]);
    }
    const outside = await server.request('GET', '/health', { headers: { origin: ofServer } });
    expect(grantOf(outside)).toBe(ofServer);
    expect(
      grantOf(await server.request('GET', '/health', { headers: { origin: ofRepository } })),
    ).toBeUndefined();
  });
});
