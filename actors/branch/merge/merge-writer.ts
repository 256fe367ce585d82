import {
  type DefinitionNetChange,
  type NetChange,
  prepareComparison,
  sameContent,
  sameDefinition,
} from '#runtime/tree/net-change.ts';
import { resolverOver } from '#runtime/tree/schema-store.ts';
import { withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { DefinitionChange, NodeChange } from '#runtime/tree/revision-record.ts';
import type { BranchPair } from '../pair/branch-pair.ts';
import { goneWrite, keepWhatStays, mergedTranslations, planDecided } from './decided-writes.ts';
import { requireNotShipped, requireShippedParts, shippedPartsBefore } from '../schema/shipped-types.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { EditScope } from '../edit-scope.ts';
import type { DefinitionDecision, MergeDecisions } from './merge-decisions.ts';
import { type MergeSides, nodeKeyOf } from './merge-sides.ts';
import { PlannedWrites } from './planned-writes.ts';

/**
 * Writes the changes of the source of a merge into the target. All conflicts must have been decided. Nodes that only
 * the target has below a moved node move with it.
 */
export class MergeWriter {
  readonly #edit: EditScope;
  readonly #pair: BranchPair;
  readonly #sides: MergeSides;
  readonly #writes: PlannedWrites;
  readonly #decisions: MergeDecisions | undefined;
  /** Names of the node types that resolutions give. */
  readonly #givenTypes = new Set<string>();

  constructor(
    edit: EditScope,
    pair: BranchPair,
    sides: MergeSides,
    sourceName: string,
    decisions?: MergeDecisions,
  ) {
    this.#edit = edit;
    this.#pair = pair;
    this.#sides = sides;
    this.#decisions = decisions;
    this.#writes = new PlannedWrites(edit, { noun: 'merge', details: { merged_from: sourceName } });
  }

  /** Returns the changes recorded in the merge commit; valid after {@link MergeWriter.write}. */
  changes(): Generator<undefined, readonly NodeChange[]> {
    return this.#writes.changes();
  }

  get definitions(): readonly DefinitionChange[] {
    return this.#writes.definitions;
  }

  /** Plans all writes. @throws {ServiceError} `COMMIT_TOO_LARGE`, `VALIDATION_FAILED` for a path too long */
  *plan(): Generator<undefined, void> {
    const { other, otherDefinitions, own, ownDefinitions, ownReordered, reordered } = this.#sides;
    yield* eachInSlices(otherDefinitions.values(), (change) => this.#planDefinition(change));
    yield* eachInSlices(ownDefinitions, ([key, change]) => {
      // The source did not change it since the common base.
      const isDecided = this.#decisions?.definitions.has(key) === true && !otherDefinitions.has(key);
      if (isDecided) this.#planDefinition({ ...change, after: change.before });
    });
    for (const changes of [other, reordered]) {
      yield* eachInSlices(changes.values(), (change) => this.#planNode(change));
    }
    yield* this.#planDecided();
    yield* eachInSlices(own.values(), (change) => this.#follow(change));
    if (this.#pair.isCrossed) {
      yield* eachInSlices(ownDefinitions, ([key, change]) =>
        this.#noteKeptDefinition(change, otherDefinitions.get(key)),
      );
      for (const changes of [own, ownReordered]) {
        yield* eachInSlices(changes.values(), (change) => this.#noteKept(change));
      }
    }
    if (this.#decisions !== undefined) {
      // Otherwise every move is a change of the side that made it.
      for (const write of this.#writes.nodes) {
        yield* prepareComparison([write.content, write.present]);
        yield* keepWhatStays(this.#writes, write);
        yield;
      }
      yield* this.#writes.followMoved();
    }
    this.#edit.checkSize(this.#writes.size);
  }

  /**
   * @throws {ServiceError} `VALIDATION_FAILED`, naming the node, for a unique value or a path that is taken;
   *   `FORBIDDEN`
   */
  *write(): Generator<undefined, void> {
    const shipped = yield* shippedPartsBefore(this.#edit.turn, this.#givenTypes);
    yield* this.#writes.write();
    requireShippedParts(
      shipped,
      resolverOver(() => this.#edit.turn, {}),
    );
  }

  #planDefinition(change: DefinitionNetChange): void {
    const { kind, name } = change;
    const decided = this.#decisions?.definitions.get(nodeKeyOf(kind, name));
    const [present] = this.#pair.definitions('own', [{ kind, name }]);
    const after = decided === undefined ? change.after : decidedDefinition(change, present, decided);
    // A decision is written even if nothing changes, see planDecided.
    if (sameDefinition(present, after) && decided === undefined) return;
    const operation = after === undefined ? 'deleted' : present === undefined ? 'added' : 'modified';
    this.#writes.setDefinition({ ...change, after, operation });
    if (decided?.choice !== 'manual' || kind !== 'node_type') return;
    if (after === undefined) requireNotShipped(kind, name);
    this.#givenTypes.add(name);
  }

  *#planDecided(): Generator<undefined, void> {
    const decisions = this.#decisions;
    if (decisions === undefined) return;
    yield* eachInSlices(decisions.tree.decisions, (decision) =>
      planDecided(this.#edit, this.#sides, decisions, this.#writes, decision),
    );
  }

  /** Lets a node that the target changed move with its ancestors. */
  *#follow({ after, nodeId: id, workspace }: NetChange): Generator<undefined, void> {
    if (after === undefined) return;
    const tree = this.#decisions?.tree;
    if (tree !== undefined && !(yield* tree.has({ workspace, id }))) return;
    yield* this.#writes.follow(workspace, after);
  }

  *#planNode(theirs: NetChange): Generator<undefined, void> {
    const { after, nodeId: id, workspace } = theirs;
    if (this.#decisions?.tree.decisionOf({ workspace, id }) !== undefined) return;
    const present = yield* this.#edit.head.byIdInSteps(workspace, id);
    const ours = this.#sides.own.get(nodeKeyOf(workspace, id));
    if (after === undefined) {
      if (present === undefined) return;
      const gone = { content: undefined, translations: null, changedLocale: null, isPlaced: false };
      this.#writes.set({ workspace, id, present, operation: 'deleted', ...gone });
      return;
    }
    if (present === undefined) {
      // Only reordered by the source, and deleted here.
      if (theirs.operation !== 'added') return;
      const { translations } = after.header;
      const added = { content: after, translations, changedLocale: null, isPlaced: true };
      this.#writes.set({ workspace, id, present, operation: 'added', ...added });
      return;
    }
    const takesNode = theirs.isNode && ours?.isNode !== true;
    const merged = mergedTranslations({ workspace, id }, this.#sides, present, this.#decisions);
    const locales = merged.changed;
    const content = takesNode ? after : present;
    const isMoved = content.header.parentId !== present.header.parentId;
    const isReordered = theirs.isReordered && !isMoved && !this.#isReorderedHere(theirs, present);
    const isModified = takesNode || locales.length > 0;
    if (!isModified && !isReordered && !merged.isDecided) return;
    this.#writes.set({
      workspace,
      id,
      present,
      content:
        isReordered && !takesNode
          ? yield* withHeaderInSteps(present, { ...present.header, orderKey: after.header.orderKey })
          : content,
      translations: merged.translations,
      operation: isReordered && !isModified ? 'reordered' : 'modified',
      changedLocale: !takesNode && locales.length === 1 ? (locales[0] as string) : null,
      isPlaced: isMoved || isReordered,
      isFollower: !isModified && !isReordered,
      ...(merged.given.size === 0 ? {} : { given: { translations: merged.given } }),
    });
  }

  /**
   * Records a node that keeps the target's state although the source has another one. The revision that made the
   * difference may have been merged into the source already, with another result there. Merges read what the revisions
   * of a side touched: without this record, a merge in the other direction would not see the outcome.
   */
  *#noteKept({ before, nodeId: id, workspace }: NetChange): Generator<undefined, void> {
    if (this.#writes.of(workspace, id) !== undefined) return;
    const present = yield* this.#edit.head.byIdInSteps(workspace, id);
    const theirs =
      this.#sides.other.get(nodeKeyOf(workspace, id)) ?? this.#sides.reordered.get(nodeKeyOf(workspace, id));
    const source = theirs === undefined ? before : theirs.after;
    yield* prepareComparison([present, source]);
    const isSame = sameContent(present, source);
    if (isSame && present?.header.orderKey === source?.header.orderKey) return;
    if (present === undefined) {
      this.#writes.set(goneWrite(workspace, undefined, source as NodeRecord));
      return;
    }
    this.#writes.set({
      workspace,
      id,
      present,
      content: present,
      translations: present.header.translations,
      operation: isSame ? 'reordered' : 'modified',
      changedLocale: null,
      isPlaced: false,
      isFollower: true,
    });
  }

  /** As {@link MergeWriter.#noteKept}. */
  #noteKeptDefinition(ours: DefinitionNetChange, theirs: DefinitionNetChange | undefined): void {
    const { after, kind, name } = ours;
    if (this.definitions.some((one) => one.kind === kind && one.name === name)) return;
    if (sameDefinition(after, theirs === undefined ? ours.before : theirs.after)) return;
    this.#writes.setDefinition({ ...ours, operation: after === undefined ? 'deleted' : 'modified' });
  }

  /** Whether the target gave a node another position or parent, which then takes precedence. */
  #isReorderedHere({ before }: NetChange, present: NodeRecord): boolean {
    return (
      before?.header.orderKey !== present.header.orderKey ||
      before.header.parentId !== present.header.parentId
    );
  }
}

/** @param theirs the source's state @param present the target's state */
function decidedDefinition(
  { after: theirs }: DefinitionNetChange,
  present: DefinitionNetChange['after'],
  { choice, given }: DefinitionDecision,
): DefinitionNetChange['after'] {
  if (choice === 'manual') return given;
  return choice === 'ours' ? present : theirs;
}
