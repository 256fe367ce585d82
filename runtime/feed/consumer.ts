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
  /** How long the first commit it has not seen may wait for others, to be taken in with them; absent: not at all. */
  readonly delayMs?: number;
}

/** A step of the start of a {@link ShardConsumer}. */
export interface StartStep {
  /** Its state after the step: how far the start is, or with which it takes the first item. */
  readonly state: JsonValue;
  readonly isDone: boolean;
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
   * A step of a start: it replaces the consumer's rows by those of the content of a revision. Each step is a commit of
   * its own, with other commits of the branch in between, so it reads the content at that revision and not at the head.
   * What follows the revision comes after the last step. A start that can no longer be completed is abandoned at any
   * step, and another one begins.
   *
   * @param state undefined: the first step, which removes the rows of earlier starts, or leaves that to later steps.
   *   Otherwise the state that the step before returned
   * @param branch id of its actor
   */
  start(
    turn: Turn,
    start: FeedStart,
    state: JsonValue | undefined,
    branch: ActorId,
  ): Generator<undefined, StartStep>;
  /**
   * Takes an item. It may enqueue jobs with the same turn, see {@link enqueueJob}, in a branch in which the consumer was
   * registered.
   *
   * @returns its state after the item
   */
  consume(turn: Turn, item: FeedItem, state: JsonValue, branch: ActorId): Generator<undefined, JsonValue>;
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
  /**
   * The branch was removed, and nothing more comes of it; only a call that began before on another member may still run.
   * It is told at least once, and again after a crash before all consumers were told. It may be a branch of which the
   * consumer has seen nothing. A deleted branch whose content is kept for a tag is removed with the last such tag.
   */
  ended(branch: ActorId): Promise<void>;
}

/** A named consumer of the change feed of branches. */
export type FeedConsumer = ShardConsumer | OutsideConsumer;
