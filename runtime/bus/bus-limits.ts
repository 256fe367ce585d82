import type { Backoff } from '#runtime/base/time/backoff.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';

/** Bounds of the bus of one member. */
export interface BusLimits {
  /** Buffer of one subscriber. Events are shared, so the buffers of many subscribers mostly hold the same objects. */
  readonly buffer: QueueLimits;
  /** Queue of one branch before delivery. When it is full, the branch is read again once there is room. */
  readonly feed: QueueLimits;
  /** Subscriptions at once. */
  readonly subscriptionsMax: number;
  /** Branches remembered for subscribers of a repository or more. */
  readonly feedsMax: number;
  /** Concurrent reads of missed events. */
  readonly readsMax: number;
  /** Reads that may wait for their turn. */
  readonly readsWaitingMax: number;
  /** Timeout of a read, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Pauses between retries while a branch is unavailable. */
  readonly retry: Backoff;
}

const kibibyte = 1024;

/** Bounds that fit a member with tens of thousands of subscribers. */
export const busLimits: BusLimits = Object.freeze({
  buffer: { itemsMax: 1_024, bytesMax: 1_024 * kibibyte },
  feed: { itemsMax: 4_096, bytesMax: 16_384 * kibibyte },
  subscriptionsMax: 50_000,
  feedsMax: 10_000,
  readsMax: 32,
  readsWaitingMax: 50_000,
  readTimeoutMs: 10_000,
  retry: { firstMs: 50, factor: 2, mostMs: 5_000 },
});
