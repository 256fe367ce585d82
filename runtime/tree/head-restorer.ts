import { assert } from '#runtime/base/assert.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  childVersionKey,
  nodeKey,
  nodeVersionKey,
  parentKey,
  parentVersionKey,
  pathKey,
  pathVersionKey,
} from '#runtime/shard/key-layout.ts';
import { IndexWriter, type TypeSource } from './index-writer.ts';
import {
  type Binding,
  decodeBinding,
  encodeBinding,
  encodeParentEntry,
  HeadNodeReader,
  parentEntry,
} from './node-reader.ts';
import type { NodeRecord } from './record/node-record.ts';
import type { PastNodeReader } from './past-node-reader.ts';

/** The present and the past state of one node; undefined where it did not exist. */
export interface NodeMove {
  readonly workspace: string;
  readonly present: NodeRecord | undefined;
  readonly past: NodeRecord | undefined;
  /** Bindings of the past node to its path and to its place among its siblings. */
  readonly path: Binding | undefined;
  readonly place: Binding | undefined;
}

const hadChildren = Uint8Array.of(1);

/**
 * Makes an earlier state the present one without writing a revision: rows get the revisions they had then, and the
 * replaced state stays readable at the revisions it belongs to.
 *
 * Plan first, because the past can be read only while the present is complete. Then call {@link leave} for all nodes,
 * restore the schema, call {@link enter} for all nodes, and finally {@link settleParents}.
 */
export class HeadRestorer {
  readonly #turn: Turn;
  readonly #indexes: IndexWriter;
  readonly #head: HeadNodeReader;
  /** For parents of restored nodes, the revision since which they had children, by `workspace\0parentId`. */
  readonly #parents = new Map<string, Revision | undefined>();

  constructor(turn: Turn, types: TypeSource) {
    this.#turn = turn;
    this.#head = new HeadNodeReader(turn);
    this.#indexes = new IndexWriter({ turn, types });
  }

  /** The changes that restore a node; undefined when it has not changed. Yields only for large nodes. */
  *plan(past: PastNodeReader, workspace: string, id: string): Generator<undefined, NodeMove | undefined> {
    const now = yield* this.#head.byIdInSteps(workspace, id);
    const then = yield* past.byIdInSteps(workspace, id);
    if (now === undefined && then === undefined) return undefined;
    if (now?.revision === then?.revision) return undefined;
    for (const parentId of new Set([now?.parentId, then?.parentId])) {
      if (parentId === undefined) continue;
      const key = `${workspace}\0${parentId}`;
      if (!this.#parents.has(key)) this.#parents.set(key, past.parentSince(workspace, parentId));
    }
    return {
      workspace,
      present: now,
      past: then,
      path: then === undefined ? undefined : past.bindingAt(workspace, then.path),
      place: then === undefined ? undefined : past.placementAt(workspace, then.parentId, then.orderKey),
    };
  }

  /** Computes the index rows of both states, in steps: yields only for large nodes. */
  *prepare({ past, present, workspace }: NodeMove): Generator<undefined, void> {
    for (const record of [present, past])
      if (record !== undefined) yield* this.#indexes.prepare(workspace, record);
  }

  /** Removes the present state of a node; it stays readable as a version. */
  leave({ workspace, present }: NodeMove): void {
    if (present === undefined) return;
    const { header } = present;
    const idBytes = Buffer.from(textBytes(header.id), 'latin1');
    const since = parseRevision(header.revision);
    this.#turn.put(BranchTable.nodeVersions, nodeVersionKey(workspace, header.id, since), present.bytes);
    this.#turn.remove(BranchTable.nodes, nodeKey(workspace, header.id));

    const pathRow = pathKey(workspace, header.path);
    const bound = this.#binding(BranchTable.paths, pathRow);
    this.#turn.put(BranchTable.pathVersions, pathVersionKey(workspace, header.path, bound.since), idBytes);
    this.#turn.remove(BranchTable.paths, pathRow);

    const { parentId, orderKey } = header;
    const childRow = childKey(workspace, parentId, orderKey);
    const placed = this.#binding(BranchTable.children, childRow);
    const childVersion = childVersionKey(workspace, parentId, orderKey, placed.since);
    this.#turn.put(BranchTable.childVersions, childVersion, idBytes);
    this.#turn.remove(BranchTable.children, childRow);

    this.#changeParent(workspace, parentId, -1, orderKey);
    this.#indexes.remove(workspace, present);
  }

  /** Puts a node back as it was. */
  enter({ workspace, past, path, place }: NodeMove): void {
    if (past === undefined) return;
    const { header } = past;
    assert(path !== undefined && place !== undefined, 'a node that was there had a path and a place');
    this.#turn.put(BranchTable.nodes, nodeKey(workspace, header.id), past.bytes);
    this.#turn.put(BranchTable.paths, pathKey(workspace, header.path), encodeBinding(path.since, header.id));
    const childRow = childKey(workspace, header.parentId, header.orderKey);
    this.#turn.put(BranchTable.children, childRow, encodeBinding(place.since, header.id));
    this.#changeParent(workspace, header.parentId, 1, header.orderKey);
    this.#indexes.add(workspace, past);
  }

  /** Restores, for the parents of restored nodes, the revisions since which they had children. */
  settleParents(): void {
    for (const [key, since] of this.#parents) {
      const [workspace, parentId] = key.split('\0') as [string, string];
      const entry = parentEntry(this.#turn, workspace, parentId);
      if (entry === undefined) continue;
      assert(since !== undefined, 'a parent that has children had them then');
      const lastOrderKey = this.#lastOrderKey(workspace, parentId);
      const row = encodeParentEntry({ count: entry.count, since, lastOrderKey });
      this.#turn.put(BranchTable.parents, parentKey(workspace, parentId), row);
    }
  }

  #changeParent(workspace: string, parentId: string, by: 1 | -1, orderKey: string): void {
    const entry = parentEntry(this.#turn, workspace, parentId);
    const row = parentKey(workspace, parentId);
    if (entry !== undefined && by === -1) {
      // Stored whenever a child leaves: only at the end is it known whether the parent still has children.
      const version = parentVersionKey(workspace, parentId, entry.since);
      this.#turn.put(BranchTable.parentVersions, version, hadChildren);
    }
    const count = (entry?.count ?? 0) + by;
    assert(count >= 0, 'a parent counts its children');
    if (count === 0) {
      this.#turn.remove(BranchTable.parents, row);
      return;
    }
    const since = entry?.since ?? this.#parents.get(`${workspace}\0${parentId}`) ?? this.#turn.revision;
    const lastOrderKey = entry === undefined || orderKey > entry.lastOrderKey ? orderKey : entry.lastOrderKey;
    this.#turn.put(BranchTable.parents, row, encodeParentEntry({ count, since, lastOrderKey }));
  }

  #lastOrderKey(workspace: string, parentId: string): string {
    for (const { orderKey } of this.#head.children(workspace, parentId, { reverse: true })) return orderKey;
    return '';
  }

  #binding(table: number, key: string): Binding {
    const bytes = this.#turn.get(table, key);
    assert(bytes !== undefined, 'a stored node has a path and a place');
    return decodeBinding(bytes);
  }
}
