import { HistoryModel } from './history-model.ts';

/** A node as the model keeps it. */
export interface ModelNode {
  readonly path: string;
  readonly title: string;
}

type State = ReadonlyMap<string, ModelNode>;

/** What became of a node, by its id. */
export type ModelDiff = ReadonlyMap<string, { readonly operation: string; readonly path: string }>;

/** The reference for branches whose nodes all stand at the root. */
export class BranchModel extends HistoryModel<State> {
  constructor() {
    super(new Map());
  }

  /** What a branch changed since it met another one, net. */
  diff(branch: string, base: string): ModelDiff {
    const before = this.metState(branch, base);
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
    const base = this.metState(target, source);
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
  metState(branch: string, base: string): State {
    return this.baseState(this.headOf(branch), this.headOf(base), (newest, other, met) => {
      const state = new Map(newest);
      for (const id of new Set([...newest.keys(), ...other.keys()])) {
        if (!sameNode(newest.get(id), met.get(id))) continue;
        const node = other.get(id);
        if (node === undefined) state.delete(id);
        else state.set(id, node);
      }
      return state;
    });
  }
}

function sameNode(a: ModelNode | undefined, b: ModelNode | undefined): boolean {
  return a?.path === b?.path && a?.title === b?.title;
}
