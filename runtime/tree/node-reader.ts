import { ROOT_ID } from '#runtime/content/content-node.ts';
import {
  compareRevisions,
  decodeRevision,
  decodeRevisionDescending,
  encodeRevision,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import { AFTER_END, bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childrenFrom,
  nodeKey,
  nodeVersionsUpTo,
  parentKey,
  parentVersionsUpTo,
  pathKey,
  pathVersionsUpTo,
} from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { NodeRecord } from './node-record.ts';

/** A child as its parent lists it. */
export interface ChildEntry {
  readonly orderKey: string;
  readonly id: string;
}

/** Where a walk over children begins. */
export interface ChildRange {
  /** Only children behind this order key (in the direction of the walk). */
  readonly after?: string;
  readonly reverse?: boolean;
}

/**
 * The tree of a branch at one moment. The root is not stored: its id is {@link ROOT_ID}, its path `/`.
 * All answers are as of that moment: content, paths, order, whether there are children.
 */
export interface NodeReader {
  /** The node with an id. @throws {ServiceError} `DATA_CORRUPTED` */
  byId(workspace: string, id: string): NodeRecord | undefined;
  /** Id of the node at a path; {@link ROOT_ID} for `/`. */
  idAt(workspace: string, path: string): string | undefined;
  /** The node at a path; undefined for the root. */
  byPath(workspace: string, path: string): NodeRecord | undefined;
  /** Children in editorial order. Must be consumed within one turn of the event loop unless pinned. */
  children(workspace: string, parentId: string, range?: ChildRange): Iterable<ChildEntry>;
  hasChildren(workspace: string, parentId: string): boolean;
}

/** What a parent knows of its children without looking at them. */
export interface ParentEntry {
  /** At least 1: a parent without children has no entry. */
  readonly count: number;
  /** Since when there have been children without a break. */
  readonly since: Revision;
  readonly lastOrderKey: string;
}

/** Reads a row of the `parents` table. */
export function parentEntry(
  reader: TableReader,
  workspace: string,
  parentId: string,
): ParentEntry | undefined {
  const bytes = peek(reader, BranchTable.parents, parentKey(workspace, parentId));
  return bytes === undefined ? undefined : decodeParentEntry(bytes);
}

/** Bytes that are decoded before anything else is read. */
function peek(reader: TableReader, table: number, key: string): Uint8Array | undefined {
  return reader.peek === undefined ? reader.get(table, key) : reader.peek(table, key);
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

/** A binding: which node stands there, and since which revision. */
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

function boundId(bytes: Uint8Array): string {
  return bytesText(asBuffer(bytes).latin1Slice(REVISION_BYTES, bytes.length));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The present tree: point reads cost one look-up, whatever the length of the history. */
export class HeadNodeReader implements NodeReader {
  readonly #reader: TableReader;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  byId(workspace: string, id: string): NodeRecord | undefined {
    const bytes = this.#reader.get(BranchTable.nodes, nodeKey(workspace, id));
    return bytes === undefined ? undefined : new NodeRecord(bytes);
  }

  /**
   * As {@link byId}, over bytes that are good only until the next read of anything: for a record that is
   * rendered on the spot.
   */
  glance(workspace: string, id: string): NodeRecord | undefined {
    const bytes = peek(this.#reader, BranchTable.nodes, nodeKey(workspace, id));
    return bytes === undefined ? undefined : new NodeRecord(bytes);
  }

  idAt(workspace: string, path: string): string | undefined {
    if (path === '/') return ROOT_ID;
    const bytes = peek(this.#reader, BranchTable.paths, pathKey(workspace, path));
    return bytes === undefined ? undefined : boundId(bytes);
  }

  byPath(workspace: string, path: string): NodeRecord | undefined {
    if (path === '/') return undefined;
    const id = this.idAt(workspace, path);
    return id === undefined ? undefined : this.byId(workspace, id);
  }

  *children(workspace: string, parentId: string, range: ChildRange = {}): Iterable<ChildEntry> {
    for (const { key, value } of this.#reader.range(
      BranchTable.children,
      stretch(workspace, parentId, range),
    )) {
      yield { orderKey: key.slice(key.lastIndexOf(END) + 1), id: boundId(value) };
    }
  }

  hasChildren(workspace: string, parentId: string): boolean {
    return peek(this.#reader, BranchTable.parents, parentKey(workspace, parentId)) !== undefined;
  }
}

interface Stretch {
  readonly start: string;
  readonly end: string;
  readonly reverse: boolean;
}

function stretch(workspace: string, parentId: string, range: ChildRange): Stretch {
  const all = childrenFrom(workspace, parentId);
  if (range.after === undefined) return { ...all, reverse: range.reverse === true };
  const at = all.start + range.after;
  if (range.reverse === true) return { start: all.start, end: at, reverse: true };
  // In `childVersions` an order key is followed by END and a revision: AFTER_END lies behind all of those,
  // and before every longer order key, whose characters are greater.
  return { start: at + AFTER_END, end: all.end, reverse: false };
}

/**
 * The tree as of an earlier revision. Present state that is old enough answers at once; otherwise one seek in
 * the version tables. Listing a parent costs its children now and then, never the whole history.
 */
export class PastNodeReader implements NodeReader {
  readonly #reader: TableReader;
  readonly #head: HeadNodeReader;
  readonly #at: Revision;

  constructor(reader: TableReader, at: Revision) {
    this.#reader = reader;
    this.#head = new HeadNodeReader(reader);
    this.#at = at;
  }

  byId(workspace: string, id: string): NodeRecord | undefined {
    const present = this.#head.byId(workspace, id);
    if (present !== undefined && this.#isOldEnough(parseRevision(present.header.revision))) return present;
    for (const { value } of this.#reader.range(
      BranchTable.nodeVersions,
      nodeVersionsUpTo(workspace, id, this.#at),
    )) {
      return value.length === 0 ? undefined : new NodeRecord(value);
    }
    return undefined;
  }

  idAt(workspace: string, path: string): string | undefined {
    if (path === '/') return ROOT_ID;
    const bytes = this.#reader.get(BranchTable.paths, pathKey(workspace, path));
    if (bytes !== undefined) {
      const present = decodeBinding(bytes);
      if (this.#isOldEnough(present.since)) return present.id;
    }
    for (const { value } of this.#reader.range(
      BranchTable.pathVersions,
      pathVersionsUpTo(workspace, path, this.#at),
    )) {
      return value.length === 0 ? undefined : bytesText(asBuffer(value).latin1Slice());
    }
    return undefined;
  }

  byPath(workspace: string, path: string): NodeRecord | undefined {
    if (path === '/') return undefined;
    const id = this.idAt(workspace, path);
    return id === undefined ? undefined : this.byId(workspace, id);
  }

  *children(workspace: string, parentId: string, range: ChildRange = {}): Iterable<ChildEntry> {
    const bounds = stretch(workspace, parentId, range);
    const past = this.#pastChildren(bounds);
    try {
      let earlier = past.next();
      const comesFirst = (a: string, b: string): boolean => (bounds.reverse ? a > b : a < b);
      for (const { key, value } of this.#reader.range(BranchTable.children, bounds)) {
        const { since, id } = decodeBinding(value);
        if (!this.#isOldEnough(since)) continue;
        const orderKey = key.slice(key.lastIndexOf(END) + 1);
        while (earlier.done !== true && comesFirst(earlier.value.orderKey, orderKey)) {
          if (earlier.value.id !== '') yield earlier.value;
          earlier = past.next();
        }
        // The same place in both: what is present was there before the moment too, so it is the newer one.
        if (earlier.done !== true && earlier.value.orderKey === orderKey) earlier = past.next();
        yield { orderKey, id };
      }
      for (; earlier.done !== true; earlier = past.next()) if (earlier.value.id !== '') yield earlier.value;
    } finally {
      past.return(undefined);
    }
  }

  hasChildren(workspace: string, parentId: string): boolean {
    const present = parentEntry(this.#reader, workspace, parentId);
    if (present !== undefined && this.#isOldEnough(present.since)) return true;
    const earlier = parentVersionsUpTo(workspace, parentId, this.#at);
    for (const { value } of this.#reader.range(BranchTable.parentVersions, earlier)) return value.length > 0;
    return false;
  }

  /** For every place that has past placements, the newest one up to the moment; id empty = nobody. */
  *#pastChildren(bounds: Stretch): Generator<ChildEntry, undefined> {
    let place: string | undefined;
    let found: ChildEntry | undefined;
    for (const { key, value } of this.#reader.range(BranchTable.childVersions, bounds)) {
      const revisionAt = key.length - REVISION_BYTES;
      const prefix = key.slice(0, revisionAt - 1);
      if (prefix !== place) {
        if (found !== undefined) yield found;
        place = prefix;
        found = undefined;
      }
      if (!this.#isOldEnough(decodeRevisionDescending(key, revisionAt))) continue;
      // Forwards the newest comes first, backwards it comes last.
      if (found === undefined || bounds.reverse) {
        found = {
          orderKey: prefix.slice(prefix.lastIndexOf(END) + 1),
          id: bytesText(asBuffer(value).latin1Slice()),
        };
      }
    }
    if (found !== undefined) yield found;
  }

  #isOldEnough(since: Revision): boolean {
    return compareRevisions(since, this.#at) <= 0;
  }
}
