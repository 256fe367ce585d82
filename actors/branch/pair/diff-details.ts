import { assert } from '#runtime/base/assert.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import type { NetChange } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { BranchPair } from './branch-pair.ts';
import { ANSWER_CHARACTERS_MAX, ChangeTexts } from './change-texts.ts';
import { definitionOfId } from './definition-names.ts';
import type { DefinitionDiffEntry, DiffEntries, DiffEntry } from './diff-entries.ts';
import type { NodeAccess } from '../reads/node-access.ts';
import { shownNode } from '../reads/shown-node.ts';
import { definitionChanges, nodeChanges, type SeesTarget } from './node-changes.ts';

/** Most memory for the details of one answer, in bytes: a text with two bytes a character. */
export const ROOM_BYTES = 2 * ANSWER_CHARACTERS_MAX;

/** The changes of the entries of a difference, as text. */
export interface DiffDetails {
  /** Whether some entry lacks some of its changes. */
  readonly isTruncated: boolean;
  /** The fields to append to an entry for its details. */
  of(entry: DiffEntry | DefinitionDiffEntry): string;
}

/**
 * Reads the changes in the nodes and definitions of a difference, until the answer is full. Modified nodes come first,
 * then definitions: other reads can show added and deleted nodes.
 *
 * States are read a second time. The order of an answer is known only when all entries are known, and keeping all their
 * states would take more memory than their changes.
 */
export function* diffDetails(
  pair: BranchPair,
  access: NodeAccess,
  { definitions, nodes }: DiffEntries,
): Generator<undefined, DiffDetails> {
  const writer = new ChangeTexts();
  const texts = new Map<DiffEntry | DefinitionDiffEntry, string>();
  const ofNodes = function* (operation: DiffEntry['operation']): Generator<undefined, void> {
    const listed = nodes.filter((entry) => entry.operation === operation);
    const addresses = listed.map(({ node_id: id, workspace }) => ({ workspace, id }));
    yield* inOrder(pair.changesOf('own', addresses), listed, writer, function* (change, entry) {
      assert(change.nodeId === entry.node_id, 'the changes come in the order of their entries');
      const shown = yield* shownChange(access, change);
      const sees = targetsOf(pair, access);
      texts.set(entry, shown === undefined ? writer.cutOff() : yield* writer.of(nodeChanges(shown, sees)));
    });
  };
  yield* ofNodes('modified');
  const addresses = definitions.map(({ node_id }) => definitionOfId(node_id));
  yield* inOrder(pair.definitionChangesOf('own', addresses), definitions, writer, function* (change, entry) {
    texts.set(entry, yield* writer.of(definitionChanges(change)));
  });
  yield* ofNodes('added');
  yield* ofNodes('deleted');
  const cutOff = texts.size < nodes.length + definitions.length ? writer.cutOff() : '';
  return { isTruncated: writer.isTruncated, of: (entry) => texts.get(entry) ?? cutOff };
}

/** Processes the changes of entries until the answer is full. */
function* inOrder<Change, Entry>(
  changes: Iterable<Change | undefined>,
  entries: readonly Entry[],
  writer: ChangeTexts,
  write: (change: Change, entry: Entry) => Generator<undefined, void>,
): Generator<undefined, void> {
  if (writer.isFull) return;
  let index = 0;
  for (const change of changes) {
    yield;
    if (change === undefined) continue;
    yield* write(change, entries[index] as Entry);
    index += 1;
    if (writer.isFull) return;
  }
}

/**
 * A change as the caller may see it. A property that is hidden in one of the states is hidden in both.
 *
 * @returns undefined when one of the states may not be read: if the node was moved from a path the caller may not read, its
 *   earlier state is not shown. Yields where the work may pause
 */
function* shownChange(access: NodeAccess, change: NetChange): Generator<undefined, NetChange | undefined> {
  const { after, before, workspace } = change;
  const states = [before, after].filter((state) => state !== undefined);
  const filters = access.together(() =>
    states.every((state) => access.mayRead(workspace, state))
      ? states.map((state) => access.shownFields(workspace, state))
      : undefined,
  );
  if (filters === undefined) return undefined;
  const shown = function* (state: NodeRecord | undefined): Generator<undefined, NodeRecord | undefined> {
    let left = state;
    for (const filter of filters) left = left && (yield* shownNode(left, filter)).record;
    return left;
  };
  return { ...change, before: yield* shown(before), after: yield* shown(after) };
}

/**
 * A relation is shown if the caller may read its target: its current state, or its state in the base if it was deleted.
 */
function targetsOf(pair: BranchPair, access: NodeAccess): SeesTarget {
  return function* ({ target: id, workspace }: Relation) {
    if (access.readsAll(workspace)) return true;
    const [after] = yield* pair.states('own', [{ workspace, id }]);
    const [before] = yield* pair.baseStates([{ workspace, id }]);
    const state = after ?? before;
    const isSeen = state !== undefined && access.mayRead(workspace, state);
    // A decision may take some milliseconds.
    yield;
    return isSeen;
  };
}
