import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { RegistryTimes } from '#cluster/directory/member-registry.ts';
import { startMember } from '#server/wiring.ts';
import type { Member } from '#server/member.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
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
  /** A token of `admin` over the same data: nobody logs in. */
  readonly adminToken?: string;
  /** Environment variables of the member; `SVC_ADMIN_PASSWORD` may be set to undefined. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Text of a configuration file. */
  readonly config?: string;
  readonly clock?: Clock;
  /** Does background jobs besides those of the product. */
  readonly jobHandlers?: readonly JobHandler[];
  readonly feedConsumers?: readonly FeedConsumer[];
  readonly files?: FileSystem;
  /** Certificate authorities of servers that the member connects to, as PEM. */
  readonly authorities?: readonly string[];
}

/**
 * A member in this process, on a port of its own, with the real thing behind it. In project `cluster` it is three
 * members of one cluster, and whoever asks it for something asks one after the other.
 */
export interface TestServer {
  /** Of one member; in a cluster of another one every time. */
  readonly port: number;
  /** As {@link TestServer.port}. */
  readonly url: string;
  readonly dataDir: string;
  /** Token of `admin` in tenant `default`; logged in when first asked for. */
  readonly adminToken: string;
  /** What the member printed for the person who starts it, of all its starts. */
  readonly printed: readonly string[];
  /** Its log lines, parsed. */
  readonly logLines: readonly Record<string, unknown>[];
  /** The only member, or the first one. */
  readonly member: Member;
  /**
   * Names in a folder of the actors on disk, sorted; in a cluster at the owners, which others follow some time later.
   *
   * @param folder `default`, `.removed`, `default/{repository}`
   * @throws {Error} when there is no such folder
   */
  actorFolders(folder: string): Promise<readonly string[]>;
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
  /** As {@link TestServer.request}, with the admin token. */
  admin(method: string, path: string, body?: unknown): Promise<TestResponse>;
  /** Makes a repository; without a name, one nobody else has. @returns its name */
  /** @param settings of the body, as `supported_languages` */
  createRepository(name?: string, settings?: object): Promise<string>;
  /** Stops and starts again over the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Steps in which a clock of a test goes on while a server stops, in milliseconds. */
const PASSING_MS = 5;

/** How long a test server waits for requests under way when it is closed, in milliseconds. */
const GRACE_MS = 4_000;

/** Members of a cluster: a request in turn meets its owner once in three times. */
const MEMBERS = 3;

/** Partitions of a cluster: each member has some. */
const PARTITIONS = 4;

/** Members that start together wait this long for others, so it is short. All of them share an event loop. */
const registryTimes: RegistryTimes = {
  heartbeatMs: 200,
  suspectMs: 800,
  forgetMs: 600_000,
  steadyMs: 600_000,
  handoverMs: 5_000,
};

class InProcessServer implements TestServer {
  readonly dataDir: string;
  readonly printed: string[] = [];
  readonly logLines: Record<string, unknown>[] = [];
  readonly #settings: TestServerOptions;
  /** Where NATS is when this is to be a cluster of its own; undefined for one member, whatever its settings say. */
  readonly #natsUrl: string | undefined;
  #members: readonly Member[] = [];
  #clients: readonly HttpClient[] = [];
  #turn = 0;
  #adminToken: string | undefined;
  #repositories = 0;

