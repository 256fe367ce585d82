import { afterAll, beforeAll, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { isInTurn } from '#test/support/workload-count.ts';
import { countTextWork, type TextWorkCount } from '#test/support/text-work.ts';

type Json = { readonly [key: string]: unknown };

let server: TestServer;
let client: ContentClient;
let count: TextWorkCount;

/** Longer than any piece that work is cut into. */
const LENGTH = 140_000;
/** What is cut into pieces is cut into pieces of at most this many characters. */
const PIECE_MAX = 128 * 1024;

/** A refusal quotes what was sent up to some thousand characters. */
const ANSWER_BYTES_MAX = 20_000;

/** With everything that is folded, dropped, doubled, escaped or split somewhere. */
const nasty: readonly string[] = ['A é -n:%.', '/a~1'].map((piece) => piece.repeat(LENGTH / piece.length));

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  count = countTextWork(PIECE_MAX);
});

afterAll(async () => {
  count.end();
  await server.close();
});

/** Bodies with one text of their own in each of their fields: each is replaced in turn. */
function* mutations(body: unknown, text: string): Generator<unknown> {
  if (typeof body === 'string') yield text;
  if (Array.isArray(body)) {
    for (const [index, item] of body.entries())
      for (const changed of mutations(item, text)) yield body.with(index, changed);
  } else if (typeof body === 'object' && body !== null) {
    for (const [key, value] of Object.entries(body))
      for (const changed of mutations(value, text)) yield { ...body, [key]: changed };
    yield { ...body, [text]: 'x' };
  }
}

/** Levels of a sample; schemas can be within themselves. */
const DEPTH_MAX = 6;

/** A body of a schema, with each field that it has; undefined where it is too deep for one. */
function sample(schema: Json, schemas: Readonly<Record<string, Json>>, depth = 0): unknown {
  if (typeof schema.$ref === 'string')
    return sample(schemas[schema.$ref.split('/').at(-1)!]!, schemas, depth);
  const either = (schema.oneOf ?? schema.anyOf ?? schema.allOf) as readonly Json[] | undefined;
  if (either !== undefined) return sample(either[0]!, schemas, depth);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'string') return schema.pattern === undefined ? 'x' : '0-0';
  if (type === 'integer' || type === 'number') return 1;
  if (type === 'boolean') return true;
  if (depth > DEPTH_MAX) return undefined;
  if (type === 'array') {
    const item = sample((schema.items ?? {}) as Json, schemas, depth + 1);
    return item === undefined ? [] : [item];
  }
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Json>>;
  const entries = Object.entries(properties).map(([key, one]) => [key, sample(one, schemas, depth + 1)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

const nodeBody = {
  name: 'made',
  node_type: 'svc:Folder',
  properties: { title: 'x' },
  translations: { de: { title: 'x' } },
};

const filterBody = { name: { like: 'x' }, 'properties.title': { eq: 'x' }, order_by: { name: 'asc' } };

/** What the fields of commands may be. */
const commandFields: Json = {
  newName: 'x',
  targetPath: '/n',
  targetWorkspace: 'x',
  relationType: 'x',
  locale: 'de',
  pointer: '/title',
  translations: { '/title': 'x' },
  movePosition: 'after',
  note: 'x',
  message: 'x',
  actor: 'x',
  commit: { message: 'x', actor: 'x' },
  operations: [
    {
      type: 'create',
      parent_path: '/',
      node: { name: 'made', node_type: 'svc:Folder', properties: { title: 'x' } },
    },
    { type: 'move', node_id: 'x', new_path: '/y' },
    { type: 'rename', node_id: 'x', new_name: 'y' },
    { type: 'copy_tree', source_path: '/n', target_parent: '/y', new_name: 'z' },
  ],
};

/** What a command waits for, which is not so here. */
const conditions: readonly string[] = ['version', 'lock'];

/** A body of a command with each field that it has, but for its conditions. */
function commandBody(schema: Json, schemas: Readonly<Record<string, Json>>): Json {
  const sampled = sample(schema, schemas) as Json;
  const keys = Object.keys(sampled).filter((key) => !conditions.includes(key));
  return Object.fromEntries(
    keys.map((key) => [key, Object.hasOwn(commandFields, key) ? commandFields[key] : sampled[key]]),
  );
}

/** A route of the description of the interface, as far as it is looked at here. */
interface Operation {
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Json }>> };
}

/** What stands in addresses. */
function addressOf(path: string, workspace: string): string {
  const values: Readonly<Record<string, string>> = {
    tenant: 'default',
    repo: client.repository,
    branch: 'main',
    workspace,
    path: 'n',
    name: workspace,
    revision: '1-0',
    family: 'nodetypes',
    list: 'locks',
  };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'x');
}

/** Sends a body with a long text in each of its places in turn. @returns what went over all of one, and refusals that quote all of it */
let sent = 0;

async function tried(method: string, address: string, body: unknown): Promise<readonly string[]> {
  const found: string[] = [];
  for (const text of nasty) {
    for (const changed of mutations(body, text)) {
      sent += 1;
      if (!isInTurn(sent)) continue;
      const { status, bytes } = await server.admin(method, address, changed);
      const by = `${method} ${address}`;
      if (status === 500) found.push(`${by}: 500`);
      if (status >= 400 && bytes.length > ANSWER_BYTES_MAX) found.push(`${by}: ${status} quotes all of it`);
      for (const { operation, place } of count.take()) found.push(`${by}: ${operation} at ${place}`);
    }
  }
  return [...new Set(found)];
}

it('the length of a long text in any field of any route is checked before the text is processed', async () => {
  const space = await client.workspace();
  await space.add('/', 'n', { title: 'x' });
  const { paths, components } = (await server.request('GET', '/openapi.json')).json;
  const found: string[] = [];
  let routes = 0;
  for (const [path, operations] of Object.entries(
    paths as Readonly<Record<string, Record<string, Operation>>>,
  )) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const schema = requestBody?.content?.['application/json']?.schema;
      if (schema === undefined) continue;
      routes += 1;
      const body = path.includes('/svc:')
        ? commandBody(schema, components.schemas)
        : sample(schema, components.schemas);
      found.push(...(await tried(method.toUpperCase(), addressOf(path, space.name), body)));
    }
  }
  expect(routes).toBeGreaterThan(60);
  const { properties, translations } = nodeBody;
  for (const [method, path, body] of [
    ['POST', '/', nodeBody],
    ['PUT', '/n', { properties, translations, commit: { message: 'x', actor: 'x' } }],
    ['POST', '/query/dsl', filterBody],
  ] as const)
    found.push(...(await tried(method, space.url(path), body)));
  expect(found).toEqual([]);
});
