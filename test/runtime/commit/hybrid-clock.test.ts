import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { TestClock } from '#test/support/test-clock.ts';

const hour = 3_600_000;

describe('the hybrid clock', () => {
  it('follows the wall clock, counting within one millisecond', () => {
    const clock = new TestClock(5000);
    const hybrid = new HybridClock(clock);
    expect([hybrid.next(), hybrid.next()]).toEqual([
      { ms: 5000, counter: 0 },
      { ms: 5000, counter: 1 },
    ]);
    clock.advance(1);
    expect(hybrid.next()).toEqual({ ms: 5001, counter: 0 });
  });

  it('rises while the wall clock is set back an hour [DUR-013]', () => {
    const clock = new TestClock();
    const hybrid = new HybridClock(clock);
    const before = hybrid.next();
    clock.setWall(clock.wallMs() - hour);
    const after = [hybrid.next(), hybrid.next()];
    expect(after).toEqual([
      { ms: before.ms, counter: 1 },
      { ms: before.ms, counter: 2 },
    ]);
    clock.advance(hour + 1);
    expect(hybrid.next()).toEqual({ ms: before.ms + 1, counter: 0 });
  });

  it('starts above what it was given, although the wall clock is behind it', () => {
    const clock = new TestClock(1000);
    expect(new HybridClock(clock, { ms: 2000, counter: 7 }).next()).toEqual({ ms: 2000, counter: 8 });
  });

  it('takes note of larger values only', () => {
    const hybrid = new HybridClock(new TestClock(1000));
    hybrid.observe({ ms: 2000, counter: 3 });
    hybrid.observe({ ms: 2000, counter: 1 });
    expect(hybrid.last).toEqual({ ms: 2000, counter: 3 });
    expect(hybrid.next()).toEqual({ ms: 2000, counter: 4 });
  });

  it('continues when the counter is exhausted', () => {
    const hybrid = new HybridClock(new TestClock(1000), { ms: 5000, counter: 0xffffffff });
    expect(hybrid.next()).toEqual({ ms: 5001, counter: 0 });
  });

  it('increases strictly, for any wall clock and any observed revision', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ wall: fc.double({ min: 0, max: 2 ** 47, noNaN: true }) }),
        fc.record({ ms: fc.nat(2 ** 31), counter: fc.nat(0xffffffff) }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const clock = new TestClock(1000);
        const hybrid = new HybridClock(clock);
        let last: Revision = hybrid.next();
        for (const step of list) {
          if ('wall' in step) clock.setWall(step.wall);
          else hybrid.observe(step);
          const next = hybrid.next();
          expect(compareRevisions(next, last)).toBeGreaterThan(0);
          if (!('wall' in step)) expect(compareRevisions(next, step)).toBeGreaterThan(0);
          last = next;
        }
      }),
    );
  });
});
