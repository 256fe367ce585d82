import type { TestResponse } from './http-client.ts';
import type { ClusterMember, MemberCluster } from './member-cluster.ts';

/** Between two looks at how much was answered, in milliseconds. */
const POLL_MS = 10;

/** Time one keyed write is repeated for, in milliseconds. */
const REPEAT_MS_MAX = 60_000;

/**
 * Longest time without a write acknowledged in some repository before {@link WriteLoad.progress} says so, in
 * milliseconds: longer than any fault of any test lasts, shorter than any test may take.
 */
const STALLED_MS_MAX = 120_000;

/** Time between two attempts of one keyed write, in milliseconds. */
const REPEAT_MS = 50;

/**
 * Time after which a client leaves a member that stands still, in milliseconds, as a load balancer makes it. Else all
 * clients of a repository may wait for that member, and nobody asks the others.
 */
const LEAVE_MS = 2_000;

/**
 * Time between two writes of a client while nobody waits for {@link WriteLoad.progress}, in milliseconds: a member that starts
 * meanwhile needs the processors. Where something happens after a progress, all clients are in the middle of a write.
 */
const REST_MS = 400;

/** Between two looks whether a member stands still, in milliseconds. */
const LEAVE_POLL_MS = 250;

/** Revisions asked for at once. */
const PAGE = 200;

/** Writes of each repository that are shown when it stands still: some of each client. */
const LAST_WRITES = 6;

type Json = TestResponse['json'];

/** What became of one write, as its client knows. */
interface Write {
  readonly name: string;
  readonly isKeyed: boolean;
  /** `unknown`: its answer was lost, or said that it is not known. */
  outcome: 'unknown' | 'acknowledged' | 'refused';
  revision: string;
  /** Who was asked last, and what was answered. */
  detail: string;
  /** How long its client waited, in milliseconds. */
  tookMs: number;
}

/** What a load did, in numbers, for people. */
export interface LoadReport {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  /** Longest time between two acknowledgements in one repository, in milliseconds. */
  readonly pauseMs: number;
  /** The write that took longest. */
  readonly slowest: string;
}

/** The writes of some clients to one repository, and what was answered to them. */
class RepositoryLoad {
  readonly repository: string;
  readonly writes: Write[] = [];
  pauseMs = 0;
  /** When a write was acknowledged last, or it began. */
  lastMs = performance.now();

  constructor(repository: string) {
    this.repository = repository;
  }

  get acknowledgedCount(): number {
    return this.writes.filter(isAcknowledged).length;
  }

  acknowledged(): void {
    const nowMs = performance.now();
    this.pauseMs = Math.max(this.pauseMs, nowMs - this.lastMs);
    this.lastMs = nowMs;
  }
}

/**
 * Clients that create nodes through all members that are up, half of them with idempotency keys, and read what they
 * wrote through other members. Afterwards every answer is compared with what is there.
 */
export class WriteLoad {
  readonly #cluster: MemberCluster;
  readonly #loads: readonly RepositoryLoad[];
  /** What was seen that cannot be. */
  readonly #wrong: string[] = [];
  readonly #label: string;
  #isStopping = false;
  #waiting = 0;
  #clients: Promise<void>[] = [];

  /** @param label of the names it makes; each load of a repository has its own */
  constructor(cluster: MemberCluster, repositories: readonly string[], label: string) {
    this.#cluster = cluster;
    this.#label = label;
    this.#loads = repositories.map((repository) => new RepositoryLoad(repository));
  }

  /** Begins. @param clients of each repository: even ones send keys */
  start(clients = 4): this {
    this.#clients = this.#loads.flatMap((load) =>
      Array.from({ length: clients }, (_, client) => this.#work(load, client)),
    );
    return this;
  }

  get acknowledgedCount(): number {
    return this.#loads.reduce((sum, load) => sum + load.acknowledgedCount, 0);
  }

