import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';

/** A data folder with tenant, admin and one repository, so that crash points count from the request on. */
const prepared = preparedFolder(async (server) => {
  await server.createRepository('old');
});

/** Sends one request to a process that dies at a crash point. @returns the status, 0 when it died first */
async function request(
  dataDir: string,
  crashPoint: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<number> {
  const server = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: crashPoint } });
  const token = await server.logIn().catch(() => undefined);
  let status = 0;
  if (token !== undefined) {
    const options = body === undefined ? { token } : { token, body };
    status = await server.request(method, path, options).then(
      (answer) => answer.status,
      () => 0,
    );
  }
  await server.kill('SIGKILL');
  await server.close();
  return status;
}

async function reopened(dataDir: string, check: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer({ dataDir });
  try {
    await check(server);
    const removed = join(dataDir, 'actors/.removed');
    // Only what is kept for a while, whole.
    for (const name of existsSync(removed) ? readdirSync(removed) : [])
      expect(name).toMatch(/^\d+-[0-9a-f]{32}$/);
  } finally {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function repositoryFolders(dataDir: string): string[] {
  return readdirSync(join(dataDir, 'actors/default')).filter((name) => name.includes('~'));
}

const points = [
  'before-append',
  'after-append-sent',
  'after-durable',
  'before-apply',
  'mid-apply',
  'before-reply',
];

it('a repository exists completely or not at all after a crash at any point of its creation [DUR-001, DUR-016]', async () => {
  for (const point of points) {
    // The first pass of the writing points is that of logging in.
    for (const hit of [2, 3, 4]) {
      const dataDir = prepared();
      const status = await request(dataDir, `${point}:${hit}`, 'POST', '/api/repositories', {
        repo_id: 'cut',
      });
      await reopened(dataDir, async (server) => {
        const found = await server.admin('GET', '/api/repositories/cut');
        if (status === 201) expect(found.status).toBe(200);
        expect(repositoryFolders(dataDir)).toHaveLength(found.status === 200 ? 2 : 1);
        if (found.status === 404) await server.createRepository('cut');
        const workspaces = await server.admin('GET', '/api/workspaces/cut');
        expect(workspaces.json.page.total).toBe(
          (await server.admin('GET', '/api/workspaces/old')).json.page.total,
        );
        expect((await server.admin('GET', '/api/repositories')).json).toHaveLength(2);
      });
    }
  }
});

it('a repository is gone or still complete after a crash at any point of its deletion [DUR-001]', async () => {
  for (const point of [...points, 'before-branch-removal']) {
    for (const hit of point === 'before-branch-removal' ? [1] : [1, 2]) {
      const dataDir = prepared();
      const status = await request(dataDir, `${point}:${hit}`, 'DELETE', '/api/repositories/old');
      await reopened(dataDir, async (server) => {
        const found = await server.admin('GET', '/api/repositories/old');
        if (status === 204) expect(found.status).toBe(404);
        expect(repositoryFolders(dataDir)).toHaveLength(found.status === 200 ? 1 : 0);
        if (found.status === 404) await server.createRepository('old');
        expect((await server.admin('GET', '/api/workspaces/old')).status).toBe(200);
      });
    }
  }
});

it('a registered tenant is finished by the next start, with the password it was given', async () => {
  for (const [point, hits] of [
    ['before-shard-create', [1]],
    ['after-durable', [2, 3, 4]],
    ['before-reply', [2, 3, 4]],
  ] as const) {
    for (const hit of hits) {
      const dataDir = prepared();
      const status = await request(dataDir, `${point}:${hit}`, 'POST', '/api/management/registry/tenants', {
        tenant_id: 'cut',
        admin: { password: ADMIN_PASSWORD },
      });
      await reopened(dataDir, async (server) => {
        const found = await server.admin('GET', '/api/management/registry/tenants/cut');
        if (status === 201) expect(found.status).toBe(200);
        const login = await server.request('POST', '/api/svc/sys/cut/auth', {
          body: { username: 'admin', password: ADMIN_PASSWORD },
        });
        expect(login.status).toBe(found.status === 200 ? 200 : 401);
      });
    }
  }
});
