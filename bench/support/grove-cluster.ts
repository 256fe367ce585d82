import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeNatsFiles } from '#operator/local-cluster/nats-files.ts';
import {
  memberNames,
  natsMonitorUrls,
  type PlannedProcess,
  planCluster,
} from '#operator/local-cluster/plan.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { parseProcfile } from '#operator/local-cluster/procfile.ts';
import { isPortFree } from './child.ts';
import { ClusterProcess } from './cluster-process.ts';
import { profileFlags } from './grove-server.ts';
import { GENERATOR_CORE, SERVER_CORE } from './machine.ts';
import { requiredProgram, versionOf } from './programs.ts';
import type { Parts } from './rounds.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const PASSWORD = 'Bench-mark-2026!';

/** Ports are below the range of ephemeral ports, so that no outgoing connection uses them. */
const PORT_MIN = 12_000;
const PORT_MAX = 26_000;

/** Timeout until the processes of a type are ready, and until a cluster has settled, in milliseconds. */
const READY_MS_MAX = 180_000;
/** Interval of checks, in milliseconds. */
const POLL_MS = 100;

/** Secrets shared by the members. */
const secrets = {
  jwtSecret: 'a secret of more than thirty-two characters',
  masterKey: '0123456789abcdef'.repeat(4),
} as const;

/** Passwords of the NATS servers. */
const natsPasswords = {
  members: Object.fromEntries(memberNames.map((name) => [name, 'grove'])),
  route: 'route',
  system: 'system',
};

/** Settings that differ from `npm run cluster`. */
export interface ClusterSettings {
  /** Program of the members, relative to the project; it must do everything the ordinary program does. */
  readonly memberProgram?: string;
  /** Durability class; default: the best one the NATS servers and members support. */
  readonly durability?: string;
  /** Folder for processor profiles of the members. */
  readonly profileDir?: string | undefined;
}

/** The used part of the state of the cluster, as a member reports it. */
interface Overview {
  readonly durability: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly state: string;
    readonly owner: string | null;
    readonly followers: readonly { readonly is_warm: boolean }[];
  }[];
}

/**
 * A note for a table: the durability class of the cluster compared with peers that flush before they answer.
 *
 * @param durability as {@link GroveCluster.durability} returns it
 */
export function flushNote(durability: string): string {
  return durability === 'quorum'
    ? 'In class `quorum` an answered write is in the memory of most NATS servers and is flushed later; the others flush before they answer.'
    : `In class \`${durability}\` an answered write is flushed, as with the others.`;
}

/** A JSON answer with its headers. */
export interface ClusterAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Three NATS servers, three members and HAProxy, with the configuration `npm run cluster` gives them. Members and NATS
 * servers share the server core, like everything that is measured. HAProxy runs on the core of the load generator.
 */
export class GroveCluster {
  readonly members: readonly ClusterProcess[];
  readonly natsServers: readonly ClusterProcess[];
  readonly balancer: ClusterProcess;
  /** Version of the NATS servers. */
  readonly natsVersion: string;
  readonly #folder: string;
  #token = '';

  private constructor(processes: readonly ClusterProcess[], folder: string, natsVersion: string) {
    const of = (type: string): ClusterProcess[] => processes.filter((each) => each.type === type);
    this.members = of('member');
    this.natsServers = of('nats');
    this.balancer = of('balancer')[0] as ClusterProcess;
    this.#folder = folder;
    this.natsVersion = natsVersion;
  }

  /** Starts a cluster with its data below `parent`, and waits until every member owns its share of the partitions. */
  static async start(parent: string, settings: ClusterSettings = {}): Promise<GroveCluster> {
    const folder = mkdtempSync(join(parent, 'cluster-'));
    const nats = process.env.NATS_SERVER_BIN ?? requiredProgram('nats-server');
    const natsVersion = versionOf(nats, '--version');
    writeNatsFiles({
      folder,
      version: natsVersion,
      passwords: natsPasswords,
      clock: systemClock,
      random: systemRandom,
    });
    const planned = await planOnFreePorts(folder, nats, settings.durability);
    for (const path of planned.flatMap(({ folders }) => folders)) mkdirSync(path);
    const commands = parseProcfile(readFileSync(join(projectRoot, 'Procfile'), 'utf8'));
    const { memberProgram = 'server/main.ts', profileDir } = settings;
    const flags = profileDir === undefined ? [] : profileFlags(profileDir);
    const processes = planned.map((plan) => {
      const command = commands.get(plan.type) as string;
      return new ClusterProcess({
        plan,
        folder: projectRoot,
        core: plan.type === 'balancer' ? GENERATOR_CORE : SERVER_CORE,
        command: command.replace('server/main.ts', [...flags, memberProgram].join(' ')),
        isTalkative: plan.type === 'member' && settings.memberProgram !== undefined,
      });
    });
    const cluster = new GroveCluster(processes, folder, natsVersion);
    for (const some of [cluster.natsServers, cluster.members, [cluster.balancer]])
      await Promise.all(some.map((each) => each.start(READY_MS_MAX)));
    await cluster.#logIn();
    await cluster.settled();
    return cluster;
  }

  /** A token that every member accepts. */
  get token(): string {
    return this.#token;
  }

  /** The last output of each process. */
  get log(): string {
    return [...this.natsServers, ...this.members].map(({ log, name }) => `== ${name}\n${log}`).join('\n');
  }

