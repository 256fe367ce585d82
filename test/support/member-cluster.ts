import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach } from 'vitest';
import { jetstreamManager } from '@nats-io/jetstream';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { expectStatus } from './content-client.ts';
import type { TestRequest, TestResponse } from './http-client.ts';
import type { NatsCluster } from './nats-cluster.ts';
import { type ServerProcess, type ServerProcessOptions, startServerProcess } from './server-process.ts';

/** Time within which a cluster has to come to rest, in milliseconds. */
const SETTLE_MS_MAX = 60_000;

/** Between two looks, in milliseconds. */
const POLL_MS = 50;

/** Repositories that are made at most for every member to own one. */
const REPOSITORIES_MAX = 40;

/** Log lines of one member that are shown with a failing test. */
const LOG_LINES_MAX = 60;

/** What all members of a cluster have in common. */
const secrets = {
  JWT_SECRET: 'a secret of more than thirty-two characters',
  SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
} as const;

/** What makes a process die at a crash point when it is told to. */
const armingFile = pathToFileURL(join(import.meta.dirname, 'arm-on-signal.ts')).href;

/** How a cluster is started. */
export interface MemberClusterOptions {
  readonly members: number;
  /** Of them, how many are not started yet: the last ones. Default none. */
  readonly spare?: number;
  /** A few, so that a test does not wait for many streams. */
  readonly partitions: number;
  /** Lines for section `[cluster]` of the configuration; other sections may follow. */
  readonly settings?: readonly string[];
  /** `[cluster] log_bytes_max`. */
  readonly logBytesMax?: number;
  /** The program of each member; default: that of the product. */
  readonly main?: string;
  /** Files that members load before anything else. */
  readonly preload?: readonly string[];
  /** Environment of one member, besides that of all, by its index from 0. */
  readonly env?: (index: number) => Readonly<Record<string, string>>;
  /** Data folder of one member, where it has to be a certain one. */
  readonly dataDir?: (index: number) => string | undefined;
}

type Json = TestResponse['json'];

/** One member of the cluster: a process that is there, stands still, or is gone. */
export class ClusterMember {
  readonly id: string;
  readonly #start: (more?: Partial<ServerProcessOptions>) => Promise<ServerProcess>;
  /** Where it is told at which crash point to die. */
  readonly #armFile: string;
  #process: ServerProcess | undefined;
  #isPaused = false;
  readonly #earlier: string[] = [];

  constructor(
    id: string,
    armFile: string,
    start: (more?: Partial<ServerProcessOptions>) => Promise<ServerProcess>,
  ) {
    this.id = id;
    this.#armFile = armFile;
    this.#start = start;
  }

