import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const folder = (name: string, title = '') => ({ name, node_type: 'svc:Folder', properties: { title } });
const path = (target: string, source: string) => `/branches/${target}/conflicts/${source}`;

describe('GET conflicts', () => {
  it('lists what would stop a merge, and writes nothing [MERGE-027]', async () => {
    const main = await client.workspace();
    const both = expectStatus(await main.post('', folder('both', 'base')), 201).json;
    expectStatus(await main.post('', folder('mine')), 201);
    const forkedAt = await client.headOf('main');
    await client.branch('feature/one', { upstream_branch: 'main' });
    const feature = main.on('feature/one');
    const title = (text: string) => ({ properties: { title: text } });
    const sourceHead = revisionOf(await feature.put('/both', title('source')));
    expectStatus(await main.put('/mine', title('target')), 200);
    const quiet = expectStatus(await client.managed('GET', path('main', 'feature%2Fone')), 200).json;
    expect(quiet.conflicts).toEqual([]);
    const targetHead = revisionOf(await main.put('/both', title('target')));
    const answer = expectStatus(await client.managed('GET', path('main', 'feature%2Fone')), 200);
    expect(answer.json).toEqual({
      target_head: targetHead,
      source_head: sourceHead,
      common_ancestor: forkedAt,
      conflicts: [
        {
          node_id: both.id,
          workspace: main.name,
          path: '/both',
          conflict_type: 'BothModified',
          base_properties: { title: 'base' },
          target_properties: { title: 'target' },
          source_properties: { title: 'source' },
          base_path: '/both',
          target_path: '/both',
          source_path: '/both',
          base_published: false,
          target_published: false,
          source_published: false,
        },
      ],
    });
    expect(await client.headOf('main')).toBe(targetHead);
    expect(await client.headOf('feature/one')).toBe(sourceHead);

    const tag = { name: 'before', revision: forkedAt };
    expectStatus(await client.managed('POST', '/tags', tag), 201);
    for (const [target, source] of [
      ['before', 'feature%2Fone'],
      ['main', 'before'],
    ] as const) {
      const tagged = expectStatus(await client.managed('GET', path(target, source)), 200).json;
      expect(tagged.conflicts).toEqual([]);
      expect([tagged.target_head, tagged.source_head]).toContain(forkedAt);
    }
  });

  it('refuses branches that do not exist, and anonymous callers', async () => {
    for (const address of [path('never', 'main'), path('main', 'never')]) {
      const answer = await client.managed('GET', address);
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    const base = `/api/management/repositories/default/${client.repository}`;
    expect((await server.request('GET', base + path('main', 'main'))).status).toBe(401);
  });
});
