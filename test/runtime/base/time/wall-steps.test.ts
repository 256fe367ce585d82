import { beforeEach, describe, expect, it } from 'vitest';
import { WallSteps } from '#runtime/base/time/wall-steps.ts';
import { TestClock } from '#test/support/test-clock.ts';

const DAY_MS = 86_400_000;

let clock: TestClock;
let steps: WallSteps;

beforeEach(() => {
  clock = new TestClock();
  steps = new WallSteps(clock);
});

function jump(ms: number): number {
  clock.setWall(clock.wallMs() + ms);
  return steps.now();
}

const age = (atMs: number): number => steps.ageMs(atMs, steps.now());

describe('the age of what carries a wall time', () => {
  it('is that of the wall clock while the clock is not set', () => {
    const at = steps.now();
    clock.advance(5_000);
    expect(age(at)).toBe(5_000);
    expect(age(at - DAY_MS)).toBe(DAY_MS + 5_000);
  });

  it('does not count a jump ahead that came after it', () => {
    const before = steps.now();
    const after = jump(DAY_MS);
    clock.advance(1_000);
    expect([age(before), age(after)]).toEqual([1_000, 1_000]);
  });

  it('is right again once the clock is set back', () => {
    const before = steps.now();
    jump(DAY_MS);
    jump(DAY_MS);
    jump(-DAY_MS - 3_000);
    expect(age(before)).toBe(0);
    jump(3_000 - DAY_MS);
    clock.advance(1_000);
    expect(age(before)).toBe(1_000);
    expect(age(steps.now())).toBe(0);
  });

  it('does not count many small jumps', () => {
    const before = steps.now();
    for (let jumps = 0; jumps < 1_000; jumps += 1) jump(1_500);
    expect(age(before)).toBeLessThan(2_000);
  });

  it('does not count more jumps than are remembered', () => {
    const before = steps.now();
    for (let jumps = 0; jumps < 500; jumps += 1) jump(DAY_MS);
    expect(age(before)).toBe(0);
  });
});
