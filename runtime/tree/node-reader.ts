import { Buffer } from 'node:buffer';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { joinPath } from '#runtime/content/path.ts';
import { decodeRevision, encodeRevision, REVISION_BYTES, type Revision } from '#runtime/content/revision.ts';
import { AFTER_END, bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  childrenFrom,
  nodeKey,
  parentKey,
  pathKey,
} from '#runtime/shard/key-layout.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { peekedValue, peekWhole, storedValue, valueInSteps } from '#runtime/shard/value-in-steps.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { addIdsBetween } from './ids-between.ts';
import { NodeRecord, recordInSteps } from './record/node-record.ts';

/** An entry in the list of children of a parent. */
export interface ChildEntry {
  readonly orderKey: string;
  readonly id: string;
}

/** Consecutive children. */
export interface ChildrenPart {
  readonly entries: readonly ChildEntry[];
  /** The order key after which the next part begins; absent at the end. It may be present when no child was found. */
  readonly next?: string;
}

/** The start of a walk over children. */
export interface ChildRange {
  /** Only children after this order key, in the direction of the walk. */
  readonly after?: string;
  readonly reverse?: boolean;
}

/**
 * The tree of a branch at one revision. The root is not stored: its id is {@link ROOT_ID}, its path `/`.
 * Content, paths, order and the presence of children are all as of that revision.
 */
export interface NodeReader {
  /** The node with an id. @throws {ServiceError} `DATA_CORRUPTED` */
  byId(workspace: string, id: string): NodeRecord | undefined;
  /**
   * As {@link byId}, for a walk over many nodes: a node whose large row is not read is answered with a
   * {@link LargeValue}, and is to be read with {@link byIdInSteps}. In a tree of an earlier revision that row may be of
   * another state.
   */
  quickById(workspace: string, id: string): NodeRecord | LargeValue | undefined;
  /** As {@link byId}, in steps: yields while it reads and verifies large rows. The tree must not change meanwhile. */
  byIdInSteps(workspace: string, id: string): Generator<undefined, NodeRecord | undefined>;
  /** Id of the node at a path; {@link ROOT_ID} for `/`. */
  idAt(workspace: string, path: string): string | undefined;
  /** The node at a path; undefined for the root. In steps as {@link byIdInSteps}. */
  byPathInSteps(workspace: string, path: string): Generator<undefined, NodeRecord | undefined>;
  /** Children in editorial order. Must be consumed within one turn of the event loop unless pinned. */
  children(workspace: string, parentId: string, range?: ChildRange): Iterable<ChildEntry>;
  /** As {@link children}, one part that is read without holding the event loop for long. */
  childrenPart(workspace: string, parentId: string, range: ChildRange, most: number): ChildrenPart;
  /** Id of the child with an order key. */
  childAt(workspace: string, parentId: string, orderKey: string): string | undefined;
  hasChildren(workspace: string, parentId: string): boolean;
  /** Tells of some nodes which have children; of others it tells nothing. It costs little where few of them do. */
  parentsAmong(workspace: string, ids: readonly string[]): ReadonlySet<string>;
}

/** The entry of a parent, which answers questions about its children without reading them. */
export interface ParentEntry {
  /** At least 1: a parent without children has no entry. */
  readonly count: number;
  /** The revision since which the parent has had children without interruption. */
  readonly since: Revision;
  readonly lastOrderKey: string;
}

/** Reads a row of the `parents` table. */
export function parentEntry(
  reader: TableReader,
  workspace: string,
  parentId: string,
): ParentEntry | undefined {
  const bytes = peekWhole(reader, BranchTable.parents, parentKey(workspace, parentId));
  return bytes === undefined ? undefined : decodeParentEntry(bytes);
}

const COUNT_BYTES = 4;

/** Bytes of a row of the `parents` table. */
export function encodeParentEntry(entry: ParentEntry): Uint8Array {
  const bytes = Buffer.allocUnsafe(COUNT_BYTES + REVISION_BYTES + entry.lastOrderKey.length);
  bytes.writeUInt32BE(entry.count, 0);
  bytes.latin1Write(encodeRevision(entry.since) + entry.lastOrderKey, COUNT_BYTES);
  return bytes;
}

/** Reads {@link encodeParentEntry}. */
export function decodeParentEntry(bytes: Uint8Array): ParentEntry {
  const buffer = asBuffer(bytes);
  const text = buffer.latin1Slice(COUNT_BYTES, bytes.length);
  return {
    count: buffer.readUInt32BE(0),
    since: decodeRevision(text, 0),
    lastOrderKey: text.slice(REVISION_BYTES),
  };
}

/** A binding: the node at a path or place, and the revision that put it there. */
export interface Binding {
  readonly since: Revision;
  readonly id: string;
}

/** Bytes of a binding in `paths` and `children`. */
export function encodeBinding(since: Revision, id: string): Uint8Array {
  return Buffer.from(encodeRevision(since) + textBytes(id), 'latin1');
}

/** Reads {@link encodeBinding}. */
export function decodeBinding(bytes: Uint8Array): Binding {
  const text = asBuffer(bytes).latin1Slice();
  return { since: decodeRevision(text, 0), id: bytesText(text.slice(REVISION_BYTES)) };
}

