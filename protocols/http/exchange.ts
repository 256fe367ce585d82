import type { HttpRequest as UwsRequest, HttpResponse as UwsResponse } from 'uWebSockets.js';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ByteBudget } from '#runtime/budget/byte-budget.ts';
import type { CorsGrant } from './replies/cors.ts';
import type { InFlightShares, ShareHolder } from './in-flight-shares.ts';
import { type Framing, framingOf } from './replies/framing.ts';
import type { HttpLimits } from './http-limits.ts';
import type { InFlight, Sweepable } from './in-flight.ts';
import type { CompiledRoute } from './path-router.ts';
import { forwardedAddress } from './requests/forwarded.ts';
import { decodeSegment } from './requests/percent-decode.ts';
import { parseQuery } from './requests/query-parameters.ts';
import type { HttpRequest, QueryParameters, Route } from './route.ts';
import type { UwsCallbacks } from './uws-callbacks.ts';

/** State shared by the exchanges of one server. */
export interface ExchangeContext<Principal> {
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly inFlight: InFlight;
  readonly shares: InFlightShares;
  readonly callbacks: UwsCallbacks;
  readonly trustForwardedHeaders: boolean;
  /** Generates a request id. */
  nextRequestId(): string;
  /** Called once per exchange, when it is over. */
  onOver(exchange: HttpExchange<Principal>, status: number): void;
  /** Responds to an exchange that has timed out; `isBodyLate` also closes the connection. */
  onTimeout(exchange: HttpExchange<Principal>, error: ServiceError, isBodyLate: boolean): void;
}

/** Request ids accepted from clients. */
const requestIdPattern = /^[\w.:/+=-]{1,128}$/;

/** The status under which an aborted request is observed. */
const abortedStatus = 499;

const utf8 = new TextDecoder();

let copied: string[] = [];
const copyOne = (name: string, value: string): void => void copied.push(name, value);

/** The headers of a request, names and values alternating; one shared callback saves a closure per request. */
function copyHeaders(request: UwsRequest): readonly string[] {
  copied = [];
  request.forEach(copyOne);
  return copied;
}

/** The part of an exchange that is notified of disconnects and elapsed time: a body reader or a reply writer. */
export interface ExchangePart {
  /** The exchange ends early: the peer disconnected (the response may no longer be used) or a timeout expired. */
  cancel(reason: ServiceError): void;
  /** @returns the error that ends the exchange, or `undefined` to go on */
  sweep(nowMs: number): ServiceError | undefined;
}

/** A body that is still being read. */
export interface BodyPart extends ExchangePart {
  /** Drops the bytes read so far and discards the rest, so that the connection can be reused. */
  release(): void;
}

/** Bytes of a body that may be outstanding when the response is sent: so few arrive at once or never. */
const AWAITED_BYTES_MAX = 64 * 1024;

/**
 * One request and its response, as handlers (through `HttpRequest`) and the adapter see it.
 *
 * Invariants:
 * 1. uWebSockets.js's request may be read only within the turn that delivered it. So `detach` copies all that may be
 *    needed later, and must be called before that turn ends unless the response has been written.
 * 2. uWebSockets.js's response may be used only while `isOpen`. The abort event, and every way in which the response
 *    ends, clears it.
 * 3. A detached exchange is in flight until its response is over **and** its handler has settled, so that work whose
 *    caller has gone still counts against the bound.
 */
export class HttpExchange<Principal> implements HttpRequest<Principal>, Sweepable {
  readonly response: UwsResponse;
  readonly method: string;
  readonly path: string;
  readonly startedMs: number;
  readonly compiled: CompiledRoute<Principal>;
  deadlineMs: number;
  corsGrant: CorsGrant = 'none';
  isOpen = true;
  isDetached = false;
  /**
   * Whether the connection ends with the response because the end of the request is uncertain: the library parses the
   * trailers after the last chunk of a body as another request. It closes a connection that receives a request while
   * a response is outstanding, so such an exchange is never finished in a turn that delivered bytes of it.
   */
  endsConnection = false;
  /** Bytes that `Content-Length` announced and that have not arrived. */
  awaitedBytes = 0;
  inFlightAt: number | undefined = undefined;
  /** Whether the handler has been called and has not settled. */
  isHandling = false;
  /** Whether the first byte of the response has been handed to the library. */
  hasBegun = false;
  /** The status sent; 499 when the peer disconnected first; 0 before either. */
  status = 0;
  body: unknown = undefined;
  readonly #context: ExchangeContext<Principal>;
  readonly #captures: readonly string[];
  #uwsRequest: UwsRequest | undefined;
  #headers: readonly string[] | undefined;
  #queryString: string | undefined;
  #query: QueryParameters | undefined;
  #requestId: string | undefined;
  #principal: Principal | undefined;
  #hasPrincipal = false;
  #holder: ShareHolder | undefined;
  #isShared = false;
  #bytes: Uint8Array | undefined;
  #openStream: (() => AsyncIterable<Uint8Array>) | undefined;
  #controller: AbortController | undefined;
  #abortReason: ServiceError | undefined;
  #bodyPart: BodyPart | undefined;
  #replyPart: ExchangePart | undefined;
  #heldBytes = 0;
  #heldOf: ByteBudget | undefined;

