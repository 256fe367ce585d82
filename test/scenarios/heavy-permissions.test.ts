import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const ACCESS = 'svc:access_control';

/** As heavy as a role may be. Eight of them are more than a decision may take. */
const ROLES = 8;
const PERMISSIONS = 50;

/** A condition that looks at the name alone and does not hold. */
const condition = (index: number): string =>
  Array.from({ length: 140 }, () => `node.name.contains('${index}')`).join('||');

const permissionsOf = (role: number): readonly object[] =>
  Array.from({ length: PERMISSIONS }, (_, index) => ({
    path: '**',
    operations: ['create', 'read', 'update', 'delete'],
    condition: condition(1_000 + role * PERMISSIONS + index),
  }));

let server: TestServer;
let content: ContentClient;
let people: IdentityClient;
let busy: Registered;
let space: string;

beforeAll(async () => {
  server = await startServer();
  content = await ContentClient.on(server);
  people = new IdentityClient(server);
  space = `/api/repository/${content.repository}/main/head/${(await content.workspace()).name}`;
  const folder = (name: string) => ({ name, node_type: 'svc:Folder', properties: {} });
  expectStatus(await server.admin('POST', `${space}/`, folder('all')), 201);
  for (let n = 0; n < 5; n += 1)
    expectStatus(await server.admin('POST', `${space}/all/`, folder(`n${n}`)), 201);
  const access = `/api/repository/${content.repository}/main/head/${ACCESS}`;
  const names = Array.from({ length: ROLES }, (_, index) => `heavy-${index}`);
  for (const [index, name] of names.entries()) {
    const properties = { role_id: name, name, permissions: permissionsOf(index) };
    expectStatus(
      await server.admin('POST', `${access}/roles/`, { name, node_type: 'svc:Role', properties }),
      201,
    );
  }
  busy = await people.person(`/auth/${content.repository}`);
  const home = busy.claims.home as string;
  expectStatus(await server.admin('PATCH', access + home, { properties: { roles: names } }), 200);
}, 120_000);

afterAll(() => server.close());

describe('a person whose roles take too much work for a node', () => {
  const requests: readonly [string, string, string, object?][] = [
    ['a node', 'GET', '/all/n1'],
    ['a listing', 'GET', '/all/'],
    ['a page', 'GET', '/all/?limit=2'],
    ['a tree', 'GET', '/all/?level=1&format=array'],
    ['a query', 'POST', '/query', { nodeType: 'svc:Folder' }],
    ['a creation', 'POST', '/all/', { name: 'x', node_type: 'svc:Folder', properties: {} }],
    ['a change', 'PATCH', '/all/n1', { properties: { title: 'x' } }],
    ['a removal', 'DELETE', '/all/n1'],
  ];

  it.each(requests)('gets the same error for %s [ACC-042]', async (_, method, path, body) => {
    const send = (): Promise<TestResponse> =>
      people.send(method, space + path, { token: busy.access, ...(body === undefined ? {} : { body }) });
    const answers = await Promise.all([send(), send(), send()]);
    for (const { status, json } of answers) {
      // The body of a query has no code.
      const code = path === '/query' ? undefined : 'REQUEST_TOO_EXPENSIVE';
      expect([status, json.code]).toEqual([413, code]);
      expect(json.message).toContain("permissions of the caller's roles");
    }
    const found = expectStatus(await server.admin('GET', `${space}/all/n1`), 200);
    expect(found.json.version).toBe(1);
  });
});

describe('a role that takes too much work', () => {
  it('is refused with the number of a permission [ACC-043]', async () => {
    const permissions = [...permissionsOf(0), ...permissionsOf(1)];
    const properties = { role_id: 'more', name: 'more', permissions };
    const body = { name: 'more', node_type: 'svc:Role', properties };
    const path = `/api/repository/${content.repository}/main/head/${ACCESS}/roles/`;
    const { json } = expectStatus(await server.admin('POST', path, body), 400);
    expect([json.code, json.field]).toEqual(['VALIDATION_FAILED', 'properties.permissions']);
    expect(json.message).toMatch(/permissions\[\d+\]/);
  });
});
