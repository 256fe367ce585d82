import { PriorityQueue } from '#runtime/base/queues/priority-queue.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** A revision and its parents; a `RevisionRecord` is one. */
export interface GraphRecord {
  readonly revision: string;
  /** Null for the first revision of a history. */
  readonly parent: string | null;
  /** Head of the source of a merge. */
  readonly mergeParent: string | null;
  /** Further parents: a merge commit that a fast-forward took over also continues the history of this branch. */
  readonly besides?: readonly string[];
  /** Actor of the branch that has its content, when it came from a merge. */
  readonly home?: string;
}

/** All parents of a revision. */
export function parentsOf({ besides, mergeParent, parent }: GraphRecord): readonly string[] {
  return [parent, mergeParent, ...(besides ?? [])].filter((one) => one !== null);
}

/** Looks up revisions. */
export interface RevisionSource {
  /** Undefined for an unknown revision: the history ends there. */
  record(revision: Revision): GraphRecord | undefined;
}

/** The revisions two histories do not share, and their merge bases. */
export interface Divergence {
  /** Reachable from the left one only, newest first. */
  readonly left: readonly GraphRecord[];
  /** Reachable from the right one only, newest first. */
  readonly right: readonly GraphRecord[];
  /**
   * The merge bases, newest first: shared revisions that no other shared revision contains. The first is the greatest
   * shared revision. There may be several after criss-cross merges, and none for unrelated histories.
   */
  readonly bases: readonly GraphRecord[];
}

/** Upper limit of revisions in one walk. */
export const REVISIONS_WALKED_MAX = 1_000_000;

/** Revisions visited between two yields. */
const REVISIONS_PER_SLICE = 32;

const LEFT = 1;
const RIGHT = 2;
const SHARED = LEFT | RIGHT;
/** Contained in a known merge base. */
const BELOW_BASE = 4;

interface Reached {
  readonly revision: Revision;
  /** The sides from which it is reachable. */
  marks: number;
}

/**
 * Compares the ancestors of two revisions, through `parent` and `mergeParent`.
 *
 * Parents are always smaller, so a walk through both histories newest first visits every revision after all its
 * descendants. The walk ends when only shared history is left. Its cost follows the revisions since the oldest
 * difference, never the whole history.
 *
 * @param left undefined for a history without revisions
 * @returns a generator that yields between steps of bounded length
 * @throws {ServiceError} `VALIDATION_FAILED` when the walk exceeds {@link REVISIONS_WALKED_MAX}
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

/** Revisions that were reached and not visited yet. */
class Frontier {
  readonly #queue = new PriorityQueue<Reached>((a, b) => compareRevisions(a.revision, b.revision) > 0);
  readonly #reached = new Map<string, Reached>();
  /** Number of them not known to be below a merge base. */
  #undecided = 0;

  /** Whether any revision may still belong to one side only, or be a merge base. */
  get isOpen(): boolean {
    return this.#undecided > 0;
  }

  /** Adds marks to a revision. `0-0` means no revision. */
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

  /** Removes and returns the newest one. */
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
