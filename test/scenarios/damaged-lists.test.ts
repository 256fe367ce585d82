import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { filesIn } from '#test/support/damaged-directory.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const config = '[limits]\njournal_segment_bytes = 1048576\nbatch_bytes_max = 524288\n';

const branchesOf = (repository: string): string =>
  `/api/management/repositories/default/${repository}/branches`;

let dataDir: string;
let server: TestServer;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-lists-'));
  server = await startServer({ dataDir, config });
  for (const name of ['apples', 'bananas', 'cherries']) await server.createRepository(name);
  for (const name of ['bananas', 'cherries']) {
    const draft = { name: 'draft', upstream_branch: 'main' };
    expect((await server.admin('POST', branchesOf(name), draft)).status).toBe(201);
  }
  const client = new ContentClient(server, 'apples');
  // Until the journal has let go of what is above: nothing can be built anew from it.
  for (let round = 0; round < 2; round += 1) {
    const space = await client.workspace();

    for (let number = 0; number < 24; number += 1)
      await space.add('/', `n${number}`, { text: `${number} ${'x'.repeat(60_000)}` });
    await server.restart();
  }
  await server.close();
});

afterAll(async () => {
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Takes the shard of an actor away. @param parts of its path */
function remove(...parts: readonly string[]): void {
  const [path] = filesIn(dataDir, '/data.mdb').filter((name) => parts.every((part) => name.includes(part)));
  rmSync(path as string);
}

/** What a list says, by the name of the entry. */
async function listed(path: string, name: string): Promise<Record<string, Record<string, unknown>>> {
  const { json, status } = await server.admin('GET', path);
  expect(status, JSON.stringify(json)).toBe(200);
  const entries = json as unknown as Record<string, unknown>[];
  return Object.fromEntries(entries.map((entry) => [entry[name] as string, entry]));
}

it('lists healthy entries beside a damaged repository and a damaged branch, and names those [DUR-027]', async () => {
  remove('/bananas~', '/repository/');
  remove('/cherries~', '/draft~', '/branch/');
  server = await startServer({ dataDir, config });
  const damaged = { error: { code: 'DATA_CORRUPTED', message: expect.any(String) } };
  const repositories = await listed('/api/repositories', 'repo_id');
  expect(Object.keys(repositories)).toEqual(['apples', 'bananas', 'cherries']);
  expect(repositories.apples).toMatchObject({ branches: ['main'], config: { default_branch: 'main' } });
  expect(repositories.apples).not.toHaveProperty('error');
  expect(repositories.bananas).toEqual({
    tenant_id: 'default',
    repo_id: 'bananas',
    created_at: expect.any(String),
    branches: null,
    config: null,
    ...damaged,
  });
  const branches = await listed(branchesOf('cherries'), 'name');
  expect(Object.keys(branches)).toEqual(['draft', 'main']);
  expect(branches.main).toMatchObject({ head: expect.any(String) });
  expect(branches.draft).toMatchObject({ head: null, upstream_branch: 'main', ...damaged });
  // What is damaged is not made to look like an empty one.
  expect((await server.admin('GET', '/api/repositories/bananas')).status).toBe(500);
  expect((await server.admin('GET', branchesOf('bananas'))).status).toBe(500);
});
