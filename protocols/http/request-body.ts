import { Buffer } from 'node:buffer';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BodyPart, HttpExchange } from './exchange.ts';
import type { HttpLimits } from './http-limits.ts';

/** Bytes that unfinished bodies of a whole server may hold. */
export class ByteBudget {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used;
  }

  /** @returns whether there was room */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#bytesMax) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    assert(bytes <= this.#used, 'no more bytes are given back than were taken');
    this.#used -= bytes;
  }
}

/** What body readers of one server share. */
export interface BodyContext {
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly budget: ByteBudget;
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `The body is larger than the ${bytesMax} bytes taken here.`);
}

/**
 * Refuses a body by its announced length.
 *
 * @param contentLength the `Content-Length` header, if any
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE`
 */
export function checkAnnouncedLength(contentLength: string | undefined, bytesMax: number): void {
  if (contentLength !== undefined && Number(contentLength) > bytesMax) throw tooLarge(bytesMax);
}

/** Holds a body to its pace: so many bytes in every window, while we are the ones who wait. */
class BodyPace {
  readonly #context: BodyContext;
  #windowFromMs: number;
  #windowBytes = 0;

  constructor(context: BodyContext, fromMs: number) {
    this.#context = context;
    this.#windowFromMs = fromMs;
  }

  received(bytes: number): void {
    this.#windowBytes += bytes;
  }

  restart(): void {
    this.#windowFromMs = this.#context.clock.monotonicMs();
    this.#windowBytes = 0;
  }

  sweep(nowMs: number): ServiceError | undefined {
    const { bodyWindowMs, bodyWindowBytesMin } = this.#context.limits;
    if (nowMs - this.#windowFromMs < bodyWindowMs) return undefined;
    if (this.#windowBytes < bodyWindowBytesMin) {
      return new ServiceError('REQUEST_TIMEOUT', 'The body was not received in time.');
    }
    this.#windowFromMs = nowMs;
    this.#windowBytes = 0;
    return undefined;
  }
}

/** Where buffered bodies go; one of the two is called once per body, unless its exchange ends first. */
export interface BodySink<Principal> {
  /** @param bytes the whole body; valid only during the call */
  onBody(exchange: HttpExchange<Principal>, bytes: Buffer): void;
  onBodyFailed(exchange: HttpExchange<Principal>, error: ServiceError): void;
}

/** Buffers a body. One that comes in a single piece, as most do, is handed on without a copy. */
class BufferedBody<Principal> implements BodyPart {
  readonly #exchange: HttpExchange<Principal>;
  readonly #context: BodyContext;
  readonly #bytesMax: number;
  readonly #sink: BodySink<Principal>;
  #chunks: Buffer[] | undefined;
  #received = 0;
  #isOver = false;
  #pace: BodyPace | undefined;

  constructor(
    exchange: HttpExchange<Principal>,
    context: BodyContext,
    bytesMax: number,
    sink: BodySink<Principal>,
  ) {
    this.#exchange = exchange;
    this.#context = context;
    this.#bytesMax = bytesMax;
    this.#sink = sink;
  }

  onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isOver) return;
    const length = chunk.byteLength;
    if (this.#received + length > this.#bytesMax) {
      this.#fail(tooLarge(this.#bytesMax));
    } else if (isLast && this.#received === 0) {
      this.#isOver = true;
      this.#sink.onBody(this.#exchange, Buffer.from(chunk));
    } else if (this.#context.budget.take(length)) {
      this.#keep(chunk);
      if (!isLast) return;
      const whole = Buffer.concat(this.#chunks ?? [], this.#received);
      this.release();
      this.#sink.onBody(this.#exchange, whole);
    } else {
      this.#fail(new ServiceError('OVERLOADED', 'Too many bodies are being received; try again.'));
    }
  }

  #keep(chunk: ArrayBuffer): void {
    this.#received += chunk.byteLength;
    this.#paced().received(chunk.byteLength);
    this.#chunks ??= [];
    // The library empties the chunk when its call returns, so it is copied.
    this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
  }

  #paced(): BodyPace {
    this.#pace ??= new BodyPace(this.#context, this.#exchange.startedMs);
    return this.#pace;
  }

  #fail(error: ServiceError): void {
    this.release();
    this.#sink.onBodyFailed(this.#exchange, error);
  }

  cancel(): void {
    this.release();
  }

  release(): void {
    this.#isOver = true;
    this.#chunks = undefined;
    this.#context.budget.give(this.#received);
    this.#received = 0;
  }

  sweep(nowMs: number): ServiceError | undefined {
    return this.#isOver ? undefined : this.#paced().sweep(nowMs);
  }
}

