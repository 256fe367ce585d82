import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ClockShifts, shiftedClock } from '#test/support/clock-shifts.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { runProgram } from '#test/support/run-program.ts';
import { ADMIN_PASSWORD } from '#test/support/server.ts';
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '#test/support/server-process.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const server = await startServerProcess(options);
  cleanups.push(() => server.close());
  return server;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A connection of its own, for requests that are sent piece by piece. */
class RawConnection {
  received = '';
  readonly closed: Promise<void>;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    cleanups.push(() => socket.destroy());
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new RawConnection(socket)));
      socket.once('error', reject);
    });
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  async answer(pattern: RegExp): Promise<string> {
    await expect.poll(() => this.received, { timeout: 10_000, interval: 10 }).toMatch(pattern);
    const answer = this.received;
    this.received = '';
    return answer;
  }
}

describe('a data directory', () => {
  let cwd: string;
  let dataDir: string;
  /** The process that made it, now stopped, and the one that has it. */
  let first: ServerProcess;
  let second: ServerProcess;
  let password: string;
  let token: string;

  const logIn = (server: ServerProcess) =>
    server.request('POST', '/api/svc/sys/default/auth', { body: { username: 'admin', password } });

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'grove-test-'));
    dataDir = join(cwd, 'data');
    first = await startServerProcess({
      cwd,
      env: { SVC_DATA_DIR: undefined, SVC_ADMIN_PASSWORD: undefined },
    });
    password = /password {2}(\S{16}) /.exec(first.stderr)?.[1] as string;
    token = (await logIn(first)).json.token as string;
    await first.kill('SIGTERM');
    second = await startServerProcess({ dataDir, env: { SVC_ADMIN_PASSWORD: undefined } });
  });

  afterAll(async () => {
    await first.close();
    await second.close();
    rmSync(cwd, { recursive: true, force: true });
  });

  it('is ./data by default [CONF-003]', async () => {
    expect(existsSync(join(dataDir, 'journal'))).toBe(true);
    const elsewhere = join(temporaryFolder(), 'deep/er');
    await start({ dataDir: elsewhere });
    expect(existsSync(join(elsewhere, 'journal'))).toBe(true);
  });

  it('gets a random password, printed once, when none is configured [ADMIN-015]', async () => {
    expect(first.stderr).toMatch(/tenant +default/);
    expect(first.stderr).toMatch(/username +admin/);
    // What reads the log has JSON and no password.
    const lines = first.stdout.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ member: expect.any(String) });
    expect(first.stdout).not.toContain(password);
    expect(second.stdout + second.stderr).not.toMatch(/password {2}\S/);
    const again = await logIn(second);
    expect([again.status, again.json.must_change_password]).toEqual([200, true]);
  });

  it('gets its keys once, for its owner only, and tokens outlive a restart [ADMIN-021]', async () => {
    for (const name of ['jwt-secret', 'master-key']) {
      expect(statSync(join(dataDir, 'secrets', name)).mode & 0o777).toBe(0o600);
    }
    expect((await second.request('GET', '/api/svc/me', { token })).status).toBe(200);
  });

  it('is refused to a second process, and free once the first is dead [DUR-006]', async () => {
    const refused = await start({ dataDir, waitForExit: true });
    expect((await refused.exited).code).toBe(1);
    expect(refused.stderr).toBe(
      `Grove cannot start: The data directory ${dataDir} is in use by process ${second.pid}. ` +
        'Stop that one, or start this one with another SVC_DATA_DIR.\n',
    );
    await second.kill('SIGKILL');
    const third = await start({ dataDir });
    expect((await third.request('GET', '/health')).status).toBe(200);
  });
});

