/** A node as the model keeps it. */
export interface ModelNode {
  readonly path: string;
  readonly title: string;
}

type State = ReadonlyMap<string, ModelNode>;

interface ModelRevision {
  readonly parents: readonly string[];
  readonly state: State;
}

/** What became of a node, by its id. */
export type ModelDiff = ReadonlyMap<string, { readonly operation: string; readonly path: string }>;

/**
 * The reference for branches: every revision is a full copy of every node, ancestry is a set, and every question
 * is answered by looking at all of it. Slow and plainly right.
 */
export class BranchModel {
  readonly #revisions = new Map<string, ModelRevision>();
  readonly #heads = new Map<string, string>();

  /** Lets a branch stand at a revision. */
  place(branch: string, revision: string): void {
    this.#heads.set(branch, revision);
  }

  headOf(branch: string): string {
    return this.#heads.get(branch) as string;
  }

  /** The revisions a branch can be moved back to, newest first. */
  firstParents(branch: string): readonly string[] {
    const found: string[] = [];
    for (let next: string | undefined = this.headOf(branch); next !== undefined; ) {
      found.push(next);
      next = this.#revisions.get(next)?.parents[0];
    }
    return found;
  }

  stateOf(branch: string): State {
    return this.#stateAt(this.headOf(branch));
  }

  /** Writes a revision on a branch. */
  commit(branch: string, revision: string, state: State, mergeParent?: string): void {
    const parent = this.#heads.get(branch);
    const parents = [parent, mergeParent].filter((one) => one !== undefined && one !== '0-0') as string[];
    this.#revisions.set(revision, { parents, state });
    this.#heads.set(branch, revision);
  }

  /** How far two branches are apart, and every merge base, newest first. */
  compare(branch: string, base: string): { ahead: number; behind: number; bases: readonly string[] } {
    const ofBranch = this.#ancestors(this.headOf(branch));
    const ofBase = this.#ancestors(this.headOf(base));
    const bases = this.#basesOf(this.headOf(branch), this.headOf(base));
    return { ahead: without(ofBranch, ofBase).length, behind: without(ofBase, ofBranch).length, bases };
  }

  /** What a branch changed since it met another one, net. */
  diff(branch: string, base: string): ModelDiff {
    const before = this.baseState(branch, base);
    const after = this.stateOf(branch);
    const found = new Map<string, { operation: string; path: string }>();
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const old = before.get(id);
      const now = after.get(id);
      if (sameNode(old, now)) continue;
      const operation = old === undefined ? 'added' : now === undefined ? 'deleted' : 'modified';
      found.set(id, { operation, path: (now ?? (old as ModelNode)).path });
    }
    return found;
  }

  /** What merging one branch into another makes: where both changed a node, one side wins. */
  merged(target: string, source: string, winner: 'own' | 'other'): State {
    const base = this.baseState(target, source);
    const own = this.stateOf(target);
    const other = this.stateOf(source);
    const result = new Map(own);
    for (const id of new Set([...base.keys(), ...other.keys()])) {
      if (sameNode(base.get(id), other.get(id))) continue;
      if (winner === 'own' && !sameNode(base.get(id), own.get(id))) continue;
      const node = other.get(id);
      if (node === undefined) result.delete(id);
      else result.set(id, node);
    }
    return result;
  }

  /** The nodes as they were when two branches last met: of several merge bases, what merging them makes. */
  baseState(branch: string, base: string): State {
    const [newest, ...others] = this.#basesOf(this.headOf(branch), this.headOf(base));
    if (newest === undefined) return new Map();
    const state = new Map(this.#stateAt(newest));
    for (const other of others) {
      const [meeting] = this.#basesOf(newest, other);
      const met: State = meeting === undefined ? new Map() : this.#stateAt(meeting);
      const theirs = this.#stateAt(other);
      for (const id of new Set([...state.keys(), ...theirs.keys()])) {
        if (!sameNode(state.get(id), met.get(id))) continue;
        const node = theirs.get(id);
        if (node === undefined) state.delete(id);
        else state.set(id, node);
      }
    }
    return state;
  }

  #stateAt(revision: string): State {
    return this.#revisions.get(revision)?.state ?? new Map();
  }

  #basesOf(one: string, other: string): readonly string[] {
    const theirs = this.#ancestors(other);
    const shared = [...this.#ancestors(one)].filter((revision) => theirs.has(revision)).sort(newestFirst);
    const contained = new Set<string>();
    for (const revision of shared) {
      for (const ancestor of this.#ancestors(revision)) if (ancestor !== revision) contained.add(ancestor);
    }
    return shared.filter((revision) => !contained.has(revision));
  }

  #ancestors(revision: string): Set<string> {
    const seen = new Set<string>();
    const waiting = [revision];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next === '0-0' || seen.has(next)) continue;
      seen.add(next);
      waiting.push(...(this.#revisions.get(next)?.parents ?? []));
    }
    return seen;
  }
}

function sameNode(a: ModelNode | undefined, b: ModelNode | undefined): boolean {
  return a?.path === b?.path && a?.title === b?.title;
}

function newestFirst(a: string, b: string): number {
  const [ms, counter] = a.split('-').map(Number) as [number, number];
  const [otherMs, otherCounter] = b.split('-').map(Number) as [number, number];
  return otherMs - ms || otherCounter - counter;
}

function without(all: ReadonlySet<string>, some: ReadonlySet<string>): readonly string[] {
  return [...all].filter((one) => !some.has(one));
}
