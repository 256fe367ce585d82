import { describe, expect, it } from 'vitest';
import { type SpaceChange, SpaceGate, type SpaceScope, type SpaceUse } from '#runtime/space/space-gate.ts';

function gate() {
  const changes: SpaceChange[] = [];
  let refused = 0;
  const made = new SpaceGate(
    { alarmPercent: 80, refusePercent: 90, readOnlyPercent: 95 },
    (change) => changes.push(change),
    () => {
      refused += 1;
    },
  );
  const note = (place: string, scope: SpaceScope, percent: number): void =>
    made.note(place, scope, { usedBytes: percent * 10, freeBytes: 1_000 - percent * 10 });
  const refuses = (scope: SpaceScope, use: SpaceUse): boolean => {
    const refusal = made.at(scope).refusal(use);
    if (refusal !== undefined) expect(refusal.code).toBe('STORAGE_FULL');
    return refusal !== undefined;
  };
  return { made, note, refuses, changes, refused: () => refused };
}

describe('the gate for everything that writes', () => {
  it('refuses what grows from the second mark on, and everything from the third on', () => {
    const { note, refuses } = gate();
    const at = (percent: number): boolean[] => {
      note('the volume', 'member', percent);
      return [refuses('member', 'grows'), refuses('member', 'ends')];
    };
    expect(at(50)).toEqual([false, false]);
    expect(at(85)).toEqual([false, false]);
    expect(at(90)).toEqual([true, false]);
    expect(at(95)).toEqual([true, true]);
    expect(at(94)).toEqual([true, true]);
    expect(at(92)).toEqual([true, false]);
    expect(at(88)).toEqual([false, false]);
  });

  it('lets a full log stop its own partition only, a full volume all of them, and backups count for themselves', () => {
    const { note, refuses, made } = gate();
    note('the log of partition 3', 3, 93);
    expect([3, 4, 'member' as const, 'backups' as const].map((scope) => refuses(scope, 'grows'))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    made.forget('the log of partition 3');
    expect(refuses(3, 'grows')).toBe(false);
    note('the volume', 'member', 93);
    expect([3, 'member' as const, 'backups' as const].map((scope) => refuses(scope, 'grows'))).toEqual([
      true,
      true,
      false,
    ]);
    note('the volume', 'everything', 93);
    expect([3, 'member' as const, 'backups' as const].map((scope) => refuses(scope, 'grows'))).toEqual([
      true,
      true,
      true,
    ]);
    note('the volume', 'member', 10);
    note('the backups', 'backups', 99);
    expect([3, 'member' as const, 'backups' as const].map((scope) => refuses(scope, 'grows'))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('reports which place is how full and what is still written', () => {
    const { note, made } = gate();
    note('the volume of /data', 'member', 91);
    expect(made.at(7).refusal('grows')?.message).toBe(
      'The volume of /data is 91 % full: from 90 % on only what deletes or releases something is written; free space, then writes go on',
    );
    note('the volume of /data', 'member', 99);
    expect(made.at(7).refusal('ends')?.message).toContain('99 % full: from 95 % on nothing is written');
  });

  it('reports each change of a level once, lists the worst place first, and counts refusals', () => {
    const { note, made, changes, refuses, refused } = gate();
    note('a', 'member', 81);
    note('a', 'member', 82);
    note('b', 2, 96);
    note('c', 'member', 10);
    expect(changes.map(({ place, before, level }) => [place, before, level])).toEqual([
      ['a', 'enough', 'low'],
      ['b', 'enough', 'read-only'],
    ]);
    expect(made.short.map(({ place }) => place)).toEqual(['b', 'a']);
    expect([made.level, made.usedPercent]).toEqual(['read-only', 96]);
    refuses(2, 'ends');
    refuses(1, 'grows');
    expect(refused()).toBe(1);
    note('b', 2, 1);
    expect([made.level, made.usedPercent]).toEqual(['low', 82]);
  });

  it('takes a place without a size for an empty one', () => {
    const { made, refuses } = gate();
    made.note('nothing', 'member', { usedBytes: 0, freeBytes: 0 });
    expect([made.level, refuses('member', 'grows')]).toEqual(['enough', false]);
  });
});