  get process(): ServerProcess {
    if (this.#process === undefined) throw new Error(`${this.id} does not run`);
    return this.#process;
  }

  /** Whether a client may be sent to it. */
  get isUp(): boolean {
    return this.#process !== undefined && !this.#isPaused;
  }

  /** What it logged last, over all its lives. */
  get log(): string {
    const lines = [...this.#earlier, this.#process?.stdout ?? ''].join('').split('\n');
    return lines.slice(-LOG_LINES_MAX).join('\n');
  }

  /**
   * Starts it, again over the same folder; resolves when it says that it is ready to serve.
   *
   * @param env replaces variables of its environment, for this life only
   */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const server = await this.#start({ env });
    let missing = '';
    try {
      await until(
        async () => {
          const { status, text } = await server.request('GET', '/ready');
          missing = text;
          return status === 200;
        },
        `${this.id} is ready`,
        () => `${this.log}\n${server.stdout}\n${missing}`,
      );
    } catch (error) {
      // Nobody knows of it yet who could end it.
      this.#earlier.push(server.stdout);
      await server.close();
      throw error;
    }
    this.#process = server;
  }

  /** The lines it logged over all its lives with this message. */
  linesOf(message: string): readonly Json[] {
    const lines = [...this.#earlier, this.#process?.stdout ?? ''].join('').split('\n');
    return lines.filter((line) => line.includes(`"msg":"${message}"`)).map((line): Json => JSON.parse(line));
  }

  /** Blocks its event loop; resolves when it answers again. No client is sent to it meanwhile. */
  async block(ms: number): Promise<void> {
    this.#isPaused = true;
    await this.arm(`block:${ms}`);
    await this.request('GET', '/health');
    this.#isPaused = false;
  }

  /** Lets it die at a crash point, `name:hit` counted from now on. */
  async arm(point: string): Promise<void> {
    writeFileSync(this.#armFile, point);
    process.kill(this.process.pid, 'SIGUSR2');
    await until(
      () => Promise.resolve(!existsSync(this.#armFile)),
      `${this.id} is armed`,
      () => this.log,
    );
  }

  /** Resolves when it has died at the point it was armed with; then it can be started again. */
  async died(): Promise<void> {
    const { process: server } = this;
    const { signal } = await server.exited;
    if (signal !== 'SIGKILL') throw new Error(`${this.id} ended with ${signal}\n${this.log}`);
    if (this.#process !== server) return;
    this.#forget();
    await server.close();
  }

  /** Starts it and lets it die at a crash point, `name:hit`, before it is ready. */
  async dieWhileStarting(point: string): Promise<void> {
    const server = await this.#start({ env: { SVC_CRASH_POINT: point }, waitForExit: true });
    this.#earlier.push(server.stdout);
    const { signal } = await server.exited;
    await server.close();
    if (signal !== 'SIGKILL') throw new Error(`${this.id} ended with ${signal}\n${this.log}`);
  }

  /** Starts it, and does not wait until it is ready: where it cannot be. */
  async startUnready(): Promise<void> {
    this.#process = await this.#start({ waitForNothing: true });
  }

  /** Ends it without warning. */
  async kill(): Promise<void> {
    const { process: server } = this;
    this.#forget();
    await server.kill('SIGKILL');
    await server.close();
  }

  /**
   * Lets it hand everything over and end. Clients are sent to it no more, as a load balancer would do.
   *
   * @returns its exit code
   */
  async drain(): Promise<number | null> {
    const { process: server } = this;
    this.#process = undefined;
    const { code } = await server.kill('SIGTERM');
    this.#earlier.push(server.stdout);
    await server.close();
    return code;
  }

  /** Lets it stand still; its connections stay open. */
  pause(): void {
    this.#isPaused = true;
    process.kill(this.process.pid, 'SIGSTOP');
  }

  /** Lets it go on. */
  resume(): void {
    process.kill(this.process.pid, 'SIGCONT');
    this.#isPaused = false;
  }

  async close(): Promise<void> {
    await this.#process?.close();
    this.#process = undefined;
  }

  request(method: string, path: string, options?: TestRequest): Promise<TestResponse> {
    return this.process.request(method, path, options);
  }

  #forget(): void {
    this.#earlier.push(this.#process?.stdout ?? '');
    this.#process = undefined;
  }
}

/** Real members over real NATS servers, on free ports, in temporary folders. */
export class MemberCluster {
  readonly members: readonly ClusterMember[];
  readonly #folder: string;
  readonly #dataDirs: readonly string[];
  readonly #configure: (settings: readonly string[]) => void;
  #token = '';
  #turn = 0;
  #isClosed = false;

  private constructor(
    members: readonly ClusterMember[],
    folder: string,
    dataDirs: readonly string[],
    configure: (settings: readonly string[]) => void,
  ) {
    this.members = members;
    this.#folder = folder;
    this.#dataDirs = dataDirs;
    this.#configure = configure;
  }

  /** Starts all members at once and waits until each partition has an owner and all are ready. */
  static async start(nats: NatsCluster, options: MemberClusterOptions): Promise<MemberCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'grove-members-'));
    const config = join(folder, 'svc.toml');
    const { logBytesMax = 268_435_456, partitions, preload = [], settings = [] } = options;
    const configure = (more: readonly string[]): void => {
      const lines = [`partitions = ${partitions}`, `log_bytes_max = ${logBytesMax}`, ...more];
      writeFileSync(config, `[cluster]\n${lines.join('\n')}\n`);
    };
    configure(settings);
    const imports = [armingFile, ...preload].map((file) => `--import=${file}`);
    // With what makes the start of a program short: members of some tests start dozens of times.
    const nodeOptions = [process.env.NODE_OPTIONS ?? '', ...imports].join(' ');
    const dataDirs = Array.from(
      { length: options.members },
      (_, index) => options.dataDir?.(index) ?? join(folder, `m${index + 1}`),
    );
    const members = Array.from({ length: options.members }, (_, index) => {
      const id = `m${index + 1}`;
      const armFile = join(folder, `${id}.point`);
      const dataDir = dataDirs[index] as string;
      const env = {
        ...secrets,
        SVC_MEMBER_ID: id,
        SVC_CONFIG: config,
        NODE_OPTIONS: nodeOptions,
        GROVE_TEST_POINT_FILE: armFile,
        ...options.env?.(index),
      };
      return new ClusterMember(id, armFile, (more) =>
        // Servers may have come and gone since the last start.
        startServerProcess({
          dataDir,
          ...(options.main === undefined ? {} : { main: options.main }),
          ...more,
          env: { ...nats.environmentOf(id), ...env, ...more?.env },
        }),
      );
    });
    const cluster = new MemberCluster(members, folder, dataDirs, configure);
    try {
      // All of them: one that still starts when another one has failed would be left behind.
      const started = await Promise.allSettled(
        members.slice(0, options.members - (options.spare ?? 0)).map((member) => member.start()),
      );
      for (const each of started) if (each.status === 'rejected') throw each.reason;
      cluster.#token = await cluster.member(0).process.logIn();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** Gives members other lines for section `[cluster]` of the configuration, from their next start on. */
  configure(settings: readonly string[]): void {
    this.#configure(settings);
  }

  /** Folder of a member; its shards can be opened while it does not run. */
  dataDirOf(member: ClusterMember): string {
    return this.#dataDirs[this.members.indexOf(member)] as string;
  }

  member(index: number): ClusterMember {
    const member = this.members[index];
    if (member === undefined) throw new Error(`no member ${index}`);
    return member;
  }

  /** Members a client may be sent to. */
  get up(): readonly ClusterMember[] {
    return this.members.filter(({ isUp }) => isUp);
  }

  /** Token of `admin`; every member takes it. */
  get token(): string {
    return this.#token;
  }

  /** The members that are up, in turn. */
  next(): ClusterMember {
    const { up } = this;
    this.#turn += 1;
    return up[this.#turn % up.length] as ClusterMember;
  }

  /** Sends a request to the members that are up in turn, as administrator. */
  admin(method: string, path: string, body?: unknown, headers = {}): Promise<TestResponse> {
    return this.adminAt(this.next(), method, path, body, headers);
  }

  /** Sends a request to one member, as administrator. */
  adminAt(
    member: ClusterMember,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestResponse> {
    const options = { token: this.#token, headers, ...(body === undefined ? {} : { body }) };
    return member.request(method, path, options);
  }

  /** What a member says of the cluster. */
  async overview(member = this.up[0] as ClusterMember): Promise<Json> {
    const answer = await this.adminAt(member, 'GET', '/api/management/cluster');
    if (answer.status !== 200) throw new Error(`no overview: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** How many partitions each member owns, as one of them says. */
  async ownedCounts(): Promise<ReadonlyMap<string, number>> {
    const { partitions } = await this.overview();
    const counts = new Map<string, number>();
    for (const { owner } of partitions) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    return counts;
  }

  /** The member that owns a repository of tenant `default`. */
  async ownerOf(repository: string): Promise<ClusterMember> {
    const partition = this.partitionOf(repository);
    const { partitions } = await this.overview();
    const { owner } = partitions.find((each: Json) => each.partition === partition) ?? {};
    const found = this.members.find(({ id }) => id === owner);
    if (found === undefined) throw new Error(`nobody owns ${repository} in partition ${partition}`);
    return found;
  }

  /**
   * Makes repositories until every member owns one, each of those with an open workspace `load`.
   *
   * @returns their names, by the index of their owner
   */
  async repositoryOfEach(): Promise<readonly string[]> {
    const names: string[] = [];
    const open = { allowed_node_types: [], allowed_root_node_types: [] };
    for (let made = 0; names.filter(Boolean).length < this.members.length; made += 1) {
      if (made === REPOSITORIES_MAX) throw new Error(`some member owns none of ${made} repositories`);
      const name = `repo-${made}`;
      expectStatus(await this.admin('POST', '/api/repositories', { repo_id: name }), 201);
      const index = this.members.indexOf(await this.ownerOf(name));
      if (names[index] !== undefined) continue;
      expectStatus(await this.admin('PUT', `/api/workspaces/${name}/load`, open), 204);
      names[index] = name;
    }
    return names;
  }

  /** The NATS server that leads the log of a repository. */
  async logLeaderOf(repository: string, nats: NatsCluster): Promise<string> {
    const connection = await connectToNats({ urls: nats.urls, name: 'test' });
    try {
      const stream = new Subjects().logStream(this.partitionOf(repository));
      const { cluster } = await (await jetstreamManager(connection)).streams.info(stream);
      if (cluster?.leader === undefined) throw new Error(`${stream} has no leader`);
      return cluster.leader;
    } finally {
      await connection.close();
    }
  }

  /** Folders of the branch `main` of a repository, of each member that has it. */
  branchFolders(repository: string): readonly string[] {
    const partition = String(this.partitionOf(repository)).padStart(3, '0');
    return this.members.flatMap((member) => {
      const tenant = join(this.dataDirOf(member), 'partitions', partition, 'actors/default');
      const part = readdirSync(tenant).find((name) => name.startsWith(`${repository}~`));
      if (part === undefined) return [];
      const main = readdirSync(join(tenant, part)).find((name) => name.startsWith('main~'));
      return main === undefined ? [] : [join(tenant, part, main, 'branch')];
    });
  }

  /** The partition of a repository, by the folders of whoever follows it. */
  partitionOf(repository: string): number {
    for (const member of this.members) {
      const folder = join(this.dataDirOf(member), 'partitions');
      for (const partition of readdirSync(folder)) {
        const tenant = join(folder, partition, 'actors/default');
        const parts = existsSync(tenant) ? readdirSync(tenant) : [];
        if (parts.some((name) => name.startsWith(`${repository}~`))) return Number(partition);
      }
    }
    throw new Error(`no member has ${repository}`);
  }

  /** Waits until all members run and each of them owns its share, followed closely by the others. */
  async settled(): Promise<void> {
    await until(
      async () => {
        const { partitions } = await this.overview();
        const counts = await this.ownedCounts();
        const share = Math.floor(partitions.length / this.members.length);
        const isWarm = partitions.every(
          ({ followers, state }: Json) => state === 'owned' && followers.every((each: Json) => each.is_warm),
        );
        return isWarm && this.members.every(({ id }) => (counts.get(id) ?? 0) >= share);
      },
      'partitions are spread evenly',
      () => this.logs(),
    );
  }

  /** What the members logged last, one after the other. */
  logs(): string {
    return this.members.map(({ id, log }) => `== member ${id}\n${log}`).join('\n');
  }

  /** Whether no member will ever be up any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Kills what still runs and removes the folders. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.members.map((member) => member.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Prints what the members logged when a test fails. */
export function showLogsOfFailures(cluster: () => MemberCluster | undefined): void {
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.error(cluster()?.logs());
  });
}

async function until(isSo: () => Promise<boolean>, what: string, log: () => string): Promise<void> {
  const endMs = performance.now() + SETTLE_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${SETTLE_MS_MAX} ms: ${what}\n${log()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
