import { describe, expect, it } from 'vitest';
import { change, FeedBranch } from '#test/support/feed-branch.ts';
import { restoredBranchRow } from '#actors/branch/restored-rows.ts';
import { checkBranch } from '#runtime/check/check-branch.ts';
import { repairBranch } from '#runtime/check/repair-branch.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { parseRevision, revisionZero } from '#runtime/content/revision.ts';
import { type EntryChanges, entryChanges } from '#runtime/feed/entry-changes.ts';
import { readFeed } from '#runtime/feed/read-feed.ts';
import { BranchTable, branchTableNames, feedKey, revisionKey } from '#runtime/shard/key-layout.ts';
import { forkedFeed, removeFeedRowsBefore } from '#runtime/tree/feed-store.ts';
import { appendToFeed, readBranchHead, writeBranchHead } from '#runtime/tree/revision-store.ts';

const whole = { isComplete: true, isCut: false };

describe('the feed of a branch', () => {
  it('has an entry for each revision, with its record', () => {
    const branch = new FeedBranch();
    expect(branch.shown()).toEqual({ ...whole, entries: [], last: 0 });
    const first = branch.commit();
    const second = branch.commit();
    const { entries } = readFeed(branch.reader, 0, 10);
    expect(entries).toMatchObject([
      { sequence: 1, kind: 'revision', revision: first, previous: '0-0', record: { parent: null } },
      { sequence: 2, kind: 'revision', revision: second, previous: first, record: { actor: 'ada' } },
    ]);
    expect(branch.shown(1)).toEqual({ ...whole, entries: [[2, 'revision']], last: 2 });
    expect(branch.shown(2)).toEqual({ ...whole, entries: [], last: 2 });
  });

  it('is read in pages, which end after much that is stored inside the records', () => {
    const branch = new FeedBranch();
    for (let number = 0; number < 5; number++) branch.commit();
    expect(branch.shown(1, 2)).toMatchObject({
      isComplete: false,
      entries: [
        [2, 'revision'],
        [3, 'revision'],
      ],
    });
    expect(branch.shown(3, 2)).toMatchObject({
      isComplete: true,
      entries: [
        [4, 'revision'],
        [5, 'revision'],
      ],
    });
    const changes = Array.from({ length: 16 }, (_, number) => change(number));
    for (let number = 0; number < 70; number++) branch.commit(changes);
    expect(readFeed(branch.reader, 5, 100).entries).toHaveLength(63);
    for (let number = 0; number < 10; number++) branch.commit([], { message: 'x'.repeat(100_000) });
    expect(readFeed(branch.reader, 75, 100).entries).toHaveLength(3);
  });

  it('tells a consumer whose position it does not have to start again', () => {
    const branch = new FeedBranch();
    branch.commit();
    expect(branch.shown(2)).toEqual({ isComplete: true, isCut: true, entries: [], last: 1 });
    expect(new FeedBranch().shown(1)).toEqual({ isComplete: true, isCut: true, entries: [], last: 0 });
  });

  it('tells it also where an entry or its revision is lost, after what comes before', () => {
    const branch = new FeedBranch();
    branch.commit();
    const lost = branch.commit();
    branch.commit();
    branch.commit();
    branch.turn().remove(BranchTable.feed, feedKey(3));
    expect(branch.shown()).toMatchObject({
      isCut: false,
      isComplete: false,
      entries: [
        [1, 'revision'],
        [2, 'revision'],
      ],
    });
    expect(branch.shown(2)).toMatchObject({ isCut: true, entries: [], last: 4 });
    branch.turn().remove(BranchTable.revisions, revisionKey(parseRevision(lost)));
    expect(branch.shown(1)).toMatchObject({ isCut: true, entries: [] });
  });

  it('begins with the first commit of a branch that had none, and begins again after a version without one', () => {
    const branch = new FeedBranch();
    branch.commit();
    branch.forgetFeed();
    branch.turn().remove(BranchTable.feed, feedKey(1));
    expect(branch.shown()).toEqual({ ...whole, entries: [], last: 0 });
    const before = branch.head;
    branch.commit();
    expect(branch.shown()).toEqual({
      ...whole,
      entries: [
        [1, 'begun'],
        [2, 'revision'],
      ],
      last: 2,
    });
    expect(readFeed(branch.reader, 0, 1).entries).toMatchObject([{ revision: before }]);
    branch.forgetFeed();
    branch.commit();
    expect(branch.shown()).toMatchObject({
      entries: [
        [3, 'begun'],
        [4, 'revision'],
      ],
      last: 4,
    });
    // What the other version wrote after entry 2 has none: the entry that tells so follows.
    expect(branch.shown(2)).toMatchObject({
      entries: [
        [3, 'begun'],
        [4, 'revision'],
      ],
      isCut: false,
    });
    expect(branch.shown(1)).toMatchObject({ isCut: true });
  });

  it('is repaired where entries are lost: it begins again, which consumers are told', () => {
    const branch = new FeedBranch();
    for (let number = 0; number < 4; number++) branch.commit();
    const damage = (): readonly string[] => {
      const found: string[] = [];
      const check = checkBranch(branch.reader, branchTableNames, (table) => void found.push(table));
      while (check.next().done !== true);
      return found.filter((table) => table === 'feed');
    };
    const repair = (): number => {
      const writes = [...repairBranch(branch.reader, () => {})];
      for (const { key, table, value } of writes) branch.turn().put(table, key, value as Uint8Array);
      return writes.length;
    };
    expect([damage(), repair()]).toEqual([[], 0]);
    branch.turn().remove(BranchTable.feed, feedKey(4));
    expect(damage()).toEqual(['feed']);
    expect(repair()).toBe(1);
    expect([damage(), repair()]).toEqual([[], 0]);
    branch.commit();
    expect(branch.shown(4)).toEqual({
      ...whole,
      entries: [
        [5, 'begun'],
        [6, 'revision'],
      ],
      last: 6,
    });
    // Who has seen the lost entry is told as well, and its number is not used again.
    expect(branch.shown(3)).toMatchObject({ isCut: true });
    branch.turn().remove(BranchTable.feed, feedKey(5));
    expect(repair()).toBe(1);
    branch.commit();
    expect(branch.shown(6)).toMatchObject({
      entries: [
        [7, 'begun'],
        [8, 'revision'],
      ],
    });
  });

  it('tells with the first commit after a restore that there was one', () => {
    const branch = new FeedBranch();
    branch.commit();
    const key = 'head';
    const value = branch.reader.get(CommonTable.meta, key) as Uint8Array;
    const restore = restoredBranchRow((actor) => actor);
    const restored = restore({ table: CommonTable.meta, key, value }) as Uint8Array;
    expect(restore({ table: CommonTable.meta, key: 'lineage', value })).toBe(value);
    branch.turn().put(CommonTable.meta, key, restored);
    expect(branch.shown()).toMatchObject({ entries: [[1, 'revision']], last: 1 });
    branch.commit();
    branch.commit();
    expect(branch.shown()).toMatchObject({
      entries: [
        [1, 'revision'],
        [2, 'restored'],
        [3, 'revision'],
        [4, 'revision'],
      ],
    });
  });

  it('of a fork continues the numbers and none of the entries of its source, which can be removed', () => {
    const branch = new FeedBranch();
    for (let number = 0; number < 5; number++) branch.commit();
    const turn = branch.turn();
    const branchHead = readBranchHead(turn);
    writeBranchHead(turn, {
      ...branchHead,
      feed: forkedFeed(turn, branchHead.feed, ['created', branch.head, 'main']),
    });
    branch.commit();
    expect(branch.shown()).toEqual({
      ...whole,
      entries: [
        [6, 'created'],
        [7, 'revision'],
      ],
      last: 7,
    });
    expect(readFeed(branch.reader, 0, 1).entries).toMatchObject([{ source: 'main' }]);
    expect(branch.shown(4)).toMatchObject({ isCut: true });
    expect(removeFeedRowsBefore(branch.turn(), 6, 3)).toBe(3);
    expect(removeFeedRowsBefore(branch.turn(), 6, 3)).toBe(2);
    expect(removeFeedRowsBefore(branch.turn(), 6, 3)).toBe(0);
    expect(branch.shown()).toMatchObject({
      entries: [
        [6, 'created'],
        [7, 'revision'],
      ],
    });
    expect(removeFeedRowsBefore(branch.turn(), 0, 3)).toBe(0);
  });
});

