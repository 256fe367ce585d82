import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import type { EgressAllowance } from '#protocols/egress/allowance.ts';
import { EgressGuard, type EgressSurroundings } from '#protocols/egress/egress-guard.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { DnsServer } from '#test/support/dns-server.ts';
import { until } from '#test/support/until.ts';

/** An allowance that opens nothing private. */
export const strict: EgressAllowance = {
  purpose: 'tests',
  allowedHosts: [],
  hostsSetting: '[tests] hosts',
  allowPrivateAddresses: false,
  privateSetting: '[tests] private',
  methods: ['GET', 'HEAD', 'POST', 'PUT'],
  headers: 'any',
  redirectsMax: 3,
  responseBytesMax: 64 * 1024,
  timeoutMs: 30_000,
  timeoutMsMax: 60_000,
  idleMs: 20_000,
  connectMs: 10_000,
  resolveMs: 10_000,
  concurrentMax: 8,
  concurrentPerTenantMax: 4,
};

/** An allowance for the servers of the tests, which are on this machine. */
export const open: EgressAllowance = { ...strict, allowPrivateAddresses: true };

/** The names that {@link TestServer}s with TLS have a certificate for. */
export const certifiedNames = ['secure.example.org', 'also-secure.example.org', '127.0.0.1'];

const certificates = makeServerCertificates(certifiedNames, Date.now(), systemRandom);

/** The authority of the certificates, as PEM. */
export const authority = certificates.authority;

const cleanups: (() => Promise<void> | void)[] = [];

/** Stops everything that a test started; for `afterEach` of each file, because files share this module. */
export async function stopAll(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** A server on loopback that tells its connections. */
export class TestServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that were made so far. */
  connections = 0;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections at present. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  async start(host = '127.0.0.1'): Promise<this> {
    this.#server.listen(0, host);
    await once(this.#server, 'listening');
    cleanups.push(() => this.stop());
    return this;
  }

  /** Ends its connections as a server that crashes does. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => void this.#server.close(resolve));
  }
}

/** Starts a server for plain HTTP. */
export function startHttp(handler: RequestListener, host?: string): Promise<TestServer> {
  return new TestServer(createHttpServer({ keepAliveTimeout: 60_000 }, handler)).start(host);
}

/** Starts a server with TLS and a certificate for {@link certifiedNames}. */
export function startHttps(handler: RequestListener): Promise<TestServer> {
  const { certificate, key } = certificates.server;
  return new TestServer(
    createHttpsServer({ cert: certificate, key, keepAliveTimeout: 60_000 }, handler),
  ).start();
}

/** Starts a server that writes bytes of its own. @param talk called once a request arrives on a connection */
export function startRaw(talk: (socket: Socket) => void): Promise<TestServer> {
  return new TestServer(createRawServer((socket) => socket.once('data', () => talk(socket)))).start();
}

/** Starts a name server. */
export async function startDns(): Promise<DnsServer> {
  const server = await DnsServer.start();
  cleanups.push(() => server.stop());
  return server;
}

/** A guard that ends with the test. */
export function guardOf(
  allowance: EgressAllowance,
  surroundings: Partial<EgressSurroundings> = {},
): EgressGuard {
  const guard = new EgressGuard(allowance, { clock: systemClock, log: silentLog, ...surroundings });
  cleanups.push(() => guard.close());
  return guard;
}

/** The error of something that has to fail with one for callers. */
export async function errorOf(work: Promise<unknown>): Promise<ServiceError> {
  const outcome = await work.then(
    (value: unknown) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && outcome.error instanceof ServiceError) return outcome.error;
  throw new Error(`not an error for callers: ${JSON.stringify(outcome)}`, {
    cause: 'error' in outcome ? outcome.error : undefined,
  });
}

/** The code of {@link errorOf}. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  return (await errorOf(work)).code;
}

/** Waits until a server has no connection any more. */
export async function untilLeft(server: TestServer): Promise<void> {
  await until(() => server.openConnections === 0, 'the server has no connection');
}
