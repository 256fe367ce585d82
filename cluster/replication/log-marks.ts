import { assert } from '#runtime/base/assert.ts';
import type { FoldState } from './log-fold.ts';

/** Messages between two marks: what a reader reads in vain at most before it comes to what it wants. */
const MARK_MESSAGES = 256;

/**
 * States a reader can begin at. What counts in a log follows from all records before, so one cannot begin just
 * anywhere.
 */
export class LogMarks {
  #states: FoldState[];

  constructor(first: FoldState) {
    this.#states = [first];
  }

  /** Notes a state, when the last noted one is far enough behind. */
  add(state: FoldState): void {
    const last = this.#states.at(-1) as FoldState;
    if (state.firstChunk === undefined && state.sequence >= last.sequence + MARK_MESSAGES)
      this.#states.push(state);
  }

  /** Begins with a state: nobody will ask for anything at or before it any more. */
  restart(state: FoldState): void {
    this.#states = [state, ...this.#states.filter(({ sequence }) => sequence > state.sequence)];
  }

  /** The newest noted state from which everything behind a sequence can be read. */
  before(sequence: number): FoldState {
    const found = this.#states.findLast((state) => state.sequence <= sequence);
    assert(found !== undefined, `the log was opened behind record ${sequence}`);
    return found;
  }
}
