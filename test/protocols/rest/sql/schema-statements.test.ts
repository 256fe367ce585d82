import { afterAll, beforeAll, expect, it } from 'vitest';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});
afterAll(() => server.close());

const run = async (sql: string, token?: string) => {
  const path = `/api/sql/${garden.client.repository}`;
  const options = { body: { sql }, ...(token === undefined ? {} : { token }) };
  return token === undefined ? server.admin('POST', path, { sql }) : server.request('POST', path, options);
};

it('a type is created, altered and dropped, and its nodes are checked [SQLEX-089, SQLEX-090, SQLEX-091, SQL-009]', async () => {
  const created = await run(
    "CREATE NODETYPE 'grow:Tool' (PROPERTIES (title String REQUIRED FULLTEXT, weight Number DEFAULT 1) PUBLISHABLE)",
  );
  expect(created).toMatchObject({
    status: 200,
    json: {
      columns: ['result', 'success'],
      rows: [{ result: "NodeType 'grow:Tool' created", success: true }],
      row_count: 1,
    },
  });
  const axe = await run(
    "INSERT INTO 'g' (path, node_type, properties) VALUES ('/sheds/axe', 'grow:Tool', '{}')",
  );
  expect(axe).toMatchObject({ status: 400, json: { code: 'VALIDATION_FAILED' } });
  expect(axe.json.message).toContain('title');
  expect(await run("ALTER MIXIN 'grow:Bed' SET ICON = 'x'")).toMatchObject({
    status: 400,
    json: { message: "'grow:Bed' is not a mixin, use ALTER NODETYPE instead" },
  });
  expect(await run("ALTER NODETYPE 'grow:Tool' DROP PROPERTY title")).toMatchObject({ status: 200 });
  const stored = `/api/management/${garden.client.repository}/main/nodetypes/grow:Tool`;
  expect(await server.admin('GET', stored)).toMatchObject({
    status: 200,
    json: { version: 2, publishable: true, properties: [{ name: 'weight', type: 'Number', default: 1 }] },
  });
  expect(await run("DROP NODETYPE 'grow:Tool'")).toMatchObject({
    json: { rows: [{ result: "NodeType 'grow:Tool' dropped" }] },
  });
});

it('the errors have the status of the routes [SQL-081]', async () => {
  expect(await run("CREATE NODETYPE 'grow:Bed'")).toMatchObject({
    status: 409,
    json: { code: 'ALREADY_EXISTS' },
  });
  expect(await run("CREATE NODETYPE 'bed'")).toMatchObject({
    status: 400,
    json: { code: 'VALIDATION_FAILED' },
  });
  expect(await run("ALTER NODETYPE 'grow:None' SET ICON = 'x'")).toMatchObject({
    status: 404,
    json: { code: 'NODE_TYPE_NOT_FOUND', message: "NodeType 'grow:None' not found" },
  });
  expect(await run("DROP NODETYPE 'svc:Page'")).toMatchObject({ status: 403, json: { code: 'FORBIDDEN' } });
});

it('a transaction defines types and writes their nodes, and an open one leaves nothing [SQL-083]', async () => {
  const made = (name: string) =>
    `BEGIN; CREATE MIXIN 'grow:${name}Sized' PROPERTIES (size Number); CREATE NODETYPE 'grow:${name}Pot' MIXINS ('grow:${name}Sized'); INSERT INTO 'g' (path, node_type, properties) VALUES ('/${name.toLowerCase()}', 'grow:${name}Pot', '{"size":3}')`;
  const kept = await run(`${made('Kept')}; COMMIT`);
  expect(kept.status, kept.text).toBe(200);
  expect(await run(made('Open'))).toMatchObject({ status: 200, json: { rows: [{ affected_rows: 1 }] } });
  const { rows } = await garden.run("SELECT name FROM NodeTypes WHERE name LIKE 'grow:%Pot'");
  expect(rows).toEqual([{ name: 'grow:KeptPot' }]);
});

it('only administrators may do it [SQL-084]', async () => {
  const body = { email: 'ann@example.org', password: 'rowing-in-may', display_name: 'ann' };
  const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
  for (const sql of [
    "CREATE NODETYPE 'grow:Mine'",
    "DROP NODETYPE 'grow:Bed'",
    "ALTER NODETYPE 'grow:Bed' SET ICON = 'x'",
  ]) {
    expect(await run(sql, json.access_token)).toMatchObject({ status: 403, json: { code: 'FORBIDDEN' } });
  }
});
