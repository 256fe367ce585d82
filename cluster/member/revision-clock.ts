import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { lookRepeatedly } from './repeated-look.ts';

/** How far revisions may be ahead of the wall clock before that is told, in milliseconds: clocks are set by seconds. */
const AHEAD_MS_MAX = 300_000;

const MS_PER_SECOND = 1_000;

/** Something that makes revisions. */
export interface RevisionSource {
  /** How far the newest one is ahead of the wall clock, in milliseconds; 0 where it is not. */
  readonly revisionsAheadMs: number;
}

/**
 * Tells of revisions that are ahead of the wall clock. Revisions never run backwards, so a clock that was wrong once
 * binds all later ones to that time: they go on by the counter until the wall clock has caught up. Nothing is lost by
 * that, and nothing but time mends it, so somebody should know.
 *
 * @see decision 0024
 */
export class RevisionClock {
  readonly #log: Log;
  readonly #sources: () => Iterable<RevisionSource>;
  readonly #endLooking: () => void;
  #isAhead = false;

  /** @param sources what makes revisions at present */
  constructor(clock: Clock, log: Log, sources: () => Iterable<RevisionSource>) {
    this.#log = log;
    this.#sources = sources;
    this.#endLooking = lookRepeatedly(clock, () => this.#look());
  }

  /** How far revisions are ahead, in whole seconds; 0 while it is not worth telling. */
  get aheadSeconds(): number {
    let most = 0;
    for (const { revisionsAheadMs } of this.#sources()) most = Math.max(most, revisionsAheadMs);
    return most > AHEAD_MS_MAX ? Math.floor(most / MS_PER_SECOND) : 0;
  }

  /** What the status says of it. */
  get findings(): readonly MemberFinding[] {
    const { aheadSeconds } = this;
    if (aheadSeconds === 0) return [];
    const message = `its newest revision is ${aheadSeconds} s ahead of its wall clock, which was wrong once or is now: revisions stay at that time until the clock has passed it`;
    return [{ code: 'revisions-ahead', message }];
  }

  stop(): void {
    this.#endLooking();
  }

  #look(): void {
    const { aheadSeconds } = this;
    if (aheadSeconds > 0 === this.#isAhead) return;
    this.#isAhead = aheadSeconds > 0;
    if (this.#isAhead)
      this.#log.warn(
        'revisions are ahead of the wall clock, which was wrong once or is now; they stay at that time until it has passed it',
        { aheadSeconds },
      );
    else this.#log.info('the wall clock has caught up with the revisions');
  }
}
