import { Buffer } from 'node:buffer';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ExchangePart, HttpExchange } from '../exchange.ts';
import type { ReplyRoom } from './reply-room.ts';
import { isStalled, type StallLimits } from './stalled-reader.ts';

/** Dependencies of responses that wait for their peers. */
export interface PendingContext extends StallLimits {
  readonly clock: Clock;
  readonly room: ReplyRoom;
}

/**
 * The rest of a response that the peer did not take at once. It is not given to the library, which buffers without
 * bound: a peer that sends requests without reading could fill the memory over one connection. While a response is
 * pending, the library closes a connection that receives another request.
 */
class PendingReply<Principal> implements ExchangePart {
  readonly #exchange: HttpExchange<Principal>;
  readonly #context: PendingContext;
  readonly #bytes: Buffer;
  readonly #status: number;
  #blockedSinceMs: number;
  #isOver = false;

  constructor(
    exchange: HttpExchange<Principal>,
    context: PendingContext,
    body: string | Uint8Array,
    status: number,
  ) {
    this.#exchange = exchange;
    this.#context = context;
    // Not copied: nobody else uses the bytes of a reply, and they may be many.
    this.#bytes =
      typeof body === 'string'
        ? Buffer.from(body)
        : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#status = status;
    this.#blockedSinceMs = context.clock.monotonicMs();
    context.room.add(this.#bytes.length);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#context.room.give(this.#bytes.length);
  }

  sweep(nowMs: number): ServiceError | undefined {
    const stalled = isStalled(nowMs - this.#blockedSinceMs, this.#context);
    return stalled ? new ServiceError('REQUEST_TIMEOUT', 'The answer was not read in time.') : undefined;
  }

  /** The peer can take more. @param offset bytes sent so far @returns whether nothing is left */
  goOn(offset: number): boolean {
    if (this.#isOver) return true;
    this.#blockedSinceMs = this.#context.clock.monotonicMs();
    const [hasLeft, isDone] = this.#exchange.response.tryEnd(
      this.#bytes.subarray(offset),
      this.#bytes.length,
    );
    if (isDone) {
      this.cancel();
      this.#exchange.finish(this.#status);
    }
    return hasLeft;
  }
}

/** Sends the rest of a response as the peer reads it. Called in the turn in which the peer did not take all of it. */
export function sendRest<Principal>(
  exchange: HttpExchange<Principal>,
  context: PendingContext,
  body: string | Uint8Array,
  status: number,
): void {
  exchange.hasBegun = true;
  exchange.detach();
  const reply = new PendingReply(exchange, context, body, status);
  exchange.setReplyPart(reply);
  exchange.onWritable((offset) => reply.goOn(offset));
}