describe('the changes of an entry', () => {
  const parts = (branch: FeedBranch, sequence: number): (EntryChanges | undefined)[] => {
    const { entries } = readFeed(branch.reader, sequence - 1, 1);
    return [...entryChanges(() => branch.reader, entries[0] as never)];
  };

  it('come in parts, however many there are', () => {
    const branch = new FeedBranch();
    branch.commit(Array.from({ length: 5_500 }, (_, number) => change(number)));
    const found = parts(branch, 1).filter((part) => part !== undefined);
    expect(found.map((part) => part?.changes.length)).toEqual([1000, 1000, 1000, 1000, 1000, 500]);
    expect(found[3]?.changes[7]).toEqual(change(3_007));
    const [entry] = readFeed(branch.reader, 0, 1).entries;
    const rest = [...entryChanges(() => branch.reader, entry as never, found[3])].filter(
      (part) => part !== undefined,
    );
    expect(rest).toEqual(found.slice(4));
  });

  it('of a moved head are those it leaves, the newest first and inverted, and those it reaches', () => {
    const branch = new FeedBranch();
    const start = branch.commit();
    const left = branch.commit([
      {
        ...change(1),
        operation: 'modified',
        path: '/b',
        node_type: 'svc:Folder',
        details: {
          kinds: ['published', 'renamed', 'relation_added'],
          pathBefore: '/a',
          typeBefore: 'svc:Page',
          locales: ['de'],
        },
      },
      { ...change(2), operation: 'deleted', path: '/d', details: { kinds: ['deleted'], pathBefore: '/c' } },
    ]);
    const without = branch.commit([{ ...change(3), operation: 'reordered', details: undefined as never }]);
    branch.move(start);
    expect(parts(branch, 4).filter((part) => part !== undefined)).toEqual([
      {
        revision: without,
        isUndone: true,
        part: 0,
        changes: [{ ...change(3), operation: 'reordered', details: undefined }],
        definitions: [],
      },
      {
        revision: left,
        isUndone: true,
        part: 0,
        changes: [
          {
            ...change(1),
            operation: 'modified',
            path: '/a',
            node_type: 'svc:Page',
            details: {
              kinds: ['unpublished', 'renamed', 'relation_removed'],
              pathBefore: '/b',
              typeBefore: 'svc:Folder',
              locales: ['de'],
            },
          },
          { ...change(2), operation: 'added', path: '/c', details: { kinds: ['created'] } },
        ],
        definitions: [],
      },
    ]);
    const other = branch.commit();
    branch.move(without);
    const ways = parts(branch, 6).filter((part) => part !== undefined);
    expect(ways.map(({ isUndone, revision }) => [revision, isUndone])).toEqual([
      [other, true],
      [left, false],
      [without, false],
    ]);
  });

  it('of a fast-forward are those of all its revisions', () => {
    const branch = new FeedBranch();
    const start = branch.commit();
    const applied = [1, 2, 3].map(() => branch.commit([change(1)], { isReplayed: true }));
    const end = applied.at(-1) as string;
    const turn = branch.turn();
    appendToFeed(turn, parseRevision(start), ['fast_forwarded', end, start]);
    expect(branch.shown()).toMatchObject({
      entries: [
        [1, 'revision'],
        [2, 'fast_forwarded'],
      ],
    });
    const found = parts(branch, 2).filter((part) => part !== undefined);
    expect(found.map(({ isUndone, revision }) => [revision, isUndone])).toEqual(
      applied.map((revision) => [revision, false]),
    );
  });

  it('continue after any part as they would have', () => {
    const branch = new FeedBranch();
    const start = branch.commit();
    branch.commit([change(1)]);
    branch.commit(Array.from({ length: 2_300 }, (_, number) => change(number)));
    const left = branch.commit();
    branch.move(start);
    branch.commit([]);
    branch.commit(Array.from({ length: 1_200 }, (_, number) => change(number)));
    branch.move(left);
    for (const sequence of [3, 5, 8]) {
      const { entries } = readFeed(branch.reader, sequence - 1, 1);
      const whole = parts(branch, sequence).filter((part) => part !== undefined);
      expect(whole.length).toBeGreaterThan(2);
      for (const [index, after] of whole.entries()) {
        const rest = [...entryChanges(() => branch.reader, entries[0] as never, after)];
        expect(rest.filter((part) => part !== undefined)).toEqual(whole.slice(index + 1));
      }
    }
  });

  it('are not read past a revision that is lost', () => {
    const branch = new FeedBranch();
    const start = branch.commit();
    const revisions = [1, 2, 3].map((number) => branch.commit([change(number)], { isReplayed: true }));
    const [, lost, end] = revisions as [string, string, string];
    appendToFeed(branch.turn(), parseRevision(start), ['fast_forwarded', end, start]);
    branch.move(start);
    branch.move(end);
    branch.turn().remove(BranchTable.revisions, revisionKey(parseRevision(lost)));
    for (const sequence of [2, 3, 4])
      expect(() => parts(branch, sequence), `${sequence}`).toThrow(`names revision ${lost}, which is lost`);
  });

  it('of an entry at which a consumer starts are none', () => {
    const branch = new FeedBranch();
    const turn = branch.turn();
    appendToFeed(turn, revisionZero, ['created', '0-0', 'main']);
    expect(parts(branch, 1)).toEqual([]);
  });
});