/** The id of a binding alone. @param length of the binding, when its memory is longer */
export function boundId(bytes: Uint8Array, length: number = bytes.length): string {
  return bytesText(asBuffer(bytes).latin1Slice(REVISION_BYTES, length));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The tree at the head. A point read costs one look-up, whatever the length of the history. */
export class HeadNodeReader implements NodeReader {
  readonly #reader: TableReader;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  byId(workspace: string, id: string): NodeRecord | undefined {
    const bytes = this.#reader.get(BranchTable.nodes, nodeKey(workspace, id));
    return bytes === undefined ? undefined : new NodeRecord(bytes);
  }

  quickById(workspace: string, id: string): NodeRecord | LargeValue | undefined {
    const found = storedValue(this.#reader, BranchTable.nodes, nodeKey(workspace, id));
    return found === undefined || found instanceof LargeValue ? found : new NodeRecord(found);
  }

  *byIdInSteps(workspace: string, id: string): Generator<undefined, NodeRecord | undefined> {
    const bytes = yield* valueInSteps(this.#reader, BranchTable.nodes, nodeKey(workspace, id));
    if (bytes === undefined) return undefined;
    return yield* recordInSteps(bytes);
  }

  /** Whether a node with this id exists. */
  has(workspace: string, id: string): boolean {
    return hasRow(this.#reader, BranchTable.nodes, nodeKey(workspace, id));
  }

  /**
   * As {@link byId}, over bytes that are valid only until the next read: for a record that is rendered at once. A large
   * one may not be read.
   */
  peekById(workspace: string, id: string): NodeRecord | LargeValue | undefined {
    const found = this.peekStored(workspace, id);
    return found === undefined || found instanceof LargeValue ? found : new NodeRecord(found);
  }

  /**
   * The stored bytes of a node, which are not verified. They are valid only until the next read, and their memory may be
   * longer. A large one is not read.
   */
  peekStored(workspace: string, id: string): Buffer | LargeValue | undefined {
    const found = peekedValue(this.#reader, BranchTable.nodes, nodeKey(workspace, id));
    return found === undefined || found instanceof LargeValue ? found : asBuffer(found);
  }

  idAt(workspace: string, path: string): string | undefined {
    if (path === '/') return ROOT_ID;
    const bytes = peekWhole(this.#reader, BranchTable.paths, pathKey(workspace, path));
    return bytes === undefined ? undefined : boundId(bytes);
  }

  *byPathInSteps(workspace: string, path: string): Generator<undefined, NodeRecord | undefined> {
    if (path === '/') return undefined;
    const id = this.idAt(workspace, path);
    return id === undefined ? undefined : yield* this.byIdInSteps(workspace, id);
  }

  *children(workspace: string, parentId: string, range: ChildRange = {}): Iterable<ChildEntry> {
    for (const { key, value } of this.#reader.range(
      BranchTable.children,
      stretch(workspace, parentId, range),
    )) {
      yield { orderKey: key.slice(key.lastIndexOf(END) + 1), id: boundId(value) };
    }
  }

  childrenPart(workspace: string, parentId: string, range: ChildRange, most: number): ChildrenPart {
    const entries: ChildEntry[] = [];
    const keys = stretch(workspace, parentId, range);
    const skipped = childrenFrom(workspace, parentId).start.length;
    visitRows(this.#reader, BranchTable.children, keys, (row) => {
      const orderKey = row.key().slice(skipped);
      return entries.push({ orderKey, id: boundId(row.bytes, row.length) }) < most;
    });
    return entries.length < most ? { entries } : { entries, next: (entries.at(-1) as ChildEntry).orderKey };
  }

  childAt(workspace: string, parentId: string, orderKey: string): string | undefined {
    const bytes = peekWhole(this.#reader, BranchTable.children, childKey(workspace, parentId, orderKey));
    return bytes === undefined ? undefined : boundId(bytes);
  }

  hasChildren(workspace: string, parentId: string): boolean {
    return peekWhole(this.#reader, BranchTable.parents, parentKey(workspace, parentId)) !== undefined;
  }

  parentsAmong(workspace: string, ids: readonly string[]): ReadonlySet<string> {
    const found = new Set<string>();
    if (ids.length === 0) return found;
    if (addIdsBetween(this.#reader, BranchTable.parents, workspace, ids, 0, found)) return found;
    return new Set(ids.filter((id) => this.hasChildren(workspace, id)));
  }
}

/** Whether a tree has a node, in steps as {@link NodeReader.byIdInSteps}. The tree at the head tells without reading it. */
export function* hasNode(tree: NodeReader, workspace: string, id: string): Generator<undefined, boolean> {
  if (tree instanceof HeadNodeReader) return tree.has(workspace, id);
  return (yield* tree.byIdInSteps(workspace, id)) !== undefined;
}

/** The node that a tree has in the place that a state of this or another node has. Yields only for large nodes. */
export function* nodeInPlaceOf(
  tree: NodeReader,
  workspace: string,
  { name, parentId }: NodeRecord,
): Generator<undefined, NodeRecord | undefined> {
  const above = parentId === ROOT_ID ? '/' : (yield* tree.byIdInSteps(workspace, parentId))?.path;
  const id = above === undefined ? undefined : tree.idAt(workspace, joinPath(above, name));
  return id === undefined ? undefined : yield* tree.byIdInSteps(workspace, id);
}

/** Keys of the children of one parent, in the direction of a walk. */
export interface Stretch {
  readonly start: string;
  readonly end: string;
  readonly reverse: boolean;
}

/** The keys a walk over children covers, in `children` and in `childVersions`. */
export function stretch(workspace: string, parentId: string, range: ChildRange): Stretch {
  const all = childrenFrom(workspace, parentId);
  if (range.after === undefined) return { ...all, reverse: range.reverse === true };
  const at = all.start + range.after;
  if (range.reverse === true) return { start: all.start, end: at, reverse: true };
  // In `childVersions` an order key is followed by END and a revision. AFTER_END sorts after all of those, and before
  // every longer order key, whose characters are greater.
  return { start: at + AFTER_END, end: all.end, reverse: false };
}
