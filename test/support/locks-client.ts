import { request as httpRequest } from 'node:http';
import type { TestRequest, TestResponse } from './http-client.ts';

/** Whatever answers requests as an administrator: a server in this process, or in one of its own. */
export interface LocksServer {
  readonly port: number;
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
}

/** A request that can be given up. */
export interface OpenRequest {
  /** Resolves with the status, or with 0 when it was given up. */
  readonly status: Promise<number>;
  giveUp(): void;
}

/** Locks and inventory of a branch, over HTTP. */
export class LocksClient {
  readonly #server: LocksServer;
  readonly #token: string;
  readonly base: string;

  constructor(server: LocksServer, token: string, repository: string, branch = 'main') {
    this.#server = server;
    this.#token = token;
    this.base = `/api/${repository}/${encodeURIComponent(branch)}`;
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
    return this.#server.request('POST', `${this.base}${path}`, { token: this.#token, body, headers });
  }

  get(path: string): Promise<TestResponse> {
    return this.#server.request('GET', `${this.base}${path}`, { token: this.#token });
  }

  acquire(key: string, ttlMs = 60_000, rest: object = {}): Promise<TestResponse> {
    return this.post('/locks/acquire', { key, ttl_ms: ttlMs, ...rest });
  }

  /** Takes a lock that must be free. @returns its token */
  async taken(key: string, ttlMs = 60_000, rest: object = {}): Promise<number> {
    const answer = await this.acquire(key, ttlMs, rest);
    if (answer.status !== 200) throw new Error(`expected ${key} to be free: ${answer.status} ${answer.text}`);
    return answer.json.token as number;
  }

  release(key: string, token: number): Promise<TestResponse> {
    return this.post('/locks/release', { key, token });
  }

  renew(key: string, token: number, ttlMs = 60_000): Promise<TestResponse> {
    return this.post('/locks/renew', { key, token, ttl_ms: ttlMs });
  }

  claim(pool: string, n: number, capacity: number): Promise<TestResponse> {
    return this.post('/inventory/claim', { pool, n, capacity });
  }

  releaseUnits(pool: string, n: number): Promise<TestResponse> {
    return this.post('/inventory/release', { pool, n });
  }

  /** An acquire on a connection of its own, which can be cut. */
  openAcquire(body: object): OpenRequest {
    const text = JSON.stringify(body);
    let giveUp = (): void => {};
    const status = new Promise<number>((resolve) => {
      const sent = httpRequest(
        {
          host: '127.0.0.1',
          port: this.#server.port,
          method: 'POST',
          path: `${this.base}/locks/acquire`,
          agent: false,
          headers: {
            authorization: `Bearer ${this.#token}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', () => resolve(0));
        },
      );
      sent.on('error', () => resolve(0));
      giveUp = () => {
        resolve(0);
        sent.destroy();
      };
      sent.end(text);
    });
    return { status, giveUp: () => giveUp() };
  }

  /** Waits until so many stand in line for a lock that is held. */
  async waiting(key: string, count: number): Promise<void> {
    for (;;) {
      const { json, status } = await this.get(`/locks/${encodeURIComponent(key)}`);
      if (status === 200 && json.waiting === count) return;
    }
  }
}
