import type { ActorId } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/byte-queue.ts';
import type { BranchEvent, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';

/**
 * What was told before does not lead to where the branch is now: its head was moved back while nobody listened, or
 * the revision asked for is none of its own. Read the branch anew, at `revision` or later.
 */
export interface BranchReset {
  readonly type: 'Reset';
  /** Where the branch stands; what follows is told from there on. */
  readonly revision: string;
}

/** Something a subscriber is told. It is shared by all who are told it. */
export interface BusItem {
  readonly branch: ActorId;
  readonly event: BranchEvent | BranchReset;
}

/**
 * Items in the order they are to be taken, one at a time: `next` is not called again before it answered. A
 * subscriber that is slower than what happens, by more than its buffer, is disconnected with `SUBSCRIBER_TOO_SLOW`
 * and goes on with a new subscription from its last revision.
 *
 * `next` throws {@link ServiceError}: `SUBSCRIBER_TOO_SLOW`, `BRANCH_NOT_FOUND` when the branch is gone,
 * `SHUTTING_DOWN`; after that, and after `close`, there is nothing more.
 */
export interface BusSubscription extends AsyncIterableIterator<BusItem, undefined, undefined> {
  /** Ends it: `next` answers that it is done. Idempotent. */
  close(): void;
}

/** A subscription to one branch. */
export interface BranchSubscription extends BusSubscription {
  /** The revision the last item led to, or where it started: a later subscription may go on after it. */
  readonly revision: string;
}

/** How a branch is subscribed to. */
export interface SubscribeOptions {
  /** The last revision the subscriber knows; absent: it starts where the branch is now. */
  readonly after?: string;
  /** Default: {@link busLimits}. */
  readonly buffer?: QueueLimits;
}

/**
 * Tells every member what was committed. Every implementation passes `test/runtime/bus/bus-conformance.ts`.
 *
 * Promises:
 * 1. A subscriber of a branch is told every revision that leads from where it started to where the branch is, in
 *    their order, each once and whole; and every move of the head that happens while it is live. Only what is
 *    durable is told.
 * 2. Where that cannot be kept, it is told a {@link BranchReset}, never nothing.
 * 3. What was missed is read from the revision tables of the branch, at the pace of the subscriber; what is live
 *    waits in a bounded buffer.
 * 4. `publish` neither waits nor fails: no writer is held up by who listens.
 * 5. Handing an event to many holds the event loop for no longer than a slice at a time.
 */
export interface Bus {
  /**
   * Tells what has happened in a branch, called where it is written and in the order it became durable. What is
   * lost on the way is found missing and read from the branch.
   */
  publish(branch: ActorId, events: readonly BranchEvent[]): void;
  /** Every branch whose id begins with `owner` (`{tenant}/{repository}/{branch}`) is gone: its subscriptions end. */
  removed(owner: string): void;
  /**
   * Subscribes to a branch.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND`; `INVALID_REVISION_NUMBER`; `OVERLOADED` for one too many; what asking
   *   the branch throws
   */
  subscribe(branch: ActorId, options?: SubscribeOptions): Promise<BranchSubscription>;
  /**
   * Subscribes to all branches whose id begins with `owner`: `{tenant}/{repository}`, `{tenant}`, or everything with
   * an empty text. It is live only: what happened before is not told, and a {@link BranchReset} stands for what
   * was lost on the way.
   *
   * @throws {ServiceError} `OVERLOADED`, `SHUTTING_DOWN`
   */
  subscribeUnder(owner: string, buffer?: QueueLimits): BusSubscription;
  /**
   * All node changes of a revision that was told, in parts, also when the event does not carry them.
   *
   * @throws {ServiceError} what asking the branch throws
   */
  changes(branch: ActorId, event: RevisionCommitted): AsyncIterable<readonly NodeChange[]>;
  /** Ends every subscription with `SHUTTING_DOWN`. Idempotent. */
  close(): Promise<void>;
}
