/** Metadata of stored bytes. */
export interface BlobInfo {
  /** SHA-256 of the bytes, 64 lower-case hex digits: their only name. */
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
  /**
   * When they were stored last, in milliseconds since the Unix epoch. Storing the same bytes again updates it. So a
   * sweep that spares blobs younger than the longest upload never removes one that is about to be referenced.
   */
  readonly storedAtMs: number;
}

/** Options of {@link Blobs.put}. */
export interface PutOptions {
  /** More bytes are refused with `PAYLOAD_TOO_LARGE`, as soon as the limit is passed. */
  readonly bytesMax: number;
  /** The expected hash, when the caller knows it. */
  readonly hash?: string;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** A range of the bytes. */
export interface BlobRange {
  /** First byte, from 0. */
  readonly start: number;
  /** End, exclusive. */
  readonly end: number;
}

/**
 * Bytes addressed by the hash of their content, outside of all history: content refers to them by hash. An embedded
 * server keeps files, a cluster keeps objects of JetStream. Every implementation passes
 * `test/runtime/blobs/blobs-conformance.ts`.
 *
 * Promises:
 * 1. When `put` has answered, the blob is durable and complete, and every member finds it.
 * 2. A crash leaves a complete blob or none.
 * 3. Stored bytes are verified when they are read to the end: the last piece of a damaged blob is never returned.
 * 4. Neither direction holds more than a bounded piece in memory, whatever the size.
 */
export interface Blobs {
  /**
   * Stores bytes. Storing the same bytes again only updates the time, and repairs the blob if it was damaged.
   *
   * @param content read once, to its end unless an error occurs
   * @throws {ServiceError} `PAYLOAD_TOO_LARGE`; `VALIDATION_FAILED` when the bytes have another hash; `STORAGE_FULL`;
   *   `REQUEST_CANCELLED`
   * @throws the errors of reading `content`
   */
  put(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: PutOptions): Promise<BlobInfo>;
  /** The metadata of a blob, or undefined. @throws {ServiceError} `VALIDATION_FAILED` for an invalid hash */
  info(hash: string): Promise<BlobInfo | undefined>;
  /**
   * The bytes in order, in pieces that the caller may keep. Nothing is opened before the first piece is requested.
   *
   * @param range default: all
   * @throws {ServiceError} `NOT_FOUND`; `VALIDATION_FAILED` for a range outside the blob. While reading:
   *   `DATA_CORRUPTED`, `NOT_FOUND` when it was removed meanwhile
   */
  get(hash: string, range?: BlobRange): Promise<AsyncIterable<Uint8Array>>;
  /** Removes a blob; concurrent readers may fail. @returns whether it existed */
  delete(hash: string): Promise<boolean>;
  /** All blobs, in no particular order. Blobs added or removed meanwhile may be left out. */
  list(): AsyncIterable<BlobInfo>;
  /**
   * Removes leftovers of interrupted calls.
   *
   * @param olderThanMs younger leftovers may belong to a call in progress
   * @returns how many were removed
   */
  sweep(olderThanMs: number): Promise<number>;
}
