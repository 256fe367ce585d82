import { describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { type FeedBatch, type FeedPosition, readBatch } from '#runtime/feed/feed-batch.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchTable, feedKey, revisionChangesKey } from '#runtime/shard/key-layout.ts';
import type { Range, Row, TableReader } from '#runtime/shard/shard.ts';
import { appendToFeed } from '#runtime/tree/revision-store.ts';
import { change, FeedBranch } from '#test/support/feed-branch.ts';

function many(count: number): ReturnType<typeof change>[] {
  return Array.from({ length: count }, (_, number) => change(number));
}

function batch(branch: FeedBranch, position: FeedPosition | undefined): FeedBatch {
  return atOnce(readBatch(branch.reader, position));
}

/** Positions and numbers of changes of all items behind a position, batch by batch. */
function walk(branch: FeedBranch, from: FeedPosition): (readonly [number, number, number])[][] {
  const batches: (readonly [number, number, number])[][] = [];
  for (let at = from; ; ) {
    const { isComplete, items, position } = batch(branch, at);
    batches.push(
      items.map(({ after, changes }) => [after.sequence, after.parts, changes?.changes.length ?? 0] as const),
    );
    expect(items.at(-1)?.after ?? at).toEqual(position);
    at = position;
    if (isComplete) return batches;
  }
}

const start = { sequence: 0, parts: 0 };

/** Revisions of a long entry. */
const REVISIONS = 8_000;

/** Counts the rows that are read. */
class CountedReader implements TableReader {
  rows = 0;
  readonly #reader: TableReader;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  get(table: number, key: string): Uint8Array | undefined {
    this.rows += 1;
    return this.#reader.get(table, key);
  }

  *range(table: number, range: Range): Iterable<Row> {
    for (const row of this.#reader.range(table, range)) {
      this.rows += 1;
      yield row;
    }
  }
}

