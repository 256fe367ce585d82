import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReadableNode, Subject } from '#runtime/access/policy.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { groupNames, named, names, role, roleNames, types } from '#test/runtime/access/roles/any-roles.ts';
import { decidePlainly, type PlainWorld } from '#test/runtime/access/roles/plain-policy.ts';
import { anything } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { presentPart, workloadCount } from '#test/support/workload-count.ts';

/** Sets of roles that are tried, and requests with each. */
const WORLDS = 20;
const REQUESTS = Math.ceil(workloadCount(100_000) / WORLDS);

/** Requests under way at the same time. */
const AT_ONCE = 16;

const WORKSPACE = 'content';
const PASSWORD = 'a-Password-9';

/** The conditions of the reference, in the language of conditions. */
const conditions: Readonly<Record<string, string>> = {
  own: 'node.created_by == auth.user_id',
  mine: 'node.id == auth.local_user_id',
  draft: "node.status == 'draft'",
  'at home': 'node.path == auth.home || node.path.descendantOf(auth.home)',
  'in a or b':
    "['/a', '/b'].contains(node.path) || node.path.descendantOf('/a') || node.path.descendantOf('/b')",
  anonymous: 'auth.is_anonymous',
  'as editor': "auth.roles.contains('editor')",
  'in content': "node.workspace == 'content'",
  always: 'true',
  never: 'false',
};

/** A person with a user node. */
interface Person {
  readonly token: string;
  readonly identity: string;
  readonly userNode: { readonly id: string; readonly path: string };
  roles: readonly unknown[];
  groups: readonly unknown[];
}

/** A stored node, as the administrator sees it. */
interface Stored {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly created_by: string;
  readonly updated_by: string;
  readonly properties: JsonObject;
}

let server: TestServer;
let repository: string;
const people: Person[] = [];
let nodes: readonly Stored[] = [];

beforeAll(async () => {
  server = await startServer();
  repository = await server.createRepository();
  await ok('PUT', `/api/workspaces/${repository}/${WORKSPACE}`, anything);
  for (const name of types)
    await ok('POST', `/api/management/${repository}/main/nodetypes`, {
      node_type: { name, properties: names.map((each) => ({ name: each, type: 'String' })), strict: false },
    });
  for (let index = 0; index < 5; index += 1) people.push(await register(`person${index}`));
  for (const person of people) await setUser(person, ['system_admin'], []);
  await plant();
});

afterAll(() => server.close());

describe('random readers', () => {
  it('see what the rules say, in nodes, lists, queries and statements', async () => {
    const worlds = fc.sample(
      fc.record({
        roles: fc.uniqueArray(role, { minLength: 1, maxLength: 5, selector: ({ role_id: id }) => id }),
        groups: fc.uniqueArray(
          fc.record({ group_id: fc.constantFrom(...groupNames), roles: named(roleNames, '/roles/') }),
          { maxLength: 2, selector: ({ group_id: id }) => id },
        ),
        people: fc.array(
          fc.record({ roles: named(roleNames, '/roles/'), groups: named(groupNames, '/groups/') }),
          { minLength: people.length, maxLength: people.length },
        ),
      }),
      { numRuns: WORLDS, seed: 20_261_127 + presentPart() },
    );
    const random = fc.sample(fc.nat(), { numRuns: 4 * REQUESTS, seed: 7 + presentPart() });
    const seen = { yes: 0, no: 0, filtered: 0 };
    for (const world of worlds) {
      await become(world);
      codesOfMissing.clear();
      const draws = random[Symbol.iterator]();
      const draw = (below: number): number => (draws.next().value as number) % below;
      for (let sent = 0; sent < REQUESTS; sent += AT_ONCE)
        await Promise.all(
          Array.from({ length: AT_ONCE }, () => {
            const person = people[draw(people.length)] as Person;
            const plain = worldOf(world, person);
            const node = nodes[draw(nodes.length)] as Stored;
            const kind = draw(4);
            if (kind === 0) return readsNode(plain, person, node, seen);
            if (kind === 1) return readsChildren(plain, person, node);
            if (kind === 2) return readsRows(plain, person);
            return readsType(plain, person, types[draw(types.length)] as string);
          }),
        );
    }
    // What is drawn is neither all hidden nor all open.
    expect(seen.yes).toBeGreaterThan(REQUESTS / 10);
    expect(seen.no).toBeGreaterThan(REQUESTS / 10);
    expect(seen.filtered).toBeGreaterThan(0);
  });
});

