import { Agent, request } from 'node:http';

/** Timeout of an answer, in milliseconds; longer than any answer of the load balancer takes. */
const PATIENCE_MS = 70_000;

/** Pause of a client after a refused write, in milliseconds. */
const PAUSE_MS = 50;

/** Interval of checks for acknowledgements, in milliseconds. */
const POLL_MS = 5;

/** Number of names in one page of a listing. */
const PAGE = 1_000;

/** Target of the writes. */
export interface CreateTarget {
  readonly port: number;
  readonly token: string;
  /** The folder of the created nodes: `/api/repository/{repository}/main/head/{workspace}/{name}`. */
  readonly folderUrl: string;
}

/** A write that was refused or whose outcome is unknown. */
export interface Failure {
  readonly atMs: number;
  /** Status of the answer; 0 when none came. */
  readonly status: number;
}

/**
 * Clients that create nodes at a constant rate regardless of failures of the servers. No write is repeated: each
 * attempt has a unique name, so that afterwards every acknowledgement can be compared with the stored nodes.
 */
export class SteadyCreates {
  readonly #target: CreateTarget;
  readonly #agent: Agent;
  readonly #intervalMs: number;
  readonly #clients: readonly Promise<void>[];
  readonly #acknowledgedMs: number[] = [];
  readonly #acknowledged: string[] = [];
  readonly failures: Failure[] = [];
  /** Latest send time of an acknowledged write. */
  #newestSentMs = 0;
  #isEnding = false;

  /** @param perSecond rate of all clients together, if answers are immediate */
  constructor(target: CreateTarget, clients: number, perSecond: number) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, maxSockets: clients });
    this.#intervalMs = (1000 * clients) / perSecond;
    this.#clients = Array.from({ length: clients }, (_, client) => this.#work(client, clients));
  }

  /** When writes were acknowledged, ascending, on the clock of `performance.now`. */
  get acknowledgedMs(): readonly number[] {
    return this.#acknowledgedMs;
  }

  /** Resolves when a write sent after a given time was acknowledged. @throws {Error} after `msMax` */
  async acknowledgedSince(sentMs: number, msMax: number): Promise<void> {
    for (const endMs = performance.now() + msMax; this.#newestSentMs <= sentMs; ) {
      if (performance.now() > endMs) throw new Error(`no write was acknowledged for ${msMax} ms`);
      await pause(POLL_MS);
    }
  }

  /** Stops the clients after their present writes. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients);
    this.#agent.destroy();
  }

  /** Names of acknowledged nodes that are missing. Call it after {@link SteadyCreates.end}. */
  async missing(): Promise<readonly string[]> {
    const there = new Set<string>();
    let cursor = '';
    do {
      const query = `limit=${PAGE}&cursor=${encodeURIComponent(cursor)}`;
      const { status, text } = await this.#send('GET', `${this.#target.folderUrl}/?${query}`);
      if (status !== 200) throw new Error(`the nodes could not be listed: ${status} ${text.slice(0, 500)}`);
      const page = JSON.parse(text) as {
        readonly items: readonly { readonly name: string }[];
        readonly next_cursor?: string | null;
      };
      for (const { name } of page.items) there.add(name);
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    return this.#acknowledged.filter((name) => !there.has(name));
  }

  async #work(client: number, clients: number): Promise<void> {
    // Clients start one after the other, so that their writes are spread over the interval.
    let dueMs = performance.now() + (this.#intervalMs * client) / clients;
    for (let index = 0; !this.#isEnding; index++) {
      await pause(Math.max(0, dueMs - performance.now()));
      dueMs = Math.max(dueMs + this.#intervalMs, performance.now());
      const isAcknowledged = await this.#create(`w-${client}-${index}`);
      if (!isAcknowledged) await pause(PAUSE_MS);
    }
  }

  async #create(name: string): Promise<boolean> {
    const sentMs = performance.now();
    const body = JSON.stringify({ name, node_type: 'svc:Folder', properties: {} });
    const { status } = await this.#send('POST', this.#target.folderUrl, body);
    if (status !== 201) {
      this.failures.push({ atMs: performance.now(), status });
      return false;
    }
    this.#acknowledged.push(name);
    this.#acknowledgedMs.push(performance.now());
    this.#newestSentMs = Math.max(this.#newestSentMs, sentMs);
    return true;
  }

  /** @returns status 0 when there was no answer */
  #send(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const { port, token } = this.#target;
    return new Promise((resolve) => {
      const lost = (): void => resolve({ status: 0, text: '' });
      const call = request(
        {
          host: '127.0.0.1',
          port,
          method,
          path,
          agent: this.#agent,
          timeout: PATIENCE_MS,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            }),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
          response.on('error', lost);
        },
      );
      call.on('timeout', () => call.destroy());
      call.on('error', lost);
      call.end(body);
    });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
