import { Buffer } from 'node:buffer';
import { requestHeadBytesMax } from './uws-environment.ts';
// The order matters: the library reads its settings while it loads.
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
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { HandlerTurns } from '#runtime/base/handler-turns.ts';
import type { JsonBounds } from '#runtime/base/json-work.ts';
import { runInSlices } from '#runtime/base/run-in-slices.ts';
import type { Random } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { checkBodyHead, takesBody } from './body-head.ts';
import { ByteBudget } from './byte-budget.ts';
import { ConnectionGate, type ConnectionLimits } from './connection-gate.ts';
import { type CorsPolicy, corsGrantOf } from './cors.ts';
import { type ExchangeContext, HttpExchange } from './exchange.ts';
import type { Framing } from './framing.ts';
import { type HttpLimits, limitsOf } from './http-limits.ts';
import type { HttpLog } from './http-log.ts';
import { InFlight } from './in-flight.ts';
import { InFlightShares, type ShareHolder } from './in-flight-shares.ts';
import { parseJsonBody, parseJsonInSlices, SMALL_JSON_BYTES } from './json-body.ts';
import { listenError } from './listen-error.ts';
import { type CompiledRoute, PathRouter } from './path-router.ts';
import { ReplyWriter } from './reply-writer.ts';
import {
  type BodyBound,
  type BodyContext,
  type BodySink,
  boundOfNothing,
  checkAnnouncedLength,
  collectBody,
  holdingValues,
  offerBodyStream,
  requireNothing,
} from './request-body.ts';
import type { ErrorShape, HttpReply, HttpRequest, Route } from './route.ts';
import { unmatchedRoute } from './unmatched-route.ts';
import { UwsCallbacks } from './uws-callbacks.ts';

/**
 * The library shares a port between processes unless told not to, and then two members would each get half of
 * the connections. Its types know the option only without a host, and name a constant it does not export.
 */
const exclusivePort = 1;

/** Time between two looks whether connections are gone, milliseconds. */
const DRAIN_POLL_MS = 20;

const unboundedConnections: ConnectionLimits = { connectionsMax: Number.POSITIVE_INFINITY };

