import type { ActorId } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import type { BranchEvent, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';

/**
 * The events sent so far do not lead to the present head: the head was moved back while nobody was subscribed, or the
 * requested revision does not belong to the branch. The subscriber must read the branch again, at `revision` or later.
 */
export interface BranchReset {
  readonly type: 'Reset';
  /** The present head; later events continue from it. */
  readonly revision: string;
}

/** An item delivered to subscribers. All of them share one object. */
export interface BusItem {
  readonly branch: ActorId;
  readonly event: BranchEvent | BranchReset;
}

/**
 * Items in order, one at a time: `next` must not be called again before it has answered. A subscriber that falls
 * behind by more than its buffer is disconnected with `SUBSCRIBER_TOO_SLOW`. It can resume with a new subscription
 * after its last revision.
 *
 * `next` throws {@link ServiceError}: `SUBSCRIBER_TOO_SLOW`, `BRANCH_NOT_FOUND` when the branch is gone,
 * `SHUTTING_DOWN`. After an error, and after `close`, the subscription is finished.
 */
export interface BusSubscription extends AsyncIterableIterator<BusItem, undefined, undefined> {
  /** Ends the subscription: `next` answers that it is done. Idempotent. */
  close(): void;
}

/** A subscription to one branch. */
export interface BranchSubscription extends BusSubscription {
  /** The revision the last item led to, or the starting revision. A later subscription may resume after it. */
  readonly revision: string;
}

/** Options of a subscription to one branch. */
export interface SubscribeOptions {
  /** The last revision the subscriber knows; absent: start at the present head. */
  readonly after?: string;
  /** Default: {@link busLimits}. */
  readonly buffer?: QueueLimits;
}

/**
 * Publishes committed revisions to every member. Every implementation passes `test/runtime/bus/bus-conformance.ts`.
 *
 * Promises:
 * 1. A subscriber of a branch receives every revision from its starting point to the head, in order, each once and
 *    complete, and every head move that happens while it is live. Only durable revisions are delivered.
 * 2. Where that is not possible, it receives a {@link BranchReset}. A gap is never silent.
 * 3. Missed events are read from the revision tables of the branch, at the pace of the subscriber. Live events wait
 *    in a bounded buffer.
 * 4. `publish` neither waits nor fails: subscribers never delay a writer.
 * 5. Delivery to many subscribers holds the event loop for at most one slice at a time.
 */
export interface Bus {
  /**
   * Publishes events of a branch. The writer calls it in the order in which they became durable. An event lost in
   * transit is detected as a gap and read from the branch.
   */
  publish(branch: ActorId, events: readonly BranchEvent[]): void;
  /**
   * Every branch whose id begins with `owner` (`{tenant}/{repository}/{branch}`) was removed: its subscriptions end.
   */
  removed(owner: string): void;
  /**
   * Subscribes to a branch.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND`; `INVALID_REVISION_NUMBER`; `OVERLOADED` above the limit of
   *   subscriptions; the errors of reading from the branch
   */
  subscribe(branch: ActorId, options?: SubscribeOptions): Promise<BranchSubscription>;
  /**
   * Subscribes to all branches whose id begins with `owner`: `{tenant}/{repository}`, `{tenant}`, or all branches with
   * an empty text. The subscription is live only: earlier events are not delivered, and a {@link BranchReset} replaces
   * events lost in transit.
   *
   * @throws {ServiceError} `OVERLOADED`, `SHUTTING_DOWN`
   */
  subscribeUnder(owner: string, buffer?: QueueLimits): BusSubscription;
  /**
   * All node changes of a delivered revision, in parts, also when the event does not carry them.
   *
   * @throws {ServiceError} the errors of reading from the branch
   */
  changes(branch: ActorId, event: RevisionCommitted): AsyncIterable<readonly NodeChange[]>;
  /** Ends every subscription with `SHUTTING_DOWN`. Idempotent. */
  close(): Promise<void>;
}
