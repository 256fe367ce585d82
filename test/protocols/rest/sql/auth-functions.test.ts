import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let repository: string;
/** The access token and the id of a person without any right in the tenant. */
let kim: { readonly token: string; readonly id: string };

const provider = {
  provider_id: 'acme',
  display_name: 'Acme',
  issuer_url: 'https://login.acme.example.org',
  client_id: 'grove',
  client_secret: 'a secret of a client',
};

beforeAll(async () => {
  server = await startServer();
  repository = await server.createRepository();
  const body = { email: 'kim@example.org', password: 'eight or more', display_name: 'Kim' };
  const { json } = await server.request('POST', `/auth/${repository}/register`, { body });
  kim = { token: json.access_token, id: json.identity.id };
});

afterAll(() => server.close());

function run(sql: string, params: readonly unknown[] = [], token?: string | null): Promise<TestResponse> {
  const path = `/api/sql/${repository}`;
  if (token === null) return server.request('POST', path, { body: { sql, params } });
  if (token !== undefined) return server.request('POST', path, { body: { sql, params }, token });
  return server.admin('POST', path, { sql, params });
}

async function rows(sql: string, params: readonly unknown[] = [], token?: string): Promise<unknown> {
  const answer = await run(sql, params, token);
  expect([sql, answer.status, answer.text]).toEqual([sql, 200, expect.anything()]);
  return answer.json.rows;
}

/** What a statement is refused with; an expected one may leave out what comes last. */
async function expectRefusal(
  sql: string,
  [status, code, message]: readonly [number, string?, unknown?],
  token?: string,
): Promise<void> {
  const answer = await run(sql, [], token);
  const { json = {} } = answer;
  expect([sql, answer.status, json.code, json.message]).toEqual([
    sql,
    status,
    code ?? json.code,
    message ?? json.message,
  ]);
}

const configured = async (): Promise<Record<string, unknown>> =>
  (await server.admin('GET', '/api/tenants/default/auth/config')).json;