  /** The durability class in force. */
  async durability(): Promise<string> {
    return (await this.#overview()).durability;
  }

  /** Sends a request to a member or through the load balancer. @throws {Error} unless it is answered with 2xx */
  async request(
    method: string,
    path: string,
    body?: unknown,
    at: { readonly url: string } = this.balancer,
  ): Promise<ClusterAnswer> {
    const response = await fetch(at.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { status: response.status, headers: response.headers, text };
  }

  /** Like {@link request}, for answers in JSON. */
  async json(method: string, path: string, body?: unknown): Promise<unknown> {
    const { text } = await this.request(method, path, body);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** The member that owns a repository, and the others. */
  async ownerOf(repository: string): Promise<{ owner: ClusterProcess; others: readonly ClusterProcess[] }> {
    const partition = await this.#partitionOf(repository);
    const { partitions } = await this.#overview();
    const name = partitions.find((each) => each.partition === partition)?.owner;
    const owner = this.members.find((each) => each.name === name);
    if (owner === undefined) throw new Error(`nobody owns partition ${partition}, that of ${repository}`);
    return { owner, others: this.members.filter((each) => each !== owner) };
  }

  /** The processes that take part in a request to a repository, by role. */
  async partsFor(repository: string): Promise<Parts> {
    const { owner, others } = await this.ownerOf(repository);
    const pidsOf = (some: readonly ClusterProcess[]): number[] => some.map(({ pid }) => pid);
    return { owner: [owner.pid], others: pidsOf(others), nats: pidsOf(this.natsServers) };
  }

  /** Waits until each member owns its share of the partitions, and each partition can be taken over at once. */
  async settled(): Promise<void> {
    await this.#until('partitions are spread evenly', async () => {
      const { partitions } = await this.#overview();
      const share = Math.floor(partitions.length / this.members.length);
      const isWarm = partitions.every(
        ({ followers, state }) => state === 'owned' && followers.every((each) => each.is_warm),
      );
      const owned = (name: string): number => partitions.filter(({ owner }) => owner === name).length;
      return isWarm && this.members.every(({ name }) => owned(name) >= share);
    });
  }

  /** Stops the cluster in the way an operator does. @throws {Error} unless the members end with 0 */
  async stop(): Promise<void> {
    await this.balancer.end('SIGTERM');
    for (const member of this.members) {
      const code = await member.end('SIGTERM');
      if (code !== 0) throw new Error(`${member.name} ended with ${code} on SIGTERM:\n${member.log}`);
    }
    await Promise.all(this.natsServers.map((server) => server.end('SIGTERM')));
  }

  /** Logs in once for all members, because every login hashes the password. */
  async #logIn(): Promise<void> {
    const body = { username: 'admin', password: PASSWORD };
    const { token } = (await this.json('POST', '/api/svc/sys/default/auth', body)) as { token: string };
    this.#token = token;
  }

  async #overview(): Promise<Overview> {
    return (await this.json('GET', '/api/management/cluster')) as Overview;
  }

  /** The partition of a repository, found by its folder on the members. */
  async #partitionOf(repository: string): Promise<number> {
    let found: number | undefined;
    await this.#until(`somebody has ${repository}`, () => {
      found = this.#findPartition(repository);
      return Promise.resolve(found !== undefined);
    });
    return found as number;
  }

  #findPartition(repository: string): number | undefined {
    for (const { name } of this.members) {
      const folder = join(this.#folder, name, 'partitions');
      for (const partition of existsSync(folder) ? readdirSync(folder) : []) {
        const tenant = join(folder, partition, 'actors/default');
        const parts = existsSync(tenant) ? readdirSync(tenant) : [];
        if (parts.some((part) => part.startsWith(`${repository}~`))) return Number(partition);
      }
    }
    return undefined;
  }

  /** @throws {Error} with the logs after a timeout */
  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + READY_MS_MAX;
    while (!(await isSo())) {
      if (performance.now() > endMs) throw new Error(`not so in ${READY_MS_MAX} ms: ${what}\n${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** The processes of `npm run cluster`, on free ports. */
async function planOnFreePorts(
  folder: string,
  nats: string,
  durability: string | undefined,
): Promise<readonly PlannedProcess[]> {
  const memberConfig = join(folder, 'member.toml');
  for (;;) {
    const [port, natsPort] = [anyPort(), anyPort()];
    const processes = planCluster({
      folder,
      host: '127.0.0.1',
      port,
      natsPort,
      secrets,
      natsPasswords,
      adminPassword: PASSWORD,
      programs: { nats, balancer: requiredProgram('haproxy') },
      memberConfig,
    });
    const ports = processes.flatMap((each) => each.ports.map((planned) => planned.port));
    const areFree = await Promise.all(ports.map(isPortFree));
    if (new Set(ports).size < ports.length || areFree.includes(false)) continue;
    const urls = natsMonitorUrls(natsPort).map((url) => JSON.stringify(url));
    const lines = ['[cluster]', `nats_monitor_urls = [${urls.join(', ')}]`];
    if (durability !== undefined) lines.push(`durability = ${JSON.stringify(durability)}`);
    writeFileSync(memberConfig, `${lines.join('\n')}\n`);
    return processes;
  }
}

function anyPort(): number {
  return PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
}
