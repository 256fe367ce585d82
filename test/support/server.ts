import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Member, startMember } from '#cluster/member/wiring.ts';
import { type Clock, systemClock } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import type { JobHandler } from '#runtime/jobs/job-handler.ts';
import { createLog } from '#runtime/telemetry/log-context.ts';
import { HttpClient, type TestRequest, type TestResponse } from './http-client.ts';
import { TestClock } from './test-clock.ts';

/** Password of `admin` in every test server. */
export const ADMIN_PASSWORD = 'Correct-Horse-9-Battery';

/** How a test server differs from an ordinary one. */
export interface TestServerOptions {
  /** Default: a new folder, removed by `close`. */
  readonly dataDir?: string;
  /** Environment variables of the member; `SVC_ADMIN_PASSWORD` may be set to undefined. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Text of a configuration file. */
  readonly config?: string;
  readonly clock?: Clock;
  /** Does background jobs besides those of the product. */
  readonly jobHandlers?: readonly JobHandler[];
  readonly files?: FileSystem;
}

/** A member in this process, on a port of its own, with the real thing behind it. */
export interface TestServer {
  readonly port: number;
  readonly url: string;
  readonly dataDir: string;
  /** Token of `admin` in tenant `default`; logged in when first asked for. */
  readonly adminToken: string;
  /** What the member printed for the person who starts it, of all its starts. */
  readonly printed: readonly string[];
  /** Its log lines, parsed. */
  readonly logLines: readonly Record<string, unknown>[];
  readonly member: Member;
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
  /** As {@link TestServer.request}, with the admin token. */
  admin(method: string, path: string, body?: unknown): Promise<TestResponse>;
  /** Makes a repository; without a name, one nobody else has. @returns its name */
  createRepository(name?: string): Promise<string>;
  /** Stops and starts again over the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Steps in which a clock of a test goes on while a server stops, in milliseconds. */
const PASSING_MS = 5;

/** How long a test server waits for requests under way when it is closed, in milliseconds. */
const GRACE_MS = 2_000;

class InProcessServer implements TestServer {
  readonly dataDir: string;
  readonly printed: string[] = [];
  readonly logLines: Record<string, unknown>[] = [];
  readonly #settings: TestServerOptions;
  #member: Member | undefined;
  #client: HttpClient | undefined;
  #adminToken: string | undefined;
  #repositories = 0;

  constructor(settings: TestServerOptions) {
    this.#settings = settings;
    this.dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'grove-test-'));
  }

  async open(): Promise<void> {
    const { env, config, clock = systemClock, files, jobHandlers } = this.#settings;
    const options = loadOptions(
      {
        PORT: '0',
        SVC_DATA_DIR: this.dataDir,
        SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
        SVC_LOG_LEVEL: 'debug',
        ...(config === undefined ? {} : { SVC_CONFIG: 'test.toml' }),
        ...env,
      },
      (path) => (path === 'test.toml' ? config : undefined),
    );
    this.#member = await startMember({
      options,
      clock,
      random: systemRandom,
      log: createLog({
        level: options.server.logLevel,
        clock,
        sink: { write: (line) => void this.logLines.push(JSON.parse(line) as Record<string, unknown>) },
      }),
      version: '0.0.0-test',
      print: (text) => void this.printed.push(text),
      ...(files === undefined ? {} : { files }),
      ...(jobHandlers === undefined ? {} : { jobHandlers }),
    });
    this.#client = new HttpClient(this.#member.port);
    if (this.#adminToken === undefined && (env === undefined || !('SVC_ADMIN_PASSWORD' in env))) {
      this.#adminToken = await this.#logIn();
    }
  }

  async #logIn(): Promise<string> {
    const answer = await this.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'admin', password: ADMIN_PASSWORD },
    });
    if (answer.status !== 200) throw new Error(`cannot log in: ${answer.status} ${answer.text}`);
    return answer.json.token as string;
  }

  get member(): Member {
    if (this.#member === undefined) throw new Error('the server is closed');
    return this.#member;
  }

  get port(): number {
    return this.member.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get adminToken(): string {
    if (this.#adminToken === undefined) throw new Error('a server with a password of its own logs nobody in');
    return this.#adminToken;
  }

  request(method: string, path: string, options?: TestRequest): Promise<TestResponse> {
    if (this.#client === undefined) throw new Error('the server is closed');
    return this.#client.request(method, path, options);
  }

  admin(method: string, path: string, body?: unknown): Promise<TestResponse> {
    return this.request(method, path, {
      token: this.adminToken,
      ...(body === undefined ? {} : { body }),
    });
  }

  async createRepository(name?: string): Promise<string> {
    this.#repositories += 1;
    const repository = name ?? `repo-${this.#repositories}`;
    const answer = await this.admin('POST', '/api/repositories', { repo_id: repository });
    if (answer.status !== 201)
      throw new Error(`cannot create ${repository}: ${answer.status} ${answer.text}`);
    return repository;
  }

  async restart(): Promise<void> {
    await this.#stop();
    await this.open();
  }

  async close(): Promise<void> {
    await this.#stop();
    if (this.#settings.dataDir === undefined) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    this.#client?.close();
    this.#client = undefined;
    await this.#passingTime(this.#member?.drain(GRACE_MS));
    this.#member = undefined;
  }

  /** Waits for something that waits for time: where a test owns the clock it goes on by itself meanwhile. */
  async #passingTime(work: Promise<void> | undefined): Promise<void> {
    const { clock } = this.#settings;
    let isOver = false;
    const done = Promise.resolve(work).finally(() => {
      isOver = true;
    });
    while (clock instanceof TestClock && !isOver) {
      clock.advance(PASSING_MS);
      // The disk takes its own time.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await done;
  }
}

/** Starts a member in this process. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = new InProcessServer(options);
  await server.open();
  return server;
}