describe('settings of the tenant', () => {
  it('are those of the configuration, and change as it does [SQLACC-013]', async () => {
    expect(await rows('SELECT SVC_AUTH_GET_SETTINGS() AS s')).toEqual([{ s: await configured() }]);
    const changed = await rows('SELECT SVC_AUTH_UPDATE_SETTINGS($1) AS s', [
      { local_auth: { enabled: true }, cors_allowed_origins: ['https://app.example.org'] },
    ]);
    expect(changed).toEqual([{ s: await configured() }]);
    expect(await rows(`SELECT SVC_AUTH_UPDATE_SETTINGS('{"cors_allowed_origins":[]}'::jsonb)`)).toEqual([
      { column1: await configured() },
    ]);
    expect(await rows(`SELECT SVC_AUTH_GET_SETTINGS() -> 'cors_allowed_origins' AS o`)).toEqual([{ o: [] }]);
    await expectRefusal(`SELECT SVC_AUTH_UPDATE_SETTINGS('{"local_auth":{"enabled":1}}')`, [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('local_auth'),
    ]);
    await expectRefusal(`SELECT SVC_AUTH_UPDATE_SETTINGS('[]')`, [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('SVC_AUTH_UPDATE_SETTINGS takes a JSON object'),
    ]);
    const { json } = await server.admin('GET', '/api/svc/sys/default/audit?limit=5');
    expect(JSON.stringify(json)).toContain('authentication_configured');
  });

  it('have providers that are added, changed and removed one by one, without their secrets [SQLACC-014]', async () => {
    const shown = { provider_id: 'acme', strategy_type: 'oidc', display_name: 'Acme', icon: null };
    expect(await rows(`SELECT SVC_AUTH_ADD_PROVIDER('oidc', $1) AS id`, [provider])).toEqual([
      { id: 'acme' },
    ]);
    expect(await rows('SELECT * FROM SVC_AUTH_PROVIDERS()')).toEqual([
      { ...shown, enabled: true, created_at: null },
    ]);
    const change = JSON.stringify({ display_name: 'Acme Corp', enabled: false });
    const [{ p }] = (await rows(`SELECT SVC_AUTH_UPDATE_PROVIDER('acme', '${change}') AS p`)) as [
      { p: Record<string, unknown> },
    ];
    expect(p).toMatchObject({ display_name: 'Acme Corp', has_client_secret: true });
    expect(JSON.stringify(p)).not.toContain('a secret of a client');
    expect(
      await rows('SELECT p.display_name, enabled FROM SVC_AUTH_PROVIDERS() AS p WHERE NOT enabled'),
    ).toEqual([{ display_name: 'Acme Corp', enabled: false }]);
    await expectRefusal(`SELECT SVC_AUTH_ADD_PROVIDER('oidc', '${JSON.stringify(provider)}')`, [
      409,
      'ALREADY_EXISTS',
      expect.stringContaining("Provider 'acme' already exists"),
    ]);
    await expectRefusal(`SELECT SVC_AUTH_ADD_PROVIDER('saml', '{}')`, [400]);
    await expectRefusal(`SELECT SVC_AUTH_UPDATE_PROVIDER('none', '{}')`, [404, 'PROVIDER_NOT_FOUND']);
    await expectRefusal(`SELECT SVC_AUTH_UPDATE_PROVIDER('acme', '{"provider_id":"b"}')`, [400]);
    expect(await rows(`SELECT SVC_AUTH_REMOVE_PROVIDER('acme') AS gone`)).toEqual([{ gone: true }]);
    expect(await rows(`SELECT SVC_AUTH_REMOVE_PROVIDER('acme') AS gone`)).toEqual([{ gone: false }]);
    expect(await rows('SELECT COUNT(*) AS n FROM SVC_AUTH_PROVIDERS()')).toEqual([{ n: 0 }]);
  });

  it('are checked as by the route, with the names of their fields [SQLACC-013]', async () => {
    const unknown = expect.stringContaining("Unknown field 'local_aut'; did you mean 'local_auth'?");
    await expectRefusal(`SELECT SVC_AUTH_UPDATE_SETTINGS('{"local_aut":{"enabled":true}}')`, [
      400,
      'VALIDATION_FAILED',
      unknown,
    ]);
    const body = { local_aut: { enabled: true } };
    const route = await server.admin('PUT', '/api/tenants/default/auth/config', body);
    expect([route.status, route.json.message]).toEqual([400, unknown]);
    for (const [given, message] of [
      [{ ...provider, colour: 1 }, "Unknown field 'colour'"],
      [{ ...provider, issuer_url: undefined }, 'missing field `issuer_url`'],
      [{ ...provider, issuer_url: 'ftp://x' }, '`issuer_url` must be an http or https address'],
    ] as const)
      await expectRefusal(`SELECT SVC_AUTH_ADD_PROVIDER('oidc', '${JSON.stringify(given)}')`, [
        400,
        'VALIDATION_FAILED',
        expect.stringContaining(message),
      ]);
    await rows(`SELECT SVC_AUTH_ADD_PROVIDER('oidc', $1)`, [provider]);
    for (const [given, message] of [
      [{ colour: 1 }, "Unknown field 'colour'"],
      [{ token_url: 'x' }, '`token_url` must be an http or https address'],
      [{ client_id: 'other' }, '`client_secret` is needed again'],
      [{ has_client_secret: true }, "Field 'has_client_secret' is read-only"],
    ] as const)
      await expectRefusal(`SELECT SVC_AUTH_UPDATE_PROVIDER('acme', '${JSON.stringify(given)}')`, [
        400,
        'VALIDATION_FAILED',
        expect.stringContaining(message),
      ]);
    await rows(`SELECT SVC_AUTH_UPDATE_PROVIDER('acme', '{"displayName":"A"}')`);
    expect(await rows('SELECT display_name FROM SVC_AUTH_PROVIDERS()')).toEqual([{ display_name: 'A' }]);
    await rows(`SELECT SVC_AUTH_REMOVE_PROVIDER('acme')`);
  });

  it('refuse a lock, which could not guard them', async () => {
    const answer = await server.request('POST', `/api/sql/${repository}`, {
      body: { sql: `SELECT SVC_AUTH_REMOVE_PROVIDER('acme')` },
      token: server.adminToken,
      headers: { 'x-svc-lock': 'beds;1' },
    });
    expect([answer.status, answer.json.field]).toEqual([400, 'X-Svc-Lock']);
  });

  it('lose no provider that is changed at the same time as others', async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `p${index}`);
    const each = (sql: (id: string) => string): Promise<unknown> =>
      Promise.all(ids.map((id) => rows(sql(id))));
    await each((id) => {
      const { client_secret: _, ...given } = { ...provider, provider_id: id };
      return `SELECT SVC_AUTH_ADD_PROVIDER('oidc', '${JSON.stringify(given)}')`;
    });
    const listed = () =>
      rows('SELECT provider_id, display_name FROM SVC_AUTH_PROVIDERS() ORDER BY provider_id');
    expect(await listed()).toHaveLength(ids.length);
    await each((id) => `SELECT SVC_AUTH_UPDATE_PROVIDER('${id}', '{"display_name":"${id}"}')`);
    expect(await listed()).toEqual(ids.map((id) => ({ provider_id: id, display_name: id })));
    await each((id) => `SELECT SVC_AUTH_REMOVE_PROVIDER('${id}')`);
    expect(await listed()).toEqual([]);
  });

  it('are changed by a statement of its own only, and not with a key of idempotency [SQLACC-015]', async () => {
    const alone = expect.stringContaining('it stands alone');
    for (const sql of [
      `SELECT SVC_AUTH_REMOVE_PROVIDER('acme'), 1`,
      `SELECT SVC_AUTH_REMOVE_PROVIDER('acme') WHERE FALSE`,
      `SELECT SVC_AUTH_REMOVE_PROVIDER('acme') FROM GENERATE_SERIES(1, 2)`,
      `SELECT SVC_AUTH_REMOVE_PROVIDER('acme') LIMIT 0`,
      `EXPLAIN SELECT SVC_AUTH_REMOVE_PROVIDER('acme')`,
    ])
      await expectRefusal(sql, [400, 'VALIDATION_FAILED', alone]);
    await expectRefusal(`BEGIN; SELECT SVC_AUTH_REMOVE_PROVIDER('acme')`, [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('SVC_AUTH_REMOVE_PROVIDER cannot be part of a transaction'),
    ]);
    await expectRefusal('SELECT SVC_AUTH_REMOVE_PROVIDER()', [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('Invalid argument count for SVC_AUTH_REMOVE_PROVIDER: expected 1, got 0'),
    ]);
    await expectRefusal(`SELECT SVC_AUTH_REMOVE_PROVIDER('a' || 'b')`, [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('The arguments of SVC_AUTH_REMOVE_PROVIDER are literals or parameters'),
    ]);
    const body = { sql: `SELECT SVC_AUTH_REMOVE_PROVIDER('acme')` };
    const headers = { 'idempotency-key': 'k' };
    const keyed = await server.request('POST', `/api/sql/${repository}`, {
      body,
      headers,
      token: server.adminToken,
    });
    expect([keyed.status, keyed.json.message]).toEqual([
      400,
      expect.stringContaining('takes no Idempotency-Key'),
    ]);
    await expectRefusal(
      "BEGIN; SELECT * FROM SVC_AUTH_PROVIDERS(); INSERT INTO c (path, node_type) VALUES ('/a', 'svc:Folder')",
      [400, 'VALIDATION_FAILED', expect.stringContaining('it can stand in queries only')],
    );
  });
});

