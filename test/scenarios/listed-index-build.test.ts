import { afterAll, beforeAll, expect, it } from 'vitest';
import { armCrashPoint } from '#runtime/commit/crash-point.ts';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

/** More nodes than a write adds to an index by itself. */
const NODES = 400;

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

function itemType(isIndexed: boolean): object {
  const rank = { name: 'rank', type: 'Number', ...(isIndexed ? { index: ['Property'] } : {}) };
  return { name: 'test:Item', properties: [rank] };
}

/** Ways to ask for an index. */
const ways: Readonly<Record<string, (client: ContentClient) => Promise<unknown>>> = {
  'a definition': (client) => client.defineType(itemType(true)),
  'a statement of SQL': async (client) => {
    const sql = "ALTER NODETYPE 'test:Item' MODIFY PROPERTY rank Number PROPERTY_INDEX";
    expectStatus(await server.admin('POST', `/api/sql/${client.repository}`, { sql }), 200);
  },
};

it.each(Object.keys(ways))(
  'the job that builds an index is listed when %s that needs it is answered',
  async (way) => {
    const client = await ContentClient.on(server);
    const space = await client.workspace();
    await client.defineType(itemType(false));
    for (let from = 0; from < NODES; from += 50) {
      const numbers = Array.from({ length: 50 }, (_, number) => from + number);
      await Promise.all(
        numbers.map((rank) =>
          space.post('/', { name: `n${rank}`, node_type: 'test:Item', properties: { rank } }),
        ),
      );
    }
    // The owner of the branch, which enqueues the job in any case, is late.
    let isLate = false;
    const disarm = armCrashPoint('before-job-announced', 1, () => {
      isLate = true;
      throw new Error('later');
    });
    await ways[way]?.(client);
    const jobs = new JobsClient(server, server.adminToken);
    const job = await jobs.named(`PropertyIndexBuild(${client.repository}/main)`);
    disarm();
    expect(isLate).toBe(true);
    expect(job).toBeDefined();
    expect(await jobs.ended(job.id)).toMatchObject({ status: 'Completed' });
  },
);
