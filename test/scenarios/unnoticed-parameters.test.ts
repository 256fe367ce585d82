import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import { ContentClient, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only the documentation of the routes is looked at; the requests go to a server.
const routes = memberRoutes({} as RoutesContext);

let server: TestServer;
let client: ContentClient;
let space: Space;
let head: string;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  await space.add('/', 'a', { title: 'A' });
  await space.add('/a', 'b', { title: 'B' });
  for (const path of ['/a', '/a/b']) {
    await space.post(`${path}/svc:translate`, { locale: 'fr', translations: { '/title': 'F' } });
    await space.post(`${path}/svc:hide-in-locale`, { locale: 'de' });
    await space.post(`${path}/svc:create_version`, {});
  }
  head = await client.headRevision();
});

afterAll(() => server.close());

/** What a route takes in its query string. */
function parametersOf({ docs }: Pick<RestRoute, 'docs'>): readonly string[] {
  return (docs.parameters ?? []).flatMap(({ in: place, name }) => (place === 'query' ? [name] : []));
}

const withParameters = routes.filter((route) => parametersOf(route).length > 0);

/** Addresses of nodes in every form, as what follows the workspace. */
const nodeForms = {
  node: ['/a', '/$ref/{a}', '/a.yaml', '/_id/{a}'],
  listing: ['/', '/a/', '/$ref/{a}/'],
  property: ['/a@title', '/a/@title', '/$ref/{a}@title'],
  version: ['/a/svc:version', '/a/svc:version/1', '/$ref/{a}/svc:version', '/a/b/svc:version'],
  command: [
    '/a/svc:relations',
    '/a/svc:cmd/relations',
    '/a/svc:list-translations',
    '/$ref/{a}/svc:relations',
  ],
} as const;

type Form = keyof typeof nodeForms;

/** Values that mean nothing anywhere, and a locale in which the nodes are hidden. */
const senseless: Readonly<Record<string, string>> = { lang: 'de', branch: 'no-such', workspace: 'no-such' };

/** Values that can be meant. */
const meant: Readonly<Record<string, string>> = {
  level: '1',
  deep: 'true',
  flatten: 'true',
  format: 'array',
  limit: '1',
  cursor: '',
  lang: 'fr',
  fields: 'title',
  expand: '',
  command: 'relations',
};

const variables = (): Readonly<Record<string, string>> => ({
  tenant: 'default',
  repo: client.repository,
  branch: 'main',
  workspace: space.name,
  revision: head,
});

const ids: Record<string, string> = {};

async function addressOf(pattern: string, rest = ''): Promise<string> {
  ids.a ??= (await space.node('/a')).id as string;
  const address = pattern
    .replace(/\/\{path\*\}$/, rest.replace('{a}', ids.a))
    .replace(/\{(\w+)\}/g, (whole, name: string) => variables()[name] ?? whole);
  return address.replace('by-id/{id}', `by-id/${ids.a}`).replace('{name}', definitionIn(pattern));
}

function definitionIn(pattern: string): string {
  return pattern.includes('/nodetypes/') ? 'svc:Page' : 'no-such';
}

function bodyOf({ operationId }: RestRoute): unknown {
  return operationId.startsWith('queryNodesByDsl') ? {} : { path: '/a' };
}

/** What is the same in two answers of one thing. */
function essence({ status, text }: TestResponse): string {
  return `${status} ${text.replace(/"timestamp":"[^"]*"/, '')}`;
}