/**
 * Reads the whole body of a detached exchange into memory, to a bound.
 * More than the bound fails with `PAYLOAD_TOO_LARGE` as soon as it is seen, the rest is read past without
 * being kept.
 */
export function collectBody<Principal>(
  exchange: HttpExchange<Principal>,
  context: BodyContext,
  bytesMax: number,
  sink: BodySink<Principal>,
): void {
  const body = new BufferedBody(exchange, context, bytesMax, sink);
  exchange.setBodyPart(body);
  exchange.response.onData((chunk, isLast) => body.onData(chunk, isLast));
}

/** A body that is pulled chunk by chunk; reading from the peer pauses while too much waits. */
class StreamedBody<Principal> implements BodyPart {
  readonly #exchange: HttpExchange<Principal>;
  readonly #context: BodyContext;
  readonly #bytesMax: number;
  readonly #pace: BodyPace;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #received = 0;
  #isComplete = false;
  #pausedSinceMs: number | undefined;
  #error: ServiceError | undefined;
  #wake: (() => void) | undefined;

  constructor(exchange: HttpExchange<Principal>, context: BodyContext, bytesMax: number) {
    this.#exchange = exchange;
    this.#context = context;
    this.#bytesMax = bytesMax;
    this.#pace = new BodyPace(context, exchange.startedMs);
  }

  onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#error !== undefined) return;
    this.#received += chunk.byteLength;
    if (this.#received > this.#bytesMax) {
      this.cancel(tooLarge(this.#bytesMax));
      return;
    }
    this.#pace.received(chunk.byteLength);
    if (chunk.byteLength > 0) {
      this.#queue.push(Buffer.from(new Uint8Array(chunk)));
      this.#queuedBytes += chunk.byteLength;
    }
    if (isLast) {
      this.#isComplete = true;
      this.#exchange.setBodyPart(undefined);
      this.#exchange.restartDeadline();
    } else if (this.#queuedBytes > this.#context.limits.bodyQueueBytesMax) {
      this.#pause();
    }
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #pause(): void {
    if (this.#pausedSinceMs !== undefined) return;
    this.#pausedSinceMs = this.#context.clock.monotonicMs();
    this.#exchange.response.pause();
  }

  #resume(): void {
    if (this.#pausedSinceMs === undefined) return;
    this.#pausedSinceMs = undefined;
    this.#pace.restart();
    if (this.#exchange.isOpen) this.#exchange.response.resume();
  }

  cancel(reason: ServiceError): void {
    this.#error ??= reason;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#resume();
    this.#notify();
  }

  release(): void {
    this.cancel(new ServiceError('REQUEST_CANCELLED', 'The request has been answered.'));
  }

  sweep(nowMs: number): ServiceError | undefined {
    if (this.#error !== undefined) return undefined;
    if (this.#pausedSinceMs === undefined) return this.#pace.sweep(nowMs);
    const isStuck = nowMs - this.#pausedSinceMs > this.#context.limits.requestMsMax;
    return isStuck ? new ServiceError('DEADLINE_EXCEEDED') : undefined;
  }

  async *iterate(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#queue.shift();
        if (chunk !== undefined) {
          this.#queuedBytes -= chunk.byteLength;
          if (this.#queuedBytes === 0) this.#resume();
          yield chunk;
        } else if (this.#error !== undefined) {
          throw this.#error;
        } else if (this.#isComplete) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#isComplete) this.release();
    }
  }
}

/**
 * Offers the body of a detached exchange to its handler as `request.stream()`.
 * Errors come out of the iteration.
 */
export function offerBodyStream<Principal>(
  exchange: HttpExchange<Principal>,
  context: BodyContext,
  bytesMax: number,
): void {
  const body = new StreamedBody(exchange, context, bytesMax);
  exchange.setBodyPart(body);
  exchange.setStream(() => body.iterate());
  exchange.response.onData((chunk, isLast) => body.onData(chunk, isLast));
}
