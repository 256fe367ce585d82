import { PriorityQueue } from '#runtime/base/priority-queue.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** A revision and what it was made from; a `RevisionRecord` is one. */
export interface GraphRecord {
  readonly revision: string;
  /** Null at the beginning of a history. */
  readonly parent: string | null;
  /** Head of the source of a merge. */
  readonly mergeParent: string | null;
  /** What else it contains: a merge commit that a fast-forward took over continues another history here. */
  readonly besides?: readonly string[];
  /** Actor of the branch that has its content, where it came in by a merge. */
  readonly home?: string;
}

/** Everything a revision was made from. */
export function parentsOf({ besides, mergeParent, parent }: GraphRecord): readonly string[] {
  return [parent, mergeParent, ...(besides ?? [])].filter((one) => one !== null);
}

/** Looks revisions up. */
export interface RevisionSource {
  /** Undefined for a revision that is not known: history then ends there. */
  record(revision: Revision): GraphRecord | undefined;
}

/** What two revisions do not share of their histories, and where they met last. */
export interface Divergence {
  /** Reachable from the left one only, newest first. */
  readonly left: readonly GraphRecord[];
  /** Reachable from the right one only, newest first. */
  readonly right: readonly GraphRecord[];
  /**
   * The merge bases, newest first: shared revisions that no other shared revision contains. The first is the
   * greatest revision shared at all. Several after merges that cross; none of unrelated histories.
   */
  readonly bases: readonly GraphRecord[];
}

/** Revisions one walk may visit. */
export const REVISIONS_WALKED_MAX = 1_000_000;

/** Revisions visited between two rests. */
const REVISIONS_PER_SLICE = 32;

const LEFT = 1;
const RIGHT = 2;
const SHARED = LEFT | RIGHT;
/** Contained in a merge base that was found. */
const BELOW_BASE = 4;

interface Reached {
  readonly revision: Revision;
  /** From where it can be reached. */
  marks: number;
}

/**
 * Compares the ancestors, through `parent` and `mergeParent`, of two revisions.
 *
 * Revisions rise along both links, so walking both histories newest first meets every revision after everything
 * it is contained in. The walk ends where nothing but shared history is left: it costs the revisions since the
 * oldest place where the two still differ, never the whole history.
 *
 * @param left undefined for a history without revisions
 * @returns yields wherever the work may rest
 * @throws {ServiceError} `VALIDATION_FAILED` when there are more than {@link REVISIONS_WALKED_MAX} to look at
 * @see docs/interface/branches.md#comparing-branches
 */
export function* findDivergence(
  left: Revision | undefined,
  right: Revision | undefined,
  source: RevisionSource,
): Generator<undefined, Divergence> {
  const frontier = new Frontier();
  if (left !== undefined) frontier.reach(left, LEFT);
  if (right !== undefined) frontier.reach(right, RIGHT);
  const found = { left: [] as GraphRecord[], right: [] as GraphRecord[], bases: [] as GraphRecord[] };
  for (let walked = 1; frontier.isOpen; walked++) {
    if (walked > REVISIONS_WALKED_MAX) {
      throw invalid(`The histories are more than ${REVISIONS_WALKED_MAX} revisions apart`);
    }
    const { revision, text, marks } = frontier.take();
    const record = source.record(revision) ?? { revision: text, parent: null, mergeParent: null };
    let passedOn = marks;
    if (marks === LEFT) found.left.push(record);
    else if (marks === RIGHT) found.right.push(record);
    else if (marks === SHARED) {
      found.bases.push(record);
      passedOn = SHARED | BELOW_BASE;
    }
    for (const parent of parentsOf(record)) frontier.reach(parseRevision(parent), passedOn, parent);
    if (walked % REVISIONS_PER_SLICE === 0) yield;
  }
  return found;
}

/** Revisions that were reached and not yet visited. */
class Frontier {
  readonly #queue = new PriorityQueue<Reached>((a, b) => compareRevisions(a.revision, b.revision) > 0);
  readonly #reached = new Map<string, Reached>();
  /** How many of them are not known to be below a merge base. */
  #undecided = 0;

  /** Whether some revision may still belong to one side only, or be a merge base. */
  get isOpen(): boolean {
    return this.#undecided > 0;
  }

  /** Adds marks to a revision. `0-0` is before every revision and none itself. */
  reach(revision: Revision, marks: number, text = formatRevision(revision)): void {
    if (revision.ms === 0 && revision.counter === 0) return;
    const known = this.#reached.get(text);
    if (known === undefined) {
      const reached: Reached = { revision, marks };
      this.#reached.set(text, reached);
      this.#queue.push(reached);
      if (isUndecided(marks)) this.#undecided += 1;
      return;
    }
    if (isUndecided(known.marks) && !isUndecided(known.marks | marks)) this.#undecided -= 1;
    known.marks |= marks;
  }

  /** Takes the newest one. */
  take(): Reached & { readonly text: string } {
    const reached = this.#queue.pop() as Reached;
    const text = formatRevision(reached.revision);
    this.#reached.delete(text);
    if (isUndecided(reached.marks)) this.#undecided -= 1;
    return { ...reached, text };
  }
}

function isUndecided(marks: number): boolean {
  return (marks & BELOW_BASE) === 0;
}
