import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const LARGE = 1795381430123456789n;
const NEXT = 9007199254740993n;

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  await client.defineType({
    name: 'num:Thing',
    strict: false,
    allowed_children: ['*'],
    properties: [
      { name: 'n', type: 'Number', index: ['Property'] },
      { name: 'code', type: 'Number', unique: true },
      { name: 'bounded', type: 'Number', constraints: { minimum: NEXT, maximum: LARGE } },
      { name: 'multiple', type: 'Number', constraints: { multipleOf: 3 } },
      { name: 'one', type: 'Number', constraints: { enum: [NEXT, 1] } },
      { name: 'standard', type: 'Number', default: LARGE },
    ],
  });
  space = await client.workspace();
});

afterAll(() => server.close());

/** The body with its numbers as they are; its shape is what the tests state. */
const exact = (answer: TestResponse): TestResponse['json'] => parseExactJson(answer.text);

async function add(name: string, properties: object): Promise<TestResponse> {
  return space.post('/', { name, node_type: 'num:Thing', properties });
}

async function values(path: string): Promise<Record<string, unknown>> {
  return exact(expectStatus(await space.get(path), 200)).properties;
}

describe('a whole number beyond 2^53', () => {
  it('is kept digit by digit, however it is written [NUM-001]', async () => {
    expectStatus(await add('a', { n: LARGE, deep: { list: [NEXT, { x: -LARGE }] } }), 201);
    expect(await values('/a')).toMatchObject({
      n: LARGE,
      deep: { list: [NEXT, { x: -LARGE }] },
      standard: LARGE,
    });
    expectStatus(await space.put('/a@n', NEXT), 200);
    expect((await space.get('/a@n')).text).toBe(String(NEXT));
    expectStatus(await space.put('/a@deep.list', [LARGE]), 200);
    expectStatus(await space.put('/a', { properties: { ...(await values('/a')), more: LARGE } }), 200);
    expect(await values('/a')).toMatchObject({ n: NEXT, deep: { list: [LARGE] }, more: LARGE });
    const id = (await space.get('/a')).json.id;
    const operations = [{ type: 'update', node_id: id, properties: { n: LARGE } }];
    expectStatus(await space.command('/', 'commit', { message: 'm', actor: 'a', operations }), 200);
    expect((await values('/a')).n).toBe(LARGE);
    expect((await space.get('/a.yaml')).text).toContain(`"n": ${LARGE}\n`);
    expect(exact(await space.get('/?deep=true')).a.node.properties.n).toBe(LARGE);
    expect(exact(await space.get('/?limit=10')).items[0].properties.n).toBe(LARGE);
  });

  it('stays through copies, moves, versions, translations, branches and merges [NUM-002]', async () => {
    const made = revisionOf(expectStatus(await add('b', { n: LARGE, title: 'b' }), 201));
    await space.done('/b', 'create_version', {});
    await space.done('/b', 'copy', { targetPath: '/a', newName: 'copied' });
    await space.done('/b', 'translate', { locale: 'de', translations: { '/n': NEXT } });
    expect((await values('/a/copied')).n).toBe(LARGE);
    expect((await values('/b?lang=de')).n).toBe(NEXT);
    await client.branch('side', { upstream_branch: 'main' });
    const side = space.on('side');
    expectStatus(await side.put('/b@n', LARGE + 1n), 200);
    // The same change on both sides is none to be settled; another one that a double does not tell apart is.
    expectStatus(await space.put('/b@n', LARGE + 1n), 200);
    expectStatus(await side.put('/a@n', LARGE + 1n), 200);
    expectStatus(await space.put('/a@n', LARGE + 2n), 200);
    const conflicts = (await client.managed('GET', '/branches/main/conflicts/side')).text;
    expect([conflicts.includes('"/a"'), conflicts.includes('"/b"')]).toEqual([true, false]);
    expect(parseExactJson(conflicts)).toBeDefined();
    expect(conflicts).toContain(String(LARGE + 2n));
    const nodeId = (await space.get('/a')).json.id;
    const resolutions = [
      { node_id: nodeId, resolution_type: 'manual', resolved_properties: { n: LARGE + 3n } },
    ];
    const body = { source_branch: 'side', message: 'm', actor: 'a', resolutions };
    expectStatus(await client.managed('POST', '/branches/main/resolve-merge', body), 200);
    expect((await values('/a')).n).toBe(LARGE + 3n);
    expect(exact(await space.getAt(made, '/b')).properties.n).toBe(LARGE);
    await space.done('/b', 'restore_version', { version: 1 });
    expect((await values('/b')).n).toBe(LARGE);
  });

  it('is found, compared and sorted as what it is [NUM-003]', async () => {
    const names = ['p', 'q', 'r', 's'];
    const numbers = [NEXT + 1n, NEXT, NEXT - 1n, NEXT + 3n];
    const own = await client.workspace();
    for (const [index, name] of names.entries())
      expectStatus(
        await own.post('/', { name, node_type: 'num:Thing', properties: { n: numbers[index] } }),
        201,
      );
    const found = async (filter: object): Promise<string> => {
      const body = { ...filter, order_by: { 'properties.n': 'asc' } };
      const answer = expectStatus(await own.post('/query/dsl', body), 200);
      return answer.json.items.map(({ name }: { name: string }) => name).join('');
    };
    expect(await found({})).toBe('rqps');
    expect(await found({ 'properties.n': { eq: NEXT } })).toBe('q');
    expect(await found({ node_type: { eq: 'num:Thing' }, 'properties.n': { eq: NEXT + 1n } })).toBe('p');
    expect(await found({ 'properties.n': { ne: NEXT } })).toBe('rps');
    expect(await found({ 'properties.n': { gt: NEXT } })).toBe('ps');
    expect(await found({ 'properties.n': { gte: NEXT } })).toBe('qps');
    expect(await found({ 'properties.n': { lt: NEXT + 1n } })).toBe('rq');
    expect(await found({ 'properties.n': { in: [NEXT, NEXT + 3n] } })).toBe('qs');
    expect(await found({ 'properties.n': { gt: 1.5 } })).toBe('rqps');
  });

  it('is unique as what it is [NUM-003]', async () => {
    expectStatus(await add('u1', { code: NEXT }), 201);
    expectStatus(await add('u2', { code: NEXT - 1n }), 201);
    const again = await add('u3', { code: NEXT });
    expect([again.status, again.json.message]).toEqual([400, expect.stringMatching(/code/)]);
  });

  it('is held to constraints as what it is [NUM-004]', async () => {
    const statusOf = async (name: string, properties: object) => (await add(name, properties)).status;
    expect(await statusOf('c1', { bounded: NEXT - 1n })).toBe(400);
    expect(await statusOf('c2', { bounded: NEXT })).toBe(201);
    expect(await statusOf('c3', { bounded: LARGE })).toBe(201);
    expect(await statusOf('c4', { bounded: LARGE + 1n })).toBe(400);
    expect(await statusOf('c5', { multiple: NEXT })).toBe(201);
    expect(await statusOf('c6', { multiple: NEXT + 1n })).toBe(400);
    expect(await statusOf('c7', { one: NEXT })).toBe(201);
    expect(await statusOf('c8', { one: NEXT - 1n })).toBe(400);
    const type = exact(await client.schema('GET', 'nodetypes/num:Thing'));
    expect(type.properties.find(({ name }: { name: string }) => name === 'bounded').constraints).toEqual({
      minimum: NEXT,
      maximum: LARGE,
    });
  });

  it('distinguishes requests under an idempotency key [NUM-001]', async () => {
    const send = (value: bigint): Promise<TestResponse> =>
      server.request('POST', space.url('/'), {
        token: server.adminToken,
        headers: { 'idempotency-key': 'large' },
        body: { name: 'once', node_type: 'num:Thing', properties: { n: value } },
      });
    const first = expectStatus(await send(LARGE), 201);
    expect((await send(LARGE)).text).toBe(first.text);
    expect((await send(LARGE + 1n)).json.code).toBe('IDEMPOTENCY_MISMATCH');
  });
});

describe('a number that would become another one', () => {
  it('is refused in any position [NUM-005]', async () => {
    for (const literal of [
      '1e400',
      '1e-400',
      '0.10000000000000000000001',
      '1'.repeat(39),
      '1795381430123456789.5',
    ]) {
      const body = `{"name":"x","node_type":"num:Thing","properties":{"n":[${literal}]}}`;
      const answer = await server.request('POST', space.url('/'), {
        token: server.adminToken,
        raw: body,
      });
      expect([literal, answer.status, answer.json.code]).toEqual([literal, 400, 'VALIDATION_FAILED']);
      if (literal !== '1e400') expect(answer.json.message).toContain(literal.slice(0, 20));
    }
    expect((await space.get('/x')).status).toBe(404);
  });
});
