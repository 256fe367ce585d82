import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, branchTableNames, definitionKey } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { storedDefinition } from '#runtime/tree/schema-store.ts';
import { branchFile } from '#test/support/damaged-directory.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const updates = '/api/management/repositories/default/shop/system-updates';
const types = '/api/management/shop/main/nodetypes';

let dataDir: string;
let server: TestServer;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-built-ins-'));
  server = await startServer({ dataDir });
  await server.createRepository('shop');
});

afterAll(async () => {
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Leaves the branch as a server let it become that took every definition. */
async function gut(): Promise<void> {
  await server.close();
  const shard = new LmdbShard(dirname(branchFile(dataDir, 'shop')), [
    ...commonTableNames,
    ...branchTableNames,
  ]);
  const stored = storedDefinition(shard, 'node_type', 'svc:Page')!;
  const definition = { ...stored.definition, properties: [] };
  const rows = [
    ['svc:Page', encodeJsonRow({ ...stored, definition })],
    ['svc:Asset', null],
  ] as const;
  const writes = rows.map(([name, value]) => ({
    table: BranchTable.definitions,
    key: definitionKey('node_type', name),
    value,
  }));
  await shard.apply(writes, shard.position).flushed;
  await shard.close();
  server = await startServer({ dataDir });
}

describe('a built-in type', () => {
  it('that has not come yet is newer and not changed, on a branch without revisions [BUILT-019]', async () => {
    const branches = '/api/management/repositories/default/shop/branches';
    expect((await server.admin('POST', branches, { name: 'empty' })).status).toBe(201);
    const { json } = await server.admin('GET', updates);
    expect([json.total_pending, json.breaking_count]).toEqual([1, 0]);
    expect(json.updates).toMatchObject([{ name: 'empty', is_breaking: false, changed_types: [] }]);
    expect((await server.admin('DELETE', `${branches}/empty`)).status).toBe(204);
  });

  it('is neither deleted nor reduced, and can be extended [BUILT-017, BUILT-018]', async () => {
    const deleted = await server.admin('DELETE', `${types}/svc:Asset`);
    expect([deleted.status, deleted.json.code]).toEqual([403, 'FORBIDDEN']);
    const page = (await server.admin('GET', `${types}/svc:Page`)).json;
    for (const [method, path] of [
      ['PUT', `${types}/svc:Page`],
      ['POST', types],
    ] as const) {
      const gutted = await server.admin(method, path, { node_type: { name: 'svc:Page', properties: [] } });
      expect([gutted.status, gutted.json.code]).toEqual([403, 'FORBIDDEN']);
      expect(gutted.json.details.errors).toContain("property 'title' is missing");
    }
    expect((await server.admin('GET', `${types}/svc:Page`)).json).toEqual(page);
    const more = { ...page, properties: [...page.properties, { name: 'site', type: 'String' }] };
    expect((await server.admin('PUT', `${types}/svc:Page`, { node_type: more })).status).toBe(200);
    expect((await server.admin('PUT', `${types}/svc:Page`, { node_type: page })).status).toBe(200);
    expect((await server.admin('GET', updates)).json.has_updates).toBe(false);
  });

  it('that lacks something is an update, which force installs [BUILT-019]', async () => {
    const page = (await server.admin('GET', `${types}/svc:Page`)).json;
    await gut();
    expect((await server.admin('GET', updates)).json).toEqual({
      has_updates: true,
      total_pending: 1,
      breaking_count: 1,
      updates: [
        {
          resource: 'branch:main',
          resource_type: 'branch',
          name: 'main',
          current_version: null,
          new_version: null,
          is_breaking: true,
          changed_types: ['svc:Page', 'svc:Asset'],
        },
      ],
    });
    const apply = async (body: object) => (await server.admin('POST', `${updates}/apply`, body)).json;
    expect(await apply({})).toMatchObject({ applied_count: 0, skipped_count: 1 });
    expect(await apply({ force: true, resources: ['branch:other'] })).toMatchObject({ applied_count: 0 });
    expect((await server.admin('GET', `${types}/svc:Asset`)).status).toBe(404);
    expect(await apply({ force: true })).toMatchObject({ applied_count: 1, skipped_count: 0 });
    expect((await server.admin('GET', `${types}/svc:Page`)).json.properties).toEqual(page.properties);
    expect((await server.admin('GET', `${types}/svc:Asset`)).status).toBe(200);
    expect((await server.admin('GET', updates)).json.has_updates).toBe(false);
  });
});