describe('starting', () => {
  it('is not made while the clock of the machine shows a time before 1970', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const clocks = new ClockShifts([-Date.now() - 86_400_000]);
    cleanups.push(() => clocks.close());
    const env = { ...clocks.env(0), SVC_DATA_DIR: dataDir };
    const { code, stderr } = await runProgram('server/main.ts', [], env, ['--import', shiftedClock]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^Grove cannot start: the clock .* before 1970: set it/),
    ]);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('refuses a weak configured password, naming the rule and not the password [ADMIN-020]', async () => {
    const weak = 'NoSpecialsAtAll1';
    const server = await start({ env: { SVC_ADMIN_PASSWORD: weak }, waitForExit: true });
    expect((await server.exited).code).toBe(2);
    expect(server.stderr).toMatch(/SVC_ADMIN_PASSWORD.*neither letter nor digit/);
    expect(server.stderr).not.toContain(weak);
  });

  it('starts by npm start with nothing else installed, and ends with it [CONF-001]', async () => {
    const child = spawn('npm', ['start'], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, PORT: '0', SVC_DATA_DIR: temporaryFolder(), SVC_ADMIN_PASSWORD: ADMIN_PASSWORD },
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    cleanups.push(() => {
      if (child.exitCode === null && child.signalCode === null)
        process.kill(-(child.pid as number), 'SIGKILL');
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    await expect.poll(() => stdout, { timeout: 20_000 }).toContain('"msg":"ready"');
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout)?.[0] as string;
    expect(await (await fetch(`${url}/health`)).text()).toBe('ok');
    // To npm alone, as a supervisor sends it: the server must not be left behind with its data directory.
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, signal: null });
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  it('listens on 127.0.0.1:8080 by default, and ends with 0 on SIGINT [CONF-002]', async () => {
    const server = await startServerProcess({ env: { PORT: undefined }, waitForExit: false }).catch(
      (error: Error) => error,
    );
    // Where somebody has that port already, the refusal names it.
    if (server instanceof Error) expect(server.message).toContain('port 8080 is in use on 127.0.0.1');
    else {
      cleanups.push(() => server.close());
      expect(server.port).toBe(8080);
    }
    const other = await start({ env: { SVC_HOST: '0.0.0.0' } });
    expect(other.port).not.toBe(8080);
    expect(await (await fetch(`http://127.0.0.2:${other.port}/health`)).text()).toBe('ok');
    expect(await other.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });

  it('accepts local connections only, prints the next steps, and names an address in use [CONF-002, CONF-007]', async () => {
    const server = await start();
    await expect(fetch(`http://127.0.0.2:${server.port}/health`)).rejects.toThrow();
    expect(server.stderr).toContain(`http://127.0.0.1:${server.port}`);
    expect(server.stderr).toContain('curl');
    const ready = server.stdout.split('\n').find((line) => line.includes('"msg":"ready"')) as string;
    expect(JSON.parse(ready)).toMatchObject({ level: 'info', port: server.port });
    const second = await start({
      env: { PORT: String(server.port), SVC_ADMIN_PASSWORD: undefined },
      waitForExit: true,
    });
    expect((await second.exited).code).toBe(1);
    expect(second.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        `^Grove cannot start: port ${server.port} is in use on 127\\.0\\.0\\.1; start with PORT=\\d+, or stop`,
      ),
    ]);
    // No password of an account that will not be there, and no stack.
    expect(second.stdout).toBe('');
    expect(existsSync(join(second.dataDir, 'secrets'))).toBe(false);
  });

  it('speaks to people at a terminal, and in JSON elsewhere', async () => {
    // Without a shell in between, which Ctrl-C would reach as well.
    const command = `exec '${process.execPath}' '${join(import.meta.dirname, '../../server/main.ts')}'`;
    const env = { PATH: process.env.PATH, TERM: 'xterm', PORT: '0', SVC_DATA_DIR: temporaryFolder() };
    const child = spawn(requiredProgram('script'), ['-qec', command, '/dev/null'], { env });
    cleanups.push(() => child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await expect.poll(() => output, { timeout: 20_000 }).toMatch(/INFO .* ready /);
    expect(output).toMatch(/password {2}\S{16} /);
    expect(output).toMatch(/^\S*\d\d:\d\d:\d\d\S* \S*INFO \S* ready \S*port=\d+/m);
    expect(output).not.toContain('{"level"');
    // Ctrl-C.
    child.stdin.write('\u0003');
    expect(await ended).toBe(0);
    const json = await start({ env: { SVC_MEMBER_ID: 'lonely' } });
    for (const line of json.stdout.trimEnd().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ member: 'lonely' });
    const text = await start({ env: { SVC_LOG_FORMAT: 'text' }, waitForNothing: true });
    await expect.poll(() => text.stdout, { timeout: 20_000 }).toMatch(/INFO {2}ready port=\d+/);
    expect(text.stdout).toContain('Log in and keep the token');
    expect(text.stderr).toBe('');
  });

  it('reports that SVC_ADMIN_PASSWORD changes nothing, with the remedy', async () => {
    const first = await start();
    await first.kill('SIGTERM');
    expect(first.stdout).not.toContain('changes nothing');
    const second = await start({
      dataDir: first.dataDir,
      env: { SVC_ADMIN_PASSWORD: 'Another-Horse-9-Battery' },
    });
    expect(second.stdout).toMatch(
      /"level":"warn".*SVC_ADMIN_PASSWORD changes nothing.*npm run reset-password/,
    );
    expect(await second.logIn()).toEqual(expect.any(String));
  });

  it('serves and stops although its output is no longer read', async () => {
    const port = await freePorts([0]);
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../server/main.ts')], {
      env: {
        PATH: process.env.PATH,
        UV_THREADPOOL_SIZE: '32',
        PORT: String(port),
        SVC_DATA_DIR: temporaryFolder(),
        SVC_LOG_LEVEL: 'debug',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    cleanups.push(() => child.kill('SIGKILL'));
    child.stdout.destroy();
    child.stderr.destroy();
    const ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const health = () => fetch(`http://127.0.0.1:${port}/health`).then((answer) => answer.text());
    await expect.poll(() => health().catch(() => 'refused'), { timeout: 20_000 }).toBe('ok');
    for (let asked = 0; asked < 100; asked += 1) expect(await health()).toBe('ok');
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  it('reads the file SVC_CONFIG names, environment variables winning [CONF-004]', async () => {
    const file = join(temporaryFolder(), 'grove.toml');
    writeFileSync(file, '[server]\nlog_level = "debug"\nbase_url = "https://file.example"\n');
    const server = await start({
      env: { SVC_CONFIG: file, SVC_BASE_URL: 'https://environment.example' },
    });
    expect(server.stdout).toContain('"url":"https://environment.example"');
    expect(server.stdout + server.stderr).not.toContain('https://file.example');
    await server.request('GET', '/health');
    await expect.poll(() => server.stdout).toContain('"level":"debug"');
  });

  it('refuses unknown keys and wrong types, naming all of them [CONF-005, CONF-006]', async () => {
    const file = join(temporaryFolder(), 'grove.toml');
    writeFileSync(file, '[server]\nporrt = 1\n\n[limits]\nmailbox_max = "many"\n');
    const server = await start({ env: { SVC_CONFIG: file }, waitForExit: true });
    expect((await server.exited).code).toBe(2);
    expect(server.stderr).toContain('porrt');
    expect(server.stderr).toMatch(/mailbox_max.*integer|mailbox_max.*whole number/);
  });

  it('prints its options for --help and refuses other arguments', async () => {
    const help = await start({ args: ['--help'], waitForExit: true });
    expect((await help.exited).code).toBe(0);
    expect(help.stdout).toContain('SVC_DATA_DIR');
    const other = await start({ args: ['--port'], waitForExit: true });
    expect((await other.exited).code).toBe(2);
    expect(other.stderr).toContain('--port');
  });
});

describe('stopping', () => {
  /** A request whose body is on its way. */
  async function half(server: ServerProcess, token: string, repository: string) {
    const body = JSON.stringify({ repo_id: repository });
    const connection = await RawConnection.open(server.port);
    connection.send(
      `POST /api/repositories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 3)}`,
    );
    return { connection, rest: body.slice(3) };
  }

  it('answers what is under way, refuses the new, and ends with 0 [HTTP-029, HTTP-036]', async () => {
    const server = await start();
    const token = await server.logIn();
    const kept = await RawConnection.open(server.port);
    kept.send('GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await kept.answer(/"state":"ready"/)).toContain('HTTP/1.1 200');
    const { connection, rest } = await half(server, token, 'last');
    // The server has read the head when it has answered what was sent after it.
    kept.send('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await kept.answer(/ok$/);
    const exited = server.kill('SIGTERM');
    await expect
      .poll(
        () =>
          RawConnection.open(server.port).then(
            () => 'accepted',
            () => 'refused',
          ),
        { timeout: 10_000 },
      )
      .toBe('refused');
    kept.send('GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await kept.answer(/"state":"draining"/)).toContain('HTTP/1.1 503');
    connection.send(rest);
    expect(await connection.answer(/"repo_id":"last"/)).toContain('HTTP/1.1 201');
    expect(await exited).toEqual({ code: 0, signal: null });
    const again = await start({ dataDir: server.dataDir });
    expect(
      (await again.request('GET', '/api/repositories/last', { token: await again.logIn() })).status,
    ).toBe(200);
  });

  it('cuts short at the second signal', async () => {
    const server = await start();
    await half(server, await server.logIn(), 'never');
    await server.request('GET', '/health');
    process.kill(server.pid, 'SIGTERM');
    await expect
      .poll(
        () =>
          RawConnection.open(server.port).then(
            () => 'accepted',
            () => 'refused',
          ),
        { timeout: 10_000 },
      )
      .toBe('refused');
    expect(await server.kill('SIGINT')).toEqual({ code: 1, signal: null });
  });

  it('is over after the grace period with a request that never ends', async () => {
    const file = join(temporaryFolder(), 'grove.toml');
    writeFileSync(file, '[server]\nshutdown_grace_ms = 200\n');
    const server = await start({ env: { SVC_CONFIG: file } });
    await half(server, await server.logIn(), 'never');
    await server.request('GET', '/health');
    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
