import { getHeapStatistics } from 'node:v8';

/** Bounds of the HTTP server. */
export interface HttpLimits {
  /** Bytes of one request body where the route states no bound. Too low refuses honest documents. */
  readonly bodyBytesMax: number;
  /** Bytes of one body of a caller who has not logged in, where the route allows more. */
  readonly anonymousBodyBytesMax: number;
  /**
   * Bytes of the bodies of all requests together, from their first byte until the request is over; above it new
   * bytes are answered 503. A body of many small values counts more than its length, see {@link VALUE_BYTES}.
   */
  readonly bodyBytesTotalMax: number;
  /** Bytes of a `stream` body that may wait for the handler before reading from the peer pauses. */
  readonly bodyQueueBytesMax: number;
  /** Length of the window in which a body must advance, milliseconds. The library cuts at 10 s by itself. */
  readonly bodyWindowMs: number;
  /** Bytes of body that must arrive within each window, or the request is answered 408. */
  readonly bodyWindowBytesMin: number;
  /** Levels of nesting in a JSON body. */
  readonly jsonDepthMax: number;
  /** Values and keys in a JSON body, see `JsonBounds`. */
  readonly jsonValuesMax: number;
  /** Bytes of the raw path (without the query string); longer ones are answered 414. */
  readonly pathBytesMax: number;
  /**
   * Requests whose answer is not finished; above it requests are answered 503, save the public bodiless ones. Fewer
   * where the heap is small.
   */
  readonly inFlightMax: number;
  /** Time until an answer must have begun, milliseconds, counted from the end of the body. */
  readonly requestMsMax: number;
  /** Bytes of all answers together that are in memory because their peers have not taken them yet. */
  readonly replyBytesTotalMax: number;
  /** Time without progress after which a peer that does not read its answer is cut off, milliseconds. */
  readonly writeStallMsMax: number;
  /**
   * Time in which nobody has asked over a kept connection, milliseconds, after which a server that drains ends those
   * that are left. Too short and a request that is on its way over one is lost, as every request of a load balancer is.
   */
  readonly drainQuietMs: number;
  /** How often the time limits above are looked at, milliseconds. */
  readonly sweepMs: number;
  /** Answers of at least this many bytes are compressed where the client accepts it. */
  readonly compressBytesMin: number;
  /** Compressions at once; further answers go out uncompressed, for flushes need the same threads. */
  readonly compressionsMax: number;
}

/**
 * What a body takes while it is worked on, in times of its length: its bytes and its text (two bytes a character
 * where one of them needs it), the values, and the text and bytes of what is stored of them.
 */
const BODY_COPIES = 8;

/** Bytes of a body that one value or key of it counts at least: 64 of the heap, what an empty array or object takes. */
export const VALUE_BYTES: number = 64 / BODY_COPIES;

/** What a request takes in the heap besides its body, in bytes: mostly its head, of which it keeps a copy. */
const REQUEST_BYTES = 32 * 1024;

/** Part of the heap that requests in flight may take at most, their bodies aside. */
const REQUESTS_SHARE = 4;

const heapBytes = getHeapStatistics().heap_size_limit;

/** Part of the memory the process may use that answers which wait may take at most. */
const REPLY_SHARE = 8;

/** Half of the memory the process may use, for bodies with all their copies; more would not make it faster. */
const bodyBytesTotalMax = Math.min(256 * 1024 * 1024, Math.floor(heapBytes / 2 / BODY_COPIES));

/** The bounds a server has unless it is told otherwise. */
export const defaultHttpLimits: HttpLimits = Object.freeze({
  bodyBytesMax: 16 * 1024 * 1024,
  anonymousBodyBytesMax: 64 * 1024,
  bodyBytesTotalMax,
  bodyQueueBytesMax: 256 * 1024,
  bodyWindowMs: 8_000,
  bodyWindowBytesMin: 64 * 1024,
  jsonDepthMax: 128,
  jsonValuesMax: 200_000,
  pathBytesMax: 8_192,
  inFlightMax: 10_000,
  requestMsMax: 60_000,
  replyBytesTotalMax: 256 * 1024 * 1024,
  writeStallMsMax: 30_000,
  drainQuietMs: 250,
  sweepMs: 250,
  compressBytesMin: 4_096,
  compressionsMax: 4,
});

/** The bounds of a server that is told some of them. */
export function limitsOf(told: Partial<HttpLimits> | undefined): HttpLimits {
  const limits = { ...defaultHttpLimits, ...told };
  // A body that is allowed has to find room, if it is alone.
  const roomMin = told?.bodyBytesTotalMax === undefined ? limits.bodyBytesMax : 0;
  return {
    ...limits,
    bodyBytesTotalMax: Math.max(limits.bodyBytesTotalMax, roomMin),
    inFlightMax: Math.min(limits.inFlightMax, Math.floor(heapBytes / REQUESTS_SHARE / REQUEST_BYTES)),
    replyBytesTotalMax: Math.min(limits.replyBytesTotalMax, Math.floor(heapBytes / REPLY_SHARE)),
  };
}
