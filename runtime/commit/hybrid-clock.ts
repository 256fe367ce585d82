import type { Clock } from '#runtime/base/time/clock.ts';
import { WallSteps } from '#runtime/base/time/wall-steps.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';

/**
 * Generates revisions that never go backwards: the wall time when it has advanced, otherwise the next counter. One
 * clock per process (per partition in a cluster), so that a revision is unique in its repository.
 *
 * @see docs/interface/revisions.md#revision-numbers
 */
export class HybridClock {
  /** Observed steps of the same wall clock, for retention periods. */
  readonly steps: WallSteps;
  readonly #clock: Clock;
  #last: Revision;

  /** @param steps steps of that clock observed so far; default: none */
  constructor(clock: Clock, last: Revision = revisionZero, steps = new WallSteps(clock)) {
    this.#clock = clock;
    this.steps = steps;
    this.#last = last;
  }

  /** The newest value generated or observed. */
  get last(): Revision {
    return this.#last;
  }

  /** A value greater than every previous one, even after the wall clock was set back. */
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

  /** Records a value read from storage, so that later ones are above it. */
  observe(revision: Revision): void {
    if (compareRevisions(revision, this.#last) > 0) this.#last = revision;
  }
}
