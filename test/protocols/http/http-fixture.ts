import http from 'node:http';
import net from 'node:net';
import { afterEach } from 'vitest';
import type { HttpLimits } from '#protocols/http/http-limits.ts';
import type { HttpReply, HttpRequest, Route } from '#protocols/http/route.ts';
import {
  createHttpServer,
  type HttpObservation,
  type HttpServer,
  type HttpServerOptions,
} from '#protocols/http/uws-server.ts';
import { type Clock, systemClock, type Timer } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** The principal of these tests: whatever the bearer token says. */
export interface TestPrincipal {
  readonly name: string;
}

type Handler = (request: HttpRequest<TestPrincipal>) => HttpReply | Promise<HttpReply>;

/** A route with everything a test does not care about filled in. */
export function route(
  method: Route<TestPrincipal>['method'],
  pattern: string,
  handler: Handler,
  rest: Partial<Route<TestPrincipal>> = {},
): Route<TestPrincipal> {
  return {
    method,
    pattern,
    operationId: `${method} ${pattern}`,
    body: 'none',
    auth: 'none',
    docs: { summary: 'A test route', tag: 'test', responses: { 200: { description: 'fine' } } },
    handler,
    ...rest,
  };
}

/** One line a server logged. */
export interface LogLine {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A server that listens, with what it logged and observed. */
export interface RunningServer {
  readonly server: HttpServer;
  readonly port: number;
  readonly log: LogLine[];
  readonly observed: HttpObservation[];
}

const running: HttpServer[] = [];
const sockets: net.Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) server.close();
});

/** Time limits short enough for a test; each test waits for the event, not for the time. */
export const quickLimits: Partial<HttpLimits> = { sweepMs: 10 };

/** Starts a server that is closed after the test. `GET /health` is always there. */
export async function start(
  routes: readonly Route<TestPrincipal>[],
  options: Partial<HttpServerOptions<TestPrincipal>> = {},
): Promise<RunningServer> {
  const log: LogLine[] = [];
  const observed: HttpObservation[] = [];
  const keep = (facts: Readonly<Record<string, unknown>>, message: string): void =>
    void log.push({ facts, message });
  const health = route('GET', '/health', () => ({ status: 200, raw: 'ok', contentType: 'text/plain' }), {
    body: 'ignored',
  });
  const server = createHttpServer<TestPrincipal>({
    routes: [health, ...routes],
    authenticate(request, need) {
      const token = request.header('authorization');
      if (token === undefined && need === 'required') throw new ServiceError('UNAUTHORIZED');
      return { name: token?.replace('Bearer ', '') ?? 'anonymous' };
    },
    clock: systemClock,
    random: systemRandom,
    log: { error: keep },
    observe: (observation) => void observed.push(observation),
    ...options,
    limits: { ...quickLimits, ...options.limits },
  });
  running.push(server);
  const { port } = await server.listen('127.0.0.1', 0);
  return { server, port, log, observed };
}

/** An answer read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: unknown;
}

/** What `ask` sends. */
export interface Ask {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  readonly agent?: http.Agent;
}

/** One request over node:http; fails if the connection does. */
export function ask(port: number, path: string, what: Ask = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: what.method ?? (what.body === undefined ? 'GET' : 'POST'),
        // node:http sends the body of a DELETE unframed unless its length is stated.
        headers: {
          ...(what.body === undefined ? {} : { 'Content-Length': Buffer.byteLength(what.body) }),
          ...what.headers,
        },
        agent: what.agent ?? false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            text,
            get json(): unknown {
              return JSON.parse(text);
            },
          });
        });
      },
    );
    request.on('error', reject);
    request.end(what.body);
  });
}

interface Waiter {
  readonly text: string;
  readonly times: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A bare socket that keeps what it receives. */
export class RawClient {
  readonly socket: net.Socket;
  readonly closed: Promise<void>;
  received = '';
  isClosed = false;
  #waiting: Waiter[] = [];

  constructor(socket: net.Socket) {
    this.socket = socket;
    sockets.push(socket);
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.#check();
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.isClosed = true;
        for (const one of this.#waiting.splice(0)) {
          one.reject(new Error(`closed before '${one.text}' came; received: ${this.received}`));
        }
        resolve();
      });
    });
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: '127.0.0.1', port, allowHalfOpen: false });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawClient(socket)));
    });
  }

  write(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  /** Resolves once `text` has been received `times` times; rejects if the connection closes before. */
  until(text: string, times = 1): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, times, resolve, reject });
      this.#check();
    });
  }

  #check(): void {
    this.#waiting = this.#waiting.filter((one) => {
      const isThere = this.received.split(one.text).length > one.times;
      if (isThere) one.resolve();
      return !isThere;
    });
  }
}

/** Polls a condition that other events bring about; fails after five seconds. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let round = 0; round < 500; round += 1) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`did not happen: ${what}`);
}

/** A promise and the function that settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** A clock that stands still until a test moves it. */
export class SteppedClock implements Clock {
  #nowMs = 1_000;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  wallMs(): number {
    return 1_790_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      },
    };
  }

  soon(callback: () => void): void {
    systemClock.soon(callback);
  }

  /** Moves time on, a millisecond at a time, and calls back what falls due. */
  advance(byMs: number): void {
    for (let step = 0; step < byMs; step += 1) {
      this.#nowMs += 1;
      const due = this.#timers.filter((one) => one.atMs <= this.#nowMs);
      this.#timers = this.#timers.filter((one) => one.atMs > this.#nowMs);
      for (const one of due) one.callback();
    }
  }
}
