import { Buffer } from 'node:buffer';
import type { Clock } from '#runtime/base/time/clock.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { ByteBudget } from '#runtime/budget/byte-budget.ts';
import type { BodyPart, HttpExchange } from '../exchange.ts';
import { type HttpLimits, VALUE_BYTES } from '../http-limits.ts';
import { type AdmitValues, SMALL_JSON_BYTES } from './json-body.ts';
import type { ReceivedBody, ReceivingTurns } from './receiving-turns.ts';

/** State shared by the body readers of one server. */
export interface BodyContext {
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly budget: ByteBudget;
  readonly turns: ReceivingTurns;
}

/** The maximum size of a body, and its reason. */
export interface BodyBound {
  readonly bytesMax: number;
  /** Whether the bound is low because the caller has not logged in. */
  readonly isAnonymous: boolean;
  /** Whether the route takes no body. */
  readonly isOfNothing?: boolean;
}

/**
 * The bound for routes that take no body. Some clients send an empty object, list or null with every request. A
 * longer body than these with surrounding whitespace has content.
 */
export const boundOfNothing: BodyBound = { bytesMax: 64, isAnonymous: false, isOfNothing: true };

/**
 * Refuses a body with content on a route that takes none: the sender's intent would be ignored silently.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireNothing(bytes: Buffer): void {
  if (!/^\s*(?:\{\s*\}|\[\s*\]|null)?\s*$/.test(bytes.toString('latin1'))) throw bodyNotTaken();
}

function bodyNotTaken(): ServiceError {
  return invalid('This takes no body; leave it out');
}

/** The error for a body above its bound. */
export function bodyTooLarge({ bytesMax, isAnonymous, isOfNothing }: BodyBound): ServiceError {
  if (isOfNothing === true) return bodyNotTaken();
  const remedy = isAnonymous ? ' without a login; log in to send more' : '';
  return new ServiceError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than the ${bytesMax} bytes taken here${remedy}.`,
  );
}

/** The error for a body that finds no room beside the bodies of other requests. */
export function bodiesOverloaded(): ServiceError {
  return new ServiceError('OVERLOADED', 'Too many bodies are being received; try again.');
}

/**
 * Refuses a body by its announced length.
 *
 * @param contentLength the `Content-Length` header, if any
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE`
 */
export function checkAnnouncedLength(contentLength: string | undefined, bound: BodyBound): void {
  if (contentLength !== undefined && Number(contentLength) > bound.bytesMax) throw bodyTooLarge(bound);
}

/**
 * Counts the values of a complete body against the server's budget if they take more memory than its bytes count for.
 *
 * @returns a function that throws `OVERLOADED` if there is no room for them
 */
export function holdingValues<Principal>(
  exchange: HttpExchange<Principal>,
  { budget }: BodyContext,
): AdmitValues {
  return (values) => {
    const more = values * VALUE_BYTES - exchange.heldBytes;
    if (more > 0 && !exchange.holdBytes(budget, more)) throw bodiesOverloaded();
  };
}

/** Enforces a minimum rate on a body: a number of bytes in every window, while the server waits for the peer. */
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

/** Receives buffered bodies; one of the two methods is called once per body, unless its exchange ends first. */
export interface BodySink<Principal> {
  /** @param pieces the whole body; valid only during the call where they are at most {@link SMALL_JSON_BYTES} long */
  onBody(exchange: HttpExchange<Principal>, pieces: readonly Buffer[]): void;
  onBodyFailed(exchange: HttpExchange<Principal>, error: ServiceError): void;
}

/** The bytes of a body in pieces. */
export function bytesOf(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

/** The length of a body in pieces, in bytes. */
export function lengthOf(pieces: readonly Buffer[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}

/**
 * Buffers a body. A small body of a single chunk, the usual case, is passed on without a copy.
 *
 * While the caller is not yet authenticated, reading from the peer pauses after the first chunk, and the rest is held
 * to the caller's bound. Reading does not pause after a body that arrived whole: when reading resumes, the library
 * waits ten seconds for more data and closes the connection if the handler takes longer.
 */
class BufferedBody<Principal> implements BodyPart, ReceivedBody {
  readonly #exchange: HttpExchange<Principal>;
  readonly #context: BodyContext;
  readonly #sink: BodySink<Principal>;
  #bound: BodyBound | undefined;
  #chunks: Buffer[] | undefined;
  #received = 0;
  #isComplete = false;
  #isOver = false;
  #isPaused = false;
  /** Whether reading also waits for the next turn of the event loop. */
  #isHeldBack = false;
  #pace: BodyPace | undefined;

  constructor(exchange: HttpExchange<Principal>, context: BodyContext, sink: BodySink<Principal>) {
    this.#exchange = exchange;
    this.#context = context;
    this.#sink = sink;
  }

  /** Resumes reading if it is paused. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isHeldBack) this.#exchange.response.resume();
  }

  holdBack(): void {
    if (!this.#exchange.isOpen) {
      this.#leaveTurns();
      return;
    }
    this.#isHeldBack = true;
    if (!this.#isPaused) this.#exchange.response.pause();
  }

  goOn(): void {
    if (!this.#isHeldBack) return;
    this.#isHeldBack = false;
    if (!this.#exchange.isOpen) this.#leaveTurns();
    else if (!this.#isPaused) this.#exchange.response.resume();
  }

  #leaveTurns(): void {
    this.#context.turns.ended(this);
    this.goOn();
  }

  /** Accepts the body, including the chunks that have arrived. */
  admit(bound: BodyBound): void {
    this.#bound = bound;
    this.resume();
    if (this.#isOver) return;
    if (this.#received > bound.bytesMax) this.#fail(bodyTooLarge(bound));
    else if (this.#isComplete) this.#complete();
    else this.#pace?.restart();
  }

  onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isOver) return;
    const length = chunk.byteLength;
    this.#isComplete = isLast;
    if (this.#bound === undefined && !isLast && !this.#isPaused) {
      this.#isPaused = true;
      this.#exchange.response.pause();
    }
    if (this.#bound !== undefined && this.#received + length > this.#bound.bytesMax) {
      this.#fail(bodyTooLarge(this.#bound));
    } else if (!this.#exchange.holdBytes(this.#context.budget, length)) {
      this.#fail(bodiesOverloaded());
    } else if (isLast && this.#received === 0 && length <= SMALL_JSON_BYTES && this.#bound !== undefined) {
      this.#isOver = true;
      this.#sink.onBody(this.#exchange, [Buffer.from(chunk)]);
    } else {
      this.#keep(chunk);
      if (isLast) this.#leaveTurns();
      else this.#context.turns.received(this, length);
      if (isLast && this.#bound !== undefined) this.#complete();
    }
  }

  #keep(chunk: ArrayBuffer): void {
    this.#received += chunk.byteLength;
    this.#paced().received(chunk.byteLength);
    this.#chunks ??= [];
    // The library detaches the chunk when its call returns, so it is copied.
    this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
  }

  #complete(): void {
    const chunks = this.#chunks ?? [];
    this.#isOver = true;
    this.#chunks = undefined;
    this.#sink.onBody(this.#exchange, chunks);
  }

  #paced(): BodyPace {
    this.#pace ??= new BodyPace(this.#context, this.#exchange.startedMs);
    return this.#pace;
  }

  #fail(error: ServiceError): void {
    this.release();
    // The rest is read and discarded.
    this.resume();
    this.#sink.onBodyFailed(this.#exchange, error);
  }

  cancel(): void {
    this.release();
  }

  release(): void {
    this.#isOver = true;
    this.#chunks = undefined;
    this.#exchange.giveBytesBack();
    this.#received = 0;
    this.#leaveTurns();
  }

  sweep(nowMs: number): ServiceError | undefined {
    const isTheirs = !this.#isOver && this.#bound !== undefined;
    return isTheirs ? this.#paced().sweep(nowMs) : undefined;
  }
}

/** A body whose caller may not be authenticated yet. */
export interface PausedBody {
  /** Accepts the body up to a bound. */
  admit(bound: BodyBound): void;
  /** Resumes reading, whatever the outcome. */
  resume(): void;
}

/**
 * Reads the whole body of a detached exchange into memory, up to a bound. Fails with `PAYLOAD_TOO_LARGE` as soon as
 * the bound is exceeded; the rest is read and discarded.
 *
 * @param bound undefined while the caller is unknown: the body is not passed on before the result is admitted
 * @returns what to call when the bound is known, or when there will be none
 */
export function collectBody<Principal>(
  exchange: HttpExchange<Principal>,
  context: BodyContext,
  bound: BodyBound | undefined,
  sink: BodySink<Principal>,
): PausedBody {
  const body = new BufferedBody(exchange, context, sink);
  exchange.setBodyPart(body);
  if (bound !== undefined) body.admit(bound);
  exchange.onData((chunk, isLast) => body.onData(chunk, isLast));
  return body;
}

/** A body that is pulled chunk by chunk; reading from the peer pauses while too many bytes wait. */
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
      this.cancel(bodyTooLarge({ bytesMax: this.#bytesMax, isAnonymous: false }));
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
 * Provides the body of a detached exchange to its handler as `request.stream()`. Errors are thrown from the
 * iteration.
 */
export function offerBodyStream<Principal>(
  exchange: HttpExchange<Principal>,
  context: BodyContext,
  bytesMax: number,
): void {
  const body = new StreamedBody(exchange, context, bytesMax);
  exchange.setBodyPart(body);
  exchange.setStream(() => body.iterate());
  exchange.onData((chunk, isLast) => body.onData(chunk, isLast));
}
