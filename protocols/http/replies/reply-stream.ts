import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bytePieces } from './byte-pieces.ts';
import type { ExchangePart, HttpExchange } from '../exchange.ts';
import { exchangeWork } from '../exchange-work.ts';
import type { MakeRoom } from '../route.ts';
import { isStalled, type StallLimits } from './stalled-reader.ts';

/** Time a stream may write without yielding to the event loop, in milliseconds. */
const sliceMs = 8;

/** Bytes written at once: the library buffers at most this much of a response whose peer does not read. */
const WRITTEN_BYTES = 256 * 1024;

/** Dependencies of a streamed reply. */
export interface StreamContext<Principal> extends StallLimits {
  readonly clock: Clock;
  /** Divides event loop time between long operations. */
  readonly slices: SliceScheduler;
  /** Writes the status line and headers; called inside a cork. */
  writeHead(exchange: HttpExchange<Principal>): void;
  /** Called when the stream failed before its first chunk: sends an error response instead. */
  onEarlyError(exchange: HttpExchange<Principal>, error: unknown): void;
  /** Called when the stream failed after its first chunk and the connection has been closed. */
  onLateError(exchange: HttpExchange<Principal>, error: unknown): void;
}

/**
 * Sends chunks as the peer reads them. The next chunk is requested only when the previous one has left our buffers,
 * so memory is bounded by one chunk, whatever the length of the stream and the speed of the peer. The chunks of all
 * streams together are bounded by the server's `ReplyRoom`.
 */
class StreamedReply<Principal> implements ExchangePart {
  readonly #exchange: HttpExchange<Principal>;
  readonly #context: StreamContext<Principal>;
  readonly #iterator: AsyncIterator<string | Uint8Array, unknown, MakeRoom>;
  readonly #status: number;
  readonly #contentLength: number | undefined;
  #offset = 0;
  #blockedSinceMs: number | undefined;
  #sliceFromMs = 0;
  /** Bytes of the current chunk, or of the next one that is being made. */
  #held = 0;
  #wake: (() => void) | undefined;

  constructor(
    exchange: HttpExchange<Principal>,
    context: StreamContext<Principal>,
    stream: AsyncIterable<string | Uint8Array>,
    status: number,
    contentLength: number | undefined,
  ) {
    this.#exchange = exchange;
    this.#context = context;
    this.#iterator = stream[Symbol.asyncIterator]() as AsyncIterator<string | Uint8Array, unknown, MakeRoom>;
    this.#status = status;
    this.#contentLength = contentLength;
  }

  cancel(): void {
    this.#wakeUp();
    void this.#close();
  }