type World = Pick<PlainWorld, 'roles' | 'groups'>;

async function readsNode(
  plain: PlainWorld,
  { token }: Person,
  node: Stored,
  seen: { yes: number; no: number; filtered: number },
): Promise<void> {
  const { isPermitted, shows } = decidePlainly(plain, 'read', subjectOf(node));
  const answer = await get(token, node.path);
  expect([node.path, answer.status]).toEqual([node.path, isPermitted ? 200 : 404]);
  seen[isPermitted ? 'yes' : 'no'] += 1;
  if (!isPermitted) {
    expect(answer.json.code).toBe(await codeOfMissing(token));
    return;
  }
  const shown = Object.fromEntries(Object.entries(node.properties).filter(([name]) => shows(name)));
  expect(ownProperties(answer.json)).toEqual(shown);
  if (Object.keys(shown).length < Object.keys(node.properties).length) seen.filtered += 1;
}

/** By token: the code for a node that is not there, of the present world. */
const codesOfMissing = new Map<string, Promise<string>>();

function codeOfMissing(token: string): Promise<string> {
  const known = codesOfMissing.get(token);
  if (known !== undefined) return known;
  const code = get(token, '/a/nobody-has-this-name').then(({ json }) => json.code as string);
  codesOfMissing.set(token, code);
  return code;
}

/** A list shows the readable children of a readable node. */
async function readsChildren(plain: PlainWorld, { token }: Person, node: Stored): Promise<void> {
  const answer = await get(token, `${node.path}/`);
  if (!decidePlainly(plain, 'read', subjectOf(node)).isPermitted) {
    expect([node.path, answer.status]).toEqual([node.path, 404]);
    return;
  }
  const children = nodes.filter(({ path }) => path.slice(0, path.lastIndexOf('/')) === node.path);
  expect([node.path, answer.json.map(({ path }: Stored) => path).sort()]).toEqual([
    node.path,
    visible(plain, children).map(({ path }) => path),
  ]);
  for (const child of answer.json as readonly (Stored & { has_children: boolean })[]) {
    const below = nodes.filter(({ path }) => path.slice(0, path.lastIndexOf('/')) === child.path);
    expect([child.path, child.has_children]).toEqual([child.path, visible(plain, below).length > 0]);
  }
}

async function readsType(plain: PlainWorld, { token }: Person, nodeType: string): Promise<void> {
  const answer = await server.request('POST', `${base()}/query`, { token, body: { nodeType, limit: 1000 } });
  const found = answer.json.items.map(({ path }: Stored) => path);
  const expected = visible(
    plain,
    nodes.filter((each) => each.node_type === nodeType),
  ).map(({ path }) => path);
  expect([nodeType, [...found].sort()]).toEqual([nodeType, expected]);
}

/** A statement shows what may be read of the readable nodes. */
async function readsRows(plain: PlainWorld, { token }: Person): Promise<void> {
  const sql = `SELECT path, properties, COUNT(*) OVER () AS n FROM '${WORKSPACE}' ORDER BY path`;
  const answer = await server.request('POST', `/api/sql/${repository}`, { token, body: { sql } });
  const expected = visible(plain, nodes).map((node) => {
    const { shows } = decidePlainly(plain, 'read', subjectOf(node));
    return [node.path, Object.fromEntries(Object.entries(node.properties).filter(([name]) => shows(name)))];
  });
  const rows = answer.json.rows as readonly (Stored & { n: number })[];
  expect(rows.map((row) => [row.path, ownProperties(row)])).toEqual(expected);
  for (const { n } of rows) expect(n).toBe(expected.length);
}

/** The stored properties, without those that are derived from the type. */
function ownProperties({ properties }: Stored): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !name.startsWith('$')));
}

