import { hash } from 'node:crypto';

/** Bytes of a mark. */
export const ACTOR_MARK_BYTES = 8;

const marks = new Map<string, Buffer>();

/** Marks remembered; above it the memory starts again. */
const MARKS_MAX = 10_000;

/**
 * Stands for an actor where its id would take too much room: the first bytes of a hash. Two actors of one server have
 * the same one by a chance of one in 10^13 with a million of them; it then says too much, never too little.
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
