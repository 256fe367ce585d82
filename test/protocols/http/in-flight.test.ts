import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InFlight, type Sweepable } from '#protocols/http/in-flight.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { WORKS_MAX, WorkedTurns } from '#test/support/worked-turns.ts';
import { eventually } from './http-fixture.ts';

class Member implements Sweepable {
  inFlightAt: number | undefined;
  readonly sweptAtMs: number[] = [];

  sweep(nowMs: number): void {
    this.sweptAtMs.push(nowMs);
  }
}

describe('requests in flight', () => {
  it('are counted and looked at once each, however often they are added and removed', () => {
    const steps = fc.array(fc.record({ index: fc.nat(7), isAdded: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (list) => {
        const clock = new TestClock();
        const inFlight = new InFlight(clock, 100);
        const members = Array.from({ length: 8 }, () => new Member());
        const model = new Set<Member>();
        for (const { index, isAdded } of list) {
          const member = members[index] as Member;
          if (isAdded) {
            inFlight.add(member);
            model.add(member);
          } else {
            inFlight.remove(member);
            model.delete(member);
          }
          expect(inFlight.count).toBe(model.size);
        }
        clock.advance(100);
        for (const member of members) expect(member.sweptAtMs.length).toBe(model.has(member) ? 1 : 0);
      }),
    );
  });

  it('are notified when the last one ends', async () => {
    const inFlight = new InFlight(new TestClock(), 100);
    const [first, second] = [new Member(), new Member()];
    inFlight.add(first);
    inFlight.add(second);
    let isIdle = false;
    const idle = inFlight.idle().then(() => {
      isIdle = true;
    });
    inFlight.remove(first);
    await settle();
    expect(isIdle).toBe(false);
    inFlight.remove(second);
    await idle;
    await inFlight.idle();
  });

  it('are looked at again and again, and nothing is when there are none', () => {
    const clock = new TestClock();
    const inFlight = new InFlight(clock, 100);
    const member = new Member();
    inFlight.add(member);
    for (let time = 0; time < 3; time += 1) clock.advance(100);
    expect(member.sweptAtMs).toHaveLength(3);
    inFlight.remove(member);
    clock.advance(100);
    expect([member.sweptAtMs.length, clock.alarms]).toEqual([3, 0]);
  });

  it('are looked at over several turns when each look takes its time', async () => {
    const worked = new WorkedTurns();
    const inFlight = new InFlight(worked.clock, 1);
    for (let count = 0; count < 50; count += 1) {
      const member = { inFlightAt: undefined, sweep: () => {} };
      member.sweep = () => {
        worked.work();
        inFlight.remove(member);
      };
      inFlight.add(member);
    }
    await eventually(() => inFlight.count === 0, 'all have been looked at');
    expect(worked.total).toBe(50);
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
  });
});