  /**
   * Waits until so many more writes were acknowledged in every repository.
   *
   * @param patienceMs longest time one of them may stand still, in milliseconds
   * @throws {Error} saying what each repository has, and what its clients were answered last, when one does longer
   */
  async progress(count: number, patienceMs = STALLED_MS_MAX): Promise<void> {
    this.#waiting += 1;
    try {
      await this.#progress(count, patienceMs);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #progress(count: number, patienceMs: number): Promise<void> {
    const sinceMs = performance.now();
    const goals = this.#loads.map((load) => load.acknowledgedCount + count);
    const missing = (): RepositoryLoad[] =>
      this.#loads.filter((load, at) => load.acknowledgedCount < (goals[at] as number));
    for (let behind = missing(); behind.length > 0; behind = missing()) {
      const nowMs = performance.now();
      if (behind.some(({ lastMs }) => nowMs - Math.max(lastMs, sinceMs) > patienceMs)) {
        // Nobody will stop them any more.
        this.#isStopping = true;
        throw new Error(
          `no write of some repository was acknowledged for ${patienceMs} ms:\n${this.#status()}`,
        );
      }
      await pause(POLL_MS);
    }
  }

  /** Where each repository stands, for whoever reads why a test failed. */
  #status(): string {
    const nowMs = performance.now();
    const up = this.#cluster.up.map(({ id }) => id).join(' ');
    const of = (load: RepositoryLoad): string => {
      const last = load.writes
        .slice(-LAST_WRITES)
        .map(({ detail, name, outcome }) => `  ${name} ${outcome} ${detail}`);
      const silentMs = Math.round(nowMs - load.lastMs);
      return [
        `${load.repository}: ${load.acknowledgedCount} acknowledged, the last one ${silentMs} ms ago`,
        ...last,
      ].join('\n');
    };
    return [`members that are up: ${up}`, ...this.#loads.map(of)].join('\n');
  }

  /** Ends the clients, each after its write. */
  async stop(): Promise<LoadReport> {
    this.#isStopping = true;
    await Promise.all(this.#clients);
    const writes = this.#loads.flatMap((load) => load.writes);
    const count = (outcome: Write['outcome']): number =>
      writes.filter((write) => write.outcome === outcome).length;
    return {
      acknowledged: count('acknowledged'),
      unknown: count('unknown'),
      refused: count('refused'),
      slowest: slowestOf(writes),
      pauseMs: Math.round(Math.max(...this.#loads.map(({ pauseMs }) => pauseMs))),
    };
  }

  /** Outcomes that are no acknowledgements, with what was answered. */
  get troubles(): readonly string[] {
    return this.#loads.flatMap(({ writes }) =>
      writes.filter((write) => !isAcknowledged(write)).map(({ name, detail }) => `${name}: ${detail}`),
    );
  }

  /**
   * Compares what was answered with what is there, as all members see it.
   *
   * @returns sentences about everything that cannot be; none when all is as promised
   */
  async check(): Promise<readonly string[]> {
    const wrong = [...this.#wrong];
    for (const load of this.#loads)
      for (const member of this.#cluster.up) wrong.push(...(await this.#checkAt(member.id, load)));
    return wrong;
  }

  async #checkAt(id: string, { repository, writes }: RepositoryLoad): Promise<string[]> {
    const wrong: string[] = [];
    const nodes = new Map<string, Json>();
    for (const node of await this.#children(id, repository)) {
      if (nodes.has(node.name)) wrong.push(`${id}: ${repository} has ${node.name} twice`);
      nodes.set(node.name, node);
    }
    const times = new Map<string, number>();
    const revisions = await this.#revisions(id, repository);
    for (const { revision } of revisions) times.set(revision, (times.get(revision) ?? 0) + 1);
    const made = Map.groupBy(revisions, ({ message }) => message);
    for (const { name, outcome, revision } of writes) {
      const node = nodes.get(name);
      const effects = made.get(name)?.length ?? 0;
      if (outcome === 'acknowledged') {
        if (node === undefined) wrong.push(`${id}: ${name} was acknowledged and is not there`);
        if (times.get(revision) !== 1)
          wrong.push(`${id}: revision ${revision} of ${name} is there ${times.get(revision) ?? 0} times`);
        if (made.get(name)?.[0]?.revision !== revision)
          wrong.push(`${id}: ${name} is of ${made.get(name)?.[0]?.revision}, acknowledged was ${revision}`);
        if (effects !== 1) wrong.push(`${id}: ${name} took effect ${effects} times`);
      } else if (outcome === 'refused' && node !== undefined)
        wrong.push(`${id}: ${name} was refused and is there`);
      else if (effects > 1 || effects !== (node === undefined ? 0 : 1))
        wrong.push(`${id}: ${name}, of which nothing was known, took effect ${effects} times`);
    }
    return wrong;
  }

  async #children(id: string, repository: string): Promise<Json[]> {
    const prefix = `${this.#label}-`;
    const nodes: Json[] = await this.#read(id, `/api/repository/${repository}/main/head/load/`);
    return nodes.filter(({ name }) => name.startsWith(prefix));
  }

  async #revisions(id: string, repository: string): Promise<Json[]> {
    const all: Json[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const path = `/api/management/repositories/default/${repository}/revisions?limit=${PAGE}&offset=${offset}`;
      const { revisions } = await this.#read(id, path);
      all.push(...revisions);
      if (revisions.length < PAGE) return all;
    }
  }

  async #read(id: string, path: string): Promise<Json> {
    const member = this.#cluster.members.find((each) => each.id === id);
    if (member === undefined) throw new Error(`no member ${id}`);
    const answer = await this.#cluster.adminAt(member, 'GET', path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  async #work(load: RepositoryLoad, client: number): Promise<void> {
    for (let round = 0; !this.#isStopping && !this.#cluster.isClosed; round += 1) {
      const name = `${this.#label}-${client}-${round}`;
      const write: Write = {
        name,
        isKeyed: client % 2 === 0,
        outcome: 'unknown',
        revision: '',
        detail: '',
        tookMs: 0,
      };
      load.writes.push(write);
      const startedMs = performance.now();
      await this.#write(load, write);
      write.tookMs = performance.now() - startedMs;
      if (!isAcknowledged(write)) continue;
      load.acknowledged();
      await this.#readBack(load, write);
      await this.#rest();
    }
  }

  /** Until it is time for the next write. */
  async #rest(): Promise<void> {
    const endMs = performance.now() + REST_MS;
    while (this.#waiting === 0 && !this.#isStopping && performance.now() < endMs) await pause(POLL_MS);
  }

  /** With a key until the outcome is known, without one once. */
  async #write(load: RepositoryLoad, write: Write): Promise<void> {
    const { isKeyed, name } = write;
    const headers: Record<string, string> = isKeyed
      ? { 'idempotency-key': `${load.repository}-${name}` }
      : {};
    const untilMs = performance.now() + REPEAT_MS_MAX;
    const body = {
      name,
      node_type: 'svc:Folder',
      properties: { title: name },
      commit: { message: name, actor: 'load' },
    };
    for (;;) {
      const member = await this.#member();
      if (member === undefined) return;
      try {
        const path = `/api/repository/${load.repository}/main/head/load/`;
        const asked = this.#cluster.adminAt(member, 'POST', path, body, headers);
        const answer = await unlessLeft(member, asked);
        write.detail = `${member.id}: ${answer.status} ${answer.text.slice(0, 200)}`;
        if (answer.status === 201) {
          write.outcome = 'acknowledged';
          write.revision = answer.headers['x-svc-revision'] as string;
          return;
        }
        const isInProgress = isKeyed && answer.json.code === 'IDEMPOTENCY_IN_PROGRESS';
        if (answer.status < 500 && !isInProgress) {
          // Names are new each time: that it exists means that an earlier attempt was carried out and repeated.
          this.#wrong.push(`${name} of ${load.repository} was answered ${write.detail}`);
          write.outcome = 'refused';
          return;
        }
      } catch (error) {
        write.detail = `${member.id}: ${String(error)}`;
      }
      if (!isKeyed || performance.now() > untilMs) return;
      await pause(REPEAT_MS);
    }
  }

  /** The next one that is up, once there is one; undefined when it is to stop before. */
  async #member(): Promise<ClusterMember | undefined> {
    while (this.#cluster.up.length === 0) {
      // Nobody comes any more.
      if (this.#isStopping || this.#cluster.isClosed) return undefined;
      await pause(REPEAT_MS);
    }
    return this.#cluster.next();
  }

  /** What was acknowledged is there for everybody at once; an answer that fails says nothing. */
  async #readBack({ repository }: RepositoryLoad, { name }: Write): Promise<void> {
    try {
      const path = `/api/repository/${repository}/main/head/load/${name}`;
      const answer = await this.#cluster.admin('GET', path);
      if (answer.status === 404)
        this.#wrong.push(`${name} of ${repository} was acknowledged, then not found`);
    } catch {
      // The member was killed while it was asked.
    }
  }
}

