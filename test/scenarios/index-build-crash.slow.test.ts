import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { pendingTypes, readTypeCount } from '#runtime/tree/index-catalog.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { branchFile } from '#test/support/damaged-directory.ts';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';
import { until } from '#test/support/until.ts';

const repository = 'blog';
const jobType = `PropertyIndexBuild(${repository}/main)`;

/** More nodes than two steps of the job have. */
const NODES = 600;

function itemType(isIndexed: boolean): object {
  const rank = { name: 'rank', type: 'Number', ...(isIndexed ? { index: ['Property'] } : {}) };
  return { name: 'test:Item', properties: [rank] };
}

const prepared = preparedFolder(async (server) => {
  await server.createRepository(repository);
  const client = new ContentClient(server, repository);
  const space = await client.workspace();
  await client.defineType(itemType(false));
  for (let from = 0; from < NODES; from += 50) {
    const numbers = Array.from({ length: 50 }, (_, n) => from + n);
    const create = (n: number) =>
      space.post('/', { name: `n${n}`, node_type: 'test:Item', properties: { rank: n % 10 } });
    await Promise.all(numbers.map(create));
  }
});

it.each(['before-job-announced:1', 'mid-job:1', 'mid-job:2', 'before-job-complete:1'])(
  'an index is complete although the process is killed at %s',
  async (point) => {
    const dataDir = prepared();
    try {
      const doomed = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: point } });
      const token = await doomed.logIn();
      const path = `/api/management/${repository}/main/nodetypes`;
      const answer = await doomed.request('POST', path, { token, body: { node_type: itemType(true) } }).then(
        ({ status }) => status,
        () => 0,
      );
      expect([0, 200, 201]).toContain(answer);
      expect((await doomed.exited).signal).toBe('SIGKILL');
      await doomed.close();

      const server = await startServer({ dataDir });
      const client = new ContentClient(server, repository);
      const space = new Space(client, 'space-1');
      // The first write announces what is still pending.
      expectStatus(
        await space.post('/', { name: 'late', node_type: 'test:Item', properties: { rank: 3 } }),
        200,
        201,
      );
      const jobs = new JobsClient(server, server.adminToken);
      await until(async () => (await jobs.named(jobType)) !== undefined, 'the job is enqueued');
      const { id } = await jobs.named(jobType);
      expect(await jobs.ended(id)).toMatchObject({ status: 'Completed', progress: 1 });
      await server.close();
      const shard = new LmdbShard(dirname(branchFile(dataDir, repository)), [
        ...commonTableNames,
        ...branchTableNames,
      ]);
      expect(pendingTypes(shard)).toEqual([]);
      expect(readTypeCount(shard, 'space-1', 'test:Item')).toMatchObject({
        count: NODES + 1,
        fields: { properties: expect.arrayContaining(['rank']) },
      });
      expect(findDamage(shard)).toEqual([]);
      await shard.close();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
