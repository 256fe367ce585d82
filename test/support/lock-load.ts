import type { TestResponse } from './http-client.ts';
import { type LockAnswer, LockHistory } from './lock-history.ts';
import { LocksClient } from './locks-client.ts';
import type { MemberCluster } from './member-cluster.ts';

/** Clients that work at a time. */
const CLIENTS = 8;

/** Units of the pool. */
const CAPACITY = 20;

/** Leases of the ordinary locks, in milliseconds: of the short ones some run out. */
const SHORT_TTL_MS = 100;
const LONG_TTL_MS = 3_000;

/** Longest a test looks for an answer that is certain, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Between two looks, in milliseconds. */
const POLL_MS = 20;

const POOL = 'tickets';
const keys = ['a', 'b', 'c', 'd'];

type Json = TestResponse['json'];

/** Clients that take, renew and give back locks, claim units and put them back, through all members that are up. */
export class LockLoad {
  readonly history = new LockHistory();
  readonly #cluster: MemberCluster;
  readonly #locks: LocksClient;
  #isStopping = false;
  #answers = 0;
  #clients: Promise<void>[] = [];

  constructor(cluster: MemberCluster, repository: string) {
    this.#cluster = cluster;
    const anyMember = {
      port: 0,
      request: (method: string, path: string, options: { body?: unknown; headers?: object } = {}) =>
        cluster.admin(method, path, options.body, options.headers),
    };
    this.#locks = new LocksClient(anyMember, cluster.token, repository);
  }

  start(): this {
    this.#clients = Array.from({ length: CLIENTS }, (_, client) => this.#work(client));
    return this;
  }

  /** Waits for so many more answers. */
  async progress(count: number): Promise<void> {
    const goal = this.#answers + count;
    while (this.#answers < goal) await pause(POLL_MS);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#clients);
  }

  /** Takes a lock nobody else asks for. @returns its token */
  async hold(key: string, ttlMs: number): Promise<number> {
    const grant = await this.#acquire(key, ttlMs);
    if (grant?.token === undefined) throw new Error(`${key} was not granted`);
    return grant.token;
  }

  /** When a lease ends on the wall clock, in milliseconds, as soon as somebody can say; undefined when it is free. */
  async endOf(key: string): Promise<number | undefined> {
    const { json, status } = await this.#certain(`/locks/${key}`);
    return status === 200 ? json.expires_at_ms : undefined;
  }

  /**
   * What remains in the pool fits what was answered, whichever of the unknown operations happened.
   *
   * @returns sentences about what does not fit
   */
  async checkUnits(): Promise<readonly string[]> {
    const { json }: { json: Json } = await this.#certain(`/inventory/${POOL}`);
    let least = 0;
    let most = 0;
    const outcomes = new Map(this.history.events.map((event) => [event.id, event.type]));
    for (const event of this.history.events) {
      if (event.type !== 'invoke') continue;
      const { operation } = event;
      if (operation.do !== 'claim' && operation.do !== 'put back') continue;
      const units = operation.do === 'claim' ? operation.n : -operation.n;
      const outcome = outcomes.get(event.id);
      if (outcome === 'fail') continue;
      if (outcome === 'ok' || units < 0) least += units;
      if (outcome === 'ok' || units > 0) most += units;
    }
    const taken = json.capacity - json.remaining;
    const fits = taken >= Math.max(0, least) && taken <= Math.min(CAPACITY, most);
    return fits ? [] : [`${taken} units are out, by the answers between ${least} and ${most}`];
  }

  async #work(client: number): Promise<void> {
    for (let round = 0; !this.#isStopping && !this.#cluster.isClosed; round += 1) {
      if (this.#cluster.up.length === 0) {
        await pause(POLL_MS);
        continue;
      }
      const key = keys[(client + round) % keys.length] as string;
      const ttlMs = round % 3 === 0 ? SHORT_TTL_MS : LONG_TTL_MS;
      const grant = await this.#acquire(key, ttlMs, client % 2 === 0 ? 50 : 0);
      const units = 1 + (round % 3);
      const claimed = await this.#claim(units);
      const token = grant?.token;
      if (token !== undefined) {
        if (round % 2 === 0) await this.#renew(key, token, ttlMs);
        await this.#release(key, token);
      }
      if (claimed !== null && claimed !== undefined) await this.#putBack(units);
      // Who is refused at once should not ask in circles.
      if (grant === null && claimed === null) await pause(POLL_MS);
    }
  }

  #acquire(key: string, ttlMs: number, waitMs = 0): Promise<LockAnswer | null | undefined> {
    return this.#run({ do: 'acquire', key, ttlMs }, async () =>
      heardWaiting(await this.#locks.acquire(key, ttlMs, { wait_ms: waitMs })),
    );
  }

  #renew(key: string, token: number, ttlMs: number): Promise<LockAnswer | null | undefined> {
    return this.#run({ do: 'renew', key, token, ttlMs }, async () =>
      heard(await this.#locks.renew(key, token, ttlMs), (json) => json.renewed),
    );
  }

  #release(key: string, token: number): Promise<LockAnswer | null | undefined> {
    return this.#run({ do: 'release', key, token }, async () =>
      heard(await this.#locks.release(key, token), (json) => json.released),
    );
  }

  #claim(n: number): Promise<LockAnswer | null | undefined> {
    return this.#run({ do: 'claim', pool: POOL, n, capacity: CAPACITY }, async () =>
      heard(await this.#locks.claim(POOL, n, CAPACITY), (json) => json.claimed),
    );
  }

  #putBack(n: number): Promise<LockAnswer | null | undefined> {
    return this.#run({ do: 'put back', pool: POOL, n }, async () =>
      heard(await this.#locks.releaseUnits(POOL, n), (json) => json.remaining !== undefined),
    );
  }

  async #run(...[operation, send]: Parameters<LockHistory['run']>): Promise<LockAnswer | null | undefined> {
    const answer = await this.history.run(operation, send);
    if (answer !== undefined) this.#answers += 1;
    return answer;
  }

  async #certain(path: string): Promise<TestResponse> {
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.#locks.get(path);
      if (answer.status < 500) return answer;
      if (performance.now() > endMs) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      await pause(POLL_MS);
    }
  }
}

/** What an answer says happened; throws for what leaves it open. */
function heard(answer: TestResponse, happened: (json: Json) => boolean): LockAnswer | null {
  if (answer.status >= 500) throw new Error(answer.text);
  const { json } = answer;
  return happened(json) ? { token: json.token as number, remaining: json.remaining as number } : null;
}

/** As {@link heard}: whoever waits for a lock at a member that stops is refused for certain, see docs/operations.md. */
function heardWaiting(answer: TestResponse): LockAnswer | null {
  const isRefused = answer.status === 503 && answer.json.code === 'SHUTTING_DOWN';
  return isRefused ? null : heard(answer, (json) => json.acquired);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
