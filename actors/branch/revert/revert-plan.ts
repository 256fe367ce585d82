import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { isShipped } from '#runtime/content/built-in/shipped-parts.ts';
import { formatRevision, parseRevision, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import {
  type DefinitionNetChange,
  definitionNetChange,
  isTakenAlong,
  netChange,
} from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { recordWeight } from '#runtime/tree/record-weight.ts';
import { readChangeParts } from '#runtime/tree/revision-store.ts';
import type { RevisionRecord } from '#runtime/tree/revision-record.ts';
import { type StoredDefinition, type StoredKind, storedDefinition } from '#runtime/tree/schema-store.ts';
import { FoundConflicts } from '../merge/conflict-entries.ts';
import type { EditScope } from '../edit-scope.ts';
import type { MergeConflict } from '../merge-messages.ts';
import { type Step, undoDefinition, type UndoneNode, undoNode } from './undo-state.ts';

/** Most node changes, in all revisions together, that one revert may undo. */
export const REVERTED_CHANGES_MAX = 500_000;

/** A node that the revert changes. */
export interface RevertedNode extends UndoneNode {
  readonly workspace: string;
  readonly id: string;
  readonly present: NodeRecord | undefined;
}

/** A node or definition with the reverted revisions that changed it, by their index in the list. */
interface Touched<T> {
  readonly what: T;
  readonly by: number[];
}

type NodeAddress = { readonly workspace: string; readonly id: string };
type DefinitionAddress = { readonly kind: StoredKind; readonly name: string };

/** Names a node across workspaces. */
export function nodeKey({ workspace, id }: NodeAddress): string {
  return `${workspace}\0${id}`;
}

/** The trees of a branch just before and after each reverted revision. */
export class PastTrees {
  readonly #turn: Turn;
  readonly #trees = new Map<string, PastNodeReader>();

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  at(revision: Revision): PastNodeReader {
    const text = formatRevision(revision);
    const known = this.#trees.get(text);
    if (known !== undefined) return known;
    const tree = new PastNodeReader(this.#turn, revision);
    this.#trees.set(text, tree);
    return tree;
  }
}

/**
 * The state of each node and definition that some revisions changed, after these are undone; each is computed
 * separately. `findViolations` checks whether the results form a valid tree.
 *
 * The cost grows with the changes of the revisions.
 */
export class RevertPlan {
  readonly trees: PastTrees;
  readonly conflicts = new FoundConflicts();
  /** Nodes that are in conflict themselves, by {@link nodeKey}; no conflicts are derived from their paths. */
  readonly disputed = new Set<string>();
  readonly #edit: EditScope;
  /** Oldest first. */
  readonly #records: readonly RevisionRecord[];
  readonly #nodes = new Map<string, RevertedNode>();
  readonly #definitions: DefinitionNetChange[] = [];
  /** Bytes of the present and restored states of the nodes that change. */
  #bytes = 0;

  private constructor(edit: EditScope, records: readonly RevisionRecord[]) {
    this.#edit = edit;
    this.#records = records;
    this.trees = new PastTrees(edit.turn);
  }

  /**
   * @param records oldest first
   * @throws {ServiceError} `COMMIT_TOO_LARGE`; `REQUEST_TOO_EXPENSIVE` when the nodes are too large together;
   *   `VALIDATION_FAILED` when there are more changes than {@link REVERTED_CHANGES_MAX} or too many conflicts, and when a built-in type would be removed
   */
  static *of(edit: EditScope, records: readonly RevisionRecord[]): Generator<undefined, RevertPlan> {
    const plan = new RevertPlan(edit, records);
    const touched = yield* plan.#touchedNodes();
    for (const node of touched.values()) {
      yield* plan.#undoNode(node);
      yield;
    }
    for (const definition of plan.#touchedDefinitions().values()) plan.#undoDefinition(definition);
    return plan;
  }

  /** Nodes that change, by {@link nodeKey}, without those that only move with an ancestor. */
  get nodes(): ReadonlyMap<string, RevertedNode> {
    return this.#nodes;
  }

  /** Definitions that change. */
  get definitions(): readonly DefinitionNetChange[] {
    return this.#definitions;
  }

  /** Adds a conflict. Only the first one about a node is kept, as in the list of conflicts. */
  note(conflict: MergeConflict): void {
    this.conflicts.note(conflict);
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    if (workspace !== null && locale === undefined) this.disputed.add(nodeKey({ workspace, id }));
  }

  *#touchedNodes(): Generator<undefined, ReadonlyMap<string, Touched<NodeAddress>>> {
    const touched = new Map<string, Touched<NodeAddress>>();
    let changes = 0;
    for (const [index, record] of this.#records.entries()) {
      changes += record.changeCount;
      if (changes > REVERTED_CHANGES_MAX) {
        throw invalid(`The revisions made more than ${REVERTED_CHANGES_MAX} changes; revert them in steps`);
      }
      for (const part of readChangeParts(this.#edit.turn, record)) {
        for (const { node_id: id, workspace } of part)
          touch(touched, nodeKey({ workspace, id }), { workspace, id }, index);
        yield;
      }
    }
    return touched;
  }

  #touchedDefinitions(): ReadonlyMap<string, Touched<DefinitionAddress>> {
    const touched = new Map<string, Touched<DefinitionAddress>>();
    for (const [index, { definitions }] of this.#records.entries()) {
      for (const { kind, name } of definitions) touch(touched, `${kind}\0${name}`, { kind, name }, index);
    }
    return touched;
  }

  *#undoNode({ by, what }: Touched<NodeAddress>): Generator<undefined, void> {
    const { id, workspace } = what;
    const held = new HeldStates(this.#edit.turn.budget);
    const present = yield* held.add(yield* this.#edit.head.byIdInSteps(workspace, id));
    const steps: Step<NodeRecord>[] = [];
    for (const index of by) {
      const { afterAt, beforeAt } = this.#moments(index);
      const before = yield* held.add(yield* this.trees.at(beforeAt).byIdInSteps(workspace, id));
      const after = yield* held.add(yield* this.trees.at(afterAt).byIdInSteps(workspace, id));
      steps.push({ before, beforeAt, after, afterAt });
    }
    const undone = yield* undoNode(workspace, present, steps);
    for (const conflict of undone.conflicts) this.note(conflict);
    const { wanted } = undone;
    // Conflicts keep the properties of the states.
    if (this.disputed.has(nodeKey(what))) return;
    const isChanged =
      netChange(workspace, id, present, wanted) !== undefined &&
      (present === undefined || wanted === undefined || !isTakenAlong(present, wanted));
    if (undone.conflicts.length === 0) held.dropAllBut(isChanged ? [present, wanted, undone.base] : []);
    if (!isChanged) return;
    yield* held.add(wanted);
    this.#nodes.set(nodeKey(what), { ...undone, workspace, id, present });
    this.#edit.checkSize(this.#nodes.size);
    // Checked early: the plan holds both states in memory, and both are written.
    this.#bytes += (present?.bytes.length ?? 0) + (wanted?.bytes.length ?? 0);
    this.#edit.turn.requireRoom(this.#bytes);
  }

  #undoDefinition({ by, what: { kind, name } }: Touched<DefinitionAddress>): void {
    const { turn } = this.#edit;
    const present = storedDefinition(turn, kind, name) as StoredDefinition<StoredKind> | undefined;
    const read = (at: Revision): StoredDefinition<StoredKind> | undefined =>
      storedDefinition(turn, kind, name, at) as StoredDefinition<StoredKind> | undefined;
    const steps = by.map((index) => {
      const { afterAt, beforeAt } = this.#moments(index);
      return { before: read(beforeAt), beforeAt, after: read(afterAt), afterAt };
    });
    const { conflicts, wanted } = undoDefinition(kind, name, present, steps);
    for (const conflict of conflicts) this.note(conflict);
    const change = definitionNetChange(kind, name, present, wanted);
    if (change === undefined) return;
    if (wanted === undefined && kind === 'node_type' && isShipped(name)) {
      const { revision } = this.#records[by[0] as number] as RevisionRecord;
      throw invalid(
        `Revision '${revision}' brought the built-in type '${name}', which a branch cannot be without`,
      );
    }
    this.#definitions.push(change);
  }

  /** The moments just before and just after a reverted revision. */
  #moments(index: number): { readonly beforeAt: Revision; readonly afterAt: Revision } {
    const { parent, revision } = this.#records[index] as RevisionRecord;
    const beforeAt = parent === null ? revisionZero : parseRevision(parent);
    return { beforeAt, afterAt: parseRevision(revision) };
  }
}

/** The states of one node that are in memory, as the request counts them. */
class HeldStates {
  readonly #budget: RequestBudget;
  readonly #weights = new Map<NodeRecord, number>();

  constructor(budget: RequestBudget) {
    this.#budget = budget;
  }

  /** @returns the state; @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  *add<State extends NodeRecord | undefined>(state: State): Generator<undefined, State> {
    if (state === undefined || this.#weights.has(state)) return state;
    const weight = yield* recordWeight(state);
    this.#weights.set(state, weight);
    this.#budget.hold(weight);
    return state;
  }

  dropAllBut(kept: readonly (NodeRecord | undefined)[]): void {
    for (const [state, weight] of this.#weights) if (!kept.includes(state)) this.#budget.drop(weight);
  }
}

function touch<T>(touched: Map<string, Touched<T>>, key: string, what: T, index: number): void {
  const known = touched.get(key);
  if (known === undefined) touched.set(key, { what, by: [index] });
  else if (known.by.at(-1) !== index) known.by.push(index);
}
