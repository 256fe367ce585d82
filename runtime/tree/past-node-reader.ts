import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import {
  compareRevisions,
  decodeRevision,
  decodeRevisionDescending,
  parseRevision,
  REVISION_BYTES,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { END, storedText } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  nodeVersionsUpTo,
  parentVersionsUpTo,
  pathKey,
  versionsUpTo,
  childrenFrom,
  childVersionsUpTo,
} from '#runtime/shard/key-layout.ts';
import { LargeValue, type StoredValue } from '#runtime/shard/large-value.ts';
import { storedRows, wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import {
  type Binding,
  boundId,
  type ChildEntry,
  type ChildRange,
  type ChildrenPart,
  decodeBinding,
  HeadNodeReader,
  type NodeReader,
  parentEntry,
  type Stretch,
  stretch,
} from './node-reader.ts';
import { STEP_BYTES } from './record/steps.ts';
import { NodeRecord, recordInSteps } from './record/node-record.ts';
import { addIdsBetween } from './ids-between.ts';
import { StateAt } from './state-at.ts';

/** Positions read in one part of a listing: about 50 µs. */
const PLACES_PER_PART = 64;

/** Present rows that are read in one part: about 50 µs. */
const ROWS_PER_PART = 128;

/** The value written under a key, and its revision; empty bytes mean removed. */
interface Version {
  readonly since: Revision;
  readonly value: StoredValue;
}

/** A state of a node, of which only the revision that wrote it is known. */
type Written = Pick<NodeRecord, 'revision'>;

/** A child with the revision that put it there. */
interface PlacedChild extends ChildEntry {
  readonly since: Revision;
}

/**
 * The tree at an earlier revision. Present state that is old enough answers at once; otherwise one seek in the version
 * tables does. Listing a parent costs its present and past children, never the whole history.
 *
 * After the head of a branch was moved, the present state need not be the newest one before a revision, and not every
 * earlier write belongs to that revision. Then both present and versions are read, and rows of other lines are skipped.
 */
export class PastNodeReader implements NodeReader {
  readonly #reader: TableReader;
  readonly #head: HeadNodeReader;
  readonly #at: Revision;
  readonly #state: StateAt;

  constructor(reader: TableReader, at: Revision) {
    this.#reader = reader;
    this.#head = new HeadNodeReader(reader);
    this.#at = at;
    this.#state = new StateAt(reader, at);
  }

  byId(workspace: string, id: string): NodeRecord | undefined {
    return atOnce(this.byIdInSteps(workspace, id));
  }

  quickById(workspace: string, id: string): NodeRecord | LargeValue | undefined {
    const present = this.quickPresent(workspace, id);
    if (present instanceof LargeValue || this.isDecidedBy(present)) return present;
    return this.quickBehind(present, workspace, id);
  }

  *byIdInSteps(workspace: string, id: string): Generator<undefined, NodeRecord | undefined> {
    const present = yield* this.presentById(workspace, id);
    if (this.isDecidedBy(present)) return present;
    const earlier = yield* this.behindInSteps(present, workspace, id);
    return earlier;
  }

  /** The present state of a node, with which a search for the one at the revision begins. */
  presentById(workspace: string, id: string): Generator<undefined, NodeRecord | undefined> {
    return this.#head.byIdInSteps(workspace, id);
  }

  /** As {@link presentById}, in one step: a large state is not read. */
  quickPresent(workspace: string, id: string): NodeRecord | LargeValue | undefined {
    return this.#head.quickById(workspace, id);
  }

  /** Whether the present state of a node is the one at the revision; if not, see {@link quickBehind}. */
  isDecidedBy(present: Written | undefined): boolean {
    return this.#state.decides(sinceOf(present));
  }

  /** As {@link isDecidedBy}. @param sinceKey the revision that wrote the present state, see `encodeRevision` */
  isDecidedByKey(sinceKey: string): boolean {
    return this.#state.decidesKey(sinceKey);
  }

  /** Whether {@link isDecidedByKey} may be asked while rows are visited: it reads nothing, and most rows decide. */
  get decidesInPlace(): boolean {
    return this.#state.presentDecides && this.#state.intervals.every(({ isSparse }) => isSparse !== true);
  }

  /** The present state of a node, see `HeadNodeReader.peekStored`. */
  peekStored(workspace: string, id: string): Buffer | LargeValue | undefined {
    return this.#head.peekStored(workspace, id);
  }

  /**
   * The state of a node at the revision when its present state does not decide. A large state is not read. The branch may
   * have been written to after the present state was read: a state that is replaced stays readable as a version.
   */
  quickBehind(
    present: NodeRecord | undefined,
    workspace: string,
    id: string,
  ): NodeRecord | LargeValue | undefined {
    const earlier = this.#newest(BranchTable.nodeVersions, nodeVersionsUpTo(workspace, id, this.#at));
    if (this.#state.prefersPresent(sinceOf(present), earlier?.since)) return present;
    return earlier?.value instanceof LargeValue ? earlier.value : recordOf(earlier?.value);
  }

  /** As {@link quickBehind}, in steps: yields while it reads a large state. */
  *behindInSteps<Present extends Written>(
    present: Present | undefined,
    workspace: string,
    id: string,
  ): Generator<undefined, Present | NodeRecord | undefined> {
    const range = nodeVersionsUpTo(workspace, id, this.#at);
    const earlier = yield* this.#newestInSteps(BranchTable.nodeVersions, range);
    if (this.#state.prefersPresent(sinceOf(present), earlier?.since)) return present;
    if (earlier === undefined || earlier.value.length === 0) return undefined;
    return yield* recordInSteps(yield* wholeInSteps(this.#reader, earlier.value));
  }

  idAt(workspace: string, path: string): string | undefined {
    return path === '/' ? ROOT_ID : this.bindingAt(workspace, path)?.id;
  }

  /** The node at a path with the revision that put it there. */
  bindingAt(workspace: string, path: string): Binding | undefined {
    const key = pathKey(workspace, path);
    return this.boundAt(key, this.#reader.get(BranchTable.paths, key));
  }

  /**
   * As {@link bindingAt}, for a walk over the keys of paths.
   *
   * @param bytes the present row of the key
   */
  boundAt(key: string, bytes: Uint8Array | undefined): Binding | undefined {
    const present = bytes === undefined ? undefined : decodeBinding(bytes);
    if (this.#state.decides(present?.since)) return present;
    const earlier = this.#newest(BranchTable.pathVersions, versionsUpTo(key, this.#at));
    return this.#state.prefersPresent(present?.since, earlier?.since) ? present : bindingOf(earlier);
  }

  /** The child at a position under a parent, with the revision that put it there. */
  placementAt(workspace: string, parentId: string, orderKey: string): Binding | undefined {
    const bytes = this.#reader.get(BranchTable.children, childKey(workspace, parentId, orderKey));
    const present = bytes === undefined ? undefined : decodeBinding(bytes);
    if (this.#state.decides(present?.since)) return present;
    const range = childVersionsUpTo(workspace, parentId, orderKey, this.#at);
    const earlier = this.#newest(BranchTable.childVersions, range);
    return this.#state.prefersPresent(present?.since, earlier?.since) ? present : bindingOf(earlier);
  }

  childAt(workspace: string, parentId: string, orderKey: string): string | undefined {
    return this.placementAt(workspace, parentId, orderKey)?.id;
  }

  *byPathInSteps(workspace: string, path: string): Generator<undefined, NodeRecord | undefined> {
    if (path === '/') return undefined;
    const id = this.idAt(workspace, path);
    return id === undefined ? undefined : yield* this.byIdInSteps(workspace, id);
  }

  *children(workspace: string, parentId: string, range: ChildRange = {}): Iterable<ChildEntry> {
    for (const place of this.#places(stretch(workspace, parentId, range))) if (place.id !== '') yield place;
  }

  childrenPart(workspace: string, parentId: string, range: ChildRange, most: number): ChildrenPart {
    const keys = stretch(workspace, parentId, range);
    const present = this.decidesInPlace
      ? this.#presentPart(keys, childrenFrom(workspace, parentId).start.length, most)
      : undefined;
    if (present !== undefined) return present;
    const entries: ChildEntry[] = [];
    let looked = 0;
    for (const place of this.#places(keys)) {
      looked += 1;
      if (place.id !== '') entries.push(place);
      // Many positions may have been filled after this revision.
      if (entries.length >= most || looked >= PLACES_PER_PART) return { entries, next: place.orderKey };
    }
    return { entries };
  }

  /**
   * The children up to the first position at which another node once was: up to there, what is not of the revision was put
   * there later.
   *
   * @param skipped length of a key before the order key
   * @returns undefined when the first position is such a one
   */
  #presentPart(keys: Stretch, skipped: number, most: number): ChildrenPart | undefined {
    let other: string | undefined;
    visitRows(this.#reader, BranchTable.childVersions, keys, (row) => {
      other = row.key().slice(skipped, -REVISION_BYTES - END.length);
      return false;
    });
    const entries: ChildEntry[] = [];
    let looked = 0;
    let last: string | undefined;
    let isCut = other !== undefined;
    visitRows(this.#reader, BranchTable.children, keys, (row) => {
      const orderKey = row.key().slice(skipped);
      if (other !== undefined && (keys.reverse ? orderKey <= other : orderKey >= other)) return false;
      looked += 1;
      last = orderKey;
      if (this.#state.decidesKey(row.bytes.latin1Slice(0, REVISION_BYTES)))
        entries.push({ orderKey, id: boundId(row.bytes, row.length) });
      const goesOn = entries.length < most && looked < ROWS_PER_PART;
      isCut ||= !goesOn;
      return goesOn;
    });
    if (!isCut) return { entries };
    return last === undefined ? undefined : { entries, next: last };
  }

  /** Every position that was ever filled, in order, with the node that was there; empty id: none. */
  *#places(bounds: Stretch): Generator<ChildEntry, void> {
    const past = this.#pastChildren(bounds);
    try {
      let earlier = past.next();
      const comesFirst = (a: string, b: string): boolean => (bounds.reverse ? a > b : a < b);
      for (const { key, value } of this.#reader.range(BranchTable.children, bounds)) {
        const { since, id } = decodeBinding(value);
        const orderKey = key.slice(key.lastIndexOf(END) + 1);
        while (earlier.done !== true && comesFirst(earlier.value.orderKey, orderKey)) {
          yield childOf(earlier.value);
          earlier = past.next();
        }
        let version: PlacedChild | undefined;
        if (earlier.done !== true && earlier.value.orderKey === orderKey) {
          version = earlier.value;
          earlier = past.next();
        }
        if (!this.#state.belongs(since)) yield { orderKey, id: version?.id ?? '' };
        else {
          const isCovered =
            version !== undefined &&
            !this.#state.presentDecides &&
            compareRevisions(version.since, since) > 0;
          yield isCovered ? childOf(version as PlacedChild) : { orderKey, id };
        }
      }
      for (; earlier.done !== true; earlier = past.next()) yield childOf(earlier.value);
    } finally {
      past.return(undefined);
    }
  }

  parentsAmong(workspace: string, ids: readonly string[]): ReadonlySet<string> {
    const found = new Set<string>();
    if (ids.length === 0) return found;
    const [rows, versions] = [BranchTable.parents, BranchTable.parentVersions];
    const isFew =
      addIdsBetween(this.#reader, rows, workspace, ids, 0, found) &&
      addIdsBetween(this.#reader, versions, workspace, ids, REVISION_BYTES + END.length, found);
    return new Set(ids.filter((id) => (!isFew || found.has(id)) && this.hasChildren(workspace, id)));
  }

  hasChildren(workspace: string, parentId: string): boolean {
    return this.parentSince(workspace, parentId) !== undefined;
  }

  /** The revision since which a parent had children without interruption; undefined when it had none. */
  parentSince(workspace: string, parentId: string): Revision | undefined {
    const since = parentEntry(this.#reader, workspace, parentId)?.since;
    if (this.#state.decides(since)) return since;
    const range = parentVersionsUpTo(workspace, parentId, this.#at);
    const earlier = this.#newest(BranchTable.parentVersions, range);
    if (this.#state.prefersPresent(since, earlier?.since)) return since;
    return earlier === undefined || earlier.value.length === 0 ? undefined : earlier.since;
  }

  /** For every position with past placements, the newest that belongs to the revision; empty id: none. */
  *#pastChildren(bounds: Stretch): Generator<PlacedChild, undefined> {
    let place: string | undefined;
    let found: PlacedChild | undefined;
    let isUnknown = true;
    for (const { key, value } of this.#reader.range(BranchTable.childVersions, bounds)) {
      const revisionAt = key.length - REVISION_BYTES;
      const prefix = key.slice(0, revisionAt - 1);
      if (prefix !== place) {
        if (found !== undefined) yield found;
        place = prefix;
        isUnknown = true;
        found = { orderKey: prefix.slice(prefix.lastIndexOf(END) + 1), id: '', since: revisionZero };
      }
      const since = decodeRevisionDescending(key, revisionAt);
      if (!this.#state.belongs(since)) continue;
      // Forwards, the newest version comes first; backwards, it comes last.
      if (isUnknown || bounds.reverse) found = { ...(found as PlacedChild), id: storedText(value), since };
      isUnknown = false;
    }
    if (found !== undefined) yield found;
  }

  /** The newest version in a range, sorted newest first, that belongs to the revision. */
  #newest(table: number, range: Range): Version | undefined {
    return atOnce(this.#newestInSteps(table, range));
  }

  *#newestInSteps(table: number, { end, start }: Range): Generator<undefined, Version | undefined> {
    for (let next: string | undefined = start; next !== undefined; ) {
      const rows = storedRows(this.#reader, table, { start: next, end });
      next = undefined;
      for (const { key, value } of rows) {
        const since = decodeRevisionDescending(key, key.length - REVISION_BYTES);
        if (this.#state.belongs(since)) return { since, value };
        if (value.length <= STEP_BYTES) continue;
        next = `${key}\0`;
        break;
      }
      // No range is open over a pause.
      if (next !== undefined) yield;
    }
    return undefined;
  }
}

/** The tree of a branch at the head or, with a revision, at that revision. */
export function treeAt(reader: TableReader, at: Revision | undefined): NodeReader {
  return at === undefined ? new HeadNodeReader(reader) : new PastNodeReader(reader, at);
}

function sinceOf(record: Written | undefined): Revision | undefined {
  if (record instanceof NodeRecord) return decodeRevision(record.sinceKey, 0);
  return record === undefined ? undefined : parseRevision(record.revision);
}

/** The state in a row of a version. */
function recordOf(value: Uint8Array | undefined): NodeRecord | undefined {
  return value === undefined || value.length === 0 ? undefined : new NodeRecord(value);
}

function childOf({ orderKey, id }: PlacedChild): ChildEntry {
  return { orderKey, id };
}

function bindingOf(version: Version | undefined): Binding | undefined {
  return version === undefined || version.value.length === 0
    ? undefined
    : { since: version.since, id: storedText(version.value as Uint8Array) };
}
