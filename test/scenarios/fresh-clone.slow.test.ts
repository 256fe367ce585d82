import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { HttpClient } from '#test/support/http-client.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { ADMIN_PASSWORD } from '#test/support/server.ts';

const checkout = join(import.meta.dirname, '../..');

/** What npm and vitest put into the environment of this test, and what would steer the server. */
const ownVariable =
  /^(npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$|NODE|VITEST|TEST$|SVC_|PORT$|UV_|UWS_)/;

/** The environment of somebody who has just opened a terminal: nothing of this checkout is on the PATH. */
function newcomersEnvironment(): NodeJS.ProcessEnv {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ownVariable.test(name)));
  const path = (process.env.PATH ?? '').split(delimiter);
  // What has been fetched once need not be asked for again; a machine that has nothing fetches all of it.
  return {
    ...env,
    npm_config_prefer_offline: 'true',
    PATH: path.filter((folder) => !folder.includes('node_modules')).join(delimiter),
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Time an installation may take, in milliseconds: packages come over a network nobody here is in charge of. */
const INSTALL_MS_MAX = 600_000;

describe('a fresh clone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grove-clone-'));
  const clone = join(folder, 'grove');
  const env = newcomersEnvironment();

  /** Runs npm in the clone. @returns what it wrote */
  function npm(...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: clone, env, encoding: 'utf8' });
    expect([args, status, status === 0 ? '' : stdout + stderr]).toEqual([args, 0, '']);
    return stdout;
  }

  beforeAll(() => {
    execFileSync(requiredProgram('git'), ['clone', '--quiet', checkout, clone], { env });
    npm('ci');
  }, INSTALL_MS_MAX);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('starts with npm ci && npm start, lets the administrator in, and ends with 0 on SIGTERM [DEMO-001]', async () => {
    const port = await freePort();
    const member = spawn('npm', ['start'], {
      cwd: clone,
      env: {
        ...env,
        PORT: String(port),
        SVC_DATA_DIR: join(folder, 'data'),
        SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
      },
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => {
      member.once('close', (code, signal) => resolve({ code, signal }));
    });
    let stdout = '';
    member.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const client = new HttpClient(port);
    try {
      await expect.poll(() => stdout, { timeout: 60_000 }).toContain('"msg":"ready"');
      const health = await client.request('GET', '/health');
      expect([health.status, health.text]).toEqual([200, 'ok']);
      const login = await client.request('POST', '/api/svc/sys/default/auth', {
        body: { username: 'admin', password: ADMIN_PASSWORD },
      });
      expect([login.status, typeof login.json.token]).toEqual([200, 'string']);
      const me = await client.request('GET', '/api/svc/me', { token: login.json.token as string });
      expect(me.json.username).toBe('admin');
      client.close();
      // To npm alone, as a supervisor sends it: the server must not be left behind.
      member.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, signal: null });
      await expect(new HttpClient(port).request('GET', '/health')).rejects.toThrow(/ECONNREFUSED/);
    } finally {
      client.close();
      if (member.exitCode === null && member.signalCode === null) {
        process.kill(-(member.pid as number), 'SIGKILL');
      }
    }
  });

  it('tests itself with npm ci && npm test [DEMO-001]', () => {
    expect(npm('test', '--', 'test/runtime/base')).toMatch(/Tests .*passed/);
  });

  it('runs one test as the page for contributors describes', () => {
    const commands = documentBlocks('CONTRIBUTING.md').filter(({ text }) => text.includes('vitest run'));
    expect(commands).toHaveLength(1);
    const { status, stderr, stdout } = spawnSync('bash', ['-ec', commands[0]?.text as string], {
      cwd: clone,
      env,
      encoding: 'utf8',
    });
    expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    expect(stdout.match(/Tests .*passed/g)).toHaveLength(2);
  });

  it('holds nothing that npm ci or npm test change', () => {
    const status = execFileSync('git', ['status', '--porcelain'], { cwd: clone, env, encoding: 'utf8' });
    expect(status).toBe('');
  });
});
