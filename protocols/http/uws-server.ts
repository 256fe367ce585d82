import { Buffer } from 'node:buffer';
import { requestHeadBytesMax } from './uws-environment.ts';
// Import order matters: the library reads its settings while it loads.
import {
  App,
  type HttpRequest as UwsRequest,
  type HttpResponse as UwsResponse,
  type TemplatedApp,
  us_listen_socket_close,
  us_socket_local_port,
  type us_listen_socket,
} from 'uWebSockets.js';
import { assert } from '#runtime/base/assert.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { HandlerTurns } from '#runtime/base/event-loop/handler-turns.ts';
import type { JsonBounds } from '#runtime/base/text/json-work.ts';
import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type { Random } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { checkBodyHead, takesBody } from './requests/body-head.ts';
import { ByteBudget } from '#runtime/budget/byte-budget.ts';
import { ConnectionGate, type ConnectionLimits } from './connection-gate.ts';
import type { CorsPolicy } from './replies/cors.ts';
import { type ExchangeContext, HttpExchange } from './exchange.ts';
import { exchangeWork } from './exchange-work.ts';
import type { Framing } from './replies/framing.ts';
import { grantCors } from './grant-cors.ts';
import { type HttpLimits, limitsOf } from './http-limits.ts';
import type { HttpLog } from './http-log.ts';
import { InFlight } from './in-flight.ts';
import { InFlightShares, type ShareHolder } from './in-flight-shares.ts';
import { parseJsonBody, parseJsonInSlices, SMALL_JSON_BYTES } from './requests/json-body.ts';
import { listenError } from './listen-error.ts';
import { type CompiledRoute, PathRouter } from './path-router.ts';
import { ReplyWriter } from './replies/reply-writer.ts';
import {
  type BodyBound,
  type BodyContext,
  type BodySink,
  boundOfNothing,
  bytesOf,
  checkAnnouncedLength,
  collectBody,
  holdingValues,
  lengthOf,
  offerBodyStream,
  requireNothing,
} from './requests/request-body.ts';
import { ReceivingTurns } from './requests/receiving-turns.ts';
import type { ErrorShape, HttpReply, HttpRequest, Route } from './route.ts';
import { unmatchedRoute } from './unmatched-route.ts';
import { UwsCallbacks } from './uws-callbacks.ts';

/**
 * By default the library shares a port between processes, so two members would each get half of the connections. Its
 * types declare the option only for the overload without a host, and name a constant it does not export.
 */
const exclusivePort = 1;

/** Interval between checks whether the connections have closed, in milliseconds. */
const DRAIN_POLL_MS = 20;

const unboundedConnections: ConnectionLimits = { connectionsMax: Number.POSITIVE_INFINITY };

