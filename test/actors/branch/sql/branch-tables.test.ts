import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.client.branch('dev', { upstream_branch: 'main' });
  await garden.g.on('dev').add('/', 'dev-only', {}, 'svc:Folder', { id: 'd1' });
});

afterAll(() => server.close());

describe('a statement over several branches', () => {
  it('joins rows of both, and counts the work of both', async () => {
    const sql =
      "SELECT a.id FROM 'g' a LEFT JOIN (SELECT id FROM 'g' WHERE __branch = 'main') AS b ON a.id = b.id WHERE b.id IS NULL AND __branch = 'dev'";
    expect(await garden.column(sql.replace("AND __branch = 'dev'", "AND a.__branch = 'dev'"))).toEqual([
      'd1',
    ]);
  });

  it('reads a branch again after it was deleted and made anew', async () => {
    await garden.client.branch('short', { upstream_branch: 'dev' });
    const sql = "SELECT COUNT(*) AS n FROM 'g' WHERE __branch = 'short'";
    expect(await garden.column(sql)).toEqual([7]);
    expectStatus(await garden.client.managed('DELETE', '/branches/short'), 204);
    expect((await garden.ask(sql)).status).toBe(404);
    await garden.client.branch('short', { upstream_branch: 'main' });
    expect(await garden.column(sql)).toEqual([6]);
  });

  it('finds no branch with a name that cannot be one', async () => {
    for (const name of ['', 'x'.repeat(10_000), '../main', '\0'])
      expect((await garden.ask("SELECT id FROM 'g' WHERE __branch = $1", { params: [name] })).json.code).toBe(
        'BRANCH_NOT_FOUND',
      );
  });
});
