import { createHash } from 'node:crypto';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { BLOB_HASH } from './blob-hash.ts';
import type { BlobRange, PutOptions } from './ports.ts';

/** Bytes hashed and written at a time: a larger piece would block the event loop. */
const PIECE_BYTES = 262_144;

/** An upload: counts and hashes the bytes, and cuts them into pieces of bounded size. */
export class Incoming {
  readonly #content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly #options: PutOptions;
  readonly #hash = createHash(BLOB_HASH);
  #size = 0;

  constructor(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: PutOptions) {
    this.#content = content;
    this.#options = options;
  }

  /** Bytes received so far. */
  get size(): number {
    return this.#size;
  }

  /**
   * The pieces, none of them empty. Each is valid until the next one is requested.
   *
   * @throws {ServiceError} `PAYLOAD_TOO_LARGE`, `REQUEST_CANCELLED`
   */
  async *pieces(): AsyncGenerator<Uint8Array, void> {
    const { bytesMax, signal } = this.#options;
    for await (const chunk of this.#content) {
      if (this.#size + chunk.length > bytesMax) {
        throw new ServiceError('PAYLOAD_TOO_LARGE', `Content may have ${bytesMax} bytes at most`);
      }
      for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
        if (signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
        const piece = chunk.subarray(start, start + PIECE_BYTES);
        this.#hash.update(piece);
        this.#size += piece.length;
        yield piece;
      }
    }
    if (signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
  }

  /**
   * The hash of all bytes; may be called once.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when it is not the hash the caller expected
   */
  finish(): string {
    const hash = this.#hash.digest('hex');
    const { hash: promised } = this.#options;
    if (promised === undefined || promised === hash) return hash;
    throw invalid('The content does not have the hash it was sent with', { field: 'hash' });
  }
}

/** Checks a range against a size. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireRange({ start, end }: BlobRange, size: number): void {
  const isInside =
    Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= size;
  if (!isInside) throw invalid(`The range ${start} to ${end} is not inside of ${size} bytes`);
}
