import type { FeedConsumer } from './consumer.ts';
import type { FeedBatch, FeedPosition } from './feed-batch.ts';

/*
 * Messages to branches about their change feed. All of them are for the engine only.
 */

/** Registers a consumer that is not everywhere. Result: undefined. Registering it again has no effect. */
export interface RegisterConsumer {
  readonly type: 'RegisterConsumer';
  readonly name: string;
}

/** Removes a consumer with its position. Result: undefined. */
export interface RemoveConsumer {
  readonly type: 'RemoveConsumer';
  readonly name: string;
}

/** Lets a consumer with effects in the shard take its next batch. Result: {@link ConsumerStep}. */
export interface ConsumeFeed {
  readonly type: 'ConsumeFeed';
  readonly name: string;
}

/**
 * Moves a consumer with effects elsewhere behind a batch. Result: whether it was moved; false when it is not at `from`,
 * because another member has moved it or it was removed.
 */
export interface MoveConsumer {
  readonly type: 'MoveConsumer';
  readonly name: string;
  /** Null: it has not started. */
  readonly from: FeedPosition | null;
  readonly to: FeedPosition;
}

/** Reads the next batch of a consumer with effects elsewhere. Answer: {@link ConsumerBatch}. */
export interface ReadConsumerBatch {
  readonly type: 'ReadConsumerBatch';
  readonly name: string;
}

/** Reads how far the consumers of the branch are. Answer: array of {@link ConsumerStatus}. */
export interface ReadConsumers {
  readonly type: 'ReadConsumers';
}

/** Reads whether a consumer of the branch has something to do. Answer: boolean. */
export interface IsFeedAhead {
  readonly type: 'IsFeedAhead';
}

/** The result of {@link ConsumeFeed}. */
export interface ConsumerStep {
  /** False: the branch does not have this consumer. */
  readonly isRegistered: boolean;
  /** Items that were consumed. */
  readonly items: number;
  /** Whether the consumer has seen everything. */
  readonly isComplete: boolean;
}

/** The answer to {@link ReadConsumerBatch}. */
export interface ConsumerBatch {
  /** Null: the branch does not have this consumer. */
  readonly batch: FeedBatch | null;
  /** The position before the batch; null: it has not started. */
  readonly from: FeedPosition | null;
}

/** How far a consumer of a branch is. */
export interface ConsumerStatus {
  readonly name: string;
  readonly effects: FeedConsumer['effects'];
  /** Null: it has not started. */
  readonly position: FeedPosition | null;
  /** Whether its start at that position is not complete yet. */
  readonly isStarting: boolean;
  /** Entries that it has not seen completely. */
  readonly lag: number;
}

/** Commands of a branch about its feed. */
export type FeedCommand = RegisterConsumer | RemoveConsumer | ConsumeFeed | MoveConsumer;

/** Queries of a branch about its feed. */
export type FeedQuery = ReadConsumerBatch | ReadConsumers | IsFeedAhead;
