import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, type TestRequest, type TestResponse } from './http-client.ts';
import { ADMIN_PASSWORD } from './server.ts';

/** How a server process is started. */
export interface ServerProcessOptions {
  /** Default: a new folder, removed by `close`. */
  readonly dataDir?: string;
  /** Environment variables besides a port, the data folder and the admin password; undefined unsets one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[];
  /** The program; default: that of the product, in one file where there is such. */
  readonly main?: string;
  /** Working folder; default: that of temporary files. */
  readonly cwd?: string;
  /** Open files the system allows it; default: as many as this process. */
  readonly openFilesMax?: number;
  /** Resolve at the exit of the process instead of at its ready line. */
  readonly waitForExit?: boolean;
  /** Resolve at once; {@link ServerProcess.ready} waits. */
  readonly waitForNothing?: boolean;
}

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A member in a process of its own, for tests that kill it. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  readonly dataDir: string;
  /** Everything it wrote so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it has ended. */
  readonly exited: Promise<ProcessExit>;
  /** Resolves when it serves. @throws {Error} with what it wrote when it ends before that */
  ready(): Promise<void>;
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
  /** Logs `admin` in. @returns the token */
  logIn(): Promise<string>;
  kill(signal: NodeJS.Signals): Promise<ProcessExit>;
  /** Kills it if it still runs, and removes its folder if that was made for it. */
  close(): Promise<void>;
}

/** Time within which a process has to be ready, in milliseconds. */
const START_MS_MAX = 60_000;

const mainFile = join(import.meta.dirname, '../../server/main.ts');

class ChildServer implements ServerProcess {
  readonly dataDir: string;
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #removesFolder: boolean;
  #stdout = '';
  #stderr = '';
  #port = 0;
  #client: HttpClient | undefined;
  readonly #ready: Promise<void>;

  constructor(options: ServerProcessOptions) {
    this.#removesFolder = options.dataDir === undefined;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'grove-test-'));
    const env: NodeJS.ProcessEnv = {
      PATH: process.env.PATH,
      NODE_OPTIONS: process.env.NODE_OPTIONS,
      UV_THREADPOOL_SIZE: '32',
      UWS_HTTP_MAX_HEADERS_SIZE: '16384',
      PORT: '0',
      SVC_DATA_DIR: this.dataDir,
      SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
      ...options.env,
    };
    for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
    const command = [
      process.execPath,
      options.main ?? process.env.GROVE_BUNDLED_MAIN ?? mainFile,
      ...(options.args ?? []),
    ];
    const limited = ['/bin/sh', '-c', `ulimit -n ${options.openFilesMax} && exec "$@"`, 'sh', ...command];
    const [program, ...args] = options.openFilesMax === undefined ? command : limited;
    this.#child = spawn(program as string, args, {
      cwd: options.cwd ?? tmpdir(),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
    this.#ready = new Promise((resolve, reject) => {
      this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        this.#stdout += text;
        if (this.#port === 0 && this.#findPort()) resolve();
      });
      this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#stderr += text;
      });
      this.#child.once('error', reject);
      void this.exited.then(({ code, signal }) => {
        reject(new Error(`the server ended with ${code ?? signal} before it was ready:\n${this.#stderr}`));
      });
    });
    this.#ready.catch(() => undefined);
  }

  #findPort(): boolean {
    const match = /^\{.*"port":(\d+).*"msg":"ready"\}$/m.exec(this.#stdout);
    if (match === null) return false;
    this.#port = Number(match[1]);
    this.#client = new HttpClient(this.#port);
    return true;
  }

  async ready(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), START_MS_MAX);
    try {
      await this.#ready;
    } finally {
      clearTimeout(timer);
    }
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get port(): number {
    return this.#port;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  request(method: string, path: string, options?: TestRequest): Promise<TestResponse> {
    if (this.#client === undefined) throw new Error('the server is not ready');
    return this.#client.request(method, path, options);
  }

  async logIn(): Promise<string> {
    const answer = await this.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'admin', password: ADMIN_PASSWORD },
    });
    if (answer.status !== 200) throw new Error(`cannot log in: ${answer.status} ${answer.text}`);
    return answer.json.token as string;
  }

  kill(signal: NodeJS.Signals): Promise<ProcessExit> {
    this.#child.kill(signal);
    return this.exited;
  }

  async close(): Promise<void> {
    this.#client?.close();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill('SIGKILL');
    if (this.#removesFolder) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/**
 * Starts a member as a process of its own and waits until it is ready.
 *
 * @throws {Error} with what it wrote when it ends before that
 */
export async function startServerProcess(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const server = new ChildServer(options);
  if (options.waitForExit === true) await server.exited;
  else if (options.waitForNothing !== true) await server.ready();
  return server;
}
