import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DueScopes } from '#actors/jobs/due-scopes.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';

const NEVER = Number.POSITIVE_INFINITY;

function scopeOf(number: number): JobScope {
  return `t/r${number}` as JobScope;
}

const time = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(NEVER));
const step = fc.oneof(
  fc.record({ kind: fc.constant('note' as const), scope: fc.nat(5), dueMs: time }),
  fc.record({ kind: fc.constant('delete' as const), scope: fc.nat(5) }),
  fc.record({ kind: fc.constant('serve' as const), scope: fc.nat(5) }),
  // The wall clock may be set back.
  fc.record({ kind: fc.constant('look' as const), nowMs: fc.integer({ min: 0, max: 20 }) }),
);

describe('the queues that have something due', () => {
  it('are exactly those, and the next time is never missed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const scopes = new DueScopes();
        const model = new Map<JobScope, number>();
        for (const each of steps) {
          if (each.kind === 'note') {
            scopes.note(scopeOf(each.scope), each.dueMs, NEVER);
            model.set(scopeOf(each.scope), each.dueMs);
          } else if (each.kind === 'delete') {
            scopes.delete(scopeOf(each.scope));
            model.delete(scopeOf(each.scope));
          } else if (each.kind === 'serve') scopes.moveBack(scopeOf(each.scope));
          else {
            const due = [...model].filter(([, dueMs]) => dueMs <= each.nowMs).map(([scope]) => scope);
            expect([...scopes.due(each.nowMs)].sort()).toEqual(due.sort());
            const later = [...model.values()].filter((dueMs) => dueMs > each.nowMs);
            // Looking too early is allowed, too late is not.
            expect(scopes.nextMs).toBeLessThanOrEqual(Math.min(NEVER, ...later));
          }
        }
      }),
    );
  });

  it('take turns', () => {
    const scopes = new DueScopes();
    for (let number = 0; number < 3; number++) scopes.note(scopeOf(number), 1, NEVER);
    const first = scopes.due(5)[0] as JobScope;
    scopes.note(first, 1, NEVER);
    scopes.moveBack(first);
    expect(scopes.due(5).at(-1)).toBe(first);
  });

  it('are found without a read of the others', () => {
    const scopes = new DueScopes();
    for (let number = 0; number < 10_000; number++) scopes.note(scopeOf(number), NEVER, NEVER);
    scopes.note(scopeOf(7), 1, NEVER);
    expect(scopes.due(5)).toEqual([scopeOf(7)]);
    expect(scopes.nextMs).toBe(NEVER);
  });
});
