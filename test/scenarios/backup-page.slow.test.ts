import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { ADMIN_PASSWORD, startServer } from '#test/support/server.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

/** Runs a script in the folder of the project. */
function run(
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<[number | null, string, string]> {
  const child = spawn('bash', ['-eu', '-o', 'pipefail', '-c', script], {
    cwd: projectRoot,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
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
  return new Promise((resolve) => child.on('close', (code) => resolve([code, stdout, stderr])));
}

it('every command of the page on backups works as described [BAK-021]', async () => {
  const server = await startServer();
  const folder = mkdtempSync(join(tmpdir(), 'grove-backup-page-'));
  const restored = join(folder, 'restored');
  try {
    await server.createRepository('shop');
    const blocks = documentBlocks('docs/backup.md').filter(({ language }) => language === 'bash');
    const backups = join(server.dataDir, 'backups');
    const [code, stdout, stderr] = await run(blocks.map(({ text }) => text).join('\n'), {
      GROVE_URL: server.url,
      GROVE_PASSWORD: ADMIN_PASSWORD,
      BACKUPS: backups,
      RESTORED: restored,
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Backup nightly: 3 files');
    expect(stdout).toContain('Repository default/shop-yesterday is restored');
    expect(readdirSync(backups)).toHaveLength(3);
    expect((await server.admin('GET', '/api/repositories/shop-yesterday')).status).toBe(200);
    expect(existsSync(join(restored, 'secrets/master-key'))).toBe(true);
    const again = await startServer({ dataDir: restored });
    expect((await again.admin('GET', '/api/repositories/shop')).status).toBe(200);
    // The keys came along, so tokens of before are good.
    const { status } = await again.request('GET', '/api/repositories', { token: server.adminToken });
    expect(status).toBe(200);
    await again.close();
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