describe('a documented query parameter', () => {
  it.each(
    withParameters
      // Those of the others count once there is a provider; `oidc-login.test.ts` asks about them.
      .filter(({ operationId }) => !/^createNode$|OidcLogin$/.test(operationId))
      .map((route) => [route.operationId, route]),
  )('of %s changes the answer or is refused, whatever the address names [HTTP-090]', async (_, route) => {
    const forms = route.pattern.endsWith('/{workspace}/{path*}')
      ? route.operationId.startsWith('readNode')
        ? Object.values(nodeForms).flat()
        : nodeForms.node.slice(0, 2)
      : [''];
    for (const form of forms) {
      const address = await addressOf(route.pattern, form);
      const body = route.body === 'none' ? undefined : bodyOf(route);
      const plain = await server.admin(route.method, address, body);
      for (const name of parametersOf(route)) {
        const asked = `${address}?${name}=${senseless[name] ?? '.'}`;
        const answer = await server.admin(route.method, asked, body);
        expect(essence(answer), asked).not.toBe(essence(plain));
      }
    }
  });

  it.each(['readNode', 'readNodeAtRevision'])(
    'of %s is accepted where it applies, and refused elsewhere with its purpose [HTTP-090]',
    async (operationId) => {
      const route = routes.find((one) => one.operationId === operationId) as RestRoute;
      const all = parametersOf(route);
      const described = (ending: string) => {
        const further = route.docs.further?.find(({ pattern }) => pattern.endsWith(ending));
        return parametersOf(further as Pick<RestRoute, 'docs'>);
      };
      const taken: Readonly<Record<Form, readonly string[]>> = {
        node: all,
        listing: all,
        property: ['lang', 'revision'],
        version: described('/svc:version'),
        command: described('/svc:relations'),
      };
      for (const [form, rests] of Object.entries(nodeForms)) {
        // Further names of a node are looked for only where it is read alone.
        for (const rest of rests.filter((one) => !/yaml|_id/.test(one))) {
          const address = await addressOf(route.pattern, rest);
          // The root of a workspace is no node.
          for (const name of all.filter((one) => rest !== '/' || one !== 'command')) {
            const answer = await server.admin('GET', `${address}?${name}=${meant[name] ?? head}`);
            const isTaken = taken[form as Form].includes(name);
            const told = answer.status === 200 ? '' : (answer.json.message as string);
            expect([rest, name, answer.status, told]).toEqual(
              isTaken
                ? [rest, name, 200, '']
                : [
                    rest,
                    name,
                    400,
                    expect.stringMatching(`^The query parameter '${name}' is for .+; .+ takes `),
                  ],
            );
          }
        }
      }
    },
  );

  it('of the commands is refused with the others, by any spelling of them [HTTP-090]', async () => {
    const { docs } = routes.find(({ operationId }) => operationId === 'createNode') as RestRoute;
    const before = await client.headRevision();
    for (const { docs: own, pattern } of docs.further ?? []) {
      const command = pattern.slice(pattern.lastIndexOf(':') + 1);
      for (const address of [`/a/svc:${command}?`, `/a/svc:cmd/${command}?`, `/a?command=${command}&`]) {
        for (const name of ['deep', 'limit', 'command']) {
          const isTaken = parametersOf({ docs: own as RestRoute['docs'] }).includes(name);
          if (isTaken || (name === 'command' && address.includes('command='))) continue;
          const { json, status } = await space.post(`${address}${name}=1`, {});
          expect([address, name, status, json.message]).toEqual([
            address,
            name,
            400,
            expect.stringMatching(
              `^The query parameter '${name}' is for .+; the command '${command}' takes `,
            ),
          ]);
        }
      }
    }
    expect(await client.headRevision()).toBe(before);
  });
});

describe('query parameters of which one would be passed over', () => {
  it.each([
    ['/a?level=1&limit=1', "'limit' is for the pages of a listing; a tree is answered whole"],
    ['/?deep=true&cursor=', "'cursor' is for the pages of a listing; a tree is answered whole"],
    ['/?flatten=true&limit=1', "'limit' is for the pages of a listing; a tree is answered whole"],
    ['/?format=map&limit=1', "'limit' is for the pages of a listing; a tree is answered whole"],
    [
      '/a/svc:relations?command=list-translations',
      "'command' is for the address of a node; the command 'relations' takes",
    ],
    ['/a/svc:version?command=relations', "'command' is for the address of a node; a manual version takes"],
    ['/a@title?command=relations', "'command' is for the address of a node; a property takes lang, revision"],
    ['/?limit=1&limit=2', "'limit' is given twice, with different values"],
    ['/a?lang=de&lang=fr', "'lang' is given twice, with different values"],
    ['/a?deep=true&level=1&deep=1', "'deep' is given twice, with different values"],
  ])('%s are refused [HTTP-090, HTTP-091]', async (path, message) => {
    const { json, status } = await space.get(path);
    expect([status, json.code, json.message]).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining(`The query parameter ${message}`),
    ]);
  });

  it('are refused in two spellings [HTTP-091]', async () => {
    const { json, status } = await client.revisions('?include_system=true&includeSystem=false');
    expect([status, json.message]).toEqual([
      400,
      "The query parameter 'includeSystem' is given twice, with different values",
    ]);
  });

  it.each([
    '/?limit=1&limit=1',
    '/?format=array&limit=1',
    '/a?fields=title&fields=text',
    '/?deep=true&level=2',
  ])('%s are taken where all of them hold [HTTP-091]', async (path) => {
    expect((await space.get(path)).status).toBe(200);
  });
});

