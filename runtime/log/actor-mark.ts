import { hash } from 'node:crypto';

/** Bytes of a mark. */
export const ACTOR_MARK_BYTES = 8;

const marks = new Map<string, Buffer>();

/** Maximum number of cached marks; above it the cache is cleared. */
const MARKS_MAX = 10_000;

/**
 * A short form of an actor id: the first bytes of its hash. With a million actors, two of one server collide with a
 * probability of one in 10^13; the mark then covers too many actors, never too few.
 */
export function actorMark(actor: string): Buffer {
  let mark = marks.get(actor);
  if (mark === undefined) {
    mark = Buffer.from(hash('sha256', actor, 'buffer').subarray(0, ACTOR_MARK_BYTES));
    if (marks.size >= MARKS_MAX) marks.clear();
    marks.set(actor, mark);
  }
  return mark;
}
