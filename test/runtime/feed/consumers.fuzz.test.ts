import fc from 'fast-check';
import { expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { BranchConsumers } from '#runtime/feed/branch-consumers.ts';
import type { ShardConsumer, StartStep } from '#runtime/feed/consumer.ts';
import { readConsumer, type StoredConsumer } from '#runtime/feed/consumer-store.ts';
import type { FeedItem, FeedStart } from '#runtime/feed/feed-batch.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, feedKey } from '#runtime/shard/key-layout.ts';
import { appendToFeed, readBranchHead } from '#runtime/tree/revision-store.ts';
import { change, FeedBranch } from '#test/support/feed-branch.ts';
import { feedAfter, partsOf } from '#test/support/feed-reader.ts';
import { BRANCH } from '#test/support/test-branch.ts';
import { workloadCount } from '#test/support/workload-count.ts';

/** Steps of a start of {@link SeenConsumer}. */
const START_STEPS = 3;

const PREFIX = 'seen\0';

/** A consumer whose rows are the parts it has seen since it started, in order. */
class SeenConsumer implements ShardConsumer {
  readonly effects = 'shard';
  readonly name = 'seen';
  readonly isEverywhere = true;

  *start(turn: Turn, { position }: FeedStart, state: JsonValue | undefined): Generator<undefined, StartStep> {
    const { step } = (state ?? { step: 0 }) as { readonly step: number };
    if (step === 0) for (const { key } of this.#rows(turn)) turn.remove(CommonTable.meta, key);
    yield;
    const began = position.sequence;
    return { isDone: step + 1 === START_STEPS, state: { step: step + 1, began, count: 0 } };
  }

  *consume(turn: Turn, { changes, entry }: FeedItem, state: JsonValue): Generator<undefined, JsonValue> {
    const { count, ...rest } = state as { readonly count: number };
    const key = `${PREFIX}${String(count).padStart(6, '0')}`;
    const { isUndone = null, part = null, revision = null } = changes ?? {};
    turn.put(CommonTable.meta, key, encodeJsonRow([entry.sequence, revision, part, isUndone]));
    yield;
    return { ...rest, count: count + 1 };
  }

  /** What it has seen since it started. */
  seen(branch: FeedBranch): unknown[] {
    return this.#rows(branch.reader).map(({ value }) => decodeJsonRow(value));
  }

  #rows(reader: Pick<FeedBranch['reader'], 'range'>): { key: string; value: Uint8Array }[] {
    return [...reader.range(CommonTable.meta, { start: PREFIX, end: `${PREFIX}\u00ff` })];
  }
}

const steps = fc.array(
  fc.record({
    do: fc.oneof(
      { weight: 6, arbitrary: fc.constant('commit' as const) },
      { weight: 3, arbitrary: fc.constant('move' as const) },
      { weight: 2, arbitrary: fc.constant('forward' as const) },
      { weight: 10, arbitrary: fc.constant('consume' as const) },
      { weight: 5, arbitrary: fc.constant('crash' as const) },
      { weight: 1, arbitrary: fc.constant('lose' as const) },
      { weight: 1, arbitrary: fc.constant('older' as const) },
    ),
    number: fc.nat({ max: 30 }),
    size: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 20 }), fc.integer({ min: 900, max: 2_600 })),
  }),
  { minLength: 5, maxLength: 60, size: 'max' },
);

/** Every part of the entries after a number, as the consumer notes it. */
function partsAfter(branch: FeedBranch, after: number): unknown[] {
  return feedAfter(branch.reader, after).flatMap((entry): unknown[] => {
    const parts = partsOf(branch.reader, entry).map(({ isUndone, part, revision }) => [
      entry.sequence,
      revision,
      part,
      isUndone,
    ]);
    return parts.length === 0 ? [[entry.sequence, null, null, null]] : parts;
  });
}

it('a consumer sees each part after its start once and in order, whatever is committed, lost or taken back', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const branch = new FeedBranch();
      const consumer = new SeenConsumer();
      const consumers = new BranchConsumers(BRANCH, [consumer]);
      const revisions: string[] = [];
      const consume = (isLost: boolean): boolean => {
        const turn = branch.turn();
        const before = JSON.stringify([consumer.seen(branch), readConsumer(branch.reader, 'seen')]);
        const { isComplete } = atOnce(consumers.consume(turn, { type: 'ConsumeFeed', name: 'seen' }));
        if (!isLost) return isComplete;
        turn.undo();
        expect(JSON.stringify([consumer.seen(branch), readConsumer(branch.reader, 'seen')])).toBe(before);
        return false;
      };
      const many = (size: number) => Array.from({ length: size }, (_, number) => change(number));
      for (const step of all) {
        const target = revisions[step.number % revisions.length];
        if (step.do === 'commit') revisions.push(branch.commit(many(step.size)));
        else if (step.do === 'consume') consume(false);
        else if (step.do === 'crash') consume(true);
        else if (target === undefined) continue;
        else if (step.do === 'older') branch.forgetFeed();
        else if (step.do === 'move') branch.move(target);
        else if (step.do === 'lose') {
          // One that it has not seen, or not completely.
          const { sequence } = readConsumer(branch.reader, 'seen')?.position ?? { sequence: 0 };
          branch.turn().remove(BranchTable.feed, feedKey(sequence + 1 + (step.number % 3)));
        } else {
          const from = branch.head;
          for (let count = 0; count <= step.number; count++)
            revisions.push(branch.commit(many(step.size % 40), { isReplayed: true }));
          appendToFeed(branch.turn(), parseRevision(from), ['fast_forwarded', branch.head, from]);
        }
      }
      revisions.push(branch.commit());
      const place = (): string => JSON.stringify(readConsumer(branch.reader, 'seen'));
      // Each step that is not the last one makes progress.
      for (let before = place(); !consume(false); before = place()) expect(place()).not.toBe(before);
      const stored = readConsumer(branch.reader, 'seen') as StoredConsumer;
      expect(stored.position).toEqual({ sequence: readBranchHead(branch.reader).feed.last, parts: 0 });
      expect(consumers.isAhead(branch.reader)).toBe(false);
      const { began } = stored.state as unknown as { readonly began: number };
      expect(consumer.seen(branch)).toEqual(partsAfter(branch, began));
    }),
    { numRuns: workloadCount(400) },
  );
});
