import { describe, expect, it } from 'vitest';
import { ReadLease } from '#cluster/replication/read-lease.ts';
import { TestClock } from '#test/support/test-clock.ts';

const LEASE_MS = 4000;

function leased(): { clock: TestClock; lease: ReadLease } {
  const clock = new TestClock();
  const lease = new ReadLease(clock, LEASE_MS);
  lease.renew(lease.moment());
  return { clock, lease };
}

describe('the read lease of an owner', () => {
  it('is none before anything was acknowledged, and none after it was dropped', () => {
    const { lease } = leased();
    expect(new ReadLease(new TestClock(), LEASE_MS).isValid()).toBe(false);
    expect(lease.isValid()).toBe(true);
    lease.drop();
    expect(lease.isValid()).toBe(false);
    expect(lease.validUntilMs).toBe(0);
  });

  it('counts from when the append was sent, not from its answer', () => {
    const { clock, lease } = leased();
    const sent = lease.moment();
    clock.advance(3000);
    lease.renew(sent);
    clock.advance(599);
    expect(lease.isValid()).toBe(true);
    clock.advance(1);
    expect(lease.isValid()).toBe(false);
  });

  it('ends before a candidate has waited, with clocks that differ by a tenth', () => {
    const { clock, lease } = leased();
    // Slow here by 5 %, fast there by 5 %: so much passes here while the other one waits.
    clock.advance((LEASE_MS / 1.05) * 0.95);
    expect(lease.isValid()).toBe(false);
  });

  it('is never shortened by a late answer', () => {
    const { clock, lease } = leased();
    const early = lease.moment();
    clock.advance(2000);
    lease.renew(lease.moment());
    const until = lease.validUntilMs;
    lease.renew(early);
    expect(lease.validUntilMs).toBe(until);
  });

  it('ends when wall time advanced while the machine slept, and not when the wall clock is set back', () => {
    const { clock, lease } = leased();
    clock.setWall(clock.wallMs() - 3_600_000);
    expect(lease.isValid()).toBe(true);
    clock.setWall(clock.wallMs() + 3_600_000 + LEASE_MS);
    expect(lease.isValid()).toBe(false);
  });

  it('ends by the clock that shows more elapsed time', () => {
    const { clock, lease } = leased();
    clock.advance(2_000);
    clock.setWall(clock.wallMs() + 1_599);
    expect(lease.isValid()).toBe(true);
    clock.setWall(clock.wallMs() + 1);
    expect(lease.isValid()).toBe(false);
  });

  it('ends for good when wall time advances over 2 s more than monotonic time, even if it is set back afterwards', () => {
    const { clock, lease } = leased();
    const { wallMs } = lease.moment();
    clock.setWall(wallMs + 1_999);
    expect(lease.isValid()).toBe(true);
    clock.setWall(wallMs + 2_001);
    expect(lease.isValid()).toBe(false);
    clock.setWall(wallMs);
    expect(lease.isValid()).toBe(false);
    lease.renew(lease.moment());
    expect(lease.isValid()).toBe(true);
  });
});
