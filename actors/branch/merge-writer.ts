import { overlayOf, withOverlay } from '#runtime/content/translation.ts';
import { type NetChange, sameDefinition } from '#runtime/tree/net-change.ts';
import { type NodeRecord, withHeader } from '#runtime/tree/node-record.ts';
import type { DefinitionChange, NodeChange } from '#runtime/tree/revision-store.ts';
import type { BranchPair } from './branch-pair.ts';
import { SLICE_NODES } from './delete-node.ts';
import type { EditScope } from './edit-scope.ts';
import { type MergeSides, nodeKeyOf } from './merge-conflicts.ts';
import { PlannedWrites } from './planned-writes.ts';

/**
 * Writes what the source of a merge changed into the target. There must be no conflicts. Nodes that only the target
 * has below a moved one follow it.
 */
export class MergeWriter {
  readonly #edit: EditScope;
  readonly #pair: BranchPair;
  readonly #sides: MergeSides;
  readonly #writes: PlannedWrites;
  #ownDefinitionsChanged = false;

  constructor(edit: EditScope, pair: BranchPair, sides: MergeSides, sourceName: string) {
    this.#edit = edit;
    this.#pair = pair;
    this.#sides = sides;
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
      else this.#ownDefinitionsChanged = true;
    }
    for (const change of this.#pair.definitionChanges('other')) {
      if (change === undefined) {
        yield;
        continue;
      }
      const { kind, name } = change;
      const [present] = this.#pair.definitions('own', [{ kind, name }]);
      if (!sameDefinition(present, change.after)) this.#writes.setDefinition(change);
    }
    yield* inSlices([...this.#sides.other.values(), ...this.#sides.reordered], (change) =>
      this.#planNode(change),
    );
    yield* inSlices(this.#sides.own.values(), ({ after, workspace }) => {
      if (after !== undefined) this.#writes.follow(workspace, after);
    });
    this.#edit.checkSize(this.#writes.size);
  }

  /** @throws {ServiceError} `VALIDATION_FAILED`, naming the node that would not be valid */
  *write(): Generator<undefined, void> {
    yield* this.#writes.write();
    // Definitions one side changed are held against the nodes the other one changed.
    if (this.#ownDefinitionsChanged) yield* this.#writes.requireValid(this.#writes.nodes);
    if (this.definitions.length === 0) return;
    const own = [...this.#sides.own.values()];
    yield* this.#writes.requireValid(own.map(({ nodeId: id, workspace }) => ({ id, workspace })));
  }

  #planNode(theirs: NetChange): void {
    const { after, nodeId: id, workspace } = theirs;
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
    const locales = theirs.locales.filter((locale) => ours === undefined || !ours.locales.includes(locale));
    const content = takesNode ? after : present;
    const isMoved = content.header.parentId !== present.header.parentId;
    const isReordered = theirs.isReordered && !isMoved && !this.#isReorderedHere(theirs, present);
    if (!takesNode && locales.length === 0 && !isReordered) return;
    let { translations } = present.header;
    for (const locale of locales) {
      translations = withOverlay(translations, locale, overlayOf(after.header.translations, locale) ?? null);
    }
    const isModified = takesNode || locales.length > 0;
    this.#writes.set({
      workspace,
      id,
      present,
      content:
        isReordered && !takesNode
          ? withHeader(present, { ...present.header, orderKey: after.header.orderKey })
          : content,
      translations,
      operation: isModified ? 'modified' : 'reordered',
      changedLocale: !takesNode && locales.length === 1 ? (locales[0] as string) : null,
      isPlaced: isMoved || isReordered,
    });
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
  let handled = 0;
  for (const item of items) {
    handle(item);
    handled += 1;
    if (handled % SLICE_NODES === 0) yield;
  }
}
