import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { EgressAllowance } from './allowance.ts';
import { failure, tooLarge, tooSlow, unacceptable } from './egress-errors.ts';
import type { RequestLife } from './request-life.ts';

/** Statuses whose responses have no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Parts of a body that may be of any size; from then on they have {@link PART_BYTES_MIN} on average. A part is a chunk of
 * HTTP or a record of TLS, and the smallest ones take seconds of the processor for each megabyte.
 */
const SMALL_PARTS_MAX = 4_096;

/** Bytes of a part on average: far less than what programs write at once. */
const PART_BYTES_MIN = 32;

/** The largest status that a response may have. */
const STATUS_MAX = 599;

/**
 * The response for the caller, while its body is still being received. Its bytes are counted as they are sent and as
 * they are decompressed, and both are bounded. When the body has been read, was cancelled or failed, the life of the
 * request is closed; when nobody reads it, its time ends it.
 *
 * @param method of the request
 * @throws {ServiceError} `UPSTREAM_INVALID`
 */
export function responseOf(
  message: IncomingMessage,
  method: string,
  url: URL,
  life: RequestLife,
  allowance: EgressAllowance,
): Response {
  const host = url.hostname;
  const status = message.statusCode ?? 0;
  if (status < 200 || status > STATUS_MAX)
    throw unacceptable(`The server '${host}' answers with status ${status}, which is none`);
  const headers = headersOf(message, host);
  const encoding = (headers.get('content-encoding') ?? 'identity').toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip' && encoding !== 'x-gzip')
    throw unacceptable(`The server '${host}' answers in an encoding that was not asked for`);
  if (Number(headers.get('content-length') ?? 0) > allowance.responseBytesMax && method !== 'HEAD')
    throw tooLarge(host, allowance.responseBytesMax);
  const hasBody = method !== 'HEAD' && !withoutBody.has(status);
  const isZipped = hasBody && encoding !== 'identity';
  if (isZipped) {
    headers.delete('content-encoding');
    headers.delete('content-length');
  }
  const body = new BoundedBody(message, isZipped, host, life, allowance);
  if (!hasBody) body.discard();
  const response = new Response(hasBody ? body.stream : null, { status, headers });
  // As `fetch` tells it; the constructor cannot.
  Object.defineProperty(response, 'url', { value: url.href });
  return response;
}

function headersOf({ rawHeaders }: IncomingMessage, host: string): Headers {
  const headers = new Headers();
  try {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  } catch (cause) {
    throw unacceptable(`The response of '${host}' has a header that is not valid`, cause);
  }
  return headers;
}

/** The body of a response, with limits on its bytes and on the silence of the server. */
class BoundedBody {
  readonly #message: IncomingMessage;
  readonly #source: Readable;
  readonly #parts: AsyncIterator<Uint8Array>;
  readonly #host: string;
  readonly #life: RequestLife;
  readonly #allowance: EgressAllowance;
  readonly #aborted = (): void => this.#fail(this.#life.signal.reason);
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #bytes = 0;
  #isOver = false;

  /** Read on demand: what the caller does not read stays with the server. */
  readonly stream: ReadableStream<Uint8Array>;

  constructor(
    message: IncomingMessage,
    isZipped: boolean,
    host: string,
    life: RequestLife,
    allowance: EgressAllowance,
  ) {
    this.#message = message;
    this.#host = host;
    this.#life = life;
    this.#allowance = allowance;
    this.#source = counted(message, isZipped, host, allowance.responseBytesMax);
    this.#parts = this.#source[Symbol.asyncIterator]();
    life.signal.addEventListener('abort', this.#aborted, { once: true });
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#end(),
      },
      { highWaterMark: 0 },
    );
  }

  /** There is no body: only the end of the message is awaited, so that its connection can be used again. */
  discard(): void {
    this.#message.once('close', () => this.#end());
    this.#message.resume();
  }

  async #pull(): Promise<void> {
    const { idleMs } = this.#allowance;
    const silence = this.#life.limit(idleMs, () => tooSlow(this.#host, 'go on with its response', idleMs));
    try {
      const { done, value } = await this.#parts.next();
      if (this.#isOver) return;
      if (done === true) {
        this.#end();
        this.#controller?.close();
        return;
      }
      this.#count(value);
      this.#controller?.enqueue(value);
    } catch (error) {
      this.#fail(failure(this.#host, 'exchange', error));
    } finally {
      silence.cancel();
    }
  }

  #count(part: Uint8Array): void {
    const { responseBytesMax } = this.#allowance;
    this.#bytes += part.length;
    if (this.#bytes > responseBytesMax) throw tooLarge(this.#host, responseBytesMax);
  }

  #fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#controller?.error(reason);
  }

  /** Ends everything; a message that was not read to its end takes its connection with it. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#life.signal.removeEventListener('abort', this.#aborted);
    if (!this.#message.complete || !this.#source.readableEnded) {
      this.#source.destroy();
      this.#message.destroy();
    }
    this.#life.close();
  }
}

/** The body of a message, counted as it is sent, and then decompressed. Its errors are for callers. */
function counted(message: IncomingMessage, isZipped: boolean, host: string, bytesMax: number): Readable {
  let bytes = 0;
  let parts = 0;
  // A stream, because it is told of every part alone; reading gives all that have arrived at once.
  const counter = new Transform({
    transform(part: Uint8Array, _encoding, done) {
      bytes += part.length;
      parts += 1;
      if (bytes > bytesMax) done(tooLarge(host, bytesMax));
      else if (parts > SMALL_PARTS_MAX + bytes / PART_BYTES_MIN)
        done(unacceptable(`The server '${host}' sends its response in parts that are too small`));
      else done(null, part);
    },
  });
  const last = isZipped ? createGunzip() : counter;
  // The reader is told when it reads; without a listener an error would end the process before.
  last.on('error', () => undefined);
  if (isZipped) pipeline(message, counter, last, () => undefined);
  else pipeline(message, counter, () => undefined);
  return last;
}
