interface ModelRevision<State> {
  readonly parents: readonly string[];
  readonly state: State;
}

/**
 * The reference for the history of several branches: every revision keeps a full copy of the state, ancestry is a
 * set, and every question is answered by looking at all of it. Slow and plainly right.
 */
export class HistoryModel<State> {
  readonly #empty: State;
  readonly #revisions = new Map<string, ModelRevision<State>>();
  readonly #heads = new Map<string, string>();
  /** By branch: every revision it has, with the one before it there. */
  readonly #chains = new Map<string, Map<string, string>>();

  constructor(empty: State) {
    this.#empty = empty;
  }

  /** Lets a branch stand at a revision. */
  place(branch: string, revision: string): void {
    this.#heads.set(branch, revision);
  }

  /** Makes a branch that has what another one has up to a revision. */
  fork(branch: string, source: string, revision: string): void {
    const kept = [...this.#chainOf(source)].filter(([one]) => newestFirst(one, revision) >= 0);
    this.#chains.set(branch, new Map(kept));
    this.place(branch, revision);
  }

  headOf(branch: string): string {
    return this.#heads.get(branch) as string;
  }

  /** Every revision a branch has, those behind a head that was moved back included; oldest first. */
  revisionsOf(branch: string): readonly string[] {
    return [...this.#chainOf(branch).keys()].sort((a, b) => newestFirst(b, a));
  }

  /** The revisions that lead to the head of a branch, newest first. */
  firstParents(branch: string, from = this.headOf(branch)): readonly string[] {
    const found: string[] = [];
    const chain = this.#chainOf(branch);
    for (let next: string | undefined = from; next !== undefined && chain.has(next); ) {
      found.push(next);
      next = chain.get(next);
    }
    return found;
  }

  stateOf(branch: string): State {
    return this.stateAt(this.headOf(branch));
  }

  stateAt(revision: string): State {
    return this.#revisions.get(revision)?.state ?? this.#empty;
  }

  /** Writes a revision on a branch. */
  commit(branch: string, revision: string, state: State, mergeParent?: string): void {
    const parent = this.#heads.get(branch);
    const parents = [parent, mergeParent].filter((one) => one !== undefined && one !== '0-0') as string[];
    this.#revisions.set(revision, { parents, state });
    this.#chainOf(branch).set(revision, parent ?? '0-0');
    this.#heads.set(branch, revision);
  }

  /**
   * The revisions that lead from the target to the source, oldest first; undefined where a fast-forward is not
   * possible. Those the target has already, behind a head that was moved back, are among them.
   */
  wayTo(target: string, source: string): readonly string[] | undefined {
    const start = this.headOf(target);
    if (this.compare(target, source).ahead > 0) return undefined;
    const isOnWay = (revision: string): boolean => start === '0-0' || this.ancestors(revision).has(start);
    return this.firstParents(source)
      .filter((revision) => revision !== start && isOnWay(revision))
      .reverse();
  }

  /** Takes over revisions the target does not have, oldest first. */
  fastForward(target: string, revisions: readonly string[]): void {
    for (const revision of revisions) {
      this.#chainOf(target).set(revision, this.headOf(target));
      this.place(target, revision);
    }
  }

  /** How far two branches are apart, and every merge base, newest first. */
  compare(branch: string, base: string): { ahead: number; behind: number; bases: readonly string[] } {
    return this.compareAt(this.headOf(branch), this.headOf(base));
  }

  /** As {@link HistoryModel.compare}, of two revisions. */
  compareAt(one: string, other: string): { ahead: number; behind: number; bases: readonly string[] } {
    const ofOne = this.ancestors(one);
    const ofOther = this.ancestors(other);
    const ahead = without(ofOne, ofOther).length;
    return { ahead, behind: without(ofOther, ofOne).length, bases: this.basesOf(one, other) };
  }

  /**
   * The state when two revisions last met. Of several merge bases the newest, folded with every other one.
   *
   * @param fold makes one of the newest so far and another base, which met last in a third state
   */
  baseState(one: string, other: string, fold: (newest: State, base: State, met: State) => State): State {
    const [newest, ...others] = this.basesOf(one, other);
    if (newest === undefined) return this.#empty;
    let state = this.stateAt(newest);
    for (const base of others) {
      const [meeting] = this.basesOf(newest, base);
      const met = meeting === undefined ? this.#empty : this.stateAt(meeting);
      state = fold(state, this.stateAt(base), met);
    }
    return state;
  }

  basesOf(one: string, other: string): readonly string[] {
    const theirs = this.ancestors(other);
    const shared = [...this.ancestors(one)].filter((revision) => theirs.has(revision)).sort(newestFirst);
    const contained = new Set<string>();
    // A revision contains older ones only.
    return shared.filter((revision) => {
      if (contained.has(revision)) return false;
      for (const ancestor of this.ancestors(revision)) contained.add(ancestor);
      return true;
    });
  }

  /** A revision and everything it contains. */
  ancestors(revision: string): ReadonlySet<string> {
    const seen = new Set<string>();
    const waiting = [revision];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next === '0-0' || seen.has(next)) continue;
      seen.add(next);
      waiting.push(...(this.#revisions.get(next)?.parents ?? []));
    }
    return seen;
  }

  #chainOf(branch: string): Map<string, string> {
    let chain = this.#chains.get(branch);
    if (chain === undefined) {
      chain = new Map();
      this.#chains.set(branch, chain);
    }
    return chain;
  }
}

/** The order of revisions, newest first. */
export function newestFirst(a: string, b: string): number {
  const [ms, counter] = a.split('-').map(Number) as [number, number];
  const [otherMs, otherCounter] = b.split('-').map(Number) as [number, number];
  return otherMs - ms || otherCounter - counter;
}

function without(all: ReadonlySet<string>, some: ReadonlySet<string>): readonly string[] {
  return [...all].filter((one) => !some.has(one));
}