function visible(plain: PlainWorld, candidates: readonly Stored[]): readonly Stored[] {
  return candidates
    .filter((each) => decidePlainly(plain, 'read', subjectOf(each)).isPermitted)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function subjectOf(stored: Stored): Subject {
  const node: ReadableNode = {
    id: stored.id,
    name: stored.name,
    path: stored.path,
    nodeType: stored.node_type,
    createdBy: stored.created_by,
    updatedBy: stored.updated_by,
    ownerId: null,
    property: (name) => (Object.hasOwn(stored.properties, name) ? stored.properties[name] : undefined),
  };
  return { workspace: WORKSPACE, path: stored.path, nodeType: stored.node_type, node };
}

function worldOf({ groups, roles }: World, { identity, userNode, ...has }: Person): PlainWorld {
  const user = { ...userNode, roles: has.roles, groups: has.groups };
  return { identity, isAnonymous: false, through: 'rest', branch: 'main', user, roles, groups, configs: [] };
}

function base(): string {
  return `/api/repository/${repository}/main/head/${WORKSPACE}`;
}

function get(token: string, path: string) {
  return server.request('GET', `${base()}${path}`, { token });
}

async function ok(method: string, path: string, body?: unknown) {
  const answer = await server.admin(method, path, body);
  expect([path, answer.text, answer.status < 300]).toEqual([path, answer.text, true]);
  return answer;
}

const access = (path: string) => `/api/repository/${repository}/main/head/svc:access_control${path}`;

async function register(name: string): Promise<Person> {
  const body = { email: `${name}@example.com`, password: PASSWORD, display_name: name };
  const { json } = await server.request('POST', `/auth/${repository}/register`, { body });
  const { id } = (await ok('GET', access(json.identity.home))).json;
  return {
    token: json.access_token,
    identity: json.identity.id,
    userNode: { id, path: json.identity.home },
    roles: [],
    groups: [],
  };
}

/** Makes a tree with nodes of every person. */
async function plant(): Promise<void> {
  const paths = [
    '/a',
    '/b',
    '/ab',
    '/users',
    '/users/me',
    '/a/b',
    '/a/x',
    '/b/a',
    '/a/b/a',
    '/a/b/me',
    '/x',
    '/x/a',
  ];
  const values = ['draft', 'live', undefined];
  const made: Stored[] = [];
  for (const [index, path] of paths.entries()) {
    const person = people[index % people.length] as Person;
    const slash = path.lastIndexOf('/');
    const status = values[index % values.length];
    const answer = await server.request('POST', `${base()}${path.slice(0, slash)}/`, {
      token: person.token,
      body: {
        name: path.slice(slash + 1),
        node_type: types[index % types.length],
        properties: { title: `t${index}`, secret: `s${index}`, ...(status === undefined ? {} : { status }) },
      },
    });
    expect([path, answer.status]).toEqual([path, 201]);
    const { json } = await ok('GET', base() + path);
    made.push({ ...json, properties: ownProperties(json) });
  }
  nodes = made;
}

/** Replaces the roles, groups and users by those of a world. */
async function become(
  world: World & { readonly people: readonly { roles: unknown[]; groups: unknown[] }[] },
) {
  for (const folder of ['/roles', '/groups'])
    for (const { path } of (await ok('GET', `${access(folder)}/`)).json) await ok('DELETE', access(path));
  for (const { inherits, permissions, role_id: id } of world.roles as readonly {
    role_id: string;
    inherits: unknown[];
    permissions: JsonObject[];
  }[])
    await setRole(id, permissions.map(inLanguage), inherits);
  for (const { group_id: id, roles } of world.groups as readonly { group_id: string; roles: unknown[] }[])
    await ok('POST', `${access('/groups')}/`, {
      name: id,
      node_type: 'svc:Group',
      properties: { group_id: id, name: id, roles: stringsIn(roles) },
    });
  for (const [index, person] of people.entries()) {
    const has = world.people[index] ?? { roles: [], groups: [] };
    await setUser(person, has.roles, has.groups);
  }
}

function inLanguage(permission: JsonObject): JsonObject {
  const { condition } = permission;
  if (typeof condition !== 'string' || !Object.hasOwn(conditions, condition)) return permission;
  return { ...permission, condition: conditions[condition] as string };
}

async function setRole(
  id: string,
  permissions: readonly JsonObject[],
  inherits: readonly unknown[],
): Promise<void> {
  await ok('POST', `${access('/roles')}/`, {
    name: id,
    node_type: 'svc:Role',
    properties: { role_id: id, name: id, inherits: stringsIn(inherits), permissions },
  });
}

/** The type of the list permits nothing else. */
function stringsIn(list: readonly unknown[]): readonly unknown[] {
  return list.filter((each) => typeof each === 'string');
}

async function setUser(person: Person, roles: readonly unknown[], groups: readonly unknown[]): Promise<void> {
  await ok('PATCH', access(person.userNode.path), {
    properties: { roles: stringsIn(roles), groups: stringsIn(groups) },
  });
  person.roles = roles;
  person.groups = groups;
}
