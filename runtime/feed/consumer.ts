import type { ActorId } from '#runtime/actor/ports.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { FeedItem, FeedStart } from './feed-batch.ts';

/** What all consumers of the feeds of branches have. */
interface Consumer {
  /** Names its position in each branch; it must not change between versions. */
  readonly name: string;
  /** Whether every branch has it. Otherwise only branches in which it was registered. */
  readonly isEverywhere: boolean;
}

/**
 * A consumer whose effects are rows of the same branch. They, its state and its position are written by one turn, so it
 * sees each change exactly once: whatever crashes, fails over or is restored, its rows are those of its position.
 *
 * Its methods are called within a command of the branch. They run in slices, so they yield in long loops; what one call
 * writes must fit into one commit, as the changes of one {@link FeedItem} do. If one throws, nothing is written and the
 * call is repeated later.
 */
export interface ShardConsumer extends Consumer {
  readonly effects: 'shard';
  /**
   * Starts, or starts anew: replaces its rows by those of the content of a revision. What follows the revision comes
   * next.
   *
   * @returns its state
   */
  start(turn: Turn, start: FeedStart): Generator<undefined, JsonValue>;
  /** @returns its state after the item */
  consume(turn: Turn, item: FeedItem, state: JsonValue): Generator<undefined, JsonValue>;
}

/**
 * A consumer whose effects are elsewhere. Its position moves after the effects of a batch, so after a crash in between
 * it gets some items again: `item.after` with the id of the branch recognizes them.
 *
 * A call that rejects is repeated later. While it is not settled, nothing else is read for it.
 */
export interface OutsideConsumer extends Consumer {
  readonly effects: 'elsewhere';
  /** As {@link ShardConsumer.start}. */
  start(branch: ActorId, start: FeedStart, signal: AbortSignal): Promise<void>;
  consume(branch: ActorId, items: readonly FeedItem[], signal: AbortSignal): Promise<void>;
  /** The branch was deleted, and nothing more comes of it. It may be one of which the consumer has seen nothing. */
  ended(branch: ActorId): Promise<void>;
}

/** A named consumer of the change feed of branches. */
export type FeedConsumer = ShardConsumer | OutsideConsumer;
