/** What is known of stored bytes without reading them. */
export interface BlobInfo {
  /** SHA-256 of the bytes, 64 lower-case hex digits: their only name. */
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
  /**
   * When they were stored last, in milliseconds since the Unix epoch. Storing what is there already counts: a sweep
   * that spares what is younger than an upload may take never removes what is about to be referred to.
   */
  readonly storedAtMs: number;
}

/** How bytes are stored. */
export interface PutOptions {
  /** More is refused with `PAYLOAD_TOO_LARGE`, as soon as it is seen. */
  readonly bytesMax: number;
  /** What the bytes must hash to, when the caller knows. */
  readonly hash?: string;
  /** Gives up. */
  readonly signal?: AbortSignal;
}

/** Some of the bytes. */
export interface BlobRange {
  /** The first one, from 0. */
  readonly start: number;
  /** Behind the last one. */
  readonly end: number;
}

/**
 * Bytes by the hash of their content, beside all history: content refers to them by their hash. Embedded they are
 * files, in a cluster objects of JetStream. Every implementation passes `test/runtime/blobs/blobs-conformance.ts`.
 *
 * Promises:
 * 1. What `put` answered is durable and whole, and is found by every member from then on.
 * 2. A crash leaves a blob whole or not at all.
 * 3. Stored bytes are verified when they are read to their end: the last piece of a damaged blob is never given.
 * 4. Neither direction holds more than a bounded piece in memory, whatever the size.
 */
export interface Blobs {
  /**
   * Stores bytes. Storing the same again changes nothing but when they were stored, and heals them if they were
   * damaged.
   *
   * @param content read once, to its end unless something fails
   * @throws {ServiceError} `PAYLOAD_TOO_LARGE`; `VALIDATION_FAILED` when the bytes hash to something else;
   *   `STORAGE_FULL`; `REQUEST_CANCELLED`
   * @throws what reading `content` throws
   */
  put(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: PutOptions): Promise<BlobInfo>;
  /** What is stored under a hash, or undefined. @throws {ServiceError} `VALIDATION_FAILED` for no hash at all */
  info(hash: string): Promise<BlobInfo | undefined>;
  /**
   * The bytes in order, in pieces that may be kept. Nothing is held open before the first piece is asked for.
   *
   * @param range default: all
   * @throws {ServiceError} `NOT_FOUND`; `VALIDATION_FAILED` for a range that is not inside. While it is read:
   *   `DATA_CORRUPTED`, `NOT_FOUND` when it was removed meanwhile
   */
  get(hash: string, range?: BlobRange): Promise<AsyncIterable<Uint8Array>>;
  /** Removes bytes; who still reads them may fail. @returns whether they were there */
  delete(hash: string): Promise<boolean>;
  /** Everything that is stored, in no particular order. What comes or goes meanwhile may be left out. */
  list(): AsyncIterable<BlobInfo>;
  /**
   * Removes what interrupted calls left behind.
   *
   * @param olderThanMs what is younger may belong to a call that is under way
   * @returns how much was removed
   */
  sweep(olderThanMs: number): Promise<number>;
}
