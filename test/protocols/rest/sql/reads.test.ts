import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revisionOf } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

const NODES = 2_000;
const endless =
  "SELECT COUNT(*) AS n FROM 'g' a CROSS JOIN 'g' b CROSS JOIN 'g' c WHERE a.name || b.id > c.name || a.id";

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.g.done('/', 'commit', {
    message: 'many',
    operations: Array.from({ length: NODES }, (_, index) => ({
      type: 'create',
      node: { name: `n${index}`, node_type: 'svc:Folder', properties: { text: 'x'.repeat(500), n: index } },
    })),
  });
});

afterAll(() => server.close());

describe('a statement', () => {
  it.each([{}, { 'x-svc-consistency': 'strict' }, { 'x-svc-consistency': 'local' }])(
    'reads what was written, whichever member answers: %j [SQL-059]',
    async (headers: Record<string, string>) => {
      const node = await garden.g.post('/', {
        name: `new-${JSON.stringify(headers).length}`,
        node_type: 'svc:Folder',
      });
      const revision = revisionOf(node);
      const sql = `SELECT COUNT(*) AS n FROM 'g' WHERE name = 'new-${JSON.stringify(headers).length}'`;
      // Each member of a cluster once.
      for (const _ of [1, 2, 3]) {
        const answer = await garden.ask(sql, { headers: { ...headers, 'x-svc-min-revision': revision } });
        expect([answer.status, answer.json.rows]).toEqual([200, [{ n: 1 }]]);
        expect(revisionOf(answer)).toBe(revision);
        const onBranch = await garden.ask(sql, { branch: 'main', headers });
        expect(onBranch.status).toBe(200);
      }
    },
  );

  it('refuses a consistency and a revision that are none [SQL-059]', async () => {
    for (const [header, value, status] of [
      ['x-svc-consistency', 'eventual', 400],
      ['x-svc-min-revision', 'soon', 400],
      ['x-svc-min-revision', '40000000000000-0', 409],
    ] as const)
      expect((await garden.ask('SELECT 1 AS a', { headers: { [header]: value } })).status).toBe(status);
  });

  it('is answered in pieces where its answer is long [SQL-002]', async () => {
    const answer = await garden.run(
      "SELECT properties FROM 'g' WHERE properties ? 'n' ORDER BY created_at, path",
    );
    expect(answer.row_count).toBe(NODES);
    expect(answer.rows).toHaveLength(NODES);
  });

  it('takes an API key [ACC-006]', async () => {
    const made = await server.admin('POST', '/api/svc/me/api-keys', { name: 'sql' });
    const { token } = made.json;
    expect(token).toMatch(/^svc_/);
    const counted = await garden.run("SELECT COUNT(*) AS n FROM 'p'", { token });
    expect(counted.rows).toEqual([{ n: 3 }]);
    for (const [path, status] of [
      [garden.g.url('/beds'), 200],
      ['/api/repositories', 200],
    ] as const)
      expect((await server.request('GET', path, { token })).status).toBe(status);
    const query = await server.request('POST', garden.g.url('/query'), { token, body: { path: '/beds' } });
    expect(query.json.page.total).toBe(1);
  });

  it('leaves the server to others while it runs [SQL-060]', async () => {
    let isAnswered = false;
    const leaving = leave(garden, endless).on('response', () => {
      isAnswered = true;
    });
    try {
      for (let round = 0; round < 20; round += 1) {
        expect((await garden.g.get('/beds')).status).toBe(200);
        expect(await garden.column('SELECT 1 AS a')).toEqual([1]);
      }
      expect(isAnswered).toBe(false);
    } finally {
      leaving.destroy();
    }
  });

  it('is refused when it takes more work than a request may [SQL-060]', async () => {
    const poor = await startServer({ config: '[limits]\nrequest_work_ms = 100\n' });
    try {
      const own = await Garden.on(poor);
      const sql =
        'WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) AS n FROM t';
      const answer = await own.ask(sql);
      expect([answer.status, answer.json.code]).toEqual([413, 'REQUEST_TOO_EXPENSIVE']);
    } finally {
      await poor.close();
    }
  });
});

/** Sends a statement on a connection of its own, which the caller destroys. */
function leave({ client }: Garden, sql: string) {
  const sent = httpRequest({
    host: '127.0.0.1',
    port: server.port,
    method: 'POST',
    path: `/api/sql/${client.repository}`,
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
  });
  sent.on('error', () => {});
  sent.end(JSON.stringify({ sql }));
  return sent;
}
