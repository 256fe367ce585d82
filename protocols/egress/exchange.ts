import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { type RequestOptions, request as httpsRequest } from 'node:https';
import type { TcpNetConnectOpts } from 'node:net';
import type { Timer } from '#runtime/base/time/clock.ts';
import type { EgressAllowance } from './allowance.ts';
import type { CheckedHost } from './checked-hosts.ts';
import type { CheckedUrl } from './checked-url.ts';
import { failure, type Phase, tooSlow, unacceptable } from './egress-errors.ts';
import type { OutgoingRequest } from './outgoing-request.ts';
import type { Pinned, PinnedAgents } from './pinned-agents.ts';
import { ATTEMPT_MS, pinnedLookup } from './pinned-lookup.ts';
import type { RequestLife } from './request-life.ts';

/** Bytes of the head of a response. */
const HEAD_BYTES_MAX = 32 * 1024;

/** Interim responses (1xx) before the response. */
const INTERIM_MAX = 8;

/** Methods whose requests may be sent again when a connection that was kept turns out to be closed (RFC 9110, section 9.2.1). */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The server closed a connection that was kept open, before it answered: the request may be sent again. */
export class StaleConnectionSignal extends Error {
  override readonly name = 'StaleConnectionSignal';
}

/** What an exchange needs besides the request. */
export interface ExchangeSurroundings {
  readonly allowance: EgressAllowance;
  readonly agents: PinnedAgents;
  /** Certificate authorities as PEM; undefined: those of Node. */
  readonly authorities: readonly string[] | undefined;
}

/**
 * Sends a request to a checked address and waits for the head of the response. The connection is made to an address of
 * the check, never to what the name resolves to by then.
 *
 * @param pin what the connection is kept under: equal for the same tenant, origin and addresses only
 * @throws {ServiceError} `UPSTREAM_UNREACHABLE`, `UPSTREAM_INVALID`, `UPSTREAM_TIMEOUT`
 * @throws {StaleConnectionSignal} when a connection that was kept is closed already and the method is a safe one
 */
export function exchange(
  request: OutgoingRequest,
  { addresses }: CheckedHost,
  pin: string,
  life: RequestLife,
  surroundings: ExchangeSurroundings,
): Promise<IncomingMessage> {
  life.signal.throwIfAborted();
  const { target } = request;
  const options = requestOptions(request, addresses, pin, surroundings);
  const outgoing = target.isSecure ? httpsRequest(options) : httpRequest(options);
  return new Promise((resolve, reject) => {
    const waiting = new Waiting(outgoing, target, life, surroundings.allowance);
    const stop = (): void => void outgoing.destroy(asError(life.signal.reason));
    life.signal.addEventListener('abort', stop, { once: true });
    // Stays, because a connection may fail again while the body is read, which the reader of the body is told as well.
    outgoing.on('error', (error) => {
      waiting.end();
      if (life.signal.aborted) reject(life.signal.reason);
      else if (waiting.isStale(error) && safeMethods.has(request.method)) reject(new StaleConnectionSignal());
      else reject(failure(target.host, waiting.phase, error));
    });
    // Without an error too: after a change of the protocol, Node destroys the connection and reports nothing.
    outgoing.on('close', () => {
      waiting.end();
      reject(failure(target.host, waiting.phase, undefined));
    });
    outgoing.on('response', (response: IncomingMessage) => {
      waiting.end();
      response.on('error', () => undefined);
      resolve(response);
    });
    outgoing.end(request.body);
  });
}

/** What is waited for, and for how long at most. */
class Waiting {
  readonly #outgoing: ClientRequest;
  readonly #target: CheckedUrl;
  readonly #life: RequestLife;
  readonly #allowance: EgressAllowance;
  #timer: Timer | undefined;
  #interim = 0;
  phase: Phase = 'connect';

  constructor(outgoing: ClientRequest, target: CheckedUrl, life: RequestLife, allowance: EgressAllowance) {
    this.#outgoing = outgoing;
    this.#target = target;
    this.#life = life;
    this.#allowance = allowance;
    this.#limit('accept a connection', allowance.connectMs);
    outgoing.once('socket', (socket) => {
      if (outgoing.reusedSocket) {
        this.#connected();
        return;
      }
      socket.once('connect', () => {
        this.phase = 'tls';
      });
      socket.once(target.isSecure ? 'secureConnect' : 'connect', () => this.#connected());
    });
    outgoing.on('information', () => {
      this.#interim += 1;
      if (this.#interim > INTERIM_MAX)
        life.end(unacceptable(`The server '${target.host}' sends interim responses only`));
    });
  }

  end(): void {
    this.#timer?.cancel();
  }

  /** Whether a connection that was kept turned out to be closed. */
  isStale(error: NodeJS.ErrnoException): boolean {
    return this.#outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
  }

  #connected(): void {
    this.phase = 'exchange';
    const { idleMs } = this.#allowance;
    this.#limit('answer', idleMs);
  }

  #limit(what: string, ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#life.limit(ms, () => tooSlow(this.#target.host, what, ms));
  }
}

/** Options of the socket that the types of a request leave out. */
type FamilyOptions = Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>;

function requestOptions(
  { target, method, headers, body }: OutgoingRequest,
  addresses: readonly string[],
  pin: string,
  { agents, authorities }: ExchangeSurroundings,
): RequestOptions & Pinned & FamilyOptions {
  const { host, isAddress, isSecure, port, url } = target;
  return {
    agent: agents.for(isSecure),
    pin,
    host,
    port,
    method,
    path: url.pathname + url.search,
    headers: {
      ...Object.fromEntries(headers),
      host: url.host,
      'accept-encoding': 'gzip',
      // For DELETE and OPTIONS Node sends a body without it, which a server reads as the next request.
      ...(body === undefined ? {} : { 'content-length': body.length }),
    },
    setHost: false,
    lookup: pinnedLookup(host, addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    maxHeaderSize: HEAD_BYTES_MAX,
    insecureHTTPParser: false,
    // Given, so that no variable of the environment turns the check off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    servername: isAddress ? '' : host,
    ...(authorities === undefined ? {} : { ca: [...authorities] }),
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was ended');
}
