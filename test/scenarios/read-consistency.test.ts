import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '#protocols/http/openapi/openapi.ts';
import { describedOperations } from '#test/support/api-description.ts';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
});

afterAll(() => server.close());

const ask = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<TestResponse> =>
  server.request(method, path, {
    token: server.adminToken,
    headers,
    ...(body === undefined ? {} : { body }),
  });

const READS = [
  'readNode',
  'readNodeAtRevision',
  'queryNodes',
  'queryNodesByDsl',
  'runSql',
  'runSqlOnBranch',
  'validateAgainstNodeTypes',
  'listBranches',
  'readBranchHead',
  'listRevisions',
  'compareBranches',
  'listTags',
  'listLocksOrPools',
  'listJobs',
];

const kinds = ['strict', 'local'] as const;

describe('X-Svc-Consistency without a cluster', () => {
  it('changes no answer: the process is the owner', async () => {
    await space.addAll('/a', '/a/b');
    const { repository } = client;
    const managed = `/api/management/repositories/default/${repository}`;
    const reads: [string, string, unknown?][] = [
      ['GET', space.url('/a')],
      ['GET', space.url('/')],
      ['GET', `${space.url('/a')}?level=3`],
      ['POST', `/api/repository/${repository}/main/head/${space.name}/query`, { path: '/a/b' }],
      ['POST', `/api/repository/${repository}/main/head/${space.name}/query/dsl`, {}],
      ['GET', `${managed}/branches`],
      ['GET', `${managed}/branches/main`],
      ['GET', `${managed}/branches/main/head`],
      ['GET', `${managed}/revisions`],
      ['GET', `${managed}/revisions/${await client.headOf('main')}`],
      ['GET', `${managed}/tags`],
      ['GET', `/api/repositories/${repository}`],
      ['GET', `/api/workspaces/${repository}`],
      ['GET', `/api/management/${repository}/main/nodetypes`],
      ['GET', `/api/${repository}/main/locks`],
      ['GET', '/management/jobs'],
    ];
    for (const [method, path, body] of reads) {
      const plain = expectStatus(await ask(method, path, {}, body), 200);
      for (const kind of kinds) {
        const answer = await ask(method, path, { 'x-svc-consistency': kind }, body);
        expect([path, answer.status, answer.text]).toEqual([path, 200, plain.text]);
        expect(answer.headers['x-svc-revision']).toBe(plain.headers['x-svc-revision']);
      }
    }
  });

  it('reads what was written, at or after the revision the client has seen [HTTP-040]', async () => {
    const node = { name: 'seen', node_type: 'svc:Folder', properties: {} };
    const revision = revisionOf(expectStatus(await space.post('/', node), 201));
    for (const kind of kinds) {
      const headers = { 'x-svc-consistency': kind, 'x-svc-min-revision': revision };
      const answer = expectStatus(await ask('GET', space.url('/'), headers), 200);
      expect(revisionOf(answer)).toBe(revision);
      const future = await ask('GET', space.url('/'), { ...headers, 'x-svc-min-revision': `${4e13}-0` });
      expect([future.status, future.json.code]).toEqual([409, 'CONFLICT']);
      const garbled = await ask('GET', space.url('/'), { ...headers, 'x-svc-min-revision': 'soon' });
      expect([garbled.status, garbled.json.code]).toEqual([400, 'INVALID_REVISION_NUMBER']);
    }
  });

  it('is one of two words: anything else is refused, with reads and with writes', async () => {
    for (const value of ['eventual', 'Strict', 'strict, local', 'strict;q=1']) {
      const headers = { 'x-svc-consistency': value };
      const read = await ask('GET', space.url('/'), headers);
      expect([read.status, read.json.code, read.json.field]).toEqual([
        400,
        'VALIDATION_FAILED',
        'X-Svc-Consistency',
      ]);
      expect(read.json.message).toContain('strict or local');
      const node = { name: 'refused', node_type: 'svc:Folder', properties: {} };
      const write = await ask('POST', space.url('/'), headers, node);
      expect([write.status, write.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    }
    expect((await space.get('/refused')).status).toBe(404);
  });

  it('has no effect on a write, which the owner carries out', async () => {
    for (const kind of kinds) {
      const node = { name: `written-${kind}`, node_type: 'svc:Folder', properties: {} };
      expectStatus(await ask('POST', space.url('/'), { 'x-svc-consistency': kind }, node), 201);
      expect((await space.get(`/written-${kind}`)).json.name).toBe(`written-${kind}`);
    }
  });

  it('grants no access to callers without it', async () => {
    for (const kind of kinds) {
      const path = `/api/management/repositories/default/${client.repository}/branches`;
      const answer = await server.request('GET', path, { headers: { 'x-svc-consistency': kind } });
      expect(answer.status).toBe(401);
      const node = await server.request('GET', space.url('/a'), { headers: { 'x-svc-consistency': kind } });
      const plain = await server.request('GET', space.url('/a'));
      expect([node.status, node.json.code]).toEqual([plain.status, plain.json.code]);
      expect(node.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('is described with every operation that reads and with no other', async () => {
    const document = (await server.request('GET', '/openapi.json')).json;
    const described = new Set<string>();
    for (const { operationId, parameters } of describedOperations(document as OpenApiDocument))
      if (parameters.some(({ name }) => name === 'X-Svc-Consistency')) described.add(operationId);
    for (const operation of READS) expect([operation, described.has(operation)]).toEqual([operation, true]);
    expect(described.size).toBeGreaterThan(20);
    const others = [
      'createNode',
      'acquireLock',
      'moveBranchHead',
      'mergeBranches',
      'readHealth',
      'readOwnProfile',
    ];
    for (const operation of others) expect([operation, described.has(operation)]).toEqual([operation, false]);
  });
});