  constructor(settings: TestServerOptions) {
    this.#settings = settings;
    this.#adminToken = settings.adminToken;
    // A recording is made outside of the test runner, over one member.
    const isTest = process.env.VITEST !== undefined;
    this.#natsUrl = isTest && settings.env?.SVC_NATS_URL === undefined ? inject('natsUrl') : undefined;
    this.dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'grove-test-'));
  }

  async open(): Promise<void> {
    const { env } = this.#settings;
    const starts = await Promise.allSettled(
      this.#natsUrl === undefined
        ? [this.#start({})]
        : Array.from({ length: MEMBERS }, (_, index) => this.#start(this.#clusterEnv(`m${index + 1}`))),
    );
    this.#members = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed !== undefined) {
      await this.#stop();
      throw failed.reason;
    }
    this.#clients = this.#members.map(({ port }) => new HttpClient(port));
    if (this.#adminToken === undefined && (env === undefined || !('SVC_ADMIN_PASSWORD' in env))) {
      this.#adminToken = await this.#logIn();
    }
  }

  #start(clusterEnv: Readonly<Record<string, string>>): Promise<Member> {
    const {
      authorities,
      env,
      config = '',
      clock = systemClock,
      feedConsumers,
      files,
      jobHandlers,
    } = this.#settings;
    const text = this.#natsUrl === undefined ? config : `${config}\n${this.#clusterConfig()}`;
    const options = loadOptions(
      {
        PORT: '0',
        SVC_DATA_DIR: this.dataDir,
        SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
        SVC_LOG_LEVEL: 'debug',
        ...(text === '' ? {} : { SVC_CONFIG: 'test.toml' }),
        ...clusterEnv,
        ...env,
      },
      (path) => (path === 'test.toml' ? text : undefined),
    );
    return startMember({
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
      registryTimes,
      ...(files === undefined ? {} : { files }),
      ...(authorities === undefined ? {} : { authorities }),
      ...(jobHandlers === undefined ? {} : { jobHandlers }),
      ...(feedConsumers === undefined ? {} : { feedConsumers }),
    });
  }

  /** Whatever is started over the same folder is the same cluster, as it is the same server when embedded. */
  #clusterConfig(): string {
    const name = createHash('sha256').update(this.dataDir).digest('hex').slice(0, 16);
    const lines = [
      `name = "t${name}"`,
      `partitions = ${PARTITIONS}`,
      'replicas = 1',
      'log_bytes_max = 1_073_741_824',
    ];
    return `[cluster]\n${lines.join('\n')}\n`;
  }

  #clusterEnv(id: string): Readonly<Record<string, string>> {
    return {
      SVC_NATS_URL: this.#natsUrl as string,
      SVC_MEMBER_ID: id,
      SVC_DATA_DIR: join(this.dataDir, id),
      SVC_BACKUP_DIR: join(this.dataDir, 'backups'),
      JWT_SECRET: 'a secret that all members of a cluster share',
      SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
    };
  }

  async #logIn(): Promise<string> {
    const answer = await this.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'admin', password: ADMIN_PASSWORD },
    });
    if (answer.status !== 200) throw new Error(`cannot log in: ${answer.status} ${answer.text}`);
    return answer.json.token as string;
  }

  get member(): Member {
    return this.#first(this.#members);
  }

  get port(): number {
    this.#turn += 1;
    return this.#first(this.#members, this.#turn).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get adminToken(): string {
    if (this.#adminToken === undefined) throw new Error('a server with a password of its own logs nobody in');
    return this.#adminToken;
  }

  request(method: string, path: string, options?: TestRequest): Promise<TestResponse> {
    this.#turn += 1;
    return this.#first(this.#clients, this.#turn).request(method, path, options);
  }

  async actorFolders(folder: string): Promise<readonly string[]> {
    const homes = this.#natsUrl === undefined ? [this.dataDir] : await this.#ownedHomes();
    const folders = homes.map((home) => join(home, 'actors', folder)).filter((path) => existsSync(path));
    if (folders.length === 0) throw new Error(`there is no ${folder} in ${homes.join(', ')}`);
    return [...new Set(folders.flatMap((path) => readdirSync(path)))].sort();
  }

  /** Folder of each partition at its owner. */
  async #ownedHomes(): Promise<string[]> {
    const { json } = await this.admin('GET', '/api/management/cluster');
    const partitions = json.partitions as readonly { readonly partition: number; readonly owner: string }[];
    return partitions.map(({ partition, owner }) =>
      join(this.dataDir, owner, 'partitions', String(partition).padStart(3, '0')),
    );
  }

  admin(method: string, path: string, body?: unknown): Promise<TestResponse> {
    return this.request(method, path, {
      token: this.adminToken,
      ...(body === undefined ? {} : { body }),
    });
  }

  async createRepository(name?: string, settings: object = {}): Promise<string> {
    this.#repositories += 1;
    const repository = name ?? `repo-${this.#repositories}`;
    const answer = await this.admin('POST', '/api/repositories', { repo_id: repository, ...settings });
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
    for (const client of this.#clients) client.close();
    this.#clients = [];
    const members = this.#members;
    this.#members = [];
    await this.#passingTime(Promise.all(members.map((member) => member.drain(GRACE_MS))));
  }

  /** The one whose turn it is, of those that run. */
  #first<T>(running: readonly T[], turn = 0): T {
    const found = running[turn % running.length];
    if (found === undefined) throw new Error('the server is closed');
    return found;
  }

  /** Waits for something that waits for time: where a test owns the clock it goes on by itself meanwhile. */
  async #passingTime(work: Promise<unknown>): Promise<void> {
    const { clock } = this.#settings;
    let isOver = false;
    const done = work.finally(() => {
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
