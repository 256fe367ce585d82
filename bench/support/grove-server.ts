import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { endChild, freePort, keepOutput, type Output, spawnPinned } from './child.ts';
import { SERVER_CORE } from './machine.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const PASSWORD = 'Bench-mark-2026!';
const READY_WAIT_MS = 120_000;
const READY_POLL_MS = 2;

/** How `npm start` starts a member: its environment variables and its arguments of Node. */
function startCommand(): { readonly env: Record<string, string>; readonly args: string[] } {
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const words = manifest.scripts.start.split(' ');
  const start = words.indexOf('node');
  const env = Object.fromEntries(words.slice(0, start).map((word) => word.split('=', 2) as [string, string]));
  return { env, args: words.slice(start + 1) };
}

/** A member in embedded mode on the server core, started as `npm start` does. */
export class GroveServer {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly child: ChildProcess;
  /** Time from the start of the process to the first `ok` of `GET /health`, in milliseconds. */
  readonly readyMs: number;
  readonly #output: Output;
  #token = '';

  private constructor(child: ChildProcess, output: Output, port: number, dataDir: string, readyMs: number) {
    this.child = child;
    this.#output = output;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.dataDir = dataDir;
    this.readyMs = readyMs;
  }

  /**
   * Starts a member and logs in.
   *
   * @param dataDir folder of an earlier member, or the name of a new folder
   * @param profileDir folder for a processor profile of the member, written when it ends
   */
  static async start(dataDir: string, profileDir?: string): Promise<GroveServer> {
    const port = await freePort();
    const { env, args } = startCommand();
    const profile = profileDir === undefined ? [] : profileFlags(profileDir);
    const began = performance.now();
    const child = spawnPinned(SERVER_CORE, process.execPath, [...profile, ...args], {
      cwd: projectRoot,
      env: {
        ...process.env,
        ...env,
        PORT: String(port),
        SVC_DATA_DIR: dataDir,
        SVC_ADMIN_PASSWORD: PASSWORD,
        SVC_PGWIRE_PORT: 'off',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = keepOutput(child);
    while (!(await isHealthy(port))) {
      if (child.exitCode !== null || performance.now() - began > READY_WAIT_MS) {
        child.kill('SIGKILL');
        throw new Error(`the member did not become ready:\n${output.text}`);
      }
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
    const server = new GroveServer(child, output, port, dataDir, performance.now() - began);
    const login = await server.json('POST', '/api/svc/sys/default/auth', {
      username: 'admin',
      password: PASSWORD,
    });
    server.#token = (login as { token: string }).token;
    return server;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** The last lines of its log, for error messages. */
  get log(): string {
    return this.#output.text;
  }

  get token(): string {
    return this.#token;
  }

  /** Sends a request. @throws {Error} unless it is answered with 2xx */
  async json(method: string, path: string, body?: unknown): Promise<unknown> {
    const { text } = await this.timed(method, path, body);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Sends a request and measures its time until the last byte of the answer. @throws {Error} unless it is 2xx */
  async timed(method: string, path: string, body?: unknown): Promise<{ text: string; ms: number }> {
    const began = performance.now();
    const response = await fetch(this.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const ms = performance.now() - began;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { text, ms };
  }

  /** Stops the member in the way an operator does. @throws {Error} unless it ends with 0 */
  async stop(): Promise<void> {
    const code = await endChild(this.child, 'SIGTERM');
    if (code !== 0) throw new Error(`the member ended with ${code} on SIGTERM`);
  }

  /** Kills the member, to simulate a crash. */
  async kill(): Promise<void> {
    await endChild(this.child, 'SIGKILL');
  }
}

/** Options of Node that make a member write a processor profile when it ends. */
export function profileFlags(folder: string): readonly string[] {
  return ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${folder}`];
}

/** A new name of a data directory below `folder`. */
export function newDataDir(folder: string): string {
  return mkdtempSync(join(folder, 'grove-'));
}

/** Without a connection pool, which would keep a connection to a stopped server. */
function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path: '/health', agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200));
    });
    call.on('error', () => resolve(false));
    call.end();
  });
}
