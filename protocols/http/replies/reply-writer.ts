import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { encodedText, joinedPieces } from './byte-pieces.ts';
import { type CompressionPlan, Compressor, planCompression } from './compression.ts';
import { corsHeaders } from './cors.ts';
import { errorReply, isOurFault, serviceErrorOf } from './errors.ts';
import type { HttpExchange } from '../exchange.ts';
import { exchangeWork } from '../exchange-work.ts';
import type { HttpLimits } from '../http-limits.ts';
import type { HttpLog } from '../http-log.ts';
import { checkReplyHeaders, FixedHeaders, replyHeader, statusLine, writeReplyHeaders } from './reply-head.ts';
import { type PendingContext, sendRest } from './pending-reply.ts';
import { ReplyRoom } from './reply-room.ts';
import { sendStream, type StreamContext } from './reply-stream.ts';
import type { HttpReply } from '../route.ts';

/**
 * Longest body that the library may buffer where the connection ends with the response. A longer one is given to it as
 * the peer reads, so that the response counts as in flight (and a drain waits for it) until its last byte has been sent.
 */
const bufferedBytesMax = 64 * 1024;

/** Dependencies of the writer. */
export interface ReplyWriterOptions {
  readonly clock: Clock;
  /** Divides event loop time between long operations. */
  readonly slices: SliceScheduler;
  readonly limits: HttpLimits;
  readonly log: HttpLog;
  /** Whether there is a CORS policy, so that responses vary by origin. */
  readonly variesByOrigin: boolean;
}

/**
 * Maximum number of bodiless responses written in one turn of the event loop. The library buffers the unsent part of
 * such a response and reports nothing. Further ones are written in the next turn. While a response is outstanding,
 * the library closes a connection that receives another request, so a peer that sends thousands of requests without
 * reading is disconnected.
 */
const WITHOUT_BODY_MAX = 64;

/** Approximate length in characters above which a response is serialized and encoded in slices. */
const longTextCharacters = 1024 * 1024;

/** Closes a stream that will not be read, so that its producer frees its resources. */
async function closeUnstarted(stream: AsyncIterable<unknown>): Promise<void> {
  await stream[Symbol.asyncIterator]().return?.();
}

/** The error for a read whose finished response finds no room. */
function tooManyWait(): ServiceError {
  return new ServiceError('OVERLOADED', 'Too many answers wait for peers that read slowly; try again.');
}

/**
 * Whether a request only reads. A completed write is never refused for want of room, because its sender would repeat
 * it. Its response waits for room instead.
 */
function isRead<Principal>({ method, route }: HttpExchange<Principal>): boolean {
  return method === 'GET' || method === 'HEAD' || route.isRead === true;
}

/** Whether a reply has an entity tag. Handlers use the standard spelling of the header. */
function isTagged(headers: HttpReply['headers']): boolean {
  return headers !== undefined && (headers.ETag !== undefined || replyHeader(headers, 'etag') !== undefined);
}

/** Writes replies and errors; the only place that knows the wire form of a response. */
export class ReplyWriter<Principal> {
  /** While set, every response closes its connection. */
  isDraining = false;
  readonly #clock: Clock;
  readonly #slices: SliceScheduler;
  readonly #limits: HttpLimits;
  readonly #log: HttpLog;
  readonly #compressor: Compressor;
  readonly #fixedHeaders: FixedHeaders;
  /** For responses to an authenticated caller: shared caches must not serve them to others. */
  readonly #personalHeaders: FixedHeaders;
  /** For responses with an `ETag`: the caller may cache them and must revalidate. */
  readonly #revalidatedHeaders: FixedHeaders;
  readonly #room: ReplyRoom;
  readonly #pending: PendingContext;
  /** Bodiless responses written in this turn. */
  #withoutBody = 0;

