import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { isLargeJson, jsonPieces } from '#runtime/base/sliced-json.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bytePieces } from './byte-pieces.ts';
import { type CompressionPlan, Compressor, planCompression } from './compression.ts';
import { corsHeaders } from './cors.ts';
import { errorReply, isOurFault, serviceErrorOf } from './errors.ts';
import type { HttpExchange } from './exchange.ts';
import type { HttpLimits } from './http-limits.ts';
import type { HttpLog } from './http-log.ts';
import { checkReplyHeaders, FixedHeaders, replyHeader, statusLine, writeReplyHeaders } from './reply-head.ts';
import { type PendingContext, sendRest } from './pending-reply.ts';
import { ReplyRoom } from './reply-room.ts';
import { sendingWork, sendStream, type StreamContext } from './reply-stream.ts';
import type { HttpReply } from './route.ts';

/**
 * Bodies above this many bytes are handed over piece by piece as the peer takes them, so that the answer
 * counts as in flight (and a drain waits for it) until its last byte has left.
 */
const atOnceBytesMax = 64 * 1024;

/** What the writer needs from its server. */
export interface ReplyWriterOptions {
  readonly clock: Clock;
  /** Divides the event loop between what is long. */
  readonly slices: SliceScheduler;
  readonly limits: HttpLimits;
  readonly log: HttpLog;
  /** Whether there is a CORS policy, so that answers vary by origin. */
  readonly variesByOrigin: boolean;
}

/**
 * Answers without a body that are written in one turn of the event loop. Of them the library keeps what the peer does
 * not take, and tells nobody. Further ones are written in the next turn: while an answer is outstanding, the library
 * ends a connection that brings another request, so one that asks thousands of times without reading is ended.
 */
const WITHOUT_BODY_MAX = 64;

/** An answer of more characters, about, is written and encoded in slices. */
const longTextCharacters = 1024 * 1024;

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Tells a producer that nothing will be asked of it, so that it frees what it holds. */
async function closeUnstarted(stream: AsyncIterable<unknown>): Promise<void> {
  await stream[Symbol.asyncIterator]().return?.();
}

/** What is answered instead of the answer of a read that is made already and finds no room. */
function tooManyWait(): ServiceError {
  return new ServiceError('OVERLOADED', 'Too many answers wait for peers that read slowly; try again.');
}

/**
 * Whether a request only reads. What any other request did is never answered as refused for want of room: whoever
 * sends it once more would do it twice. Its answer waits for room.
 */
function isRead<Principal>({ method, route }: HttpExchange<Principal>): boolean {
  return method === 'GET' || method === 'HEAD' || route.isRead === true;
}

/** Whether a reply has an entity tag. Ours are spelt as the standard spells it. */
function isTagged(headers: HttpReply['headers']): boolean {
  return headers !== undefined && (headers.ETag !== undefined || replyHeader(headers, 'etag') !== undefined);
}

/** Writes replies and errors; the one place that knows what an answer looks like on the wire. */
export class ReplyWriter<Principal> {
  /** While set, every answer ends its connection. */
  isDraining = false;
  readonly #clock: Clock;
  readonly #slices: SliceScheduler;
  readonly #limits: HttpLimits;
  readonly #log: HttpLog;
  readonly #compressor: Compressor;
  readonly #fixedHeaders: FixedHeaders;
  /** Of answers to somebody: nobody else may get them from a cache. */
  readonly #personalHeaders: FixedHeaders;
  /** Of those with an `ETag`: whoever asked may keep them, and asks whether they are still good. */
  readonly #revalidatedHeaders: FixedHeaders;
  readonly #room: ReplyRoom;
  readonly #pending: PendingContext;
  /** Answers without a body that were written in this turn. */
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

  /** Bytes of answers that are in memory. */
  get waitingBytes(): number {
    return this.#room.used;
  }

