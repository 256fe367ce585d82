import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CrashPointName } from '#runtime/commit/crash-point.ts';
import { type Cut, cutsOf } from '#test/support/cuts.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

/** Token of `admin`. */
let token = '';

/** A data folder with tenant, admin and one repository. */
const prepared = preparedFolder(async (server) => {
  await server.createRepository('old');
  token = server.adminToken;
});

/**
 * Sends a request, and checks what is left at each crash point on its way.
 *
 * @param points those that only such a request passes
 */
async function cutEverywhere(
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  points: readonly CrashPointName[],
  check: (server: TestServer, status: number) => Promise<void>,
): Promise<void> {
  const cuts = await cutsOf(prepared(), { token, method, path, body }, points);
  for (const cut of cuts) await reopened(cut, (server) => check(server, cut.status));
}

async function reopened(
  { dataDir, points }: Cut,
  check: (server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startServer({ dataDir, adminToken: token });
  try {
    await check(server);
    const removed = join(dataDir, 'actors/.removed');
    // Only what is kept for a while, whole.
    for (const name of existsSync(removed) ? readdirSync(removed) : [])
      expect(name).toMatch(/^\d+-[0-9a-f]{32}$/);
  } catch (cause) {
    throw new Error(`cut at ${points.join(', ')}: ${(cause as Error).message}`, { cause });
  } finally {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function repositoryFolders(dataDir: string): string[] {
  return readdirSync(join(dataDir, 'actors/default')).filter((name) => name.includes('~'));
}

it('a repository exists completely or not at all after a crash at any point of its creation [DUR-001, DUR-016]', () =>
  cutEverywhere(
    ['POST', '/api/repositories', { repo_id: 'cut' }],
    ['before-shard-create'],
    async (server, status) => {
      const found = await server.admin('GET', '/api/repositories/cut');
      if (status === 201) expect(found.status).toBe(200);
      expect(repositoryFolders(server.dataDir)).toHaveLength(found.status === 200 ? 2 : 1);
      if (found.status === 404) await server.createRepository('cut');
      const workspaces = await server.admin('GET', '/api/workspaces/cut');
      expect(workspaces.json.page.total).toBe(
        (await server.admin('GET', '/api/workspaces/old')).json.page.total,
      );
      expect((await server.admin('GET', '/api/repositories')).json).toHaveLength(2);
    },
  ));

it('a repository is gone or still complete after a crash at any point of its deletion [DUR-001]', () =>
  cutEverywhere(['DELETE', '/api/repositories/old'], ['before-branch-removal'], async (server, status) => {
    const found = await server.admin('GET', '/api/repositories/old');
    if (status === 204) expect(found.status).toBe(404);
    expect(repositoryFolders(server.dataDir)).toHaveLength(found.status === 200 ? 1 : 0);
    if (found.status === 404) await server.createRepository('old');
    expect((await server.admin('GET', '/api/workspaces/old')).status).toBe(200);
  }));

it('a registered tenant is finished by the next start, with the password it was given', async () => {
  const body = { tenant_id: 'cut', admin: { password: ADMIN_PASSWORD } };
  await cutEverywhere(
    ['POST', '/api/management/registry/tenants', body],
    ['before-shard-create'],
    async (server, status) => {
      const found = await server.admin('GET', '/api/management/registry/tenants/cut');
      if (status === 201) expect(found.status).toBe(200);
      const login = await server.request('POST', '/api/svc/sys/cut/auth', {
        body: { username: 'admin', password: ADMIN_PASSWORD },
      });
      expect(login.status).toBe(found.status === 200 ? 200 : 401);
    },
  );
});
