import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import { AdminClient } from '#test/support/admin-client.ts';
import { ContentClient } from '#test/support/content-client.ts';
import type { TestRequest, TestResponse } from '#test/support/http-client.ts';
import { IdentityClient } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only the documentation of the routes is looked at; the requests go to a server.
const routes = memberRoutes({} as RoutesContext);

const operatorToken = 'an-operator-token-for-this-test';
/** As a proxy adds it: who is on this machine may see more. */
const elsewhere = { 'x-forwarded-for': '192.0.2.7' };

let server: TestServer;
let values: Readonly<Record<string, string>>;
let callers: Readonly<Record<string, TestRequest>>;

beforeAll(async () => {
  server = await startServer({ env: { SVC_METRICS_TOKEN: operatorToken } });
  const client = await ContentClient.on(server);
  const password = 'Another-Horse-8-Battery';
  const admin = { username: 'ada', password, must_change_password: false };
  await server.admin('POST', '/api/management/registry/tenants', { tenant_id: 'acme', admin });
  const login = await server.request('POST', '/api/svc/sys/acme/auth', {
    body: { username: 'ada', password },
  });
  callers = {
    nobody: { headers: elsewhere },
    'the operator': { headers: elsewhere, token: operatorToken },
    'an administrator of another tenant': { headers: elsewhere, token: login.json.token as string },
  };
  values = { tenant: 'default', repo: client.repository, branch: 'main', workspace: 'content' };
});

afterAll(() => server.close());

function addressOf(pattern: string): string {
  return pattern
    .replace('{path*}', 'there')
    .replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'unknown');
}

/** What is wrong with a request besides who sends it. */
const faults: Readonly<Record<string, Readonly<{ query?: string; raw?: string }>>> = {
  'an unknown parameter': { query: '?nonsense=1', raw: '{}' },
  'one parameter twice': { query: '?limit=1&limit=2', raw: '{}' },
  'a bad value': { query: '?limit=x', raw: '{}' },
  'an unknown field': { raw: '{"nonsense": 1}' },
  'a field of the wrong type': { raw: '{"name": 7, "from": 7, "admin": 7}' },
  'no JSON': { raw: '{' },
  'a large body': { raw: `{"nonsense": "${'x'.repeat(2_000)}"}` },
};

function said({ json, status }: TestResponse): unknown {
  return [status, json.code ?? json.error, json.message ?? json.error];
}

describe('a caller without access to a route gets the same refusal for any request', () => {
  const refusing: string[] = [];

  it.each(routes.map((route): [string, RestRoute] => [route.operationId, route]))(
    '%s [HTTP-095]',
    async (operationId, { body, method, pattern }) => {
      const address = addressOf(pattern);
      for (const [name, caller] of Object.entries(callers)) {
        const bare = body === 'none' || body === 'ignored' ? caller : { ...caller, raw: '{}' };
        const plain = await server.request(method, address, bare);
        if (plain.status !== 401 && plain.status !== 403) continue;
        refusing.push(`${operationId} ${name}`);
        for (const [fault, { query = '', raw = '' }] of Object.entries(faults)) {
          const wrong = await server.request(method, `${address}${query}`, { ...caller, raw });
          expect([name, fault, said(wrong)]).toEqual([name, fault, said(plain)]);
        }
      }
    },
  );

  it('of a write of definitions, which neither a user nor an administrator who acts as one may send [HTTP-095]', async () => {
    const { access } = await new IdentityClient(server).person();
    const token = await new AdminClient(server).account('actor', { access_flags: { can_impersonate: true } });
    const acting = { token, headers: { 'x-svc-impersonate': '/users/internal/ann' } };
    const writes = routes.filter(({ operationId }) =>
      /^(put|replace|delete|publish|unpublish)(NodeType|Archetype|ElementType|Mixin)$/.test(operationId),
    );
    expect(writes).toHaveLength(20);
    for (const { method, operationId, pattern } of writes)
      for (const caller of [{ token: access }, acting])
        for (const [fault, { query = '', raw = '' }] of Object.entries(faults)) {
          const answer = await server.request(method, `${addressOf(pattern)}${query}`, { ...caller, raw });
          expect([operationId, fault, answer.status, answer.json.code]).toEqual([
            operationId,
            fault,
            403,
            'FORBIDDEN',
          ]);
        }
  });

  it('and many requests are refused', () => {
    // Nearly every route wants a login, and those for the whole system one of its own administrators.
    expect(refusing.filter((one) => one.endsWith(' nobody')).length).toBeGreaterThan(90);
    for (const operation of ['startBackup', 'startRestore', 'startCheck', 'createTenant', 'takeSnapshots']) {
      expect(refusing).toContain(`${operation} an administrator of another tenant`);
    }
  });
});