describe('the routes with query parameters', () => {
  it.each(withParameters.map((route) => [route.operationId, route]))(
    '%s refuse two values of each that has one [HTTP-091]',
    async (_, route) => {
      const lists = (route.docs.parameters ?? []).filter(({ isRepeatable }) => isRepeatable === true);
      const address = await addressOf(route.pattern, '/a');
      const body = route.body === 'none' ? undefined : bodyOf(route);
      for (const name of parametersOf(route)) {
        if (lists.some((list) => list.name === name)) continue;
        const { status, text } = await server.admin(route.method, `${address}?${name}=1&${name}=2`, body);
        expect([status, text]).toEqual([400, expect.stringContaining(`'${name}' is given twice`)]);
      }
    },
  );
});

describe('a header of which one would be passed over', () => {
  it.each([
    ['X-Svc-Consistency', 'local', 'strict'],
    ['X-Svc-Min-Revision', '1-0', '2-0'],
  ])('%s is refused with a read [HTTP-091]', async (name, one, other) => {
    const answer = await sendTwice('GET', space.url('/a'), name, one, other);
    expect(answer).toContain(`${name} is given twice, with different values`);
    expect(await sendTwice('GET', space.url('/a'), name, one, one)).toMatch(/^HTTP\/1.1 200/);
  });

  it.each([
    ['Idempotency-Key', 'one', 'two'],
    ['X-Svc-Lock', 'k;1', 'k;2'],
  ])('%s is refused with a write [HTTP-091]', async (name, one, other) => {
    const before = await client.headRevision();
    const answer = await sendTwice('DELETE', space.url('/a/b'), name, one, other);
    expect(answer).toContain(`${name} is given twice, with different values`);
    expect(await client.headRevision()).toBe(before);
  });

  it.each([
    ['Idempotency-Key', 'DELETE'],
    ['X-Svc-Lock', 'DELETE'],
    ['X-Svc-Consistency', 'GET'],
    ['X-Svc-Min-Revision', 'GET'],
  ])('%s is refused when it is empty, alone or before another [HTTP-091]', async (name, method) => {
    const before = await client.headRevision();
    for (const other of ['', 'x']) {
      const answer = await sendTwice(method, space.url('/a/b'), name, '', other);
      expect(answer).toMatch(/^HTTP\/1.1 400/);
      expect(answer).toContain(`${name} is empty`);
    }
    expect(await client.headRevision()).toBe(before);
  });

  it('three equal lines are taken as one [HTTP-091]', async () => {
    const answer = await sendTwice(
      'GET',
      space.url('/a'),
      'X-Svc-Consistency',
      'local',
      'local\r\nX-Svc-Consistency: local',
    );
    expect(answer).toMatch(/^HTTP\/1.1 200/);
  });
});

/** Sends one header two times, and answers all that comes back. */
function sendTwice(method: string, path: string, name: string, one: string, other: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1', () => {
      const lines = [
        `${method} ${path} HTTP/1.1`,
        'Host: x',
        `Authorization: Bearer ${server.adminToken}`,
        `${name}: ${one}`,
        `${name}: ${other}`,
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    });
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
      // The head says how long the rest is, and all of it is short.
      if (!/\r\n\r\n[\s\S]*\}$/.test(answer)) return;
      socket.destroy();
      resolve(answer);
    });
    socket.on('error', reject);
  });
}
