import type { Clock, Timer } from '#runtime/base/clock.ts';
import { WallSteps } from '#runtime/base/wall-steps.ts';
import type { Moment } from './read-lease.ts';

/**
 * Difference of the clocks from which on an operator is told, in milliseconds.
 *
 * @see Reliability: R14
 */
export const SKEW_ALARM_MS = 5_000;

/** How far the wall clock may be ahead of the log and still be believed, in milliseconds. */
const AHEAD_MS_MAX = 60_000;

/** A record of this member's own: when the stream stored it, by its clock, and between which moments of ours. */
interface Reading {
  readonly storedMs: number;
  readonly sent: Moment;
  readonly seen: Moment;
}

/**
 * Time for whoever writes a log: that of the machine, unless it is so far ahead of the time the stream gives its
 * records that it cannot be right. Then it is the stream's, carried on by the monotonic clock: a revision of a member
 * that is an hour ahead would bind all that follow to that hour.
 *
 * What is in the log is not judged any more: a record that is ahead moves the clock of every reader, because
 * revisions have to rise whatever clocks do. The guard is on the side of who makes them.
 *
 * @see Reliability: R14
 */
export class LogClock implements Clock {
  /** The steps of this clock since it was made, however often the log is opened. */
  readonly steps: WallSteps;
  readonly #clock: Clock;
  #reading: Reading | undefined;

  /** @param clock of the machine */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.steps = new WallSteps(this);
  }

  /** Nothing is known of the stream's clock any more: the log is not open. */
  forget(): void {
    this.#reading = undefined;
  }

  /**
   * Takes note of when the stream stored a record.
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
   * nothing is known, and as long as the time a record was under way explains the difference.
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

  /** Between which times the stream's clock is now. */
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
