import type { Backoff } from '#runtime/base/backoff.ts';
import type { QueueLimits } from '#runtime/base/byte-queue.ts';

/** Bounds of the bus of one member. */
export interface BusLimits {
  /** What waits for one subscriber. Events are shared, so the bytes of many subscribers are mostly the same ones. */
  readonly buffer: QueueLimits;
  /** What waits to be handed out, for one branch; above it the branch is asked again when there is room. */
  readonly feed: QueueLimits;
  /** Subscriptions at once. */
  readonly subscriptionsMax: number;
  /** Branches remembered for those who subscribe to a repository or more. */
  readonly feedsMax: number;
  /** Branches asked for what was missed at once. */
  readonly readsMax: number;
  /** Others that wait for it. */
  readonly readsWaitingMax: number;
  /** Time a branch has to answer, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Pauses when a branch cannot be asked at present. */
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
