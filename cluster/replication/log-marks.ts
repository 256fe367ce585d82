import { assert } from '#runtime/base/assert.ts';
import type { FoldState } from './log-fold.ts';

/** Messages between two marks: the maximum that a reader reads before its first wanted message. */
const MARK_MESSAGES = 256;

/**
 * States from which a reader can start. All earlier records decide which records count, so a reader cannot start at an
 * arbitrary place.
 */
export class LogMarks {
  #states: FoldState[];

  constructor(first: FoldState) {
    this.#states = [first];
  }

  /** Records a state, when the last recorded one is far enough before it. */
  add(state: FoldState): void {
    const last = this.#states.at(-1) as FoldState;
    if (state.firstChunk === undefined && state.sequence >= last.sequence + MARK_MESSAGES)
      this.#states.push(state);
  }

  /** Starts again with a state: nothing at or before it will be read any more. */
  restart(state: FoldState): void {
    this.#states = [state, ...this.#states.filter(({ sequence }) => sequence > state.sequence)];
  }

  /** Returns the newest recorded state from which everything after a sequence can be read. */
  before(sequence: number): FoldState {
    const found = this.#states.findLast((state) => state.sequence <= sequence);
    assert(found !== undefined, `the log was opened behind record ${sequence}`);
    return found;
  }
}
