import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const root = join(import.meta.dirname, '../..');

/** What a program of `package.json` said. */
interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program as `npm run` would. */
function run(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said> {
  const child = spawn(process.execPath, [join(root, script), ...args], {
    env: { PATH: process.env.PATH, ...env },
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

const backup = (...args: readonly string[]): Promise<Said> => run('operator/backup.ts', args, asked());
const restore = (...args: readonly string[]): Promise<Said> => run('server/backup/restore.ts', args, asked());

let server: TestServer;

function asked(): Record<string, string> {
  return { GROVE_URL: server.url, GROVE_PASSWORD: ADMIN_PASSWORD };
}

/** The master key the server made for itself. */
function masterKey(): string {
  return readFileSync(join(server.dataDir, 'secrets/master-key'), 'utf8').trim();
}

beforeAll(async () => {
  server = await startServer();
  await server.createRepository('shop');
  const client = new ContentClient(server, 'shop');
  const space = await client.workspace();
  await space.addAll('/a', '/a/b', '/c');
});

afterAll(() => server.close());

/** Names of the nodes at the root of a repository. */
function namesIn(at: TestServer, repository: string): Promise<readonly string[]> {
  return new Space(new ContentClient(at, repository), 'space-1').names();
}

describe('npm run backup and npm run restore', () => {
  it('back up one repository and give it back under another name [BAK-005] [BAK-015]', async () => {
    const made = await backup('--to', 'shop-1', '--repository', 'default/shop');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toContain('Backup shop-1: 2 files');
    const restored = await restore('--from', 'shop-1', '--as', 'default/shop-copy');
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toContain('Repository default/shop-copy is restored');
    expect(await namesIn(server, 'shop-copy')).toEqual(['a', 'c']);
    expect(expectStatus(await server.admin('GET', '/api/repositories/shop-copy'), 200).json.repo_id).toBe(
      'shop-copy',
    );
    const listed = await backup('--list');
    expect(listed.stdout).toMatch(/^shop-1 {2}\S+ {2}default\/shop {2}/m);
  });

  it('fill an empty data directory, which a server then serves with the old accounts [BAK-012] [BAK-016]', async () => {
    const folder = join(server.dataDir, 'backups/all');
    expect(await backup('--to', folder)).toMatchObject({ code: 0, stderr: '' });
    const dataDir = mkdtempSync(join(tmpdir(), 'grove-restored-'));
    const strange = await restore('--from', folder, '--into', dataDir);
    expect(strange).toMatchObject({ code: 1 });
    expect(strange.stderr).toContain('accept it: --accept-foreign');
    // The keys come from elsewhere, and other files of the operator may be there.
    cpSync(join(server.dataDir, 'secrets'), join(dataDir, 'secrets'), { recursive: true });
    const filled = await restore('--from', folder, '--into', dataDir);
    expect(filled).toMatchObject({ code: 0, stderr: '' });
    expect(filled.stdout).toMatch(/has 1 tenant and \d repositor(?:y|ies); start a server on it/);
    const again = await startServer({ dataDir, env: { SVC_ADMIN_PASSWORD: undefined } });
    try {
      expect(again.printed).toEqual([]);
      const login = await again.request('POST', '/api/svc/sys/default/auth', {
        body: { username: 'admin', password: ADMIN_PASSWORD },
      });
      expect(login.status).toBe(200);
      const token = login.json.token as string;
      const listed = await again.request('GET', '/api/repository/shop/main/head/space-1/', { token });
      expect(listed).toMatchObject({ status: 200, json: [{ name: 'a' }, { name: 'c' }] });
    } finally {
      await again.close();
    }
    const twice = await restore('--from', folder, '--into', dataDir);
    expect(twice.code).toBe(1);
    expect(twice.stderr).toContain('is not empty (it has actors, journal');
    rmSync(dataDir, { recursive: true });
  });

  it('report what they do, and any error, in plain text', async () => {
    for (const program of [backup, restore]) {
      const help = await program('--help');
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain('--repository <t/name>');
    }
    expect(await restore()).toMatchObject({ code: 2 });
    expect(await backup('--bogus')).toMatchObject({ code: 2 });
    expect(await backup('--repository', 'default/none')).toMatchObject({
      code: 1,
      stderr: "Repository 'default/none' not found\n",
    });
    const elsewhere = await backup('--to', '/etc/grove');
    expect(elsewhere).toMatchObject({ code: 1 });
    expect(elsewhere.stderr).toContain("'/etc/grove' is no place for a backup");
    const none = await run('operator/backup.ts', [], { ...asked(), GROVE_URL: 'http://127.0.0.1:1' });
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('does not answer');
  });
});

describe('the backup routes', () => {
  it('take administrators of the system only [BAK-017]', async () => {
    const made = await server.admin('POST', '/api/management/registry/tenants', {
      tenant_id: 'acme',
      admin: { password: ADMIN_PASSWORD, must_change_password: false },
    });
    expectStatus(made, 201);
    const login = await server.request('POST', '/api/svc/sys/acme/auth', {
      body: { username: 'admin', password: ADMIN_PASSWORD },
    });
    const token = login.json.token as string;
    const routes = [
      ['GET', '/api/management/backups'],
      ['GET', '/api/management/backups/x'],
      ['POST', '/api/management/backups'],
      ['POST', '/api/management/restores'],
      ['GET', '/api/management/restores/x'],
    ] as const;
    for (const [method, path] of routes) {
      const isRestore = path.endsWith('/restores');
      const body = method === 'POST' ? { body: isRestore ? { from: 'x' } : {} } : {};
      expect((await server.request(method, path, { ...body, token })).status).toBe(403);
      expect((await server.request(method, path, body)).status).toBe(401);
    }
  });

  it('write into the backup folder only [BAK-018]', async () => {
    for (const name of ['../x', '/tmp/x', 'a/b', '.x', `${server.dataDir}/actors/x`]) {
      const answer = await server.admin('POST', '/api/management/backups', { name });
      expect(answer).toMatchObject({ status: 400, json: { code: 'VALIDATION_FAILED' } });
      const restored = await server.admin('POST', '/api/management/restores', { from: name });
      expect(restored).toMatchObject({ status: 400, json: { code: 'VALIDATION_FAILED' } });
    }
    const bad = await server.admin('POST', '/api/management/restores', { from: 'x', as: 'no-slash' });
    expect(bad.status).toBe(400);
    expect((await server.admin('GET', '/api/management/backups/none')).status).toBe(404);
    expect((await server.admin('GET', '/api/management/restores/none')).status).toBe(404);
    expect(readdirSync(join(server.dataDir, 'backups')).every((name) => /^(shop|all)/.test(name))).toBe(true);
  });
});

describe('an unfinished restore', () => {
  let dataDir: string;

  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('into an empty directory keeps servers away, and is done again from the beginning [BAK-016]', async () => {
    const folder = join(server.dataDir, 'backups/cut');
    expect(await backup('--to', 'cut')).toMatchObject({ code: 0 });
    dataDir = mkdtempSync(join(tmpdir(), 'grove-restored-'));
    const cut = await run('server/backup/restore.ts', ['--from', folder, '--into', dataDir], {
      SVC_CRASH_POINT: 'mid-restore:2',
      SVC_MASTER_KEY: masterKey(),
    });
    expect(cut.code).toBeNull();
    expect(existsSync(join(dataDir, 'actors'))).toBe(true);
    await expect(startServer({ dataDir })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('did not finish') as string,
    });
    expect(await restore('--from', folder, '--into', dataDir, '--accept-foreign')).toMatchObject({
      code: 0,
      stderr: '',
    });
    const again = await startServer({ dataDir });
    expect(await namesIn(again, 'shop')).toEqual(['a', 'c']);
    await again.close();
  });

  it('that fails in the middle ends with an error exit code, also after it has cleaned up [BAK-015]', async () => {
    const folder = join(server.dataDir, 'backups/all');
    const bad = mkdtempSync(join(tmpdir(), 'grove-altered-'));
    cpSync(folder, join(bad, 'all'), { recursive: true });
    const path = join(bad, 'all/manifest.json');
    const {
      sha256: _,
      signature: __,
      ...fields
    } = JSON.parse(readFileSync(path, 'utf8')) as {
      tenants: string[];
    } & Record<string, unknown>;
    const resealed = (tenants: readonly string[]): void => {
      const manifest = { ...fields, tenants };
      const sha256 = createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
      writeFileSync(path, JSON.stringify({ ...manifest, sha256 }));
    };
    dataDir = mkdtempSync(join(tmpdir(), 'grove-restored-'));
    const into = ['--from', join(bad, 'all'), '--into', dataDir, '--accept-foreign'];
    // Nothing of this tenant is in it: found out when the repositories are made already.
    resealed([...fields.tenants, 'nobody']);
    const failed = await restore(...into);
    expect(failed.stderr).toContain('it has nothing of nobody/tenant');
    expect(failed.code).toBe(1);
    resealed([...fields.tenants, '../../escape']);
    const escaped = await restore(...into);
    expect(escaped.stderr).toContain("names '../../escape' as a tenant");
    expect(escaped.code).toBe(1);
    rmSync(bad, { recursive: true });
  });

  it('is refused where a directory is in use, and for what is no backup', async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'grove-restored-'));
    const folder = join(server.dataDir, 'backups/shop-1');
    const used = await restore('--from', join(server.dataDir, 'backups/all'), '--into', server.dataDir);
    expect(used.code).toBe(1);
    expect(used.stderr).toContain('is in use by process');
    const empty = join(dataDir, 'empty');
    mkdirSync(empty);
    const none = await restore('--from', empty, '--into', join(dataDir, 'new'));
    expect(none.stderr).toContain('is not a backup: it has no manifest.json');
    const single = await restore('--from', folder, '--into', join(dataDir, 'new'), '--accept-foreign');
    expect(single.stderr).toContain('does not have everything; name what to restore of it: default/shop');
    expect(existsSync(join(dataDir, 'new/actors'))).toBe(false);
  });
});