  constructor(options: ReplyWriterOptions) {
    this.#clock = options.clock;
    this.#slices = options.slices;
    this.#limits = options.limits;
    this.#log = options.log;
    this.#compressor = new Compressor(options.limits.compressionsMax);
    this.#fixedHeaders = new FixedHeaders(options.variesByOrigin);
    this.#personalHeaders = new FixedHeaders(options.variesByOrigin, 'no-store');
    this.#revalidatedHeaders = new FixedHeaders(options.variesByOrigin, 'private, no-cache');
    const { replyBytesTotalMax, writeStallMsMax } = options.limits;
    this.#room = new ReplyRoom(replyBytesTotalMax);
    this.#pending = { clock: options.clock, room: this.#room, writeStallMsMax };
  }

  /** Bytes of responses in memory. */
  get waitingBytes(): number {
    return this.#room.used;
  }

  /**
   * Sends the response of an exchange; never throws. If the exchange is over already, the reply is dropped and its
   * stream closed. A reply that cannot be written (not JSON, a line break in a header) becomes an internal error.
   */
  send(exchange: HttpExchange<Principal>, reply: HttpReply): void {
    try {
      this.#send(exchange, reply, false);
    } catch (error) {
      this.#drop(exchange, reply);
      this.sendError(exchange, error);
    }
  }

  /**
   * Sends an error in the route's error shape; logs it if it is a fault of the server. Never throws.
   *
   * @param closesConnection whether the connection cannot be reused because its body was not read to the end
   */
  sendError(exchange: HttpExchange<Principal>, thrown: unknown, closesConnection = false): void {
    const error = serviceErrorOf(thrown);
    if (isOurFault(error.code)) this.#logFault(exchange, 'request failed', error.cause ?? error);
    const shape = exchange.route.errorShape ?? 'standard';
    try {
      this.#send(exchange, errorReply(error, shape, this.#clock.wallMs()), closesConnection);
    } catch (failure) {
      // No further response is possible: the error has details that are not JSON, or this code has a bug.
      this.#logFault(exchange, 'error answer failed', failure);
      if (exchange.isOpen) exchange.response.close();
    }
  }

