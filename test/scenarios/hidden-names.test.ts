import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let space: Space;
let revision: string;

beforeAll(async () => {
  server = await startServer();
  const client = await ContentClient.on(server);
  space = await client.workspace();
  await space.add('/', 'a', { title: 'hidden' });
  revision = await client.headRevision();
  expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision }), 200, 201);
});

afterAll(() => server.close());

/** What stands behind the workspace of an address, with a body where it is posted. */
const asked: readonly { readonly rest: string; readonly body?: object }[] = [
  { rest: '' },
  { rest: '/' },
  { rest: '/a' },
  { rest: '/a/' },
  { rest: '/a@title' },
  { rest: '/a.yaml' },
  { rest: '/$ref/some-id' },
  { rest: '/_id/some-id' },
  { rest: '/?limit=1' },
  { rest: '/?limit=1&cursor=abc' },
  { rest: '/?deep=true' },
  { rest: '/?deep=true&format=array' },
  { rest: '/?deep=true&flatten=true' },
  { rest: '/a?command=relations' },
  { rest: '/a/svc:incoming-references' },
  { rest: '/a?lang=de' },
  { rest: '/?limit=x' },
  { rest: '/%zz' },
  { rest: '/query', body: { nodeType: 'svc:Folder' } },
  { rest: '/query', body: { path: '/a' } },
  { rest: '/query', body: { parent: '/', limit: 2 } },
  { rest: '/query', body: {} },
  { rest: '/query/dsl', body: {} },
  { rest: '/query/dsl', body: { name: { eq: 'a' } } },
];

/** Places that are there, and places of which something is not. */
function places(): readonly string[] {
  const { name } = space;
  const { repository } = space.client;
  const base = '/api/repository';
  return [
    `${base}/${repository}/main/head/${name}`,
    `${base}/${repository}/v1/head/${name}`,
    `${base}/${repository}/main/rev/${revision}/${name}`,
    `${base}/${repository}/main/rev/1-0/${name}`,
    `${base}/${repository}/main/head/no-workspace`,
    `${base}/${repository}/no-branch/head/${name}`,
    `${base}/no-repository/main/head/${name}`,
  ];
}

/** What may stand in the address of a statement, and in its text. */
function sqlPlaces(): readonly string[] {
  const { repository } = space.client;
  return [
    repository,
    `${repository}/main`,
    `${repository}/v1`,
    `${repository}/no-branch`,
    'no-repository',
  ].map((place) => `/api/sql/${place}`);
}

/** Everything of an answer that a stranger could tell something from; times and ids of requests differ anyway. */
async function answer(path: string, body?: object, headers: Record<string, string> = {}) {
  const method = body === undefined ? 'GET' : 'POST';
  const told = await server.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
  const shown = { ...told.headers };
  for (const name of ['date', 'x-request-id', 'content-length']) delete shown[name];
  const text = told.text.replace(/"timestamp":"[^"]*"/, '');
  return { status: told.status, headers: shown, text };
}

describe('callers without a login', () => {
  it.each(asked)('cannot detect what exists by $rest $body [ADMIN-014]', async ({ rest, body }) => {
    const [first, ...others] = await Promise.all(places().map((place) => answer(place + rest, body)));
    expect(first?.headers['x-svc-revision']).toBeUndefined();
    expect([200, 400, 404]).toContain(first?.status);
    for (const other of others) expect(other).toEqual(first);
  });

  it.each(['SELECT 1 AS a', 'SELECT * FROM space', 'SELEC', ''])(
    'cannot detect what exists by the statement %j [ADMIN-014]',
    async (sql) => {
      const [first, ...others] = await Promise.all(sqlPlaces().map((place) => answer(place, { sql })));
      expect(first).toMatchObject({ status: 200 });
      expect(first?.headers['x-svc-revision']).toBeUndefined();
      for (const other of others) expect(other).toEqual(first);
    },
  );

  it('cannot detect what exists by other tenants, consistencies and revisions either [ADMIN-014]', async () => {
    const [there] = places() as [string];
    const first = await answer(`${there}/`);
    expect(first).toMatchObject({ status: 200, text: '[]' });
    for (const headers of [
      { 'x-tenant-id': 'no-tenant' },
      { 'x-svc-consistency': 'strict' },
      { 'x-svc-min-revision': '99999999999999-0' },
      { authorization: 'Bearer of-no-use' },
    ] as Record<string, string>[])
      expect((await answer(`${there}/`, undefined, headers)).text).toBe('[]');
  });

  it.each(['history', 'audit'])('cannot detect what exists by %s [ADMIN-014]', async (ledger) => {
    const { name } = space;
    const { repository } = space.client;
    const all = [`${repository}/main/${name}`, `${repository}/nope/${name}`, `nope/main/${name}`].map(
      (place) => [`/api/${ledger}/${place}/a`, `/api/${ledger}/${place}/by-id/some-id`] as const,
    );
    for (const which of [0, 1] as const) {
      const [first, ...others] = await Promise.all(all.map((pair) => answer(pair[which])));
      expect(first?.status).toBe(404);
      for (const other of others) expect(other).toEqual(first);
    }
  });

  it('cannot learn names from a login either', async () => {
    const login = (tenant: string, username: string) =>
      answer(`/api/svc/sys/${tenant}/auth`, { username, password: 'No-such-password-1' });
    const first = await login('default', 'nobody');
    for (const [tenant, username] of [
      ['default', 'admin'],
      ['no-tenant', 'admin'],
    ] as const)
      expect(await login(tenant, username)).toEqual(first);
  });

  it('cannot learn names of tenants from what is refused after some attempts', async () => {
    const email = 'nobody@example.org';
    const series = async (tenant: string) => {
      const answers = [];
      for (let attempt = 0; attempt < 6; attempt += 1) {
        const headers = { 'x-tenant-id': tenant };
        answers.push(
          await answer('/auth/login', { email, password: 'No-such-password-1' }, headers),
          await answer('/auth/magic-link', { email }, headers),
          await answer('/auth/providers', undefined, headers),
          await answer(`/api/svc/sys/${tenant}/auth`, {
            username: 'nobody-else',
            password: 'No-such-password-1',
          }),
        );
      }
      return answers;
    };
    const registered = await server.request('POST', '/auth/register', {
      body: { email: 'ann@example.org', password: 'a good password' },
    });
    expect(registered.status).toBe(200);
    const there = await series('default');
    const codes = there.filter((_, index) => index % 4 === 0).map(({ status }) => status);
    expect(codes).toEqual([401, 401, 401, 401, 401, 429]);
    const withoutSeconds = (answers: typeof there) =>
      answers.map(({ headers, status, text }) => ({
        status,
        headers: { ...headers, 'retry-after': headers['retry-after'] !== undefined },
        text: text.replace(/\d+ seconds|"retry_after_seconds":\d+/, ''),
      }));
    expect(withoutSeconds(await series('no-tenant'))).toEqual(withoutSeconds(there));
  });
});

describe('callers with access', () => {
  it('learn what is missing [HTTP-012, HTTP-013]', async () => {
    const codes = await Promise.all(
      places()
        .slice(4)
        .map(async (place) => (await server.admin('GET', `${place}/`)).json.code),
    );
    expect(codes).toEqual(['WORKSPACE_NOT_FOUND', 'BRANCH_NOT_FOUND', 'REPOSITORY_NOT_FOUND']);
  });
});