  /**
   * Answers an exchange; never throws. If the exchange is over already the reply is dropped and its stream
   * closed. A reply that cannot be written (not JSON, a line break in a header) becomes an internal error.
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
   * Answers an exchange with an error in its route's shape; logs it if it is ours. Never throws.
   *
   * @param closesConnection whether the connection cannot go on, because its body was not read to the end
   */
  sendError(exchange: HttpExchange<Principal>, thrown: unknown, closesConnection = false): void {
    const error = serviceErrorOf(thrown);
    if (isOurFault(error.code)) this.#logFault(exchange, 'request failed', error.cause ?? error);
    const shape = exchange.route.errorShape ?? 'standard';
    try {
      this.#send(exchange, errorReply(error, shape, this.#clock.wallMs()), closesConnection);
    } catch (failure) {
      // Nothing sensible can be said any more: facts of the error that are not JSON, or a bug in here.
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
    if (isLargeJson(reply.json, longTextCharacters)) {
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

  /** Makes the text of an answer in slices. */
  #sendLargeJson(exchange: HttpExchange<Principal>, reply: HttpReply, closesConnection: boolean): void {
    exchange.detach();
    const { json, ...rest } = reply;
    const write = async (): Promise<void> => {
      const work = sendingWork(exchange, this.#slices);
      const raw = (await this.#largeText(json, work)) ?? (await this.#awaitedText(exchange, json, work));
      this.#send(exchange, { ...rest, raw }, closesConnection);
    };
    write().catch((error: unknown) => this.sendError(exchange, error));
  }

  /** @returns the text of a value, made in slices; undefined when there is no room for it */
  async #largeText(json: unknown, work: SlicedWork): Promise<string | undefined> {
    const pieces: string[] = [];
    let held = 0;
    try {
      for (const piece of jsonPieces(json)) {
        if (!this.#room.take(piece.length)) return undefined;
        pieces.push(piece);
        held += piece.length;
        await work.pause();
      }
      return pieces.join('');
    } finally {
      this.#room.give(held);
    }
  }

  /**
   * The text of a value for which there was no room. The whole of it is waited for at once: several answers that each
   * hold a part would wait for each other.
   *
   * @throws {ServiceError} `OVERLOADED` for a read, which is not kept waiting
   */
  async #awaitedText(exchange: HttpExchange<Principal>, json: unknown, work: SlicedWork): Promise<string> {
    if (isRead(exchange)) throw tooManyWait();
    let length = 0;
    for (const piece of jsonPieces(json)) {
      length += piece.length;
      await work.pause();
    }
    await this.#room.reserve(length);
    try {
      const pieces: string[] = [];
      for (const piece of jsonPieces(json)) {
        pieces.push(piece);
        await work.pause();
      }
      return pieces.join('');
    } finally {
      this.#room.give(length);
    }
  }

  #logFault(exchange: HttpExchange<Principal>, message: string, err: unknown): void {
    const { method, path, requestId, route } = exchange;
    this.#log.error({ err, requestId, method, path, operationId: route.operationId }, message);
  }

  #drop(exchange: HttpExchange<Principal>, reply: HttpReply): void {
    // A handler that forgot to return is among what ends here.
    const stream = reply?.stream;
    if (stream === undefined) return;
    closeUnstarted(stream).catch((error: unknown) => {
      this.#logFault(exchange, 'stream close failed', error);
    });
  }

  /** A body that may be worth compressing, or that is too long to hand over at once. */
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
    const work = this.#compressor.compress(body, plan.coding);
    if (work === undefined) {
      this.#sendBody(exchange, plain, body, closesConnection);
      return;
    }
    exchange.detach();
    work
      .then(
        (bytes) =>
          this.#sendBody(exchange, { ...reply, headers: plan.codedHeaders }, bytes, closesConnection),
        (error: unknown) => {
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
    const bytesMin = body.length;
    if (bytesMin <= atOnceBytesMax || exchange.method === 'HEAD') {
      this.#sendWhole(exchange, reply, body, bytesMin, closesConnection);
      return;
    }
    if (this.#room.take(body.length)) {
      this.#sendMade(exchange, reply, body);
      return;
    }
    // It is made already, so a read does not wait for room: it can be asked again.
    if (isRead(exchange)) throw tooManyWait();
    exchange.detach();
    Promise.resolve(this.#room.reserve(body.length))
      .then(() => {
        if (exchange.isOpen) this.#sendMade(exchange, reply, body);
        else this.#room.give(body.length);
      })
      .catch((error: unknown) => this.sendError(exchange, error));
  }

  /** Sends a body whose room has been taken. */
  #sendMade(exchange: HttpExchange<Principal>, reply: HttpReply, body: string | Uint8Array): void {
    if (typeof body === 'string' && body.length > longTextCharacters) {
      this.#sendLongText(exchange, reply, body);
      return;
    }
    this.#room.give(body.length);
    this.#sendBytes(exchange, reply, typeof body === 'string' ? Buffer.from(body) : body);
  }

  /** Encodes a text in slices and sends it. Its room has been taken, so that others do not count on it meanwhile. */
  #sendLongText(exchange: HttpExchange<Principal>, reply: HttpReply, text: string): void {
    exchange.detach();
    const write = async (): Promise<void> => {
      const work = sendingWork(exchange, this.#slices);
      const pieces: Uint8Array[] = [];
      for (const piece of bytePieces(text)) {
        pieces.push(piece);
        await work.pause();
      }
      if (exchange.isOpen) this.#sendBytes(exchange, reply, Buffer.concat(pieces));
    };
    write()
      .finally(() => this.#room.give(text.length))
      .catch((error: unknown) => this.sendError(exchange, error));
  }

  #sendBytes(exchange: HttpExchange<Principal>, reply: HttpReply, bytes: Uint8Array): void {
    const { status, headers, contentType = 'application/json' } = reply;
    // Without what the bytes were made of: an answer that waits for its peer would hold that as well.
    const head: HttpReply = {
      status,
      ...(headers === undefined ? {} : { headers }),
      contentType,
      contentLength: bytes.length,
    };
    this.#sendStream(exchange, head, only(bytes));
  }

  /** @param length `undefined` when a HEAD answer cannot say it */
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
      // Without what the body would have been made of, which an answer that waits would hold.
      const head: HttpReply = headers === undefined ? { status } : { status, headers };
      const bytes = length === undefined || body === undefined ? undefined : Buffer.byteLength(body);
      this.#sendWithoutBody(exchange, head, isNothing ? undefined : contentType, bytes, closesConnection);
      return;
    }
    // The library corks a handler's own turn; later it must be asked to, or each header is its own packet.
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
    if (!isClosing && exchange.leavesBody) response.writeHeader('Connection', 'close');
    if (isClosing || body === undefined || body.length === 0) {
      response.end(body ?? '', isClosing);
    } else {
      // Not `end`: of that the library keeps whatever the peer does not take.
      return response.tryEnd(body, Buffer.byteLength(body))[1];
    }
    return true;
  }

  /** Sends a head that no body follows. @param length of the body a GET would have had, if it can be said */
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
      // The library does not end an answer that announces a length it does not send, so it is a plain header.
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
        // `tryEnd` cannot end the connection, so the peer is asked to.
        const isClosing = this.isDraining || exchange.endsConnection || exchange.leavesBody;
        if (isClosing) exchange.response.writeHeader('Connection', 'close');
      },
      onEarlyError: (exchange, error) => this.sendError(exchange, error),
      onLateError: (exchange, error) => this.#logFault(exchange, 'reply stream failed', error),
    };
  }
}
