import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { BranchTable, uniqueKey } from '#runtime/shard/key-layout.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { UniqueClaims, type UniqueClash } from '#runtime/tree/unique-claims.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { workloadCount } from '#test/support/workload-count.ts';

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

const keyOf = (value: string): string => uniqueKey('content', 'test:Coded', 'code', value);
const values = ['1', '2', '3'];
const ids = ['a', 'b', 'c', 'd'];

/** Who has which value in the index. */
function indexOf(turn: TurnScope): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const value of values) {
    const bytes = turn.get(BranchTable.uniques, keyOf(value));
    if (bytes !== undefined) found.set(value, Buffer.from(bytes).toString());
  }
  return found;
}

/** The nodes of a commit, which get values one after the other. */
class Nodes {
  readonly has = new Map<string, string>();
  readonly claims = new UniqueClaims();

  give(id: string, value: string | null): void {
    const old = this.has.get(id);
    if (old === value) return;
    if (old !== undefined) this.claims.release('content', 'code', keyOf(old), id);
    this.has.delete(id);
    if (value === null) return;
    this.claims.claim('content', 'code', keyOf(value), id);
    this.has.set(id, value);
  }
}

function settle(claims: UniqueClaims, turn: TurnScope): UniqueClash | undefined {
  const steps = claims.settle(turn);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** A value that several of the nodes have. */
function shared({ has }: Nodes): string | undefined {
  return values.find((value) => [...has.values()].filter((one) => one === value).length > 1);
}

describe('the unique values of a commit', () => {
  it('are in the index as the nodes have them at the end, after any changes in between', () => {
    const gives = fc.array(
      fc.record({
        id: fc.constantFrom(...ids),
        value: fc.constantFrom(...values, null),
        isLast: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
      }),
      { minLength: 1, maxLength: 30 },
    );
    let clashes = 0;
    let settled = 0;
    fc.assert(
      fc.property(gives, (steps) => {
        const turn = newTurn();
        let kept: ReadonlyMap<string, string> = new Map();
        let nodes = new Nodes();
        for (const { id, isLast, value } of steps) {
          nodes.give(id, value);
          nodes.claims.operation += 1;
          if (!isLast) continue;
          const clash = settle(nodes.claims, turn);
          if (shared(nodes) === undefined) {
            expect(clash).toBeUndefined();
            kept = new Map(nodes.has);
            const expected = [...nodes.has].map(([holder, one]) => [one, holder] as const);
            expect(indexOf(turn)).toEqual(new Map(expected.sort()));
            settled += 1;
          } else {
            const [one, other] = clash?.ids ?? [];
            expect(one).not.toBe(other);
            expect(nodes.has.get(one as string)).toBe(nodes.has.get(other as string));
            expect(clash).toMatchObject({ workspace: 'content', property: 'code' });
            clashes += 1;
            return;
          }
          nodes = new Nodes();
          for (const [holder, one] of kept) nodes.has.set(holder, one);
        }
      }),
      { numRuns: workloadCount(600) },
    );
    expect(Math.min(clashes, settled)).toBeGreaterThan(0);
  });

  it('leave the index as it was until they are settled', () => {
    const turn = newTurn();
    const first = new Nodes();
    first.give('a', '1');
    settle(first.claims, turn);
    const { claims } = new Nodes();
    claims.release('content', 'code', keyOf('1'), 'a');
    claims.claim('content', 'code', keyOf('1'), 'b');
    expect(indexOf(turn)).toEqual(new Map([['1', 'a']]));
    expect(settle(claims, turn)).toBeUndefined();
    expect(indexOf(turn)).toEqual(new Map([['1', 'b']]));
  });

  it('write no row of a value without a net change', () => {
    const turn = newTurn();
    const first = new Nodes();
    first.give('a', '1');
    settle(first.claims, turn);
    const { claims } = new Nodes();
    claims.release('content', 'code', keyOf('1'), 'a');
    claims.claim('content', 'code', keyOf('1'), 'a');
    claims.claim('content', 'code', keyOf('2'), 'b');
    claims.release('content', 'code', keyOf('2'), 'b');
    const written = vi.fn();
    Object.assign(turn, { put: written, remove: written });
    expect(settle(claims, turn)).toBeUndefined();
    expect(written).not.toHaveBeenCalled();
  });

  it('name the operation that gave a value to a second node', () => {
    const { claims } = new Nodes();
    for (const [operation, id] of ['a', 'b'].entries()) {
      claims.operation = operation + 3;
      claims.claim('content', 'code', keyOf('1'), id);
    }
    expect(settle(claims, newTurn())).toEqual({
      workspace: 'content',
      property: 'code',
      ids: ['b', 'a'],
      operation: 4,
    });
  });
});
