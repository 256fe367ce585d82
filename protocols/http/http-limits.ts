import { getHeapStatistics } from 'node:v8';

/** Bounds of the HTTP server. */
export interface HttpLimits {
  /**
   * Maximum bytes of one request body where the route states no bound. If too low, legitimate documents are refused.
   */
  readonly bodyBytesMax: number;
  /** Maximum bytes of one body of a caller who has not logged in, where the route allows more. */
  readonly anonymousBodyBytesMax: number;
  /**
   * Bytes of the bodies of all requests together, from their first byte until the request is over. Above it new bytes
   * are refused with 503. A body of many small values counts for more than its length, see {@link VALUE_BYTES}.
   */
  readonly bodyBytesTotalMax: number;
  /** Bytes of a `stream` body that may wait for the handler before reading from the peer pauses. */
  readonly bodyQueueBytesMax: number;
  /** Length of the window in which a body must make progress, in milliseconds. The library's own timeout is 10 s. */
  readonly bodyWindowMs: number;
  /** Bytes of body that must arrive within each window; otherwise the request is answered with 408. */
  readonly bodyWindowBytesMin: number;
  /** Levels of nesting in a JSON body. */
  readonly jsonDepthMax: number;
  /** Values and keys in a JSON body, see `JsonBounds`. */
  readonly jsonValuesMax: number;
  /** Bytes of the raw path (without the query string); longer paths are refused with 414. */
  readonly pathBytesMax: number;
  /**
   * Maximum number of unfinished requests. Above it requests are refused with 503, except public ones without a body.
   * Lower where the heap is small.
   */
  readonly inFlightMax: number;
  /** Time until a response must have begun, in milliseconds, counted from the end of the body. */
  readonly requestMsMax: number;
  /** Bytes of all responses together that are in memory because their peers have not read them yet. */
  readonly replyBytesTotalMax: number;
  /** Time without progress after which a peer that does not read its response is disconnected, in milliseconds. */
  readonly writeStallMsMax: number;
  /**
   * Time without a request on kept connections, in milliseconds, after which a draining server closes the remaining
   * ones. If too short, a request in transit is lost, such as the next one of a load balancer.
   */
  readonly drainQuietMs: number;
  /** Interval at which the time limits above are checked, in milliseconds. */
  readonly sweepMs: number;
  /** Responses of at least this many bytes are compressed if the client accepts it. */
  readonly compressBytesMin: number;
  /** Concurrent compressions; further responses are sent uncompressed, because flushes need the same threads. */
  readonly compressionsMax: number;
}

/**
 * Memory that a body takes while it is processed, as a multiple of its length: its bytes and its text (two bytes a
 * character if one of them needs it), the values, and the text and bytes of their stored form.
 */
const BODY_COPIES = 8;

/** Bytes that each value or key of a body counts as at least: 64 of the heap, the size of an empty array or object. */
export const VALUE_BYTES: number = 64 / BODY_COPIES;

/** Heap bytes that a request takes besides its body: mostly its head, of which the request keeps a copy. */
const REQUEST_BYTES = 32 * 1024;

/** Divisor: the part of the heap that requests in flight may take at most, without their bodies. */
const REQUESTS_SHARE = 4;

const heapBytes = getHeapStatistics().heap_size_limit;

/** Divisor: the part of the process's memory that waiting responses may take at most. */
const REPLY_SHARE = 8;

/** Half of the process's memory, for bodies with all their copies; more would not improve throughput. */
const bodyBytesTotalMax = Math.min(256 * 1024 * 1024, Math.floor(heapBytes / 2 / BODY_COPIES));

/** The default bounds of a server. */
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

/** The bounds of a server that overrides some of them. */
export function limitsOf(told: Partial<HttpLimits> | undefined): HttpLimits {
  const limits = { ...defaultHttpLimits, ...told };
  // A body of the allowed size must find room if it is alone.
  const roomMin = told?.bodyBytesTotalMax === undefined ? limits.bodyBytesMax : 0;
  return {
    ...limits,
    bodyBytesTotalMax: Math.max(limits.bodyBytesTotalMax, roomMin),
    inFlightMax: Math.min(limits.inFlightMax, Math.floor(heapBytes / REQUESTS_SHARE / REQUEST_BYTES)),
    replyBytesTotalMax: Math.min(limits.replyBytesTotalMax, Math.floor(heapBytes / REPLY_SHARE)),
  };
}
