import { ServiceError } from '#runtime/errors/service-error.ts';
import { blocksOf } from './byte-blocks.ts';

/** Maximum size of a call's message in bytes: NATS accepts at most a mebibyte. */
const PART_BODY_BYTES_MAX = 512 * 1024;

/** Maximum size of a call in bytes; the requests of clients are smaller, including the overhead of encoding. */
const CALL_BYTES_MAX = 128 * 1024 * 1024;

/** Maximum bytes of all incomplete calls. */
const PARTIAL_BYTES_MAX = 512 * 1024 * 1024;

/** Time after which an incomplete call is dropped when no part arrives, in milliseconds: its caller is gone. */
const PART_MS_MAX = 15_000;

/** First byte of a part; a complete call is JSON text. */
const PART = 1;

/** Header of a part: first byte, whether it is the last, number of parts before it. */
const HEAD_BYTES = 6;

/**
 * Yields the messages of one call, in order: the call itself if it fits into one, else its parts. Yields undefined
 * where the work may pause.
 *
 * @param pieces of the call; see {@link blocksOf}
 */
export function* callMessages(
  pieces: Iterable<string | Uint8Array>,
): Generator<Uint8Array | undefined, void> {
  for (const block of blocksOf(pieces, PART_BODY_BYTES_MAX)) {
    if (block === undefined) {
      yield undefined;
      continue;
    }
    const { body, isLast, number } = block;
    yield isLast && number === 0 ? body : partMessage(number, isLast, body);
  }
}

function partMessage(number: number, isLast: boolean, body: Uint8Array): Uint8Array {
  const message = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  message[0] = PART;
  message[1] = isLast ? 1 : 0;
  message.writeUInt32BE(number, 2);
  message.set(body, HEAD_BYTES);
  return message;
}

/** An incomplete call. */
interface Partial {
  parts: Uint8Array[];
  bytes: number;
  heardMs: number;
  /** It is too large, or a part of it was lost; further parts are dropped. */
  isRefused: boolean;
}

/**
 * Joins calls that arrive in parts. NATS keeps the order of messages from one member to another, and may lose some
 * when a connection breaks. A call that lacks a part is dropped, and its caller, who gets no reply, sends it again.
 */
export class CallAssembly {
  readonly #partials = new Map<string, Partial>();
  #bytes = 0;

  /** Bytes of incomplete calls. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds one message.
   *
   * @param name of the call: its reply subject
   * @param nowMs monotonic
   * @returns the complete call, or undefined while parts are missing
   * @throws {ServiceError} `OVERLOADED`, `COMMIT_TOO_LARGE`; once for a call
   */
  take(name: string, message: Uint8Array, nowMs: number): Uint8Array | undefined {
    if (message[0] !== PART) return message;
    this.#sweep(nowMs);
    const isLast = message[1] === 1;
    const number = Buffer.from(message.buffer, message.byteOffset, message.byteLength).readUInt32BE(2);
    const partial = this.#partials.get(name) ?? { parts: [], bytes: 0, heardMs: nowMs, isRefused: false };
    this.#partials.set(name, partial);
    partial.heardMs = nowMs;
    if (isLast) this.#partials.delete(name);
    if (partial.isRefused) return undefined;
    if (number !== partial.parts.length) {
      this.#drop(partial);
      partial.isRefused = true;
      return undefined;
    }
    const body = message.subarray(HEAD_BYTES);
    const isTooLarge = partial.bytes + body.length > CALL_BYTES_MAX;
    if (isTooLarge || this.#bytes + body.length > PARTIAL_BYTES_MAX) {
      this.#drop(partial);
      partial.isRefused = true;
      throw new ServiceError(isTooLarge ? 'COMMIT_TOO_LARGE' : 'OVERLOADED');
    }
    partial.parts.push(body);
    partial.bytes += body.length;
    this.#bytes += body.length;
    if (!isLast) return undefined;
    const call = Buffer.concat(partial.parts, partial.bytes);
    this.#drop(partial);
    return call;
  }

  /** Returns whether a call is incomplete and may still become complete. */
  isComing(name: string): boolean {
    return this.#partials.get(name)?.isRefused === false;
  }

  #drop(partial: Partial): void {
    this.#bytes -= partial.bytes;
    partial.parts = [];
    partial.bytes = 0;
  }

  #sweep(nowMs: number): void {
    for (const [name, partial] of this.#partials) {
      if (nowMs - partial.heardMs <= PART_MS_MAX) continue;
      this.#drop(partial);
      this.#partials.delete(name);
    }
  }
}
