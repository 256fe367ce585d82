import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import { natsUsers as usersOfMembers } from '#cluster/nats/permissions.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { requiredProgram } from './required-program.ts';

/** Time within which servers have to find each other and elect a leader, in milliseconds. */
const READY_MS_MAX = 40_000;

/** Time between two looks at a monitoring page, in milliseconds. */
const POLL_MS = 50;

/** Log lines of one server that are kept for a failing test. */
const LOG_LINES_MAX = 400;

/** Ports are taken from below the range that outgoing connections use, so that no client sits on one. */
const PORT_MIN = 12_000;
const PORT_MAX = 32_000;

/** Who may log in to the test servers; without a name a client is `grove`. */
export const natsUsers = {
  /** The account with JetStream that everything runs in. */
  grove: { user: 'grove', pass: 'grove' },
  /** The system account: monitoring requests and events of the servers. */
  system: { user: 'system', pass: 'system' },
} as const;

/** How the servers are started. */
export interface NatsClusterOptions {
  /** Lines for the `jetstream` block of the configuration (`sync_interval: always`). */
  readonly jetStream?: readonly string[];
  /** What JetStream may store on one server, by its index from 0 (`8MB`); default: more than any test writes. */
  readonly fileStore?: (index: number) => string | undefined;
  /** Lines for the top of the configuration. */
  readonly server?: readonly string[];
  /** Lines for the `cluster` block (`no_advertise: true`). */
  readonly cluster?: readonly string[];
  /**
   * Closes the servers as those of `npm run cluster` are: TLS for clients and routes, passwords for routes, and a user with
   * permissions for each of these members. Default: open to all on this machine.
   */
  readonly closedFor?: readonly string[];
  /** Folder for the store of one server, by its index from 0, where it has to be a certain one. */
  readonly store?: (index: number) => string | undefined;
}

interface Ports {
  readonly client: number;
  readonly monitor: number;
  readonly route: number;
}

/** What closes the servers of a cluster, in files of its folder. */
interface Closing {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
  readonly routePassword: string;
}

/** What a server says of JetStream on its monitoring page; only what tests look at. */
interface JetStreamPage {
  readonly meta_cluster?: {
    readonly leader?: string;
    readonly cluster_size?: number;
    readonly replicas?: readonly { readonly current?: boolean; readonly offline?: boolean }[];
  };
}

/** What a server tells the others of itself now and then; only what tests look at. */
interface StatusMessage {
  readonly server: { readonly name: string };
  readonly statsz: { readonly jetstream?: { readonly stats?: unknown } };
}

/** One real nats-server; it keeps its name, ports and store over restarts. */
export class NatsServer {
  readonly name: string;
  readonly #ports: Ports;
  readonly #configuration: string;
  readonly #isClosed: boolean;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #isPaused = false;
  #lines: string[] = [];

  /** Folder of its store. */
  readonly store: string;

  constructor(name: string, ports: Ports, configuration: string, store: string, isClosed = false) {
    this.#isClosed = isClosed;
    this.name = name;
    this.store = store;
    this.#ports = ports;
    this.#configuration = configuration;
  }

  /** Address clients connect to. */
  get url(): string {
    return `${this.#isClosed ? 'tls' : 'nats'}://127.0.0.1:${this.#ports.client}`;
  }

  /** Port of the routes between servers. */
  get routePort(): number {
    return this.#ports.route;
  }

  /** Port clients connect to. */
  get port(): number {
    return this.#ports.client;
  }

  /** Address of the monitoring pages. */
  get monitorUrl(): string {
    return `http://127.0.0.1:${this.#ports.monitor}`;
  }

  /** Whether its process exists and is not paused. */
  get isRunning(): boolean {
    return this.#child !== undefined && !this.#isPaused;
  }

  /** The newest lines it logged. */
  get log(): string {
    return this.#lines.join('\n');
  }