describe('the batches of a consumer', () => {
  it('have all items in order, and a large entry in parts over several of them', () => {
    const branch = new FeedBranch();
    branch.commit();
    const large = branch.commit(many(2_500));
    branch.commit([]);
    expect(walk(branch, start)).toEqual([
      [
        [1, 0, 1],
        [1, 1, 1_000],
      ],
      [[1, 2, 1_000]],
      [
        [2, 0, 500],
        [3, 0, 0],
      ],
    ]);
    const part = { revision: large, isUndone: false, part: 1 };
    expect(walk(branch, { sequence: 1, parts: 2, part })).toEqual([
      [
        [2, 0, 500],
        [3, 0, 0],
      ],
    ]);
    expect(walk(branch, { sequence: 3, parts: 0 })).toEqual([[]]);
  });

  it('end before changes that are lost, and then tell the consumer to start at the head', () => {
    const branch = new FeedBranch();
    branch.commit();
    const revision = parseRevision(branch.commit(many(2_500)));
    branch.commit();
    branch.turn().remove(BranchTable.revisionChanges, revisionChangesKey(revision, 0));
    const before = batch(branch, start);
    expect(before).toMatchObject({ position: { sequence: 1, parts: 0 }, isComplete: false });
    expect(before.items).toHaveLength(1);
    expect(batch(branch, before.position)).toMatchObject({
      items: [],
      start: { reason: 'cut', position: { sequence: 3, parts: 0 } },
    });
  });

  it('take the parts of a moved head and of a fast-forward one by one', () => {
    const branch = new FeedBranch();
    const first = branch.commit();
    branch.commit(many(1_500));
    branch.commit();
    branch.move(first);
    const undone = [
      [3, 1, 1],
      [3, 2, 1_000],
    ];
    expect(walk(branch, { sequence: 3, parts: 0 })).toEqual([undone, [[4, 0, 500]]]);
    const [undoing] = batch(branch, { sequence: 3, parts: 0 }).items;
    expect(walk(branch, undoing?.after as FeedPosition)).toEqual([[[3, 2, 1_000]], [[4, 0, 500]]]);
  });

  it.each([
    ['of a fast-forward', true],
    ['of a head that is moved back and forward', false],
  ])('take a number of reads that grows with what they have, in an entry %s', (_, isForward) => {
    const branch = new FeedBranch();
    const start = branch.commit();
    for (let count = 0; count < REVISIONS; count++)
      branch.commit([change(count)], isForward ? { isReplayed: true } : {});
    const end = branch.head;
    if (isForward) appendToFeed(branch.turn(), parseRevision(start), ['fast_forwarded', end, start]);
    else for (const to of [start, end]) branch.move(to);
    const counted = new CountedReader(branch.reader);
    let at = { sequence: isForward ? 1 : REVISIONS + 1, parts: 0 };
    let batches = 0;
    let changes = 0;
    for (let isDone = false; !isDone; batches++) {
      const { isComplete, items, position } = atOnce(readBatch(counted, at));
      expect(items.length).toBeLessThanOrEqual(1_001);
      changes += items.reduce((sum, item) => sum + (item.changes?.changes.length ?? 0), 0);
      isDone = isComplete;
      at = position;
    }
    const entries = isForward ? 1 : 2;
    expect(changes).toBe(entries * REVISIONS);
    expect(batches).toBeGreaterThan(entries * 5);
    expect(counted.rows).toBeLessThan(entries * REVISIONS * 2 + batches * 20);
  });

  it('have an entry of 100,000 nodes in pieces, of which each is read alone', () => {
    const branch = new FeedBranch();
    branch.commit();
    branch.commit(many(100_000));
    const counted = new CountedReader(branch.reader);
    let at = { sequence: 1, parts: 0 };
    let changes = 0;
    for (let isDone = false; !isDone; ) {
      const before = counted.rows;
      const { isComplete, items, position } = atOnce(readBatch(counted, at));
      const found = items.reduce((sum, item) => sum + (item.changes?.changes.length ?? 0), 0);
      expect(found).toBeLessThanOrEqual(1_000);
      expect(counted.rows - before).toBeLessThan(12);
      changes += found;
      isDone = isComplete;
      at = position;
    }
    expect(changes).toBe(100_000);
  });

  it('are bounded also where revisions have no changes', () => {
    const branch = new FeedBranch();
    const start = branch.commit();
    for (let count = 0; count < 2_500; count++) branch.commit([], { isReplayed: true });
    appendToFeed(branch.turn(), parseRevision(start), ['fast_forwarded', branch.head, start]);
    const sizes = walk(branch, { sequence: 1, parts: 0 }).map((items) => items.length);
    expect(sizes).toEqual([1_000, 1_000, 500]);
  });

  it('tell a consumer to start at the head: without a position, and where entries are missing', () => {
    const branch = new FeedBranch();
    branch.commit();
    branch.commit();
    const revision = branch.head;
    const position = { sequence: 2, parts: 0 };
    const whole = { items: [], position, last: 2, isComplete: true };
    expect(batch(branch, undefined)).toEqual({ ...whole, start: { revision, position, reason: 'new' } });
    const cut = { ...whole, start: { revision, position, reason: 'cut' } };
    expect(batch(branch, { sequence: 7, parts: 0 })).toEqual(cut);
    branch.turn().remove(BranchTable.feed, feedKey(1));
    expect(batch(branch, start)).toEqual(cut);
    expect(batch(branch, { sequence: 1, parts: 0 }).items).toHaveLength(1);
  });

  it('end before an entry at which a consumer has to start again', () => {
    const branch = new FeedBranch();
    branch.commit();
    branch.commit();
    branch.forgetFeed();
    branch.commit();
    const { items, isComplete, position } = batch(branch, { sequence: 2, parts: 0 });
    expect([items, isComplete]).toEqual([[], true]);
    expect(position).toEqual({ sequence: 4, parts: 0 });
    expect(batch(branch, { sequence: 2, parts: 0 }).start).toMatchObject({ reason: 'cut' });
    expect(batch(branch, { sequence: 3, parts: 0 }).items).toHaveLength(1);
  });
});
