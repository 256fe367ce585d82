import {
  type DefinitionNetChange,
  type NetChange,
  prepareComparison,
  sameContent,
  sameDefinition,
} from '#runtime/tree/net-change.ts';
import { type NodeRecord, withHeader } from '#runtime/tree/node-record.ts';
import type { DefinitionChange, NodeChange } from '#runtime/tree/revision-store.ts';
import type { BranchPair } from './branch-pair.ts';
import {
  goneWrite,
  isBelow,
  keepWhatStays,
  mergedTranslations,
  planDecided,
  retypedNodes,
} from './decided-writes.ts';
import { manualDefinition, requireSound } from './definitions.ts';
import type { EditScope } from './edit-scope.ts';
import { type MergeSides, nodeKeyOf } from './merge-conflicts.ts';
import type { DefinitionDecision, MergeDecisions } from './merge-decisions.ts';
import { MergedSchema } from './merged-schema.ts';
import type { DefinitionAddress, NodeAddress } from './pair-messages.ts';
import { PlannedWrites } from './planned-writes.ts';

/**
 * Writes what the source of a merge changed into the target. There must be no conflicts, or decisions about all of
 * them. Nodes that only the target has below a moved one follow it.
 */
export class MergeWriter {
  readonly #edit: EditScope;
  readonly #pair: BranchPair;
  readonly #sides: MergeSides;
  readonly #writes: PlannedWrites;
  readonly #decisions: MergeDecisions | undefined;
  /** Definitions a resolution gave. */
  readonly #manual: DefinitionNetChange[] = [];
  readonly #reorderedThere: ReadonlyMap<string, NetChange>;
  /** Nodes that are only noted, see {@link MergeWriter.#noteKept}; by `nodeKeyOf`. */
  readonly #kept = new Set<string>();
  readonly #keptDefinitions = new Set<string>();
  readonly #ownDefinitions: DefinitionNetChange[] = [];
  #otherDefinitionsCome = false;

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
    this.#reorderedThere = new Map(
      sides.reordered.map((change) => [nodeKeyOf(change.workspace, change.nodeId), change]),
    );
    this.#writes = new PlannedWrites(edit, { noun: 'merge', details: { merged_from: sourceName } });
  }

  /** What the merge commit says it changed; good once planned. */
  get changes(): readonly NodeChange[] {
    return this.#writes.changes;
  }

  get definitions(): readonly DefinitionChange[] {
    return this.#writes.definitions;
  }

  /** Decides what is written. @throws {ServiceError} `COMMIT_TOO_LARGE`, `VALIDATION_FAILED` for a path too long */
  *plan(): Generator<undefined, void> {
    for (const change of this.#pair.definitionChanges('own')) {
      if (change === undefined) yield;
      else this.#ownDefinitions.push(change);
    }
    const theirs = new Map<string, DefinitionNetChange>();
    for (const change of this.#pair.definitionChanges('other')) {
      if (change === undefined) {
        yield;
        continue;
      }
      this.#planDefinition(change);
      theirs.set(nodeKeyOf(change.kind, change.name), change);
    }
    yield* inSlices([...this.#sides.other.values(), ...this.#sides.reordered], (change) =>
      this.#planNode(change),
    );
    yield* this.#planDecided();
    yield* inSlices(this.#sides.own.values(), ({ after, nodeId, workspace }) => {
      const isGone = this.#decisions?.tree.has({ workspace, id: nodeId }) === false;
      if (after !== undefined && !isGone) this.#writes.follow(workspace, after);
    });
    if (this.#pair.isCrossed) {
      for (const change of this.#ownDefinitions) {
        this.#noteKeptDefinition(change, theirs.get(nodeKeyOf(change.kind, change.name)));
      }
      yield* inSlices([...this.#sides.own.values(), ...this.#sides.ownReordered], (change) =>
        this.#noteKept(change),
      );
    }
    if (this.#decisions !== undefined) {
      // Otherwise whatever moves is a change of the side that moved it.
      for (const write of this.#writes.nodes) {
        yield* prepareComparison([write.content, write.present]);
        keepWhatStays(this.#writes, write);
        yield;
      }
      yield* this.#writes.followMoved();
    }
    this.#edit.checkSize(this.#writes.size);
  }

  /** @throws {ServiceError} `VALIDATION_FAILED`, naming the node that would not be valid */
  *write(): Generator<undefined, void> {
    const areBothChanged = this.#otherDefinitionsCome && this.#ownDefinitions.length > 0;
    const schema = new MergedSchema(
      this.#edit,
      this.#pair,
      areBothChanged ? this.#ownDefinitions : [],
      areBothChanged ? this.#broughtDefinitions : [],
    );
    yield* this.#writes.write();
    schema.requireSound();
    for (const { after, kind } of this.#manual) {
      if (after !== undefined) requireSound(this.#edit, kind, after.definition);
    }
    const own = [...this.#sides.own.values()].map(({ nodeId: id, workspace }) => ({ id, workspace }));
    // Definitions one side changed are held against the nodes the other one changed.
    const isBrought = ({ id, workspace }: NodeAddress): boolean => !this.#kept.has(nodeKeyOf(workspace, id));
    const brought = this.#ownDefinitions.length > 0 ? this.#writes.nodes.filter(isBrought) : this.#decided;
    yield* this.#writes.requireValid(brought);
    if (this.#otherDefinitionsCome) yield* this.#writes.requireValid(own);
    // So are types of nodes one side changed against what the other one has below them.
    const retyped = retypedNodes(this.#writes, this.#sides);
    if (retyped.size === 0) return;
    const below = [...this.#writes.nodes, ...own].filter(({ id, workspace }) =>
      isBelow(retyped, workspace, this.#edit.head.byId(workspace, id)),
    );
    yield* this.#writes.requireValid(below);
  }

  get #broughtDefinitions(): readonly DefinitionAddress[] {
    return this.definitions.filter(({ kind, name }) => !this.#keptDefinitions.has(nodeKeyOf(kind, name)));
  }

  /** Nodes that become something else by a decision. */
  get #decided(): readonly NodeAddress[] {
    return [...(this.#decisions?.tree.decisions ?? [])].filter(({ id, workspace }) => {
      return this.#writes.of(workspace, id)?.isFollower !== true;
    });
  }

  #planDefinition(change: DefinitionNetChange): void {
    const { kind, name } = change;
    const decided = this.#decisions?.definitions.get(nodeKeyOf(kind, name));
    const [present] = this.#pair.definitions('own', [{ kind, name }]);
    const after = decided === undefined ? change.after : this.#decidedDefinition(change, present, decided);
    const isSame = sameDefinition(present, after);
    if (!isSame) this.#otherDefinitionsCome = true;
    // What was decided is written also where nothing changes, see planDecided.
    if (isSame && decided === undefined) return;
    const operation = after === undefined ? 'deleted' : present === undefined ? 'added' : 'modified';
    const planned: DefinitionNetChange = { ...change, after, operation };
    this.#writes.setDefinition(planned);
    if (decided?.choice === 'manual') this.#manual.push(planned);
  }

  #decidedDefinition(
    { after: theirs, kind, name }: DefinitionNetChange,
    present: DefinitionNetChange['after'],
    { choice, values }: DefinitionDecision,
  ): DefinitionNetChange['after'] {
    if (choice === 'ours') return present;
    if (choice === 'theirs') return theirs;
    if (values === null) return undefined;
    const previous = (present ?? theirs)?.definition;
    const definition = manualDefinition(this.#edit, kind, { ...values, name }, previous);
    return { since: this.#edit.revision, definition };
  }

  *#planDecided(): Generator<undefined, void> {
    const decisions = this.#decisions;
    if (decisions === undefined) return;
    yield* inSlices(decisions.tree.decisions, (decision) =>
      planDecided(this.#edit, this.#sides, decisions, this.#writes, decision),
    );
  }

  #planNode(theirs: NetChange): void {
    const { after, nodeId: id, workspace } = theirs;
    if (this.#decisions?.tree.decisionOf({ workspace, id }) !== undefined) return;
    const present = this.#edit.head.byId(workspace, id);
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
          ? withHeader(present, { ...present.header, orderKey: after.header.orderKey })
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
   * Notes a node that stays as the target has it and not as the source does. The revision that made the difference
   * may have been merged into the source already, where something else was made of it: merges see what the revisions
   * of a side touched, and without this the other direction would not learn which of the two came out.
   */
  #noteKept({ before, nodeId: id, workspace }: NetChange): void {
    if (this.#writes.of(workspace, id) !== undefined) return;
    const present = this.#edit.head.byId(workspace, id);
    const theirs =
      this.#sides.other.get(nodeKeyOf(workspace, id)) ?? this.#reorderedThere.get(nodeKeyOf(workspace, id));
    const source = theirs === undefined ? before : theirs.after;
    const isSame = sameContent(present, source);
    if (isSame && present?.header.orderKey === source?.header.orderKey) return;
    this.#kept.add(nodeKeyOf(workspace, id));
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
    this.#keptDefinitions.add(nodeKeyOf(kind, name));
    this.#writes.setDefinition({ ...ours, operation: after === undefined ? 'deleted' : 'modified' });
  }

  /** The target's own place for a node wins, and so does another parent it gave it. */
  #isReorderedHere({ before }: NetChange, present: NodeRecord): boolean {
    return (
      before?.header.orderKey !== present.header.orderKey ||
      before.header.parentId !== present.header.parentId
    );
  }
}

function* inSlices<T>(items: Iterable<T>, handle: (item: T) => void): Generator<undefined, void> {
  for (const item of items) {
    handle(item);
    yield;
  }
}