  /** Starts the process; it serves some time later. */
  start(): void {
    if (this.#child !== undefined) throw new Error(`${this.name} runs already`);
    const [program, ...args] = [...dyingWithParent(), natsServerProgram(), '-c', this.#configuration];
    const child = spawn(program as string, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    this.#isPaused = false;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#keep(text));
    this.#exited = new Promise((resolve) => {
      child.once('error', (error) => this.#keep(`cannot be started: ${error.message}`));
      child.once('close', (code, signal) => {
        this.#keep(`-- process of ${this.name} ended with ${code ?? signal}`);
        if (this.#child === child) this.#child = undefined;
        resolve();
      });
    });
  }

  /** Kills it without warning, paused or not, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  /** Stops it in its own way and waits until it is gone. */
  async stop(): Promise<void> {
    this.resume();
    this.#child?.kill('SIGTERM');
    await this.#exited;
  }

  /** Lets the process stand still, as a stalled machine would: its connections stay open. */
  async pause(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    this.#isPaused = true;
    process.kill(pid, 'SIGSTOP');
    // The signal reaches one thread after the other, and the last one can still answer something.
    while (!isStopped(pid)) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets a paused process go on. */
  resume(): void {
    if (this.#isPaused) this.#child?.kill('SIGCONT');
    this.#isPaused = false;
  }

  /** Kills it and starts it again over the same store. */
  async restart(): Promise<void> {
    await this.kill();
    this.start();
  }

  /** Whether it takes connections; its monitoring page is there somewhat earlier. */
  accepts(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(this.port, '127.0.0.1');
      socket.once('error', () => resolve(false));
      // The first thing a server says.
      socket.once('data', () => {
        socket.destroy();
        resolve(true);
      });
    });
  }

  /** A monitoring page as JSON, undefined while it does not answer. */
  async page(path: string): Promise<unknown> {
    if (!this.isRunning) return undefined;
    try {
      const answer = await fetch(`${this.monitorUrl}${path}`, { signal: AbortSignal.timeout(2000) });
      return await answer.json();
    } catch {
      return undefined;
    }
  }

  #keep(text: string): void {
    this.#lines.push(...text.split('\n').filter((line) => line !== ''));
    if (this.#lines.length > LOG_LINES_MAX) this.#lines = this.#lines.slice(-LOG_LINES_MAX);
  }
}

/** One nats-server, or a cluster of three, with JetStream in folders of its own. */
export class NatsCluster {
  readonly #servers: NatsServer[];
  /** How many servers it ever had: no name is given twice. */
  #named: number;
  readonly #folder: string;
  readonly #options: NatsClusterOptions;
  readonly #routes: readonly string[];

  /** @param routes of the servers to each other; none for one that is alone */
  constructor(
    servers: readonly NatsServer[],
    folder: string,
    routes: readonly string[],
    options: NatsClusterOptions,
  ) {
    this.#servers = [...servers];
    this.#named = servers.length;
    this.#folder = folder;
    this.#routes = routes;
    this.#options = options;
  }

  /** Those that belong to it at present. */
  get servers(): readonly NatsServer[] {
    return this.#servers;
  }

  /**
   * Starts one more server, and waits until it is one of them and can be given replicas: the one that leads JetStream
   * gives them only to servers it has heard the size of.
   *
   * @throws {Error} as {@link ready}
   */
  async add(): Promise<NatsServer> {
    const [ports] = await freePorts(1);
    this.#named += 1;
    const name = `n${this.#named}`;
    const places = { folder: this.#folder, store: undefined, fileStore: undefined };
    const server = serverOf(name, ports as Ports, this.#routes, places, this.#options);
    await this.#asSystem([await this.leader()], async (connection) => {
      const told = connection.subscribe('$SYS.SERVER.*.STATSZ');
      this.#servers.push(server);
      server.start();
      await this.ready();
      for await (const message of told) {
        const { server: from, statsz } = message.json<StatusMessage>();
        if (from.name === name && statsz.jetstream?.stats !== undefined) break;
      }
    });
    return server;
  }

  /** The server that leads JetStream. @throws {Error} when none does */
  async leader(): Promise<NatsServer> {
    for (const server of this.#servers) {
      const page = (await server.page('/jsz')) as JetStreamPage | undefined;
      if (page?.meta_cluster?.leader !== undefined) return this.server(page.meta_cluster.leader);
    }
    throw new Error('no server leads JetStream');
  }

  /**
   * Takes a server that was stopped out of the cluster for good, as an operator does: when the others have somebody who
   * leads. Waits until they are a cluster without it.
   *
   * @throws {Error} when it runs: servers of 2.9 then may leave logs with too few replicas, or go on counting it; as
   *   {@link ready}
   */
  async remove(server: NatsServer): Promise<void> {
    if (server.isRunning) throw new Error(`${server.name} has to be stopped before it is removed`);
    await this.ready();
    const others = this.#servers.filter(({ isRunning }) => isRunning);
    await this.#asSystem(others, async (connection) => {
      const answer = await connection.request('$JS.API.SERVER.REMOVE', JSON.stringify({ peer: server.name }));
      const { error } = answer.json<{ readonly error?: { readonly description: string } }>();
      if (error !== undefined) throw new Error(`${server.name} cannot be removed: ${error.description}`);
    });
    this.#servers.splice(this.#servers.indexOf(server), 1);
    await this.ready();
  }

  /** What a member of a closed cluster has in its environment to get in; of an open one only the addresses. */
  environmentOf(member: string): Readonly<Record<string, string>> {
    if (this.#options.closedFor === undefined) return { SVC_NATS_URL: this.urls.join(',') };
    return {
      SVC_NATS_URL: this.urlsAs(member, passwordOf(member)).join(','),
      SVC_NATS_CA: join(this.#folder, closingFiles.authority),
    };
  }

  /** Addresses of all servers with a login. */
  urlsAs(user: string, password: string): string[] {
    return this.urls.map((url) => url.replace('//', `//${encodeURIComponent(user)}:${password}@`));
  }

  /** Certificate of the authority of a closed cluster. */
  get authority(): string {
    return readFileSync(join(this.#folder, closingFiles.authority), 'utf8');
  }

  /** Addresses of all servers, for a client that may connect to any. */
  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /** Addresses of the monitoring pages of all servers. */
  get monitorUrls(): string[] {
    return this.servers.map(({ monitorUrl }) => monitorUrl);
  }

  /** The server of a name, as JetStream tells it in its answers. */
  server(name: string): NatsServer {
    const found = this.servers.find((server) => server.name === name);
    if (found === undefined) throw new Error(`no server ${name}`);
    return found;
  }

  /**
   * Waits until every running server agrees on a leader of JetStream and every running one is up to date.
   *
   * @throws {Error} with the logs of all servers when that takes too long
   */
  async ready(): Promise<void> {
    const startMs = performance.now();
    while (!(await this.#isReady())) {
      const waitedMs = performance.now() - startMs;
      if (waitedMs > READY_MS_MAX)
        throw new Error(`the nats-servers found no leader in ${READY_MS_MAX} ms:\n${this.logs()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /**
   * Lets another server lead JetStream. Whoever leads first writes down the servers that it has heard by then, often two of
   * three. A server of 2.9 that comes back reads that again, and may win an election with it: the others then take the
   * cluster to have two servers, for good. The next one that leads has heard all.
   *
   * @throws {Error} as {@link ready}, or when the servers refuse
   */
  async changeLeader(): Promise<void> {
    await this.#asSystem(this.servers, async (connection) => {
      const answer = await connection.request('$JS.API.META.LEADER.STEPDOWN');
      const { error } = answer.json<{ readonly error?: { readonly description: string } }>();
      if (error !== undefined) throw new Error(`the leader stays: ${error.description}`);
    });
    await this.ready();
  }

  /** Notes what all servers have on their disks at this moment, as a power cut would leave it. */
  async saveStores(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.pause()));
    for (const { name } of this.servers)
      cpSync(join(this.#folder, name), join(this.#folder, `${name}.saved`), { recursive: true });
    for (const server of this.servers) server.resume();
  }

  /** Brings back what {@link saveStores} noted. The servers do not run. */
  restoreStores(): void {
    for (const { name } of this.servers) {
      rmSync(join(this.#folder, name), { recursive: true });
      cpSync(join(this.#folder, `${name}.saved`), join(this.#folder, name), { recursive: true });
    }
  }

  /** What the servers logged last, one after the other. */
  logs(): string {
    return this.servers.map(({ name, log }) => `== nats-server ${name}\n${log}`).join('\n');
  }

  /** Kills what still runs and removes the stores. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Does something with a connection to the system account, at one of some servers. */
  async #asSystem(
    servers: readonly NatsServer[],
    work: (connection: NatsConnection) => Promise<void>,
  ): Promise<void> {
    const { pass, user } = natsUsers.system;
    const tls =
      this.#options.closedFor === undefined ? {} : { tls: { ca: this.authority, servername: '127.0.0.1' } };
    const connection = await connect({ servers: servers.map(({ url }) => url), user, pass, ...tls });
    try {
      await work(connection);
    } finally {
      await connection.close();
    }
  }

  async #isReady(): Promise<boolean> {
    const running = this.servers.filter(({ isRunning }) => isRunning);
    const pages = await Promise.all(running.map((server) => server.page('/jsz')));
    if (pages.some((page) => page === undefined)) return false;
    if (!(await Promise.all(running.map((server) => server.accepts()))).every(Boolean)) return false;
    if (this.servers.length === 1) return true;
    const metas = (pages as JetStreamPage[]).map((page) => page.meta_cluster);
    const leaders = new Set(metas.map((meta) => meta?.leader ?? ''));
    if (leaders.size !== 1 || leaders.has('')) return false;
    if (metas.some((meta) => meta?.cluster_size !== this.servers.length)) return false;
    // Only the leader knows of the others.
    const others = metas.flatMap((meta) => meta?.replicas ?? []);
    return others.filter(({ current, offline }) => current && offline !== true).length >= running.length - 1;
  }
}

/**
 * Starts one nats-server or three that form a cluster, and waits until JetStream is ready. The program is the one
 * `NATS_SERVER_BIN` names, else the one on the PATH, else it is installed.
 *
 * @throws {Error} when there is no nats-server, or with the logs when they do not get ready
 */
export async function startNatsCluster(count: 1 | 3, options: NatsClusterOptions = {}): Promise<NatsCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'grove-nats-'));
  const ports = await freePorts(count);
  const { closedFor } = options;
  const closing = closedFor === undefined ? undefined : close(folder, closedFor);
  const login = closing === undefined ? '' : `route:${closing.routePassword}@`;
  const routes = ports.map(({ route }) => `nats-route://${login}127.0.0.1:${route}`);
  const known = count === 1 ? [] : routes;
  const servers = ports.map((own, index) => {
    const places = { folder, store: options.store?.(index), fileStore: options.fileStore?.(index) };
    return serverOf(`n${index + 1}`, own, known, places, options);
  });
  const cluster = new NatsCluster(servers, folder, known, options);
  for (const server of servers) server.start();
  try {
    await cluster.ready();
    if (count > 1) await cluster.changeLeader();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/**
 * A cluster for all suites of a test file: started before the first test, removed after the last one. What the
 * servers logged is printed when a test fails.
 *
 * @returns the cluster, once tests run
 */
export function sharedNatsCluster(count: 1 | 3, options: NatsClusterOptions = {}): () => NatsCluster {
  let cluster: NatsCluster | undefined;
  beforeAll(async () => {
    cluster = await startNatsCluster(count, options);
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail' && cluster !== undefined) console.error(cluster.logs());
  });
  afterAll(async () => {
    await cluster?.close();
  });
  return () => {
    if (cluster === undefined) throw new Error('the cluster is started before the first test, not earlier');
    return cluster;
  };
}

/** Where a server keeps what, and how much. */
interface ServerPlaces {
  /** Of its configuration. */
  readonly folder: string;
  /** Folder of its store; default: one beside its configuration. */
  readonly store: string | undefined;
  /** As {@link NatsClusterOptions.fileStore}. */
  readonly fileStore: string | undefined;
}

/** A server that does not run yet. */
function serverOf(
  name: string,
  ports: Ports,
  routes: readonly string[],
  { fileStore, folder, store }: ServerPlaces,
  options: NatsClusterOptions,
): NatsServer {
  const file = join(folder, `${name}.conf`);
  const own = store ?? join(folder, name);
  mkdirSync(own, { recursive: true });
  writeFileSync(file, configurationOf(name, ports, routes, { folder, store: own, fileStore }, options));
  return new NatsServer(name, ports, file, own, options.closedFor !== undefined);
}

function configurationOf(
  name: string,
  { client, monitor, route }: Ports,
  routes: readonly string[],
  { fileStore, folder, store }: ServerPlaces & { readonly store: string },
  options: NatsClusterOptions,
): string {
  const closing = options.closedFor === undefined ? undefined : closingIn(folder);
  const { grove, system } = natsUsers;
  const lines = [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${client}"`,
    `http: "127.0.0.1:${monitor}"`,
    'jetstream {',
    `  store_dir: "${store}"`,
    // Streams reserve what they may grow to; nothing is taken before it is written.
    '  max_memory_store: 1GB',
    `  max_file_store: ${fileStore ?? '1TB'}`,
    ...(options.jetStream ?? []),
    '}',
    'accounts {',
    closing === undefined
      ? `  GROVE { jetstream: enabled, users: [{user: ${grove.user}, password: ${grove.pass}}] }`
      : `  GROVE { jetstream: enabled, include "${closingFiles.users}" }`,
    `  SYSTEM { users: [{user: ${system.user}, password: ${system.pass}}] }`,
    '}',
    'system_account: SYSTEM',
    ...(closing === undefined ? [`no_auth_user: ${grove.user}`] : [tlsBlock(closing, false)]),
    ...(options.server ?? []),
  ];
  if (routes.length > 0) {
    lines.push(
      'cluster {',
      '  name: grove-test',
      `  listen: "127.0.0.1:${route}"`,
      `  routes: [${routes.join(', ')}]`,
      ...(closing === undefined
        ? []
        : [
            `  authorization { user: route, password: ${closing.routePassword}, timeout: 5 }`,
            tlsBlock(closing, true),
          ]),
      ...(options.cluster ?? []),
      '}',
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Names of the files in the folder of a cluster. */
const closingFiles = {
  users: 'users.conf',
  authority: 'authority.pem',
  certificate: 'certificate.pem',
  key: 'key.pem',
} as const;

function closingIn(folder: string): Closing {
  return {
    authority: join(folder, closingFiles.authority),
    certificate: join(folder, closingFiles.certificate),
    key: join(folder, closingFiles.key),
    routePassword: 'proute',
  };
}

/** Writes what closes a cluster; besides the members there is `grove`, who may do everything in the account. */
function close(folder: string, members: readonly string[]): Closing {
  const closing = closingIn(folder);
  const { authority, server } = makeServerCertificates(['127.0.0.1'], Date.now(), systemRandom);
  writeFileSync(closing.authority, authority);
  writeFileSync(closing.certificate, server.certificate);
  writeFileSync(closing.key, server.key, { mode: 0o600 });
  const users = members.map((member) => ({ member, password: passwordOf(member) }));
  const { pass, user } = natsUsers.grove;
  const all = usersOfMembers(new Subjects(), users).replace(
    /\]\n$/,
    `  { user: ${user}, password: ${pass} }\n]\n`,
  );
  writeFileSync(join(folder, closingFiles.users), all);
  return closing;
}

function passwordOf(member: string): string {
  return `p-${member}`;
}

function tlsBlock({ authority, certificate, key }: Closing, isRoute: boolean): string {
  const verify = isRoute ? `ca_file: "${authority}", verify: true, ` : '';
  return `tls { cert_file: "${certificate}", key_file: "${key}", ${verify}timeout: 5 }`;
}

let program: string | undefined;

function natsServerProgram(): string {
  program ??= process.env.NATS_SERVER_BIN ?? requiredProgram('nats-server');
  return program;
}

/** Whether every thread of a process stands still. */
function isStopped(pid: number): boolean {
  const states = execFileSync(requiredProgram('ps'), ['-L', '-o', 'state=', '-p', String(pid)], {
    encoding: 'utf8',
  });
  return states
    .trim()
    .split('\n')
    .every((state) => state.trim().startsWith('T'));
}

/** On Linux a server dies with the test process, however that ends; else one that is killed would leave them. */
function dyingWithParent(): string[] {
  return process.platform === 'linux' ? [requiredProgram('setpriv'), '--pdeathsig', 'KILL'] : [];
}

async function freePorts(count: number): Promise<Ports[]> {
  const taken = new Set<number>();
  const next = async (): Promise<number> => {
    for (;;) {
      const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
      if (taken.has(port) || !(await isFree(port))) continue;
      taken.add(port);
      return port;
    }
  };
  const ports: Ports[] = [];
  while (ports.length < count)
    ports.push({ client: await next(), monitor: await next(), route: await next() });
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
