import { describe, expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { readAncestor, writeMergedRevisions } from '#runtime/tree/ancestry-store.ts';
import { readChanges, readRevision, writeRevisionInSteps } from '#runtime/tree/revision-store.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import { TestClock } from '#test/support/test-clock.ts';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };

function newTurn(): TurnScope {
  const clock = new TestClock();
  const memtable = new Memtable();
  const shard = new MemoryShard(new MemoryDisk(), 40, clock);
  const reader = new MemtableReader(
    () => [memtable],
    () => shard,
  );
  return new TurnScope(caller, clock.wallMs(), reader, memtable, new HybridClock(clock), systemRandom);
}

/** Runs work to its end. @returns how often it could have rested */
function restsOf(steps: Generator<undefined, unknown>): number {
  let rests = 0;
  while (steps.next().done !== true) rests += 1;
  return rests;
}

describe('writing much in one command', () => {
  it('rests while the revisions of a merge are kept', () => {
    const turn = newTurn();
    const records = Array.from({ length: 1600 }, (_, index) => ({
      revision: `${1000 + index}-0`,
      parent: index === 0 ? null : `${999 + index}-0`,
      mergeParent: null,
    }));
    expect(restsOf(writeMergedRevisions(turn, records, 'home'))).toBe(100);
    expect(readAncestor(turn, parseRevision('2599-0'))).toMatchObject({ parent: '2598-0', home: 'home' });
  });

  it('rests while the changes of a revision are stored', () => {
    const turn = newTurn();
    const changes: NodeChange[] = Array.from({ length: 5000 }, (_, index) => ({
      node_id: `n${index}`,
      workspace: 'content',
      operation: 'added',
      path: `/n${index}`,
      node_type: 'svc:Page',
    }));
    const facts = { actor: 'ada', message: 'large', isSystem: false };
    expect(restsOf(writeRevisionInSteps(turn, facts, changes, []))).toBe(5);
    const record = readRevision(turn, turn.revision);
    expect(record).toMatchObject({ changeCount: 5000, ordinals: [1, 0] });
    expect(record === undefined ? [] : readChanges(turn, record)).toEqual(changes);
  });
});
