import { afterAll, beforeAll, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;
let client: ContentClient;
let space: Space;
/** Revisions by what they changed. */
const made: Record<string, string> = {};

/** Of nothing, of one folder, of everything. */
let stranger: Registered;
let member: Registered;
let viewer: Registered;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
  client = await ContentClient.on(server);
  space = await client.workspace();
  const access = `/api/repository/${client.repository}/main/head/svc:access_control`;
  const permissions = [{ path: '/open/**', workspace: space.name, operations: ['read'] }];
  const role = {
    name: 'opener',
    node_type: 'svc:Role',
    properties: { role_id: 'opener', name: 'opener', permissions },
  };
  expectStatus(await server.admin('POST', `${access}/roles/`, role), 201);
  stranger = await people.person();
  member = await people.person(`/auth/${client.repository}`);
  viewer = await people.person(`/auth/${client.repository}`);
  const home = member.claims.home as string;
  expectStatus(await server.admin('PATCH', access + home, { properties: { roles: ['opener'] } }), 200);
  made.open = await added('/', 'open');
  made.closed = await added('/', 'closed');
  await client.defineType({ name: 'test:Hidden' });
  made.definition = await client.headRevision();
  made.late = await added('/open/', 'leaf');
});

afterAll(() => server.close());

/** @returns the revision that has the node */
async function added(parent: string, name: string): Promise<string> {
  const commit = { message: `secret of ${name}`, actor: `author of ${name}` };
  const path = `/api/repository/${client.repository}/main/head/${space.name}${parent}`;
  const node = { name, node_type: 'svc:Folder', properties: {}, commit };
  return expectStatus(await server.admin('POST', path, node), 201).json.revision;
}

const base = () => `/api/management/repositories/default/${client.repository}`;

const as = (person: Registered, path: string) => people.send('GET', path, { token: person.access });

async function listed(
  person: Registered,
  branch = 'branch=main&',
): Promise<readonly Record<string, unknown>[]> {
  const path = `${base()}/revisions?${branch}include_system=true&limit=1000`;
  return expectStatus(await as(person, path), 200).json.revisions;
}

/** Everything of an answer that could tell something, for a revision that is made up or hidden. */
async function toldOf(person: Registered, revision: string, rest = ''): Promise<unknown> {
  const answer = await as(person, `${base()}/revisions/${revision}${rest}?branch=main`);
  const headers: Record<string, unknown> = { ...answer.headers };
  for (const name of ['date', 'x-request-id', 'content-length']) delete headers[name];
  const json = { ...answer.json, timestamp: '', request_id: '' };
  return { status: answer.status, headers, text: JSON.stringify(json).replaceAll(revision, '(revision)') };
}

it('a person learns of the revisions that changed a node that the person may read [REV-040]', async () => {
  expect(await listed(stranger)).toEqual([]);
  const shown = await listed(member);
  // The default branch need not be named.
  expect(await listed(member, '')).toEqual(shown);
  expect(shown.map(({ revision }) => revision)).toEqual([made.late, made.open]);
  expect(shown[0]).toMatchObject({ actor: 'author of leaf', message: 'secret of leaf' });
  const all = (await listed(viewer)).map(({ revision }) => revision);
  expect(all).toEqual(expect.arrayContaining([made.late, made.closed, made.open]));
  expect(all).not.toContain(made.definition);
  const administered = expectStatus(await client.revisions('?include_system=true&limit=1000'), 200).json;
  const every = administered.revisions.map(({ revision }: { revision: string }) => revision);
  expect(every).toEqual(expect.arrayContaining(Object.values(made)));
});

it('a hidden revision is answered like one that does not exist [REV-040]', async () => {
  for (const rest of ['', '/changes']) {
    const unknown = await toldOf(member, '1-0', rest);
    expect(unknown).toMatchObject({ status: 404, text: expect.stringContaining('REVISION_NOT_FOUND') });
    for (const name of ['closed', 'definition'])
      expect([name, await toldOf(member, made[name] as string, rest)]).toEqual([name, unknown]);
    for (const name of Object.keys(made))
      expect([name, await toldOf(stranger, made[name] as string, rest)]).toEqual([name, unknown]);
    expect(await toldOf(member, made.open as string, rest)).toMatchObject({ status: 200 });
    for (const [name, status] of [
      ['open', 200],
      ['closed', 404],
    ] as const)
      expect([name, (await as(member, `${base()}/revisions/${made[name]}${rest}`)).status]).toEqual([
        name,
        status,
      ]);
    expect(expectStatus(await client.revisions(`/${made.closed}${rest}`), 200).text).not.toBe('');
  }
});

it('neither branches, tags, differences nor histories tell who wrote what is hidden', async () => {
  expectStatus(await client.managed('POST', '/branches', { name: 'fork', from_revision: made.late }), 201);
  made.forked = await added('/', 'closed-too');
  const place = `${client.repository}/main/${space.name}/closed`;
  const paths = [
    `${base()}/branches`,
    `${base()}/branches/main`,
    `${base()}/branches/main/head`,
    `${base()}/tags`,
    `${base()}/branches/main/compare/fork`,
    `${base()}/branches/main/diff/fork`,
    `${base()}/branches/main/diff/fork?detail=properties`,
    `${base()}/revisions?branch=fork&include_system=true`,
    `/api/history/${place}`,
    `/api/audit/${place}`,
  ];
  for (const person of [stranger, member])
    for (const path of paths) {
      const { status, text } = await as(person, path);
      expect([200, 403, 404]).toContain(status);
      // Of revisions that the person may see, the author is told.
      const told = text.replaceAll('"author":"admin",', '');
      expect([path, /.{0,40}(of closed|"admin"|test:Hidden).{0,40}/.exec(told)?.[0]]).toEqual([
        path,
        undefined,
      ]);
    }
});
