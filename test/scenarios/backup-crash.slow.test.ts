import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';

/** Time within which a process dies at its crash point, in milliseconds. */
const DEATH_MS_MAX = 20_000;

let dataDir: string;

/** A data folder with a repository of two branches. */
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-test-'));
  const server = await startServer({ dataDir });
  await server.createRepository('blog');
  const client = new ContentClient(server, 'blog');
  const space = await client.workspace();
  await space.addAll('/a', '/a/b', '/c');
  await client.branch('draft', { upstream_branch: 'main' });
  await server.close();
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Sends one request to a process and waits until it has died at a crash point. */
async function requestUntilDeath(crashPoint: string, path: string, body: object): Promise<void> {
  const server = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: crashPoint } });
  try {
    const token = await server.logIn();
    await server.request('POST', path, { token, body }).catch(() => undefined);
    const tooLong = setTimeout(() => void server.kill('SIGTERM'), DEATH_MS_MAX);
    const { signal } = await server.exited;
    clearTimeout(tooLong);
    expect(signal).toBe('SIGKILL');
  } finally {
    await server.close();
  }
}

async function reopened(check: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer({ dataDir });
  try {
    await check(server);
  } finally {
    await server.close();
  }
}

/** Waits until a backup or a restore is over. */
async function over(server: TestServer, path: string): Promise<string> {
  for (;;) {
    const { json } = expectStatus(await server.admin('GET', path), 200);
    if (json.state !== 'running') return json.state as string;
  }
}

function repositoryFolders(): string[] {
  return readdirSync(join(dataDir, 'actors/default')).filter((name) => name.includes('~'));
}

it.each(['mid-backup:1', 'mid-backup:4', 'before-backup-rename:1'])(
  'a backup cut at %s is none, and the next one of its name is whole [BAK-014]',
  async (point) => {
    await requestUntilDeath(point, '/api/management/backups', { name: 'cut' });
    expect(existsSync(join(dataDir, 'backups/cut'))).toBe(false);
    await reopened(async (server) => {
      expect((await server.admin('GET', '/api/management/backups')).json).toEqual([]);
      const restored = await server.admin('POST', '/api/management/restores', { from: 'cut' });
      expect(restored).toMatchObject({ status: 404, json: { code: 'BACKUP_NOT_FOUND' } });
      expectStatus(await server.admin('POST', '/api/management/backups', { name: 'cut' }), 202);
      expect(await over(server, '/api/management/backups/cut')).toBe('done');
      expect(readdirSync(join(dataDir, 'backups'))).toEqual(['cut']);
      const body = { from: 'cut', repository: 'default/blog', as: 'default/copy' };
      const { json } = expectStatus(await server.admin('POST', '/api/management/restores', body), 202);
      expect(await over(server, `/api/management/restores/${json.id}`)).toBe('done');
      expect(await new Space(new ContentClient(server, 'copy'), 'space-1').names()).toEqual(['a', 'c']);
    });
  },
);

it.each([
  'mid-restore:1',
  'mid-restore:3',
  'mid-restore:2',
  'before-shard-create:2',
  'after-append-sent:4',
  'after-durable:5',
  'before-apply:4',
])('a restore cut at %s is there whole or not at all [BAK-019]', async (point) => {
  await reopened(async (server) => {
    expectStatus(await server.admin('POST', '/api/management/backups', { name: 'b' }), 202);
    expect(await over(server, '/api/management/backups/b')).toBe('done');
  });
  const body = { from: 'b', repository: 'default/blog', as: 'default/copy' };
  await requestUntilDeath(point, '/api/management/restores', body);
  await reopened(async (server) => {
    const found = await server.admin('GET', '/api/repositories/copy');
    expect(repositoryFolders()).toHaveLength(found.status === 200 ? 2 : 1);
    if (found.status === 404) {
      const { json } = expectStatus(await server.admin('POST', '/api/management/restores', body), 202);
      expect(await over(server, `/api/management/restores/${json.id}`)).toBe('done');
    }
    const client = new ContentClient(server, 'copy');
    expect(await new Space(client, 'space-1').names()).toEqual(['a', 'c']);
    expect(expectStatus(await client.managed('GET', '/branches'), 200).json).toHaveLength(2);
  });
});