type ExclusiveListen = (
  host: string,
  port: number,
  options: typeof exclusivePort,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/** The facts reported about each request when it is over. */
export interface HttpObservation {
  /** The route's operation; `unmatched` when no route matched. */
  readonly operationId: string;
  readonly method: string;
  /** The status sent; 499 when the peer disconnected first. */
  readonly status: number;
  readonly durationMs: number;
  readonly requestId: string;
}

/** Options of an HTTP server. */
export interface HttpServerOptions<Principal> {
  readonly routes: readonly Route<Principal>[];
  /**
   * Authenticates the caller after the head has been read and before the body is. Not called for routes with auth
   * `none`. With need `required` it must throw `UNAUTHORIZED` itself when there is no valid credential.
   */
  readonly authenticate: (
    request: HttpRequest<Principal>,
    need: 'required' | 'optional',
  ) => Principal | Promise<Principal>;
  /** Whether a principal has not logged in and may send small bodies only. Default: no principal is anonymous. */
  readonly isAnonymous?: (principal: Principal) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: HttpLog;
  /** Divides event loop time between long operations; default: a scheduler of this server. */
  readonly slices?: SliceScheduler;
  /** Preparation of a large body before its handler is called; yields where it may be suspended. */
  readonly prepareLargeBody?: (request: HttpRequest<Principal>) => Generator<undefined, void>;
  /** Called once for each finished request; must not throw. */
  readonly observe?: (observation: HttpObservation) => void;
  /** Without a policy no response has CORS headers. */
  readonly cors?: CorsPolicy;
  readonly limits?: Partial<HttpLimits>;
  /** The holder whose share the requests of a principal count against; without it shares are not enforced. */
  readonly shareOf?: (principal: Principal) => ShareHolder;
  /** Default: unlimited. */
  readonly connections?: ConnectionLimits;
  /** Called when a connection is closed because there are too many; must not throw. */
  readonly onConnectionRefused?: () => void;
  /**
   * Called when a connection is closed because its request failed in a callback that cannot respond; must not throw.
   */
  readonly onCallbackFault?: () => void;
  /** Whether the last entry of `X-Forwarded-For` is the caller's address; set it only behind a trusted proxy. */
  readonly trustForwardedHeaders?: boolean;
  /**
   * Called once when requests carry forwarded headers although these are not trusted. The sender is a proxy, or a
   * client that pretends to be one. Must not throw.
   *
   * @param peer address the request came from
   */
  readonly onUntrustedForwarded?: (peer: string) => void;
}

/** An HTTP server. */
export interface HttpServer {
  /**
   * Starts accepting connections; may be called again for another address.
   *
   * @param port 0 picks a free one
   * @param isOpen false: binds the address, but closes connections at once until {@link HttpServer.open}
   * @returns the port
   * @throws {ListenError} as a promise
   */
  listen(host: string, port: number, isOpen?: boolean): Promise<{ readonly port: number }>;
  /** Starts keeping connections. */
  open(): void;
  /**
   * Stops accepting connections, and closes each open connection after its next response. Resolves when no request is
   * in flight and the connections are closed or have been idle for a while, or when `graceMs` have passed. Call
   * `close` afterwards.
   */
  drain(graceMs: number): Promise<void>;
  /** Closes every connection and cancels the requests in flight. */
  close(): void;
  /** Requests whose response is not finished. */
  readonly inFlightCount: number;
  /** Response bytes that wait to be sent. */
  readonly waitingBytes: number;
  /** Open connections. */
  readonly connectionCount: number;
}

/** Headers in which proxies state the original caller. */
const forwardedHeaders = ['x-forwarded-for', 'forwarded'] as const;

/** Minimum time between two requests that are checked for {@link forwardedHeaders}, in milliseconds. */
const CHECK_FORWARDED_MS = 100;

class UwsServer<Principal> implements HttpServer, BodySink<Principal> {
  readonly #options: HttpServerOptions<Principal>;
  readonly #limits: HttpLimits;
  readonly #app: TemplatedApp;
  readonly #router: PathRouter<Principal>;
  readonly #writer: ReplyWriter<Principal>;
  readonly #inFlight: InFlight;
  readonly #shares: InFlightShares;
  readonly #gate: ConnectionGate;
  readonly #turns: HandlerTurns;
  readonly #exchangeContext: ExchangeContext<Principal>;
  readonly #bodyContext: BodyContext;
  readonly #jsonBounds: JsonBounds;
  readonly #unmatched: CompiledRoute<Principal>;
  readonly #slices: SliceScheduler;
  /** The same for `/management/*`, which has its own error shape. */
  readonly #unmatchedManagement: CompiledRoute<Principal>;
  #listenSockets: us_listen_socket[] = [];
  #isClosed = false;
  /** Requests that wait for their turn to begin. */
  #unbegun = 0;
  /** When the newest request arrived, on the clock's `monotonicMs`. */
  #askedMs = 0;
  /** When the next request is to be checked for forwarded headers, on the clock's `monotonicMs`. */
  #checkForwardedMs = Number.POSITIVE_INFINITY;

  constructor(options: HttpServerOptions<Principal>) {
    const { clock, log, random } = options;
    this.#options = options;
    this.#limits = limitsOf(options.limits);
    assert(this.#limits.pathBytesMax < requestHeadBytesMax, 'a path that is refused with 414 fits a head');
    this.#slices = options.slices ?? new SliceScheduler(clock);
    this.#turns = this.#slices.handlers;
    this.#router = new PathRouter(options.routes);
    this.#writer = new ReplyWriter({
      clock,
      slices: this.#slices,
      log,
      limits: this.#limits,
      variesByOrigin: options.cors !== undefined,
    });
    this.#inFlight = new InFlight(clock, this.#limits.sweepMs);
    this.#shares = new InFlightShares(this.#limits.inFlightMax);
    this.#bodyContext = {
      clock,
      limits: this.#limits,
      budget: new ByteBudget(this.#limits.bodyBytesTotalMax),
      turns: new ReceivingTurns(clock),
    };
    this.#jsonBounds = { depthMax: this.#limits.jsonDepthMax, valuesMax: this.#limits.jsonValuesMax };
    this.#unmatched = this.#compileUnmatched('standard');
    this.#unmatchedManagement = this.#compileUnmatched('management');
    const callbacks = new UwsCallbacks((error) => {
      log.error({ err: error }, 'connection closed: its request failed where no answer could be sent');
      options.onCallbackFault?.();
    });
    const idPrefix = Buffer.from(random.bytes(6)).toString('hex');
    let idCount = 0;
    this.#exchangeContext = {
      clock,
      limits: this.#limits,
      inFlight: this.#inFlight,
      shares: this.#shares,
      callbacks,
      trustForwardedHeaders: options.trustForwardedHeaders ?? false,
      nextRequestId: () => {
        idCount += 1;
        return `${idPrefix}-${idCount}`;
      },
      onOver: (exchange, status) => this.#observe(exchange, status),
      onTimeout: (exchange, error, isBodyLate) => this.#onTimeout(exchange, error, isBodyLate),
    };
    const isWatching = options.onUntrustedForwarded !== undefined && options.trustForwardedHeaders !== true;
    if (isWatching) this.#checkForwardedMs = Number.NEGATIVE_INFINITY;
    this.#gate = new ConnectionGate(options.connections ?? unboundedConnections, clock);
    const onConnection = (response: UwsResponse, change: number): void => {
      if (change < 0) this.#gate.closed();
      else if (!this.#gate.opened(new Uint8Array(response.getRemoteAddress()))) {
        if (this.#gate.isOpen) options.onConnectionRefused?.();
        response.close();
      }
    };
    this.#app = callbacks.register(
      App(),
      (response, request) => this.#onRequest(response, request),
      onConnection,
    );
  }

  #compileUnmatched(shape: ErrorShape): CompiledRoute<Principal> {
    return {
      route: unmatchedRoute(this.#router, this.#limits.pathBytesMax, shape),
      names: [],
      hasTail: false,
    };
  }

  #unmatchedFor(path: string): CompiledRoute<Principal> {
    return path.startsWith('/management/') ? this.#unmatchedManagement : this.#unmatched;
  }

  get inFlightCount(): number {
    return this.#inFlight.count;
  }

  get waitingBytes(): number {
    return this.#writer.waitingBytes;
  }

  get connectionCount(): number {
    return this.#gate.count;
  }

  listen(host: string, port: number, isOpen = true): Promise<{ readonly port: number }> {
    this.#gate.isOpen = isOpen;
    return new Promise((resolve, reject) => {
      const listenOn = this.#app.listen as unknown as ExclusiveListen;
      listenOn.call(this.#app, host, port, exclusivePort, (socket) => {
        if (socket === false) {
          void listenError(host, port).then(reject);
          return;
        }
        this.#listenSockets.push(socket);
        const bound = us_socket_local_port(socket as never);
        this.#gate.listensOn(bound);
        resolve({ port: bound });
      });
    });
  }

  open(): void {
    this.#gate.isOpen = true;
  }

  async drain(graceMs: number): Promise<void> {
    this.#writer.isDraining = true;
    this.#stopListening();
    const { clock } = this.#options;
    this.#askedMs = clock.monotonicMs();
    const untilMs = this.#askedMs + graceMs;
    await Promise.race([this.#quiet(untilMs), sleep(clock, graceMs)]);
  }

  /** Resolves when nothing is in flight and the connections are closed or quiet, at the latest at `untilMs`. */
  async #quiet(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      await this.#inFlight.idle();
      const nowMs = clock.monotonicMs();
      const isQuiet = this.#gate.count === 0 || nowMs - this.#askedMs >= this.#limits.drainQuietMs;
      if (isQuiet || nowMs >= untilMs) return;
      await sleep(clock, DRAIN_POLL_MS);
    }
  }

  #stopListening(): void {
    for (const socket of this.#listenSockets.splice(0)) us_listen_socket_close(socket);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listenSockets = [];
    this.#app.close();
  }

  #observe(exchange: HttpExchange<Principal>, status: number): void {
    const { observe, clock } = this.#options;
    if (observe === undefined) return;
    observe({
      operationId: exchange.route.operationId,
      method: exchange.method,
      status,
      durationMs: clock.monotonicMs() - exchange.startedMs,
      requestId: exchange.requestId,
    });
  }

  #onTimeout(exchange: HttpExchange<Principal>, error: ServiceError, isBodyLate: boolean): void {
    exchange.cancel(error);
    this.#writer.sendError(exchange, error, isBodyLate);
  }

  #onRequest(response: UwsResponse, request: UwsRequest): void {
    const method = request.getCaseSensitiveMethod();
    const path = request.getUrl();
    const match =
      path.length <= this.#limits.pathBytesMax
        ? this.#router.match(method === 'HEAD' ? 'GET' : method, path)
        : undefined;
    const exchange = new HttpExchange(
      this.#exchangeContext,
      response,
      request,
      method,
      path,
      match?.compiled ?? this.#unmatchedFor(path),
      match?.captures ?? [],
    );
    this.#askedMs = exchange.startedMs;
    try {
      this.#start(exchange);
    } catch (error) {
      this.#refuse(exchange, error);
    }
    // The library ends the process if a callback returns with a response that is neither finished nor detached.
    if (exchange.isOpen) exchange.detach();
  }

  /** Checks the head, applies CORS, authenticates, then reads the body if the route takes one. Throws refusals. */
  #start(exchange: HttpExchange<Principal>): void {
    const framing = exchange.framing();
    exchange.endsConnection = framing.isChunked || framing.fault !== undefined;
    if (framing.contentLength !== undefined) exchange.awaitedBytes = Number(framing.contentLength);
    if (exchange.startedMs >= this.#checkForwardedMs) this.#checkForForwarded(exchange);
    if (!this.#turns.mayBegin()) this.#proceed(exchange, framing, this.#untilTurn(exchange));
    else if (framing.isChunked && framing.fault === undefined && exchange.route.body === 'ignored') {
      exchange.detach();
      this.#later(exchange, () => this.#proceed(exchange, framing));
    } else this.#proceed(exchange, framing);
  }

  /**
   * Resolves in the turn in which the request may be examined, see {@link turnKeyOf}. Does not settle when the caller
   * has gone.
   *
   * The library closes the connection of a peer that pipelines its next request meanwhile.
   */
  #untilTurn(exchange: HttpExchange<Principal>): Promise<void> {
    exchange.detach();
    this.#unbegun += 1;
    return new Promise((resolve) => {
      const begin = (): void => {
        this.#unbegun -= 1;
        if (exchange.isOpen) resolve();
      };
      this.#turns.wait(turnKeyOf(exchange), () => true, begin);
    });
  }

  /**
   * The number of requests in flight besides the one that is examined. Requests that wait for their turn to begin do
   * not use up the room of others. A request that has waited does not count itself either.
   */
  #othersBegun({ inFlightAt }: HttpExchange<Principal>): number {
    return this.#inFlight.count - this.#unbegun - (inFlightAt === undefined ? 0 : 1);
  }

  /** Checks a request now and then rather than each one: behind a proxy every request has these headers. */
  #checkForForwarded(exchange: HttpExchange<Principal>): void {
    const isForwarded = forwardedHeaders.some((name) => exchange.header(name) !== undefined);
    this.#checkForwardedMs = isForwarded ? Number.POSITIVE_INFINITY : exchange.startedMs + CHECK_FORWARDED_MS;
    if (isForwarded) this.#options.onUntrustedForwarded?.(exchange.remoteAddress);
  }

  /** Continues outside the callback that delivered the request, see {@link HttpExchange.endsConnection}. */
  #later(exchange: HttpExchange<Principal>, next: () => void): void {
    const begin = (): void => {
      try {
        next();
      } catch (error) {
        this.#writer.sendError(exchange, error);
      }
    };
    this.#turns.wait(turnKeyOf(exchange), () => exchange.isOpen, begin);
  }

  #refuse(exchange: HttpExchange<Principal>, error: unknown): void {
    if (exchange.endsConnection) {
      exchange.detach();
      this.#later(exchange, () => this.#writer.sendError(exchange, error));
    } else this.#writer.sendError(exchange, error);
  }

  /** @param turn resolves before any examination starts */
  #proceed(exchange: HttpExchange<Principal>, framing: Framing, turn?: Promise<void>): void {
    const prelude =
      turn === undefined
        ? this.#examine(exchange, framing)
        : turn.then(() => this.#examine(exchange, framing));
    if (isBodyRead(exchange.route, framing)) this.#readBody(exchange, prelude, framing.contentLength);
    else if (prelude === undefined) this.#handle(exchange);
    else this.#handleAfter(exchange, prelude);
  }

  /** All checks before the body. Throws refusals. */
  #examine(exchange: HttpExchange<Principal>, { contentLength, fault }: Framing): Promise<void> | undefined {
    if (fault !== undefined) throw new ServiceError('VALIDATION_FAILED', fault);
    const { route } = exchange;
    if (this.#othersBegun(exchange) >= this.#limits.inFlightMax && !isPublic(route)) {
      throw new ServiceError('OVERLOADED', 'Too many requests are in flight; try again shortly.');
    }
    const policy = this.#options.cors;
    const cors = policy === undefined ? undefined : grantCors(exchange, policy, this.#router);
    if (takesBody(route)) checkBodyHead(exchange, contentLength, this.#limits.bodyBytesMax);
    return cors === undefined ? this.#identify(exchange) : cors.then(() => this.#identify(exchange));
  }

  /** Authenticates the caller and, before a body is read, checks that the addressed resource exists. */
  #identify(exchange: HttpExchange<Principal>): Promise<void> | undefined {
    const known = this.#authenticate(exchange);
    const { route } = exchange;
    if (route.admit === undefined) return known;
    if (known !== undefined) return known.then(() => route.admit?.(exchange));
    return route.admit(exchange) ?? undefined;
  }

  #authenticate(exchange: HttpExchange<Principal>): Promise<void> | undefined {
    const { auth } = exchange.route;
    if (auth === 'none') return undefined;
    const principal = this.#options.authenticate(exchange, auth);
    if (!(principal instanceof Promise)) {
      this.#admit(exchange, principal);
      return undefined;
    }
    return principal.then((settled) => this.#admit(exchange, settled));
  }

  /** @throws {ServiceError} `RATE_LIMITED` when the caller has used up their share of the requests in flight */
  #admit(exchange: HttpExchange<Principal>, principal: Principal): void {
    const holder = this.#options.shareOf?.(principal);
    if (holder !== undefined && this.#shares.isOver(holder, this.#othersBegun(exchange))) {
      throw new ServiceError(
        'RATE_LIMITED',
        'Too many requests of yours are in flight; wait for some of them.',
        {
          details: { retry_after_seconds: 1 },
        },
      );
    }
    exchange.setPrincipal(principal, holder);
  }

  /** The largest body that this caller may send. */
  #boundOf(exchange: HttpExchange<Principal>): BodyBound {
    const { isAnonymous } = this.#options;
    if (!takesBody(exchange.route)) return boundOfNothing;
    const ownMax = exchange.route.bodyBytesMax ?? this.#limits.bodyBytesMax;
    const { anonymousBodyBytesMax } = this.#limits;
    const isLow =
      isAnonymous !== undefined && (exchange.route.auth === 'none' || isAnonymous(exchange.principal));
    return isLow && anonymousBodyBytesMax < ownMax
      ? { bytesMax: anonymousBodyBytesMax, isAnonymous: true }
      : { bytesMax: ownMax, isAnonymous: false };
  }

  #readBody(
    exchange: HttpExchange<Principal>,
    prelude: Promise<void> | undefined,
    contentLength: string | undefined,
  ): void {
    if (exchange.route.body === 'stream') {
      exchange.detach();
      offerBodyStream(exchange, this.#bodyContext, exchange.route.bodyBytesMax ?? this.#limits.bodyBytesMax);
      if (prelude === undefined) this.#handle(exchange);
      else this.#handleAfter(exchange, prelude);
      return;
    }
    if (prelude === undefined) {
      const bound = this.#boundOf(exchange);
      checkAnnouncedLength(contentLength, bound);
      exchange.detach();
      collectBody(exchange, this.#bodyContext, bound, this);
      return;
    }
    exchange.detach();
    const body = collectBody(exchange, this.#bodyContext, undefined, this);
    // A refused caller gets the response at once, without waiting for the body.
    prelude
      .then(() => {
        const bound = this.#boundOf(exchange);
        checkAnnouncedLength(contentLength, bound);
        if (exchange.isOpen) body.admit(bound);
      })
      .catch((error: unknown) => {
        if (!exchange.isOpen) return;
        body.resume();
        this.#writer.sendError(exchange, error);
      });
  }

  /** Called when the whole body of an exchange has arrived. */
  onBody(exchange: HttpExchange<Principal>, pieces: readonly Buffer[]): void {
    exchange.setBodyPart(undefined);
    exchange.restartDeadline();
    if (exchange.endsConnection) {
      const kept = lengthOf(pieces) > SMALL_JSON_BYTES ? pieces : [Buffer.from(bytesOf(pieces))];
      this.#later(exchange, () => this.#takeBody(exchange, kept));
      return;
    }
    try {
      this.#takeBody(exchange, pieces);
    } catch (error) {
      this.#writer.sendError(exchange, error);
    }
  }

  /** Called when the body of an exchange is refused. */
  onBodyFailed(exchange: HttpExchange<Principal>, error: ServiceError): void {
    this.#refuse(exchange, error);
  }

  #takeBody(exchange: HttpExchange<Principal>, pieces: readonly Buffer[]): void {
    const { body } = exchange.route;
    if (body !== 'none' && body !== 'bytes' && lengthOf(pieces) > SMALL_JSON_BYTES) {
      void this.#takeLargeJson(exchange, pieces);
      return;
    }
    const bytes = bytesOf(pieces);
    if (body === 'none') requireNothing(bytes);
    else if (body === 'bytes') exchange.setBytes(Buffer.from(bytes));
    else if (body === 'json' || bytes.length > 0) {
      exchange.body = parseJsonBody(bytes, this.#jsonBounds, holdingValues(exchange, this.#bodyContext));
    }
    this.#handle(exchange);
  }

  /** Parses a large body in slices; never throws. */
  async #takeLargeJson(exchange: HttpExchange<Principal>, pieces: readonly Buffer[]): Promise<void> {
    const { clock } = this.#options;
    try {
      const work = exchangeWork(exchange, this.#slices);
      // Many bodies may end in this turn, and the first step takes milliseconds for each of them.
      await work.rest();
      const admit = holdingValues(exchange, this.#bodyContext);
      exchange.body = await runInSlices(work, parseJsonInSlices(pieces, this.#jsonBounds, admit));
      const prepared = this.#options.prepareLargeBody?.(exchange);
      if (prepared !== undefined) await runInSlices(work, prepared);
    } catch (error) {
      this.#writer.sendError(exchange, error);
      return;
    }
    // The synchronous part of the handler gets a turn of its own.
    await new Promise<void>((resolve) => clock.soon(resolve));
    this.#handle(exchange);
  }

  #handleAfter(exchange: HttpExchange<Principal>, prelude: Promise<void>): void {
    exchange.detach();
    prelude.then(
      () => this.#handle(exchange),
      (error: unknown) => this.#writer.sendError(exchange, error),
    );
  }

  /** Calls the handler in this turn, or in a later one if this turn is used up; never throws. */
  #handle(exchange: HttpExchange<Principal>): void {
    if (!exchange.isOpen) return;
    // A health probe has waited for other probes only, if at all.
    if (isPublic(exchange.route) || this.#turns.mayBegin()) {
      this.#callHandler(exchange);
      return;
    }
    exchange.detach();
    this.#turns.wait(
      exchange.sliceKey,
      () => exchange.isOpen,
      () => this.#callHandler(exchange),
    );
  }

  /** Calls the handler and sends its reply; never throws. */
  #callHandler(exchange: HttpExchange<Principal>): void {
    let reply: HttpReply | Promise<HttpReply>;
    try {
      reply = exchange.route.handler(exchange);
    } catch (error) {
      this.#writer.sendError(exchange, error);
      return;
    }
    if (!(reply instanceof Promise)) {
      this.#writer.send(exchange, reply);
      return;
    }
    exchange.isHandling = true;
    exchange.detach();
    reply.then(
      (settled) => {
        exchange.isHandling = false;
        this.#writer.send(exchange, settled);
        exchange.settle();
      },
      (error: unknown) => {
        exchange.isHandling = false;
        this.#writer.sendError(exchange, error);
        exchange.settle();
      },
    );
  }
}

/**
 * The key under which a request waits for a turn before its caller is authenticated: each address has its own turns.
 * Health probes wait only for other probes.
 */
function turnKeyOf<Principal>({ remoteAddress, route }: HttpExchange<Principal>): string {
  return `${isPublic(route) ? 'public' : 'unknown'} ${remoteAddress}`;
}

/** Whether a route is public and cheap, such as `/health`. */
function isPublic<Principal>(route: Route<Principal>): boolean {
  return route.auth === 'none' && !takesBody(route);
}

/** Whether the body is read: the route takes one, or the body must be checked for being empty. */
function isBodyRead<Principal>(route: Route<Principal>, { contentLength, isChunked }: Framing): boolean {
  if (takesBody(route)) return true;
  const hasBody = isChunked || (contentLength !== undefined && Number(contentLength) > 0);
  return hasBody && route.body === 'none';
}

/**
 * Creates an HTTP server over uWebSockets.js. A handler that returns its reply synchronously is answered in the turn
 * of the event loop that delivered the request; everything else is bounded by the limits.
 *
 * @see `uws-environment.ts` for responses that the library sends before any route is called
 */
export function createHttpServer<Principal>(options: HttpServerOptions<Principal>): HttpServer {
  return new UwsServer(options);
}
