import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { IdentityClient } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only the documentation of the routes is looked at; the requests go to a server.
const routes = memberRoutes({} as RoutesContext);
const bodiless = routes.filter(({ body }) => body === 'none');

let server: TestServer;
let client: ContentClient;
let values: Readonly<Record<string, string>>;
/** Of a person, for the routes of identities. */
let access: string;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  ({ access } = await new IdentityClient(server).person());
  const space = await client.workspace();
  await space.add('/', 'there', {});
  await client.branch('other');
  values = {
    tenant: 'default',
    repo: client.repository,
    branch: 'main',
    base: 'other',
    source: 'other',
    workspace: space.name,
    revision: await client.headRevision(),
  };
});

afterAll(() => server.close());

function addressOf(pattern: string): string {
  return pattern
    .replace('{path*}', 'there')
    .replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'unknown');
}

describe('the routes that take no body', () => {
  it.each(bodiless.map((route) => [route.operationId, route]))(
    '%s refuse one, and accept an empty one [HTTP-094]',
    async (_, { audience, method, pattern }) => {
      const address = addressOf(pattern);
      const token = audience === 'identities' ? access : server.adminToken;
      const send = (body?: object) =>
        server.request(method, address, { token, ...(body === undefined ? {} : { body }) });
      const { status, text } = await send({ force: true });
      expect([status, text]).toEqual([400, expect.stringContaining('This takes no body; leave it out')]);
      if (method !== 'GET') return;
      const plain = await send();
      const empty = await send({});
      expect([empty.status, empty.json.code]).toEqual([plain.status, plain.json.code]);
    },
  );

  it('leave out those whose answer does not depend on what is sent', () => {
    const ignored = routes.filter(({ body }) => body === 'ignored').map(({ operationId }) => operationId);
    expect(ignored).toEqual([
      'readHealth',
      'readReadiness',
      'readMetrics',
      'readOpenApi',
      'refuseCreateAtRevision',
      'refuseUpdateAtRevision',
      'refusePatchAtRevision',
      'refuseDeleteAtRevision',
    ]);
  });

  it('have changed nothing by what they refused [HTTP-094]', async () => {
    expect((await server.admin('GET', `/api/repositories/${client.repository}`)).status).toBe(200);
    expect((await client.managed('GET', '/branches/main')).status).toBe(200);
  });
});
