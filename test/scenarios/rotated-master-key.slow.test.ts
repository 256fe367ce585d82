import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';
import { runProgram } from '#test/support/run-program.ts';
import { TenantMail, tenantOf } from '#test/support/tenant-mail.ts';
import { until } from '#test/support/until.ts';

const tenants = ['default', 'acme'] as const;
const former = '0123456789abcdef'.repeat(4);
const present = 'fedcba9876543210'.repeat(4);
const rotating = { SVC_MASTER_KEY: present, SVC_MASTER_KEY_PREVIOUS: former };

let mail: TenantMail;
let root: string;
/** A directory of the former key, whose tenants have secrets; it has a backup of everything. */
let whole: string;
let dataDir: string;

const at = (server: TestServer) => server.request.bind(server);
const open = (env: Readonly<Record<string, string>>): Promise<TestServer> =>
  startServer({ dataDir, env, ...mail.serverOptions });
const isTold = (server: TestServer): boolean =>
  server.logLines.some(({ msg }) => String(msg).includes('SVC_MASTER_KEY_PREVIOUS can be removed'));

beforeAll(async () => {
  mail = await TenantMail.start();
  root = mkdtempSync(join(tmpdir(), 'grove-rotation-'));
  whole = join(root, 'whole');
  dataDir = whole;
  const server = await open({ SVC_MASTER_KEY: former });
  const acme = await tenantOf(at(server), server.adminToken, 'acme');
  await mail.configure(at(server), server.adminToken);
  await mail.configure(at(server), acme, 'acme');
  expect((await server.admin('POST', '/api/management/backups', { name: 'former' })).status).toBe(202);
  await until(() => readdirSync(join(whole, 'backups')).includes('former'), 'there is a backup');
  await server.close();
});

afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await mail.stop();
});

beforeEach(() => {
  dataDir = mkdtempSync(join(root, 'case-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe('a rotation of the master key that is killed [ADMIN-023, ADMIN-024]', () => {
  it.each(['mid-key-rotation:1', 'mid-key-rotation:2', 'before-key-drop:1'])(
    'at %s goes on with both keys, and until then no start is without the former one',
    async (point) => {
      cpSync(whole, dataDir, { recursive: true });
      const doomed = await startServerProcess({
        dataDir,
        env: { ...rotating, SVC_CRASH_POINT: point },
        waitForNothing: true,
      });
      expect((await doomed.exited).signal).toBe('SIGKILL');
      await doomed.close();

      await expect(open({ SVC_MASTER_KEY: present })).rejects.toThrow(
        /^The key before SVC_MASTER_KEY is needed.*Nothing was changed.*SVC_MASTER_KEY_PREVIOUS/s,
      );
      await expect(open({ SVC_MASTER_KEY: former })).rejects.toThrow(/^SVC_MASTER_KEY is another key/);
      const checked = await runProgram('server/check/check-data.ts', ['--data-dir', dataDir], rotating);
      expect([checked.code, checked.stderr]).toEqual([0, '']);
      const during = await open(rotating);
      for (const tenant of tenants) await mail.logIn(at(during), tenant);
      await until(() => isTold(during), 'the rotation is complete');
      await during.close();

      const after = await open({ SVC_MASTER_KEY: present });
      for (const tenant of tenants) await mail.logIn(at(after), tenant);
      await after.close();
    },
  );
});

describe('a backup from before the master key was replaced [BAK-028]', () => {
  const backup = (): string => join(whole, 'backups/former');
  const restore = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    runProgram('server/backup/restore.ts', ['--from', backup(), ...args], env);

  it('is restored into a directory, whose first start encrypts its secrets with the new key', async () => {
    const into = join(dataDir, 'restored');
    const refused = await restore(['--into', into], { SVC_MASTER_KEY: present });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('is not signed with the key'),
    ]);
    expect(await restore(['--into', into], rotating)).toMatchObject({ code: 0, stderr: '' });
    dataDir = into;
    const during = await open(rotating);
    await until(() => isTold(during), 'the rotation is complete');
    await during.close();
    const after = await open({ SVC_MASTER_KEY: present });
    for (const tenant of tenants) await mail.logIn(at(after), tenant);
    await after.close();
  });

  it('is restored into a running server with the new key, and needs the former one no more', async () => {
    const server = await open(rotating);
    cpSync(backup(), join(dataDir, 'backups/former'), { recursive: true });
    await until(() => isTold(server), 'the empty server has nothing of the former key');
    const env = { GROVE_URL: server.url, GROVE_PASSWORD: ADMIN_PASSWORD };
    const restored = await runProgram('server/backup/restore.ts', ['--from', 'former'], env);
    expect([restored.code, restored.stderr]).toEqual([0, '']);
    await server.close();
    const after = await open({ SVC_MASTER_KEY: present });
    for (const tenant of tenants) await mail.logIn(at(after), tenant);
    await after.close();
  });

  it('is that of another server again when the former key is not given any more', async () => {
    const server = await open({ SVC_MASTER_KEY: present });
    cpSync(backup(), join(dataDir, 'backups/former'), { recursive: true });
    const env = { GROVE_URL: server.url, GROVE_PASSWORD: ADMIN_PASSWORD };
    const refused = await runProgram('server/backup/restore.ts', ['--from', 'former'], env);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('not signed with the key')]);
    await server.close();
    // The manifest says nothing about the key but its name.
    expect(readFileSync(join(backup(), 'manifest.json'), 'utf8')).not.toContain(former);
  });
});
