import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { WallSteps } from '#runtime/base/time/wall-steps.ts';
import type { Moment } from './read-lease.ts';

/**
 * Clock skew that raises an alarm, in milliseconds.
 *
 * @see docs/partition-log.md#clocks-of-members
 */
export const SKEW_ALARM_MS = 5_000;

/** Maximum lead of the wall clock over the log at which it is still used, in milliseconds. */
const AHEAD_MS_MAX = 60_000;

/** A record of this member: when the stream stored it, by its clock, and the surrounding moments of this process. */
interface Reading {
  readonly storedMs: number;
  readonly sent: Moment;
  readonly seen: Moment;
}

/**
 * The clock of a log's writer: that of the machine, unless it is so far ahead of the stream's timestamps that it
 * cannot be right. Then it is the stream's time, extended by the monotonic clock: a revision from a member whose
 * clock is an hour ahead would bind all later ones to that hour.
 *
 * Records in the log are always accepted: a record that is ahead moves the clock of every reader, because
 * revisions must rise whatever clocks do. The guard is at the creation of revisions.
 *
 * @see docs/partition-log.md#clocks-of-members
 */
export class LogClock implements Clock {
  /** The steps of this clock since its creation, however often the log is opened. */
  readonly steps: WallSteps;
  readonly #clock: Clock;
  #reading: Reading | undefined;

  /** @param clock of the machine */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.steps = new WallSteps(this);
  }

  /** Forgets the stream's clock: the log is not open. */
  forget(): void {
    this.#reading = undefined;
  }

  /**
   * Records when the stream stored a record.
   *
   * @param storedMs by the clock of the stream
   * @param sent a moment before that
   * @param seen a moment after it
   */
  note(storedMs: number, sent: Moment, seen: Moment): void {
    if (Number.isFinite(storedMs)) this.#reading = { storedMs, sent, seen };
  }

  /**
   * How far the wall clock is certainly ahead of the stream's, in milliseconds; negative when it is behind. 0 while
   * it is unknown, and as long as the transit time of a record explains the difference.
   */
  get skewMs(): number {
    const between = this.#streamNow();
    if (between === undefined) return 0;
    const wallMs = this.#clock.wallMs();
    if (wallMs > between.latestMs) return wallMs - between.latestMs;
    return wallMs < between.earliestMs ? wallMs - between.earliestMs : 0;
  }

  wallMs(): number {
    const wallMs = this.#clock.wallMs();
    const between = this.#streamNow();
    if (between === undefined || wallMs <= between.latestMs + AHEAD_MS_MAX) return wallMs;
    return between.latestMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#clock.after(delayMs, callback);
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback);
  }

  /** Returns the range of the stream's current time. */
  #streamNow(): { readonly earliestMs: number; readonly latestMs: number } | undefined {
    if (this.#reading === undefined) return undefined;
    const { storedMs, sent, seen } = this.#reading;
    const nowMs = this.#clock.monotonicMs();
    return {
      earliestMs: storedMs + (nowMs - seen.monotonicMs),
      latestMs: storedMs + (nowMs - sent.monotonicMs),
    };
  }
}
