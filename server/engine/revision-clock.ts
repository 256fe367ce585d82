import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { checkRepeatedly } from '#server/host/repeated-check.ts';

/** Lead of revisions over the wall clock that is reported, in milliseconds: clocks are set by seconds. */
const AHEAD_MS_MAX = 300_000;

const MS_PER_SECOND = 1_000;

/** A source of revisions. */
export interface RevisionSource {
  /** Lead of the newest revision over the wall clock, in milliseconds; 0 without one. */
  readonly revisionsAheadMs: number;
}

/**
 * Reports revisions that are ahead of the wall clock. Revisions never run backwards, so a clock that was wrong once
 * binds all later ones to that time: only the counter rises until the wall clock has caught up. Nothing is lost by
 * that, and only time repairs it, so operators should know.
 *
 * @see docs/decisions/0024-clock-of-revisions.md
 */
export class RevisionClock {
  readonly #log: Log;
  readonly #sources: () => Iterable<RevisionSource>;
  readonly #stopChecks: () => void;
  #isAhead = false;

  /** @param sources returns the current sources of revisions */
  constructor(clock: Clock, log: Log, sources: () => Iterable<RevisionSource>) {
    this.#log = log;
    this.#sources = sources;
    this.#stopChecks = checkRepeatedly(clock, () => this.#check());
  }

  /** Lead of revisions, in whole seconds; 0 while it is too small to report. */
  get aheadSeconds(): number {
    let most = 0;
    for (const { revisionsAheadMs } of this.#sources()) most = Math.max(most, revisionsAheadMs);
    return most > AHEAD_MS_MAX ? Math.floor(most / MS_PER_SECOND) : 0;
  }

  /** The status findings about it. */
  get findings(): readonly MemberFinding[] {
    const { aheadSeconds } = this;
    if (aheadSeconds === 0) return [];
    const message = `its newest revision is ${aheadSeconds} s ahead of its wall clock, which was wrong once or is now: revisions stay at that time until the clock has passed it`;
    return [{ code: 'revisions-ahead', message }];
  }

  stop(): void {
    this.#stopChecks();
  }

  #check(): void {
    const { aheadSeconds } = this;
    if (aheadSeconds > 0 === this.#isAhead) return;
    this.#isAhead = aheadSeconds > 0;
    if (this.#isAhead)
      this.#log.warn(
        'revisions are ahead of the wall clock, which was wrong once or is now; they stay at that time until it has passed it',
        { aheadSeconds },
      );
    else this.#log.info('wall clock has caught up with the newest revision');
  }
}