describe('people, sessions and access requests', () => {
  it('are those that administrators see elsewhere [SQLACC-016]', async () => {
    expect(await rows(`SELECT * FROM SVC_AUTH_IDENTITIES('KIM@')`)).toEqual([
      {
        identity_id: kim.id,
        email: 'kim@example.org',
        display_name: 'Kim',
        email_verified: false,
        is_active: true,
        created_at: expect.any(String),
        last_login_at: expect.any(String),
      },
    ]);
    expect(await rows(`SELECT * FROM SVC_AUTH_IDENTITIES('nobody')`)).toEqual([]);
    const sessions = await rows('SELECT * FROM SVC_AUTH_SESSIONS($1)', [kim.id]);
    expect(sessions).toEqual([
      {
        session_id: expect.any(String),
        identity_id: kim.id,
        auth_strategy: 'local',
        user_agent: null,
        ip_address: expect.any(String),
        created_at: expect.any(String),
        last_active_at: expect.any(String),
      },
    ]);
    expect(await rows('SELECT * FROM SVC_AUTH_SESSIONS()')).toEqual(sessions);
    const other = await server.createRepository();
    const asked = await server.request('POST', `/repos/${other}/access/request`, {
      body: { message: 'Please' },
      token: kim.token,
    });
    expect(asked.status).toBe(200);
    const request = {
      request_id: asked.json.id,
      identity_id: kim.id,
      email: 'kim@example.org',
      repo_id: other,
      status: expect.any(String),
      message: 'Please',
      created_at: expect.any(String),
    };
    expect(await rows('SELECT * FROM SVC_AUTH_ACCESS_REQUESTS($1)', [other])).toEqual([request]);
    expect(await rows(`SELECT * FROM SVC_AUTH_ACCESS_REQUESTS('${other}', 'denied')`)).toEqual([]);
    expect(await rows('SELECT * FROM SVC_AUTH_ACCESS_REQUESTS()')).toEqual([]);
    await expectRefusal(`SELECT * FROM SVC_AUTH_ACCESS_REQUESTS('${other}', 'odd')`, [400]);
    expect(
      await rows(
        'SELECT i.email, s.auth_strategy FROM SVC_AUTH_IDENTITIES() i JOIN SVC_AUTH_SESSIONS() s ON s.identity_id = i.identity_id',
      ),
    ).toEqual([{ email: 'kim@example.org', auth_strategy: 'local' }]);
  });

  it('are refused to everybody else, except own sessions [SQLACC-017]', async () => {
    const calls = [
      'SELECT SVC_AUTH_GET_SETTINGS()',
      `SELECT SVC_AUTH_UPDATE_SETTINGS('{}')`,
      `SELECT SVC_AUTH_ADD_PROVIDER('oidc', '{}')`,
      `SELECT SVC_AUTH_UPDATE_PROVIDER('acme', '{}')`,
      `SELECT SVC_AUTH_REMOVE_PROVIDER('acme')`,
      'SELECT * FROM SVC_AUTH_PROVIDERS()',
      'SELECT * FROM SVC_AUTH_IDENTITIES()',
      `SELECT * FROM SVC_AUTH_SESSIONS('00000000-0000-7000-8000-000000000000')`,
      'SELECT * FROM SVC_AUTH_ACCESS_REQUESTS()',
      `SELECT 1 WHERE EXISTS (SELECT 1 FROM SVC_AUTH_IDENTITIES())`,
    ];
    const { json } = await server.admin('POST', '/api/svc/me/api-keys', { name: 'key' });
    for (const sql of calls) {
      await expectRefusal(sql, [403, 'FORBIDDEN'], kim.token);
      await expectRefusal(sql, [403, 'FORBIDDEN'], json.token);
    }
    // A caller without access gets no rows of any query, and changes nothing.
    for (const sql of calls) {
      const answer = await run(sql, [], null);
      expect([sql, answer.status, answer.json.rows ?? []]).toEqual([sql, expect.any(Number), []]);
      expect([200, 401]).toContain(answer.status);
    }
    const own = await rows('SELECT identity_id FROM SVC_AUTH_SESSIONS()', [], kim.token);
    expect(own).toEqual([{ identity_id: kim.id }]);
    expect(await rows('SELECT identity_id FROM SVC_AUTH_SESSIONS($1)', [kim.id], kim.token)).toEqual(own);
  });

  it('refuse wrong arguments, and statements that write [SQLACC-016]', async () => {
    await expectRefusal('SELECT * FROM SVC_AUTH_PROVIDERS(1)', [400]);
    await expectRefusal('SELECT * FROM SVC_AUTH_IDENTITIES(1)', [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('The arguments of SVC_AUTH_IDENTITIES are texts'),
    ]);
    await expectRefusal(`SELECT * FROM SVC_AUTH_IDENTITIES('a' || CURRENT_USER)`, [400]);
    await expectRefusal(`SELECT * FROM SVC_AUTH_SESSIONS('none')`, [404, 'IDENTITY_NOT_FOUND']);
    await expectRefusal(
      `INSERT INTO 'svc:system' (path, node_type) SELECT '/' || email, 'svc:Folder' FROM SVC_AUTH_IDENTITIES()`,
      [400, 'VALIDATION_FAILED', expect.stringContaining('it can stand in queries only')],
    );
    await expectRefusal('SELECT * FROM SVC_AUTH_PROVIDER()', [
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('SVC_AUTH_PROVIDERS'),
    ]);
  });
});