  sweep(nowMs: number): ServiceError | undefined {
    const blockedMs = this.#blockedSinceMs === undefined ? 0 : nowMs - this.#blockedSinceMs;
    return isStalled(blockedMs, this.#context)
      ? new ServiceError('REQUEST_TIMEOUT', 'The answer was not read in time.')
      : undefined;
  }

  #wakeUp(): void {
    this.#blockedSinceMs = undefined;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Closes the producer, which may be in the middle of a chunk. */
  async #close(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch (error) {
      this.#context.onLateError(this.#exchange, error);
    }
  }

  async run(): Promise<void> {
    const exchange = this.#exchange;
    const { clock } = this.#context;
    this.#sliceFromMs = clock.monotonicMs();
    try {
      for (;;) {
        const step = await this.#iterator.next(this.#makeRoom);
        if (!exchange.isOpen) return;
        if (step.done === true) return this.#finish();
        this.#hold(step.value.length);
        if (step.value.length > 0) await this.#write(step.value);
        if (!exchange.isOpen) return;
        await this.#rest();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#hold(0);
    }
  }

  /** Yields to the event loop when the stream has used up its slice. */
  async #rest(): Promise<void> {
    const { clock } = this.#context;
    if (clock.monotonicMs() - this.#sliceFromMs <= sliceMs) return;
    await new Promise<void>((resolve) => clock.soon(resolve));
    this.#sliceFromMs = clock.monotonicMs();
  }

  /** Called by the stream before it makes a large chunk; the previous chunk has been sent by then. */
  readonly #makeRoom: MakeRoom = async (bytes) => {
    this.#hold(0);
    const wait = this.#context.room.reserve(bytes);
    this.#held = bytes;
    await wait;
    if (this.#exchange.isOpen) return;
    this.#hold(0);
    throw new ServiceError('REQUEST_CANCELLED');
  };

  /** Replaces the number of bytes that are counted. */
  #hold(bytes: number): void {
    const { room } = this.#context;
    if (bytes > 0) room.add(bytes);
    const before = this.#held;
    this.#held = bytes;
    if (before > 0) room.give(before);
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange;
    void this.#close();
    if (!exchange.isOpen) return;
    if (!exchange.hasBegun) {
      exchange.setReplyPart(undefined);
      this.#context.onEarlyError(exchange, error);
      return;
    }
    exchange.response.close();
    this.#context.onLateError(exchange, error);
  }

  #begin(): void {
    if (this.#exchange.hasBegun) return;
    this.#exchange.hasBegun = true;
    this.#context.writeHead(this.#exchange);
    this.#exchange.onWritable((offset) => {
      this.#offset = offset;
      this.#wakeUp();
      return true;
    });
  }

  #finish(): void {
    const { response } = this.#exchange;
    const isShort = this.#contentLength !== undefined && this.#contentLength > 0;
    assert(!isShort, 'a reply stream yields as many bytes as it has announced');
    response.cork(() => {
      this.#begin();
      this.#exchange.stopReading();
      response.end();
    });
    this.#exchange.finish(this.#status);
  }

  async #write(chunk: string | Uint8Array): Promise<void> {
    if (this.#contentLength === undefined) await this.#writeChunk(chunk);
    else await this.#writePart(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, this.#contentLength);
  }

  async #writeChunk(chunk: string | Uint8Array): Promise<void> {
    if (chunk.length <= WRITTEN_BYTES) {
      await this.#writeSmall(chunk);
      return;
    }
    const work = exchangeWork(this.#exchange, this.#context.slices);
    for (const bytes of bytePieces(chunk)) {
      for (let from = 0; from < bytes.length; from += WRITTEN_BYTES) {
        await this.#writeSmall(bytes.subarray(from, from + WRITTEN_BYTES));
        if (!this.#exchange.isOpen) return;
        await work.pause();
      }
    }
  }

  async #writeSmall(chunk: string | Uint8Array): Promise<void> {
    const { response } = this.#exchange;
    let hasLeft = true;
    response.cork(() => {
      this.#begin();
      hasLeft = response.write(chunk);
    });
    if (!hasLeft) await this.#writable();
  }

  /** Writes one chunk of a reply of known length. The library may take a part and must then be given the rest again. */
  async #writePart(chunk: Uint8Array, total: number): Promise<void> {
    const { response } = this.#exchange;
    const from = this.#offset;
    assert(from + chunk.length <= total, 'a reply stream yields no more bytes than it has announced');
    let rest = chunk;
    for (;;) {
      let outcome: [boolean, boolean] = [false, false];
      response.cork(() => {
        this.#begin();
        this.#exchange.stopReading();
        outcome = response.tryEnd(rest, total);
        this.#offset = outcome[1] ? total : response.getWriteOffset();
      });
      const [hasLeft, isDone] = outcome;
      if (isDone) {
        this.#exchange.finish(this.#status);
        void this.#close();
        return;
      }
      if (hasLeft) return;
      await this.#writable();
      if (!this.#exchange.isOpen) return;
      rest = chunk.subarray(this.#offset - from);
    }
  }

  #writable(): Promise<void> {
    this.#blockedSinceMs = this.#context.clock.monotonicMs();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * Sends a stream as the response of a detached exchange.
 *
 * @param contentLength length in bytes if known; a stream that yields another number closes the connection
 */
export function sendStream<Principal>(
  exchange: HttpExchange<Principal>,
  context: StreamContext<Principal>,
  stream: AsyncIterable<string | Uint8Array>,
  status: number,
  contentLength: number | undefined,
): void {
  const reply = new StreamedReply(exchange, context, stream, status, contentLength);
  exchange.setReplyPart(reply);
  void reply.run();
}