  #send(exchange: HttpExchange<Principal>, reply: HttpReply, closesConnection: boolean): void {
    if (!exchange.isOpen) {
      this.#drop(exchange, reply);
      return;
    }
    if (reply.headers !== undefined) checkReplyHeaders(reply.headers);
    if (reply.json instanceof JsonPieces || isLargeJson(reply.json, longTextCharacters)) {
      this.#sendLargeJson(exchange, reply, closesConnection);
      return;
    }
    const body = reply.json === undefined ? reply.raw : JSON.stringify(reply.json);
    if (exchange.isDetached) exchange.releaseBody();
    if (reply.stream !== undefined) {
      this.#sendStream(exchange, reply, reply.stream);
    } else if (body !== undefined && body.length >= this.#limits.compressBytesMin) {
      this.#sendLarge(exchange, reply, body, closesConnection || exchange.endsConnection);
    } else {
      this.#sendWhole(exchange, reply, body, body?.length, closesConnection || exchange.endsConnection);
    }
  }

  /** Serializes a response in slices. */
  #sendLargeJson(exchange: HttpExchange<Principal>, reply: HttpReply, closesConnection: boolean): void {
    exchange.detach();
    const { json, ...rest } = reply;
    const write = async (): Promise<void> => {
      const work = exchangeWork(exchange, this.#slices);
      const raw = (await this.#largeJson(json, work)) ?? (await this.#awaitedJson(exchange, json, work));
      this.#send(exchange, { ...rest, raw }, closesConnection);
    };
    write().catch((error: unknown) => this.sendError(exchange, error));
  }

  /** @returns the JSON of a value in bytes, made in slices; undefined when there is no room for it */
  async #largeJson(json: unknown, work: SlicedWork): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    let held = 0;
    try {
      for (const text of piecesOf(json)) {
        const piece = Buffer.from(text);
        if (!this.#room.take(piece.length)) return undefined;
        pieces.push(piece);
        held += piece.length;
        await work.pause();
      }
      return await joinedPieces(pieces, work);
    } finally {
      this.#room.give(held);
    }
  }

  /**
   * The JSON of a value for which there was no room. Room for all of it is reserved at once: several responses
   * that each hold a part would deadlock.
   *
   * @throws {ServiceError} `OVERLOADED` for a read, which does not wait
   */
  async #awaitedJson(
    exchange: HttpExchange<Principal>,
    json: unknown,
    work: SlicedWork,
  ): Promise<Uint8Array> {
    if (isRead(exchange)) throw tooManyWait();
    let length = 0;
    for (const piece of piecesOf(json)) {
      length += Buffer.byteLength(piece);
      await work.pause();
    }
    await this.#room.reserve(length);
    try {
      const pieces: Uint8Array[] = [];
      for (const piece of piecesOf(json)) {
        pieces.push(Buffer.from(piece));
        await work.pause();
      }
      return await joinedPieces(pieces, work);
    } finally {
      this.#room.give(length);
    }
  }

  #logFault(exchange: HttpExchange<Principal>, message: string, err: unknown): void {
    const { method, path, requestId, route } = exchange;
    this.#log.error({ err, requestId, method, path, operationId: route.operationId }, message);
  }

  #drop(exchange: HttpExchange<Principal>, reply: HttpReply): void {
    // A handler without a `return` statement fails here too.
    const stream = reply?.stream;
    if (stream === undefined) return;
    closeUnstarted(stream).catch((error: unknown) => {
      this.#logFault(exchange, 'stream close failed', error);
    });
  }

  /** A body that may be worth compressing, or that is too long to write at once. */
  #sendLarge(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    body: string | Uint8Array,
    closesConnection: boolean,
  ): void {
    const plan = planCompression(reply, exchange.header('accept-encoding'));
    if (plan === undefined) {
      this.#sendBody(exchange, reply, body, closesConnection);
      return;
    }
    const plain = { ...reply, headers: plan.plainHeaders };
    if (plan.coding === undefined) {
      this.#sendBody(exchange, plain, body, closesConnection);
    } else if (exchange.method === 'HEAD') {
      this.#sendWhole(exchange, { ...reply, headers: plan.codedHeaders }, body, undefined, closesConnection);
    } else {
      this.#sendCoded(exchange, reply, plain, body, plan, closesConnection);
    }
  }

  #sendCoded(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    plain: HttpReply,
    body: string | Uint8Array,
    plan: CompressionPlan,
    closesConnection: boolean,
  ): void {
    assert(plan.coding !== undefined, 'a body is compressed with a coding');
    const isLongText = typeof body === 'string' && body.length > longTextCharacters;
    const bytes = (): Promise<Uint8Array> =>
      encodedText(body as string, exchangeWork(exchange, this.#slices));
    const work = this.#compressor.compress(isLongText ? bytes : body, plan.coding);
    if (work === undefined) {
      this.#sendBody(exchange, plain, body, closesConnection);
      return;
    }
    exchange.detach();
    work
      .then(
        (coded) =>
          this.#sendBody(exchange, { ...reply, headers: plan.codedHeaders }, coded, closesConnection),
        (error: unknown) => {
          if (!exchange.isOpen) return;
          this.#logFault(exchange, 'compression failed', error);
          this.#sendBody(exchange, plain, body, closesConnection);
        },
      )
      .catch((error: unknown) => this.sendError(exchange, error));
  }

  #sendBody(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    body: string | Uint8Array,
    closesConnection: boolean,
  ): void {
    if (!exchange.isOpen) return;
    if (body.length <= bufferedBytesMax || exchange.method === 'HEAD') {
      this.#sendWhole(exchange, reply, body, body.length, closesConnection);
      return;
    }
    if (this.#room.take(body.length)) {
      this.#sendMade(exchange, reply, body, closesConnection);
      return;
    }
    // A read does not wait for room, because the caller can repeat it.
    if (isRead(exchange) || reply.isOfRead === true) throw tooManyWait();
    exchange.detach();
    Promise.resolve(this.#room.reserve(body.length))
      .then(() => {
        if (exchange.isOpen) this.#sendMade(exchange, reply, body, closesConnection);
        else this.#room.give(body.length);
      })
      .catch((error: unknown) => this.sendError(exchange, error));
  }

  /** Sends a body whose room is already reserved. */
  #sendMade(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    body: string | Uint8Array,
    closesConnection: boolean,
  ): void {
    if (typeof body === 'string' && body.length > longTextCharacters) {
      this.#sendLongText(exchange, reply, body, closesConnection);
      return;
    }
    this.#room.give(body.length);
    // A text would be encoded once to count its bytes and once to write them.
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#sendWhole(exchange, reply, bytes, bytes.length, closesConnection);
  }

  /** Encodes a text in slices and sends it. Its room is already reserved, so that others do not use it meanwhile. */
  #sendLongText(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    text: string,
    closesConnection: boolean,
  ): void {
    exchange.detach();
    const write = async (): Promise<void> => {
      const bytes = await encodedText(text, exchangeWork(exchange, this.#slices));
      if (exchange.isOpen) this.#sendWhole(exchange, reply, bytes, bytes.length, closesConnection);
    };
    write()
      .finally(() => this.#room.give(text.length))
      .catch((error: unknown) => this.sendError(exchange, error));
  }

  /** @param length `undefined` when it is unknown for a HEAD response */
  #sendWhole(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    body: string | Uint8Array | undefined,
    length: number | undefined,
    closesConnection: boolean,
  ): void {
    const isNothing = body === undefined && (reply.status === 204 || reply.status === 304);
    if (isNothing || (exchange.method === 'HEAD' && body !== undefined)) {
      const { status, headers, contentType = 'application/json' } = reply;
      // The head drops the source of the body: a waiting response would keep it in memory.
      const head: HttpReply = headers === undefined ? { status } : { status, headers };
      const bytes = length === undefined || body === undefined ? undefined : Buffer.byteLength(body);
      this.#sendWithoutBody(exchange, head, isNothing ? undefined : contentType, bytes, closesConnection);
      return;
    }
    // The library corks only the handler's own turn; later the cork must be explicit, or each header is its own
    // packet.
    let isDone = true;
    if (exchange.isDetached) {
      exchange.response.cork(() => {
        isDone = this.#writeWhole(exchange, reply, body, closesConnection);
      });
    } else {
      isDone = this.#writeWhole(exchange, reply, body, closesConnection);
    }
    if (isDone) exchange.finish(reply.status);
    else sendRest(exchange, this.#pending, body ?? '', reply.status);
  }

  /** @returns whether the peer takes all of it now */
  #writeWhole(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    body: string | Uint8Array | undefined,
    closesConnection: boolean,
  ): boolean {
    const { response } = exchange;
    const contentType = body === undefined ? undefined : (reply.contentType ?? 'application/json');
    this.#writeHead(exchange, reply, contentType);
    const isClosing = closesConnection || this.isDraining;
    const length = body === undefined ? 0 : body.length;
    if (length === 0 || (isClosing && length <= bufferedBytesMax)) {
      if (!isClosing && exchange.leavesBody) response.writeHeader('Connection', 'close');
      response.end(body ?? '', isClosing);
      return true;
    }
    // `tryEnd` cannot close the connection, so a header asks the peer to do so.
    if (isClosing || exchange.leavesBody) response.writeHeader('Connection', 'close');
    exchange.stopReading();
    // Not `end`: with it the library buffers everything the peer does not take.
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : length;
    return response.tryEnd(body as string | Uint8Array, bytes)[1];
  }

  /** Sends a head without a body. @param length of the body a GET would have had, if known */
  #sendWithoutBody(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    contentType: string | undefined,
    length: number | undefined,
    closesConnection: boolean,
  ): void {
    const { response } = exchange;
    const write = (): void => {
      this.#writeHead(exchange, reply, contentType);
      // The library does not finish a response whose announced length is not sent, so this is a plain header.
      if (length !== undefined) response.writeHeader('Content-Length', String(length));
      const isClosing = closesConnection || this.isDraining || exchange.leavesBody;
      if (isClosing) response.writeHeader('Connection', 'close');
      exchange.stopReading();
      response.endWithoutBody();
    };
    const send = (): void => {
      if (!exchange.isOpen) return;
      if (exchange.isDetached) response.cork(write);
      else write();
      exchange.finish(reply.status);
    };
    if (this.#withoutBody === 0) {
      this.#clock.soon(() => {
        this.#withoutBody = 0;
      });
    }
    this.#withoutBody += 1;
    if (this.#withoutBody <= WITHOUT_BODY_MAX) {
      send();
      return;
    }
    exchange.hasBegun = true;
    exchange.detach();
    this.#clock.soon(() => {
      try {
        send();
      } catch (error) {
        this.sendError(exchange, error);
      }
    });
  }

  #linesFor(exchange: HttpExchange<Principal>, { headers }: HttpReply): FixedHeaders {
    const { auth } = exchange.route;
    const isPersonal = auth === 'required' || exchange.header('authorization') !== undefined;
    if (!isPersonal || replyHeader(headers, 'cache-control') !== undefined) return this.#fixedHeaders;
    return isTagged(headers) ? this.#revalidatedHeaders : this.#personalHeaders;
  }

  #writeHead(exchange: HttpExchange<Principal>, reply: HttpReply, contentType: string | undefined): void {
    const { response } = exchange;
    if (reply.status !== 200) response.writeStatus(statusLine(reply.status));
    response.writeHeader(this.#linesFor(exchange, reply).lines(contentType), exchange.requestId);
    if (exchange.corsGrant !== 'none') {
      writeReplyHeaders(response, corsHeaders(exchange.corsGrant, exchange.header('origin') ?? ''));
    }
    if (reply.headers !== undefined) writeReplyHeaders(response, reply.headers);
  }

  #sendStream(
    exchange: HttpExchange<Principal>,
    reply: HttpReply,
    stream: AsyncIterable<string | Uint8Array>,
  ): void {
    const contentType = reply.contentType ?? 'application/octet-stream';
    if (exchange.method === 'HEAD') {
      this.#drop(exchange, { ...reply, stream });
      const { contentLength, status, headers } = reply;
      const head: HttpReply = headers === undefined ? { status } : { status, headers };
      this.#sendWithoutBody(exchange, head, contentType, contentLength, exchange.endsConnection);
      return;
    }
    exchange.detach();
    sendStream(exchange, this.#streamContext(reply, contentType), stream, reply.status, reply.contentLength);
  }

  #streamContext(reply: HttpReply, contentType: string): StreamContext<Principal> {
    return {
      clock: this.#clock,
      slices: this.#slices,
      room: this.#room,
      writeStallMsMax: this.#limits.writeStallMsMax,
      writeHead: (exchange) => {
        this.#writeHead(exchange, reply, contentType);
        // `tryEnd` cannot close the connection, so a header asks the peer to do so.
        const isClosing = this.isDraining || exchange.endsConnection || exchange.leavesBody;
        if (isClosing) exchange.response.writeHeader('Connection', 'close');
      },
      onEarlyError: (exchange, error) => this.sendError(exchange, error),
      onLateError: (exchange, error) => {
        // As an error before the first chunk, one of the caller is no fault: a statement may divide by zero in its last row.
        if (serviceErrorOf(error).entry.status < 500) return;
        this.#logFault(exchange, 'reply stream failed', error);
      },
    };
  }
}

function piecesOf(json: unknown): Iterable<string> {
  return json instanceof JsonPieces ? json.pieces : jsonPieces(json);
}
