import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { branchFile } from '#test/support/damaged-directory.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
  await server.createRepository('shop');
  const space = await new ContentClient(server, 'shop').workspace();
  await space.addAll('/a', '/a/b', '/a/findme');
  // Everything is in the shards.
  await server.restart();
});

afterAll(() => server.close());

interface CheckJson {
  readonly id: string;
  readonly state: string;
  readonly actors: number;
  readonly actors_total: number;
  readonly damage_total: number;
  readonly damage: readonly { readonly actor: string; readonly table: string }[];
}

async function checked(): Promise<CheckJson> {
  const begun = await server.admin('POST', '/api/management/checks');
  expect(begun.status).toBe(202);
  return await vi.waitFor(
    async () => {
      const { json } = await server.admin('GET', `/api/management/checks/${begun.json.id as string}`);
      const check = json as unknown as CheckJson;
      if (check.state === 'running') throw new Error('the check still runs');
      return check;
    },
    { timeout: 20_000, interval: 20 },
  );
}

describe('a check of a running member', () => {
  it('reports its progress, finds nothing in healthy data, and finds damage while the data is served [CHK-005]', async () => {
    const whole = await checked();
    expect(whole).toMatchObject({ state: 'done', damage_total: 0, damage: [] });
    expect(whole.actors).toBe(whole.actors_total);
    expect(whole.actors).toBeGreaterThan(2);
    const path = branchFile(server.dataDir, 'shop');
    const bytes = readFileSync(path);
    const text = Buffer.from('"path":"/a/findme"');
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
      bytes[at + 12] = (bytes[at + 12] as number) ^ 1;
    writeFileSync(path, bytes);
    const damaged = await checked();
    expect(damaged.state).toBe('done');
    expect(damaged.damage).toContainEqual(expect.objectContaining({ table: 'nodes' }));
    const { json } = await server.admin('GET', '/api/management/cluster');
    expect(json.warnings).toContainEqual(
      expect.objectContaining({ code: 'stored-damage', message: expect.stringContaining(path) }),
    );
    expect((await server.admin('GET', '/api/repository/shop/main/head/space-1/a/b')).status).toBe(200);
  });

  it('is for administrators of the system, and known by its id', async () => {
    expect((await server.request('POST', '/api/management/checks')).status).toBe(401);
    for (const method of ['GET', 'DELETE'])
      expect((await server.admin(method, '/api/management/checks/none')).status).toBe(404);
    const { id } = await checked();
    expect((await server.admin('DELETE', `/api/management/checks/${id}`)).json).toMatchObject({
      state: 'done',
    });
  });
});
