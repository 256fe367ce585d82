import { describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { BranchConsumers } from '#runtime/feed/branch-consumers.ts';
import { readConsumer, writeConsumer } from '#runtime/feed/consumer-store.ts';
import type { ShardConsumer, StartStep } from '#runtime/feed/consumer.ts';
import type { FeedItem, FeedStart } from '#runtime/feed/feed-batch.ts';
import type { ConsumerStep } from '#runtime/feed/feed-messages.ts';
import { BranchTable, feedKey } from '#runtime/shard/key-layout.ts';
import { FeedBranch } from '#test/support/feed-branch.ts';
import { BRANCH } from '#test/support/test-branch.ts';

/** Steps of a start of {@link StepConsumer}. */
const STEPS = 3;

/** A consumer that starts in steps, and notes what it is given. */
class StepConsumer implements ShardConsumer {
  readonly effects = 'shard';
  readonly name = 'steps';
  readonly isEverywhere = true;
  readonly noted: unknown[] = [];

  *start(
    _turn: Turn,
    { position, reason }: FeedStart,
    state: JsonValue | undefined,
  ): Generator<undefined, StartStep> {
    const step = state === undefined ? 1 : (state as number) + 1;
    this.noted.push([reason, position.sequence, step]);
    yield;
    return { isDone: step === STEPS, state: step };
  }

  *consume(_turn: Turn, { after }: FeedItem, state: JsonValue): Generator<undefined, JsonValue> {
    this.noted.push([after.sequence, state]);
    yield;
    return state;
  }
}

describe('a consumer that starts in steps', () => {
  it('is given the same start until it is done, then what follows it', () => {
    const branch = new FeedBranch();
    const consumer = new StepConsumer();
    const consumers = new BranchConsumers(BRANCH, [consumer]);
    const step = (): ConsumerStep =>
      atOnce(consumers.consume(branch.turn(), { type: 'ConsumeFeed', name: 'steps' }));
    branch.commit();
    expect(step()).toEqual({ isRegistered: true, items: 0, isComplete: false });
    branch.commit();
    expect(step()).toMatchObject({ isComplete: false });
    // The start is complete, and it lacks an entry.
    expect(step()).toEqual({ isRegistered: true, items: 0, isComplete: false });
    expect(step()).toEqual({ isRegistered: true, items: 1, isComplete: true });
    expect(consumer.noted).toEqual([
      ['new', 1, 1],
      ['new', 1, 2],
      ['new', 1, 3],
      [2, 3],
    ]);
  });

  it('is complete with its last step where nothing follows', () => {
    const branch = new FeedBranch();
    const consumers = new BranchConsumers(BRANCH, [new StepConsumer()]);
    branch.commit();
    const steps = [1, 2, 3].map(() =>
      atOnce(consumers.consume(branch.turn(), { type: 'ConsumeFeed', name: 'steps' })),
    );
    expect(steps.map(({ isComplete }) => isComplete)).toEqual([false, false, true]);
  });

  it('begins another start when what follows the one it has begun is lost', () => {
    const branch = new FeedBranch();
    const consumer = new StepConsumer();
    const consumers = new BranchConsumers(BRANCH, [consumer]);
    const step = (): ConsumerStep =>
      atOnce(consumers.consume(branch.turn(), { type: 'ConsumeFeed', name: 'steps' }));
    branch.commit();
    step();
    branch.commit();
    branch.commit();
    branch.turn().remove(BranchTable.feed, feedKey(2));
    while (!step().isComplete);
    expect(consumer.noted).toEqual([
      ['new', 1, 1],
      ['cut', 3, 1],
      ['cut', 3, 2],
      ['cut', 3, 3],
    ]);
    expect(consumers.status(branch.reader)).toMatchObject([{ isStarting: false, lag: 0 }]);
  });
});

describe('a consumer of a branch without a head, as one that is being restored', () => {
  it('has nothing to do, also when its row is stored', () => {
    const branch = new FeedBranch();
    const consumer = new StepConsumer();
    const consumers = new BranchConsumers(BRANCH, [consumer]);
    const command = { type: 'ConsumeFeed', name: 'steps' } as const;
    const position = { sequence: 5, parts: 0 };
    writeConsumer(branch.turn(), { name: 'steps', effects: 'shard', position, state: 1 });
    expect(consumers.isAhead(branch.reader)).toBe(false);
    const step = atOnce(consumers.consume(branch.turn(), command));
    expect(step).toEqual({ isRegistered: false, items: 0, isComplete: true });
    expect(consumer.noted).toEqual([]);
    expect(readConsumer(branch.reader, 'steps')).toMatchObject({ position });
    branch.commit();
    expect(consumers.isAhead(branch.reader)).toBe(true);
  });
});
