import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commandOf, containerEnvironment, instructionsNamed } from '#test/support/container-file.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { HttpClient } from '#test/support/http-client.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { ADMIN_PASSWORD } from '#test/support/server.ts';
import { unitEnvironment, unitLines } from '#test/support/unit-file.ts';
import { until } from '#test/support/until.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

/** What steers npm, Node or the server and is of this test run. */
const ownVariable =
  /^(npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$|NODE|VITEST|TEST$|SVC_|GROVE_|PORT$|UV_|UWS_)/;

/** The environment of an operator at a terminal: nothing of this checkout is on the PATH. */
function operatorsEnvironment(): NodeJS.ProcessEnv {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ownVariable.test(name)));
  const path = (process.env.PATH ?? '').split(delimiter);
  return {
    ...env,
    npm_config_prefer_offline: 'true',
    PATH: path.filter((entry) => !entry.includes('node_modules')).join(delimiter),
  };
}

/** Time an installation may take, in milliseconds: packages come over a network nobody here is in charge of. */
const INSTALL_MS_MAX = 600_000;

const env = operatorsEnvironment();
const scratch = mkdtempSync(join(tmpdir(), 'grove-install-'));
/** What the page has in /opt/grove: a checkout of which only that is left that the container file copies. */
const home = join(scratch, 'grove');
const children: ChildProcess[] = [];

beforeAll(() => {
  const checkout = join(scratch, 'checkout');
  execFileSync(requiredProgram('git'), ['clone', '--quiet', projectRoot, checkout], { env });
  for (const text of instructionsNamed('COPY'))
    for (const name of text.split(' ').slice(0, -1))
      cpSync(join(checkout, name), join(home, name), { recursive: true });
  for (const command of instructionsNamed('RUN').filter((text) => text.startsWith('npm ci'))) {
    // The cache of whoever runs this stays.
    const [install = ''] = command.split(' && ');
    const { status, stderr, stdout } = spawnSync('sh', ['-ec', install], {
      cwd: home,
      env,
      encoding: 'utf8',
    });
    expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
  }
}, INSTALL_MS_MAX);

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly dataDir: string;
  readonly ended: Promise<number | null>;
}

/** Starts a server by the words of a command, with the variables that are given along with it. */
async function start(
  command: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Started> {
  const port = await freePorts([0]);
  const dataDir = mkdtempSync(join(scratch, 'data-'));
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, {
    cwd: home,
    env: {
      ...env,
      ...variables,
      PORT: String(port),
      SVC_DATA_DIR: dataDir,
      SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await until(() => output.includes('"msg":"ready"') || child.exitCode !== null, 'it is ready', 60_000);
  return { child, port, dataDir, ended };
}

async function answersAndEnds({ child, ended, port }: Started): Promise<void> {
  const client = new HttpClient(port);
  try {
    const health = await client.request('GET', '/health');
    expect([health.status, health.text]).toEqual([200, 'ok']);
    const body = { username: 'admin', password: ADMIN_PASSWORD };
    expect((await client.request('POST', '/api/svc/sys/default/auth', { body })).status).toBe(200);
  } finally {
    client.close();
  }
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
}

describe('an installation with npm ci --omit=dev', () => {
  it('has no packages of the tests', () => {
    for (const name of ['vitest', '@biomejs', 'typescript', 'fast-check'])
      expect([name, existsSync(join(home, 'node_modules', name))]).toEqual([name, false]);
  });

  it('starts by the unit of systemd', async () => {
    const lines = unitLines(readFileSync(join(projectRoot, 'operator/systemd/grove.service'), 'utf8'));
    const command = lines.find(({ key }) => key === 'ExecStart')?.value as string;
    const words = command.replace('/opt/grove', home).split(' ');
    await answersAndEnds(await start(words, unitEnvironment(lines)));
  });

  it('starts by the container file, and is healthy by it', async () => {
    const started = await start(commandOf(instructionsNamed('CMD')[0] as string), containerEnvironment());
    const [program, ...args] = commandOf(instructionsNamed('HEALTHCHECK')[0] as string);
    const check = (port: number) =>
      spawnSync(program as string, args, { cwd: home, env: { ...env, PORT: String(port) } }).status;
    expect([check(started.port), check(await freePorts([0]))]).toEqual([0, 1]);
    await answersAndEnds(started);
  });

  it('has every program for operators', async () => {
    const { scripts } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const programs = Object.keys(scripts).filter((name) =>
      /\b(?:operator|server)\//.test(scripts[name] ?? ''),
    );
    expect(programs).toEqual(
      expect.arrayContaining(['start', 'status', 'backup', 'restore', 'reset-password']),
    );
    for (const name of programs) {
      const { status, stdout } = spawnSync('npm', ['run', '-s', name, '--', '--help'], {
        cwd: home,
        env,
        encoding: 'utf8',
      });
      expect([name, status, stdout.length > 100]).toEqual([name, 0, true]);
    }
  });

  it('sets a lost password, and makes a backup by the unit of the timer', async () => {
    const started = await start(commandOf(instructionsNamed('CMD')[0] as string), containerEnvironment());
    const reset = spawnSync('npm', ['run', '-s', 'reset-password', '--', '--data-dir', started.dataDir], {
      cwd: home,
      env: { ...env, GROVE_NEW_PASSWORD: 'Timer-Horse-9-Battery' },
      encoding: 'utf8',
    });
    expect([reset.status, reset.stdout]).toEqual([0, expect.stringContaining('was changed')]);
    const lines = unitLines(readFileSync(join(projectRoot, 'operator/systemd/grove-backup.service'), 'utf8'));
    const command = lines.find(({ key }) => key === 'ExecStart')?.value as string;
    const [program, ...args] = command.replace('/opt/grove', home).split(' ');
    const backup = spawnSync(program as string, args, {
      cwd: home,
      env: {
        ...env,
        GROVE_URL: `http://127.0.0.1:${started.port}`,
        GROVE_PASSWORD: 'Timer-Horse-9-Battery',
      },
      encoding: 'utf8',
    });
    expect([backup.status, backup.stderr]).toEqual([0, '']);
    expect(readdirSync(join(started.dataDir, 'backups'))).toHaveLength(1);
  });
});

describe('the image, where containers can be run', () => {
  it('is built and serves', async () => {
    const docker = (...args: readonly string[]) =>
      spawnSync('docker', args, { cwd: projectRoot, encoding: 'utf8' });
    // Without a daemon the instructions were carried out one by one above.
    if (docker('info', '--format', '{{.ServerVersion}}').status !== 0) return;
    const name = `grove-test-${process.pid}`;
    try {
      const built = docker('build', '--quiet', '--tag', name, '.');
      expect([built.status, built.stderr]).toEqual([0, '']);
      const port = await freePorts([0]);
      const run = docker(
        'run',
        '--detach',
        '--init',
        '--name',
        name,
        '--publish',
        `127.0.0.1:${port}:8080`,
        name,
      );
      expect([run.status, run.stderr]).toEqual([0, '']);
      const health = () => fetch(`http://127.0.0.1:${port}/health`).then((answer) => answer.text());
      await until(async () => (await health().catch(() => '')) === 'ok', 'it serves', 60_000);
      expect(docker('exec', name, 'npm', 'run', '-s', 'status').stdout).toContain('Grove, a single member');
      expect(docker('logs', name).stderr).toMatch(/password {2}\S{16} /);
    } finally {
      docker('rm', '--force', name);
      docker('image', 'rm', '--force', name);
    }
  });
});
