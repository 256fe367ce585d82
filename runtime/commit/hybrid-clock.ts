import type { Clock } from '#runtime/base/clock.ts';
import { WallSteps } from '#runtime/base/wall-steps.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';

/**
 * Makes revisions that never run backwards: wall time where it has advanced, else the counter. One clock per
 * process (a partition in a cluster), so that a revision is unique in its repository.
 *
 * @see docs/interface/revisions.md#revision-numbers
 */
export class HybridClock {
  /** The same clock for whoever keeps something for a time. */
  readonly steps: WallSteps;
  readonly #clock: Clock;
  #last: Revision;

  /** @param steps of that clock, as far as they were seen before; default: none were */
  constructor(clock: Clock, last: Revision = revisionZero, steps = new WallSteps(clock)) {
    this.#clock = clock;
    this.steps = steps;
    this.#last = last;
  }

  /** The newest value made or observed. */
  get last(): Revision {
    return this.#last;
  }

  /** A value greater than every one before, also after the wall clock was set back. */
  next(): Revision {
    const wall = Math.floor(this.#clock.wallMs());
    const { ms, counter } = this.#last;
    this.#last =
      wall > ms
        ? { ms: wall, counter: 0 }
        : counter < 0xffffffff
          ? { ms, counter: counter + 1 }
          : { ms: ms + 1, counter: 0 };
    return this.#last;
  }

  /** Takes note of a value read from storage, so that later ones are above it. */
  observe(revision: Revision): void {
    if (compareRevisions(revision, this.#last) > 0) this.#last = revision;
  }
}