/** An answer, unless the member that was asked stands still for {@link LEAVE_MS}: what becomes of it is not known. */
async function unlessLeft<T>(member: ClusterMember, asked: Promise<T>): Promise<T> {
  let isAnswered = false;
  const leave = async (): Promise<never> => {
    let stillMs = 0;
    while (!isAnswered && stillMs < LEAVE_MS) {
      await pause(LEAVE_POLL_MS);
      stillMs = member.isUp ? 0 : stillMs + LEAVE_POLL_MS;
    }
    throw new Error('the member that was asked stands still');
  };
  const left = leave();
  left.catch(() => undefined);
  asked.catch(() => undefined);
  return await Promise.race([asked, left]).finally(() => {
    isAnswered = true;
  });
}

function isAcknowledged({ outcome }: Write): boolean {
  return outcome === 'acknowledged';
}

/** Tells a person what was seen; no test depends on it. */
export function tellReport(what: string, report: LoadReport): void {
  const { acknowledged, pauseMs, slowest, unknown } = report;
  console.info(
    `${what}: ${acknowledged} writes, ${unknown} unknown, longest pause ${pauseMs} ms; slowest ${slowest}`,
  );
}

function slowestOf(writes: readonly Write[]): string {
  const [slowest] = writes.toSorted((a, b) => b.tookMs - a.tookMs);
  return slowest === undefined
    ? 'none'
    : `${slowest.name} ${Math.round(slowest.tookMs)} ms ${slowest.detail}`;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
