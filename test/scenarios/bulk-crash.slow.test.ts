import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';

const repository = 'blog';
const path = `/api/sql/${repository}`;

/** More nodes than the processes that are killed change: a revision has 250 of them. */
const NODES = 2_000;

const statement = {
  sql: `UPDATE 'space-1' SET properties = properties || JSONB_BUILD_OBJECT('count', (properties->>'count')::int + 1) WHERE node_type = 'test:Item'`,
};
const headers = { 'idempotency-key': 'once' };

const prepared = preparedFolder(async (server) => {
  await server.createRepository(repository);
  const client = new ContentClient(server, repository);
  await client.workspace();
  await client.defineType({ name: 'test:Item', properties: [{ name: 'count', type: 'Number' }] });
  for (let from = 0; from < NODES; from += 250) {
    const rows = Array.from({ length: 250 }, (_, n) => `('/n${from + n}', 'test:Item', '{"count":0}')`);
    const sql = `INSERT INTO 'space-1' (path, node_type, properties) VALUES ${rows.join(', ')}`;
    expectStatus(await server.admin('POST', path, { sql }), 200);
  }
});

/**
 * Where processes over one folder are killed, one after another: the first one while the statement is submitted, the others
 * while they go on with its job. The first commits of a process are about the job itself.
 */
const deaths: readonly (readonly string[])[] = [
  ['after-durable:4', 'before-append:3', 'after-append-sent:4', 'mid-job:1', 'before-job-complete:1'],
  ['before-reply:4', 'after-durable:3', 'before-reply:3', 'mid-job:2', 'before-append:5'],
  ['before-append:3', 'after-append-sent:3', 'after-durable:5', 'before-apply:1', 'mid-apply:2'],
];

it.each(deaths)(
  'a bulk statement changes every node once although processes are killed at %s, %s, %s, %s and %s [JOB-012, JOB-010]',
  async (...points) => {
    const dataDir = prepared();
    try {
      for (const [nth, point] of points.entries()) {
        const isFirst = nth === 0;
        // The job goes on while a process starts, so the others may die before they are ready.
        const doomed = await startServerProcess({
          dataDir,
          env: { SVC_CRASH_POINT: point },
          waitForExit: !isFirst,
        });
        if (isFirst) {
          const token = await doomed.logIn();
          const submitted = doomed.request('POST', path, { token, headers, body: statement });
          await submitted.catch(() => undefined);
        }
        expect([point, (await doomed.exited).signal]).toEqual([point, 'SIGKILL']);
        await doomed.close();
      }
      const server = await startServer({ dataDir });
      // Nobody has heard whether the first request was done: it is repeated, and is one job.
      const again = await server.request('POST', path, {
        token: server.adminToken,
        headers,
        body: statement,
      });
      const [{ job_id: id }] = expectStatus(again, 200).json.rows;
      const jobs = new JobsClient(server, server.adminToken);
      expect(await jobs.ended(id)).toMatchObject({
        status: 'Completed',
        result: { matched: NODES, changed: NODES, skipped: 0 },
      });
      const bulk = (await jobs.data('GET', '?limit=1000')).filter(
        ({ job_type: type }: { job_type: string }) => type.startsWith('BulkSql('),
      );
      expect(bulk).toHaveLength(1);
      const sql = `SELECT properties->>'count' AS count, COUNT(*) AS nodes FROM 'space-1' GROUP BY properties->>'count'`;
      const { json } = expectStatus(await server.admin('POST', path, { sql }), 200);
      expect(json.rows).toEqual([{ count: '1', nodes: NODES }]);
      await server.close();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
