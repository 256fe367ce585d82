import { beforeEach, describe, expect, it } from 'vitest';
import { NetworkLimit, networkLimits } from '#runtime/access/network-limit.ts';
import { TestClock } from '#test/support/test-clock.ts';

const here = '10.0.0.1';
const HOUR_MS = 3_600_000;

let clock: TestClock;
let limit: NetworkLimit;

beforeEach(() => {
  clock = new TestClock();
  limit = new NetworkLimit(clock, 'Too many');
});

/** Counts as often as it is permitted during a time. @returns how often that was */
function countFor(durationMs: number): number {
  let counted = 0;
  for (let leftMs = durationMs; ; ) {
    const waitMs = limit.waitMs(here);
    if (waitMs > leftMs) {
      clock.advance(leftMs);
      return counted;
    }
    clock.advance(waitMs);
    leftMs -= waitMs;
    limit.count(here);
    counted += 1;
  }
}

describe('the limit of a network', () => {
  it('lets a hundred go at once, and says then how long to wait', () => {
    for (let count = 0; count <= 100; count += 1) {
      limit.requireOpen(here);
      limit.count(here);
    }
    expect(() => limit.requireOpen(here)).toThrow(
      expect.objectContaining({
        code: 'RATE_LIMITED',
        message: 'Too many; wait 1 seconds',
        details: { retry_after_seconds: 1 },
      }) as Error,
    );
  });

  it('lets a client that never stops have a hundred more in an hour, and never makes it wait longer than 36 s', () => {
    countFor(HOUR_MS);
    for (let hour = 0; hour < 5; hour += 1) {
      expect(Math.abs(countFor(HOUR_MS) - 100)).toBeLessThanOrEqual(1);
      expect(limit.waitMs(here)).toBeLessThanOrEqual(36_000);
    }
  });

  it('forgives one after the other, also while there are new ones', () => {
    for (let count = 0; count < 100; count += 1) limit.count(here);
    // One in 40 s is less than what is forgiven meanwhile.
    for (let count = 0; count < 500; count += 1) {
      clock.advance(40_000);
      limit.requireOpen(here);
      limit.count(here);
    }
    for (let count = 0; count < 50; count += 1) {
      limit.requireOpen(here);
      limit.count(here);
    }
    clock.advance(HOUR_MS + 1);
    for (let count = 0; count < 100; count += 1) limit.count(here);
    limit.requireOpen(here);
  });

  it('holds up no other network, and takes all addresses of one of version 6 together', () => {
    for (let count = 0; count <= 100; count += 1) limit.count(`2001:db8:1:2::${count.toString(16)}`);
    expect(limit.waitMs('2001:db8:1:2:ffff::1')).toBe(1_000);
    expect(limit.waitMs('2001:db8:1:3::1')).toBe(0);
  });

  it('is in bounded memory, from which new networks do not drop one that waits', () => {
    for (let count = 0; count <= 100; count += 1) limit.count(here);
    for (let network = 0; network <= networkLimits.entriesMax; network += 1) limit.count(`other ${network}`);
    expect(limit.waitMs(here)).toBe(1_000);
  });

  it('takes back what was none', () => {
    for (let round = 0; round < 300; round += 1) {
      limit.count(here);
      limit.takeBack(here);
    }
    limit.requireOpen(here);
  });
});
