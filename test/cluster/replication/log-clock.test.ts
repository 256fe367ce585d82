import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogClock, SKEW_ALARM_MS } from '#cluster/replication/log-clock.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { compareRevisions } from '#runtime/content/revision.ts';
import { TestClock } from '#test/support/test-clock.ts';

const HOUR_MS = 3_600_000;

/** A member whose wall clock is ahead of the stream's by some time, and a record that was under way for some time. */
function member(aheadMs: number, underWayMs = 0) {
  const clock = new TestClock();
  const stream = clock.wallMs();
  clock.setWall(stream + aheadMs);
  const log = new LogClock(clock);
  const moment = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const sent = moment();
  clock.advance(underWayMs);
  // It was stored as soon as it was sent.
  log.note(stream, sent, moment());
  /** What the stream's clock says now. */
  const streamMs = () => stream + (clock.monotonicMs() - sent.monotonicMs);
  return { clock, log, moment, streamMs };
}

describe('the clock for writers of a log', () => {
  it('is that of the machine as long as nothing is known of the stream', () => {
    const clock = new TestClock();
    const log = new LogClock(clock);
    expect([log.wallMs(), log.skewMs]).toEqual([clock.wallMs(), 0]);
  });

  it.each([
    [0, 0],
    [4_000, 4_000],
    [HOUR_MS, HOUR_MS],
    [-HOUR_MS, -HOUR_MS],
  ])('knows that the wall clock is %d ms ahead', (aheadMs, skewMs) => {
    expect(member(aheadMs).log.skewMs).toBe(skewMs);
  });

  it('takes the time a record was under way for no difference of the clocks', () => {
    expect(member(-4_000, 4_000).log.skewMs).toBe(0);
    expect(member(0, 30_000).log.skewMs).toBe(0);
    expect(Math.abs(member(-HOUR_MS, 30_000).log.skewMs)).toBeGreaterThan(SKEW_ALARM_MS);
  });

  it('does not adopt a wall clock over 60 s ahead, and goes on with the time of the stream', () => {
    const { clock, log, streamMs } = member(59_999);
    expect(log.wallMs()).toBe(clock.wallMs());
    clock.setWall(streamMs() + HOUR_MS);
    expect(log.wallMs()).toBe(streamMs());
    clock.advance(90_000);
    expect(log.wallMs()).toBe(streamMs());
    clock.setWall(streamMs());
    expect([log.wallMs(), log.skewMs]).toEqual([streamMs(), 0]);
  });

  it('notices a step of the wall clock between two records, and believes a newer record', () => {
    const { clock, log, moment } = member(0);
    clock.advance(10_000);
    clock.setWall(clock.wallMs() + HOUR_MS);
    expect(log.skewMs).toBe(HOUR_MS);
    // The machine had slept, which stops the monotonic clock: the stream agrees with the wall clock.
    log.note(clock.wallMs(), moment(), moment());
    expect([log.skewMs, log.wallMs()]).toEqual([0, clock.wallMs()]);
  });

  it('ignores an answer without a time', () => {
    const { log } = member(HOUR_MS);
    const before = log.skewMs;
    log.note(Number.NaN, { monotonicMs: 0, wallMs: 0 }, { monotonicMs: 0, wallMs: 0 });
    expect(log.skewMs).toBe(before);
  });

  it('makes revisions that rise over owners with any clocks, none of them over a minute ahead of the stream', () => {
    const skews = fc.array(fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }), {
      minLength: 2,
      maxLength: 8,
    });
    fc.assert(
      fc.property(skews, (owners) => {
        const clock = new TestClock();
        const stream = clock.wallMs();
        let elapsedMs = 0;
        let last = { ms: 0, counter: 0 };
        for (const aheadMs of owners) {
          const machine = new TestClock(stream + elapsedMs + aheadMs);
          const log = new LogClock(machine);
          const now = { monotonicMs: machine.monotonicMs(), wallMs: machine.wallMs() };
          log.note(stream + elapsedMs, now, now);
          // The next owner begins with what the log has, whatever it thinks of it.
          const revisions = new HybridClock(log, last);
          for (let made = 0; made < 3; made += 1) {
            const next = revisions.next();
            expect(compareRevisions(next, last)).toBeGreaterThan(0);
            expect(next.ms).toBeLessThanOrEqual(stream + elapsedMs + 60_000);
            last = next;
            machine.advance(700);
            elapsedMs += 700;
          }
        }
      }),
    );
  });
});
