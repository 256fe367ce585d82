import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock, wallClockProblem } from '#runtime/base/time/clock.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));

afterEach(() => void vi.useRealTimers());

it('holds the wall time while the system shows one before 1970, with which nothing can be stored', () => {
  vi.setSystemTime(1_700_000_000_000);
  expect(systemClock.wallMs()).toBe(1_700_000_000_000);
  vi.setSystemTime(-86_400_000);
  expect(systemClock.wallMs()).toBe(1_700_000_000_000);
  vi.setSystemTime(1_600_000_000_000);
  expect(systemClock.wallMs()).toBe(1_600_000_000_000);
});

it('says why nothing begins then', () => {
  vi.setSystemTime(0);
  expect(wallClockProblem()).toBeUndefined();
  vi.setSystemTime(-1);
  expect(wallClockProblem()).toContain('shows 1969-12-31T23:59:59.999Z, which is before 1970: set it');
});