  constructor(
    context: ExchangeContext<Principal>,
    response: UwsResponse,
    request: UwsRequest,
    method: string,
    path: string,
    compiled: CompiledRoute<Principal>,
    captures: readonly string[],
  ) {
    this.#context = context;
    this.response = response;
    this.#uwsRequest = request;
    this.method = method;
    this.path = path;
    this.compiled = compiled;
    this.#captures = captures;
    this.startedMs = context.clock.monotonicMs();
    this.deadlineMs = this.startedMs + (compiled.route.requestMsMax ?? context.limits.requestMsMax);
  }

  get route(): Route<Principal> {
    return this.compiled.route;
  }

  get queryString(): string {
    this.#queryString ??= this.#uwsRequest?.getQuery() ?? '';
    return this.#queryString;
  }

  get query(): QueryParameters {
    this.#query ??= parseQuery(this.queryString);
    return this.#query;
  }

  /** The raw text of each named part of the route's pattern. */
  get captures(): readonly string[] {
    return this.#captures;
  }

  param(name: string): string {
    const raw = this.#captures[this.compiled.names.indexOf(name)];
    assert(raw !== undefined, 'the route pattern has the parameter that is asked for');
    return raw;
  }

  segment(name: string, options?: { readonly allowSlash?: boolean }): string {
    return decodeSegment(this.param(name), options);
  }

  header(name: string): string | undefined {
    const headers = this.#headers;
    let value: string | undefined;
    if (headers === undefined) value = this.#uwsRequest?.getHeader(name);
    else {
      // One pass over copied headers costs less than a call into the library for each lookup.
      for (let index = 0; index < headers.length && value === undefined; index += 2) {
        if (headers[index] === name) value = headers[index + 1];
      }
    }
    return value === '' ? undefined : value;
  }