type ExclusiveListen = (
  host: string,
  port: number,
  options: typeof exclusivePort,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/** What is told of each request when it is over. */
export interface HttpObservation {
  /** The route's operation; `unmatched` where none did. */
  readonly operationId: string;
  readonly method: string;
  /** The status sent, 499 when the peer went away first. */
  readonly status: number;
  readonly durationMs: number;
  readonly requestId: string;
}

/** What an HTTP server is made of. */
export interface HttpServerOptions<Principal> {
  readonly routes: readonly Route<Principal>[];
  /**
   * Says who calls, once the head has been read and before the body has; not asked for routes with auth
   * `none`. With need `required` it must throw `UNAUTHORIZED` itself when there is no valid credential.
   */
  readonly authenticate: (
    request: HttpRequest<Principal>,
    need: 'required' | 'optional',
  ) => Principal | Promise<Principal>;
  /** Whether a principal is somebody who has not logged in, and may send small bodies only. Default: nobody is. */
  readonly isAnonymous?: (principal: Principal) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: HttpLog;
  /** Divides the event loop between what is long; default: one of the server's own. */
  readonly slices?: SliceScheduler;
  /** What is to be done with a large body before its handler is called; yields where it may rest. */
  readonly prepareLargeBody?: (request: HttpRequest<Principal>) => Generator<undefined, void>;
  /** Told once of each request that is over; must not throw. */
  readonly observe?: (observation: HttpObservation) => void;
  /** Without one no answer has CORS headers. */
  readonly cors?: CorsPolicy;
  readonly limits?: Partial<HttpLimits>;
  /** Whom the requests of a caller count for; without it nobody has a share of the requests in flight. */
  readonly shareOf?: (principal: Principal) => ShareHolder;
  /** Default: no bounds. */
  readonly connections?: ConnectionLimits;
  /** Told of a connection that was closed because there were too many; must not throw. */
  readonly onConnectionRefused?: () => void;
  /** Told of a connection that was closed because its request failed where nobody could answer it; must not throw. */
  readonly onCallbackFault?: () => void;
  /** Whether the last entry of `X-Forwarded-For` is the caller's address; only behind a proxy of one's own. */
  readonly trustForwardedHeaders?: boolean;
  /**
   * Told, once, that requests carry forwarded headers although they are not trusted: a proxy, or somebody who pretends to
   * be one. Must not throw.
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
   * @param isOpen false: the address is taken, and connections are closed at once until {@link HttpServer.open}
   * @returns the port
   * @throws {ListenError} as a promise
   */
  listen(host: string, port: number, isOpen?: boolean): Promise<{ readonly port: number }>;
  /** Keeps connections from now on. */
  open(): void;
  /**
   * Stops accepting connections, and ends those that ask once more with their answer. Resolves when nothing
   * is in flight and the connections are gone or have been quiet for a while, or `graceMs` have passed; `close`
   * follows.
   */
  drain(graceMs: number): Promise<void>;
  /** Closes every connection; what is in flight is cancelled. */
  close(): void;
  /** Requests whose answer is not over. */
  readonly inFlightCount: number;
  /** Bytes of answers that wait for their peers. */
  readonly waitingBytes: number;
  /** Connections that are open. */
  readonly connectionCount: number;
}

/** What proxies say for whom they ask with. */
const forwardedHeaders = ['x-forwarded-for', 'forwarded'] as const;

/** Least time between two requests that are looked at for {@link forwardedHeaders}, in milliseconds. */
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
  /** The same for `/management/*`, which answers errors in its own shape. */
  readonly #unmatchedManagement: CompiledRoute<Principal>;
  #listenSockets: us_listen_socket[] = [];
  #isClosed = false;
  /** Requests that wait for a turn to begin in. */
  #unbegun = 0;
  /** When the newest request came, on the clock's `monotonicMs`. */
  #askedMs = 0;
  /** From when on the next request is looked at for forwarded headers, on the clock's `monotonicMs`. */
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

  /** Nothing is in flight, and nobody is about to ask over a connection that is kept. */
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
    // The library ends the process if a turn leaves a response that is neither answered nor detached.
    if (exchange.isOpen) exchange.detach();
  }

  /** Head checks, CORS, authentication, then the body if the route takes one. Throws what it refuses. */
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
   * Resolves in the turn in which a request may be looked at, see {@link turnKeyOf}. Never settles for a request that
   * nobody waits for any more.
   *
   * A peer that sends its next request on the same connection meanwhile is cut off by the library.
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
   * Requests in flight beside one that is examined. Those that wait for a turn to begin in do not use up the room of
   * others; neither does it count itself when it has waited.
   */
  #othersBegun({ inFlightAt }: HttpExchange<Principal>): number {
    return this.#inFlight.count - this.#unbegun - (inFlightAt === undefined ? 0 : 1);
  }

  /** Looks at a request now and then rather than at each: behind a proxy every one has them. */
  #checkForForwarded(exchange: HttpExchange<Principal>): void {
    const isForwarded = forwardedHeaders.some((name) => exchange.header(name) !== undefined);
    this.#checkForwardedMs = isForwarded ? Number.POSITIVE_INFINITY : exchange.startedMs + CHECK_FORWARDED_MS;
    if (isForwarded) this.#options.onUntrustedForwarded?.(exchange.remoteAddress);
  }

  /** Goes on outside the callback that brought it, see {@link HttpExchange.endsConnection}. */
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

  /** @param turn what it waits for before anything is looked at */
  #proceed(exchange: HttpExchange<Principal>, framing: Framing, turn?: Promise<void>): void {
    const prelude =
      turn === undefined
        ? this.#examine(exchange, framing)
        : turn.then(() => this.#examine(exchange, framing));
    if (isBodyRead(exchange.route, framing)) this.#readBody(exchange, prelude, framing.contentLength);
    else if (prelude === undefined) this.#handle(exchange);
    else this.#handleAfter(exchange, prelude);
  }

  /** Everything that is looked at before the body. Throws what it refuses. */
  #examine(exchange: HttpExchange<Principal>, { contentLength, fault }: Framing): Promise<void> | undefined {
    if (fault !== undefined) throw new ServiceError('VALIDATION_FAILED', fault);
    const { route } = exchange;
    if (this.#othersBegun(exchange) >= this.#limits.inFlightMax && !isPublic(route)) {
      throw new ServiceError('OVERLOADED', 'Too many requests are in flight; try again shortly.');
    }
    const cors = this.#grantCors(exchange);
    if (takesBody(route)) checkBodyHead(exchange, contentLength, this.#limits.bodyBytesMax);
    return cors === undefined ? this.#identify(exchange) : cors.then(() => this.#identify(exchange));
  }

  /** Who it is and, before a body is read, whether what the address names is there. */
  #identify(exchange: HttpExchange<Principal>): Promise<void> | undefined {
    const known = this.#authenticate(exchange);
    const { route } = exchange;
    if (route.admit === undefined) return known;
    if (known !== undefined) return known.then(() => route.admit?.(exchange));
    return route.admit(exchange) ?? undefined;
  }

  #grantCors(exchange: HttpExchange<Principal>): Promise<void> | undefined {
    const { cors } = this.#options;
    if (cors === undefined) return undefined;
    const origin = exchange.header('origin');
    if (origin === undefined) return undefined;
    const allowed = cors(origin, exchange.path);
    if (!(allowed instanceof Promise)) {
      exchange.corsGrant = corsGrantOf(origin, allowed);
      return undefined;
    }
    return allowed.then((origins) => {
      exchange.corsGrant = corsGrantOf(origin, origins);
    });
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

  /** @throws {ServiceError} `RATE_LIMITED` when whoever asks has their share of the requests in flight */
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

  /** The bound of a body that may be read on behalf of whoever sends it. */
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
    // A refused caller is answered at once, without waiting for the body.
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

  /** The whole body of an exchange has arrived. */
  onBody(exchange: HttpExchange<Principal>, bytes: Buffer): void {
    exchange.setBodyPart(undefined);
    exchange.restartDeadline();
    if (exchange.endsConnection) {
      const whole = Buffer.from(bytes);
      this.#later(exchange, () => this.#takeBody(exchange, whole));
      return;
    }
    try {
      this.#takeBody(exchange, bytes);
    } catch (error) {
      this.#writer.sendError(exchange, error);
    }
  }

  /** The body of an exchange is refused. */
  onBodyFailed(exchange: HttpExchange<Principal>, error: ServiceError): void {
    this.#refuse(exchange, error);
  }

  #takeBody(exchange: HttpExchange<Principal>, bytes: Buffer): void {
    const { body } = exchange.route;
    if (body === 'none') requireNothing(bytes);
    else if (body === 'bytes') exchange.setBytes(Buffer.from(bytes));
    else if (bytes.length > SMALL_JSON_BYTES) {
      void this.#takeLargeJson(exchange, bytes);
      return;
    } else if (body === 'json' || bytes.length > 0) {
      exchange.body = parseJsonBody(bytes, this.#jsonBounds, holdingValues(exchange, this.#bodyContext));
    }
    this.#handle(exchange);
  }

  /** Parses a large body in slices; never throws. */
  async #takeLargeJson(exchange: HttpExchange<Principal>, bytes: Buffer): Promise<void> {
    const { clock } = this.#options;
    // To put the body together took its share of this turn.
    await new Promise<void>((resolve) => clock.soon(resolve));
    try {
      const work = this.#slices.begin('read', {
        sliceKey: exchange.sliceKey,
        requireWaiting: () => {
          if (!exchange.isOpen) throw new ServiceError('REQUEST_CANCELLED');
        },
      });
      const admit = holdingValues(exchange, this.#bodyContext);
      exchange.body = await runInSlices(work, parseJsonInSlices(bytes, this.#jsonBounds, admit));
      const prepared = this.#options.prepareLargeBody?.(exchange);
      if (prepared !== undefined) await runInSlices(work, prepared);
    } catch (error) {
      this.#writer.sendError(exchange, error);
      return;
    }
    // What the handler does in one go has a turn of its own.
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

  /** Calls the handler in this turn, or in a later one where this is used up; never throws. */
  #handle(exchange: HttpExchange<Principal>): void {
    if (!exchange.isOpen) return;
    // Whoever asks whether the server is up has waited for others who do, if at all.
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

  /** Calls the handler and answers; never throws. */
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
 * Under what a request waits for a turn while nobody knows who sends it: each address has its turns. Whoever asks
 * whether the server is up waits only for others who do.
 */
function turnKeyOf<Principal>({ remoteAddress, route }: HttpExchange<Principal>): string {
  return `${isPublic(route) ? 'public' : 'unknown'} ${remoteAddress}`;
}

/** Whether a route is for everybody and takes little, such as `/health`. */
function isPublic<Principal>(route: Route<Principal>): boolean {
  return route.auth === 'none' && !takesBody(route);
}

/** Whether a body is read: one that the route takes, or one of which is to be seen whether it says anything. */
function isBodyRead<Principal>(route: Route<Principal>, { contentLength, isChunked }: Framing): boolean {
  if (takesBody(route)) return true;
  const hasBody = isChunked || (contentLength !== undefined && Number(contentLength) > 0);
  return hasBody && route.body === 'none';
}

/**
 * Makes an HTTP server over uWebSockets.js. A handler that returns its reply is answered in the turn of the
 * event loop that brought the request; everything else is bounded by the limits.
 *
 * @see `uws-environment.ts` for what the library answers before any route is asked
 */
export function createHttpServer<Principal>(options: HttpServerOptions<Principal>): HttpServer {
  return new UwsServer(options);
}