  headerList(name: string): string | undefined {
    const headers = this.#copiedHeaders();
    let list: string | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      if (headers[index] !== name) continue;
      const value = headers[index + 1] as string;
      list = list === undefined ? value : `${list}, ${value}`;
    }
    return list;
  }

  #copiedHeaders(): readonly string[] {
    return this.#headers ?? (this.#uwsRequest === undefined ? [] : copyHeaders(this.#uwsRequest));
  }

  get bytes(): Uint8Array {
    assert(this.#bytes !== undefined, "only a route with body 'bytes' has bytes");
    return this.#bytes;
  }

  stream(): AsyncIterable<Uint8Array> {
    const open = this.#openStream;
    assert(open !== undefined, "only a route with body 'stream' has a stream, and it is taken once");
    this.#openStream = undefined;
    return open();
  }

  get principal(): Principal {
    assert(this.#hasPrincipal, "a route with auth 'none' has no principal");
    return this.#principal as Principal;
  }

  get requestId(): string {
    if (this.#requestId === undefined) {
      const asked = this.header('x-request-id');
      this.#requestId =
        asked !== undefined && requestIdPattern.test(asked) ? asked : this.#context.nextRequestId();
    }
    return this.#requestId;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get remoteAddress(): string {
    if (this.#context.trustForwardedHeaders) {
      const stated = forwardedAddress(this);
      if (stated !== undefined) return stated;
    }
    return this.isOpen ? utf8.decode(this.response.getRemoteAddressAsText()) : '';
  }

  /** @param holder whose share the request counts against while it is in flight */
  setPrincipal(principal: Principal, holder?: ShareHolder): void {
    this.#principal = principal;
    this.#hasPrincipal = true;
    this.#holder = holder;
    this.#enterShare();
  }

  /** The owner of this request's long-running work, see `SliceOwner`. */
  get sliceKey(): string {
    return this.#holder?.principal ?? '';
  }

  #enterShare(): void {
    if (this.#holder === undefined || this.inFlightAt === undefined || this.#isShared) return;
    this.#isShared = true;
    this.#context.shares.add(this.#holder);
  }

  #leaveFlight(): void {
    this.#context.inFlight.remove(this);
    if (!this.#isShared) return;
    this.#isShared = false;
    this.#context.shares.remove(this.#holder as ShareHolder);
  }

  setBytes(bytes: Uint8Array): void {
    this.#bytes = bytes;
  }

  /** Provides the body of a `stream` route. */
  setStream(open: () => AsyncIterable<Uint8Array>): void {
    this.#openStream = open;
  }

  setBodyPart(part: BodyPart | undefined): void {
    this.#bodyPart = part;
  }

  /** Releases the rest of the body: the response is about to be written. */
  releaseBody(): void {
    this.#bodyPart?.release();
    this.#bodyPart = undefined;
  }

  /**
   * Counts bytes of the body against a budget until the exchange is over and its handler has settled: the body, or
   * values parsed from it, stay in memory that long.
   *
   * @returns whether there was room; false as well once the exchange is over, because nobody would return the bytes
   */
  holdBytes(budget: ByteBudget, bytes: number): boolean {
    assert(this.#heldOf === undefined || this.#heldOf === budget, 'a body is counted against one budget');
    if (!this.isOpen && !this.isHandling) return false;
    if (!budget.take(bytes)) return false;
    this.#heldOf = budget;
    this.#heldBytes += bytes;
    return true;
  }

  /** Bytes of the body that count against its budget. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Returns the bytes to the budget: the body is no longer in memory. Idempotent. */
  giveBytesBack(): void {
    this.#heldOf?.give(this.#heldBytes);
    this.#heldBytes = 0;
  }

  setReplyPart(part: ExchangePart | undefined): void {
    this.#replyPart = part;
  }

  /** Restarts the time until the response must begin: the body has arrived. */
  restartDeadline(): void {
    const { clock, limits } = this.#context;
    this.deadlineMs = clock.monotonicMs() + (this.route.requestMsMax ?? limits.requestMsMax);
  }

  /**
   * Lets the exchange outlive its turn: copies the head, listens for disconnects, counts the request as in flight.
   * Idempotent.
   */
  detach(): void {
    if (this.isDetached) return;
    this.isDetached = true;
    const request = this.#uwsRequest;
    assert(request !== undefined, 'an exchange is detached in the turn that brought it');
    void this.queryString;
    this.#headers ??= copyHeaders(request);
    this.#uwsRequest = undefined;
    this.#context.callbacks.onAborted(this.response, () => this.#onAborted());
    this.#context.inFlight.add(this);
    this.#enterShare();
  }

  /** Registers a callback for the chunks of the body; each chunk is valid only during the call. */
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#context.callbacks.onData(this.response, (chunk, isLast) => {
      this.awaitedBytes -= chunk.byteLength;
      take(chunk, isLast);
    });
  }

  /**
   * Whether a response sent now asks the peer not to reuse the connection. The library closes it some ten seconds
   * after a response, even while the rest of the body arrives. A client that has sent the whole body by then would
   * assume that it can reuse the connection.
   */
  get leavesBody(): boolean {
    return this.awaitedBytes > AWAITED_BYTES_MAX;
  }

  /** Registers a callback for when the peer can take more. @param goOn returns whether the peer took everything */
  onWritable(goOn: (offset: number) => boolean): void {
    this.#context.callbacks.onWritable(this.response, goOn);
  }

  /**
   * Stops reading from a connection that ends with the response. Call it before the last part of the response is
   * written. The library closes the connection when its peer has not done so within some ten seconds.
   */
  stopReading(): void {
    if (this.endsConnection) this.response.pause();
  }

  /** How the head delimits the request; call it in the turn that delivered the request. */
  framing(): Framing {
    assert(this.#uwsRequest !== undefined, 'the head is checked in the turn that brought it');
    // Later header lookups use the copy, which costs less than calls into the library.
    this.#headers ??= copyHeaders(this.#uwsRequest);
    return framingOf(this.#headers);
  }

  #onAborted(): void {
    this.isOpen = false;
    // Set after an earlier reason: the response to a request that took too long.
    const late = this.#abortReason === undefined ? undefined : this.#replyPart;
    const reason = new ServiceError('REQUEST_CANCELLED');
    this.cancel(reason);
    late?.cancel(reason);
    this.#end(abortedStatus);
  }

  /** Stops the handler, the body and the reply; the first reason counts. */
  cancel(reason: ServiceError): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.#bodyPart?.cancel(reason);
    this.#replyPart?.cancel(reason);
  }

  /** Called when the handler has settled. */
  settle(): void {
    this.isHandling = false;
    if (!this.isOpen) this.#leave();
  }

  /** Called when the whole response has been handed to the library: the response may no longer be used. */
  finish(status: number): void {
    this.isOpen = false;
    this.#end(status);
  }

  #end(status: number): void {
    if (this.status !== 0) return;
    this.status = status;
    this.#bodyPart = undefined;
    this.#replyPart = undefined;
    if (!this.isHandling) this.#leave();
    this.#context.onOver(this, status);
    this.#uwsRequest = undefined;
  }

  #leave(): void {
    this.giveBytesBack();
    this.#leaveFlight();
  }

  sweep(nowMs: number): void {
    if (!this.isOpen) return;
    const late = this.#bodyPart?.sweep(nowMs);
    if (late !== undefined && !this.hasBegun) {
      this.#context.onTimeout(this, late, true);
      return;
    }
    const stalled = this.#replyPart?.sweep(nowMs);
    if (stalled !== undefined) {
      this.response.close();
      return;
    }
    if (this.#bodyPart === undefined && !this.hasBegun && nowMs > this.deadlineMs) {
      this.#context.onTimeout(this, new ServiceError('DEADLINE_EXCEEDED'), false);
    }
  }
}
