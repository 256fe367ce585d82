import sortedBtree from 'sorted-btree';
import { assert } from '#runtime/base/assert.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Range } from '#runtime/shard/shard.ts';

// The package is CommonJS, so its default export is a property of the module object.
const BTree = sortedBtree.default;
type SortedKeys = InstanceType<typeof BTree<string, undefined>>;

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One changed key: the new value, or null where the key is removed. */
export type Change = Uint8Array | null;

interface MemtableRows {
  readonly values: Map<string, Change>;
  /** Keys of `values` that have no stored value beneath this memtable. Created on first use. */
  fresh: Set<string> | undefined;
  /**
   * Sorted keys, created by the first range read and updated by later ones. May contain keys that no longer have a
   * value.
   */
  sorted: SortedKeys | undefined;
  /** Keys that are not yet in the sorted set. */
  unsorted: string[];
}

/** Number of keys from which a table is sorted in steps. */
const LARGE_TABLE_KEYS = 2048;

/** Keys inserted into a tree in one step. */
const KEYS_PER_STEP = 128;

/** Bytes counted for one entry besides its key and value. */
const ENTRY_OVERHEAD_BYTES = 48;

/** Heap bytes of one change besides its key and value: objects, table slots, undo information. */
const CHANGE_HEAP_BYTES = 352;

/**
 * Changes that are not in LMDB yet, read before it. A point read costs one hash look-up; ranges are sorted on first
 * use. Memtables are stacked; the newest one that has a key decides.
 *
 * Removing a row that was inserted here leaves no change, because there is no row beneath to remove.
 */
export class Memtable {
  readonly #tables: (MemtableRows | undefined)[] = [];
  #bytes = 0;
  #count = 0;

  /** Approximate content size. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Size in memory, including everything that is held for a change until it is in the shard. */
  get memoryBytes(): number {
    return this.#bytes + this.#count * CHANGE_HEAP_BYTES;
  }

  /** Number of changed keys. */
  get count(): number {
    return this.#count;
  }

  /** The change of a key; undefined when this memtable has none. */
  get(table: number, key: string): Change | undefined {
    return this.#tables[table]?.values.get(key);
  }

  /** @returns the previous result of {@link get} */
  set(table: number, key: string, value: Change): Change | undefined {
    const slot = this.#slot(table);
    const before = slot.values.get(key);
    if (value === null && slot.fresh?.delete(key) === true) this.#remove(slot, key, before as Uint8Array);
    else this.#put(slot, key, value, before);
    return before;
  }

  /**
   * As {@link set}, for a key without a stored value, here or beneath.
   *
   * @returns the previous result of {@link get}: undefined, or null when the row beneath was removed here
   */
  insert(table: number, key: string, value: Uint8Array): null | undefined {
    const slot = this.#slot(table);
    const before = slot.values.get(key);
    assert(before === undefined || before === null, 'what is inserted is not there');
    if (before === undefined) {
      slot.fresh ??= new Set();
      slot.fresh.add(key);
    }
    this.#put(slot, key, value, before);
    return before;
  }

  /** Undoes one change: `before` is the result of {@link get} before it. Changes are undone newest first. */
  restore(table: number, key: string, before: Change | undefined): void {
    const slot = this.#slot(table);
    const present = slot.values.get(key);
    if (before === undefined) {
      assert(present !== undefined, 'only what was changed can be taken back');
      slot.fresh?.delete(key);
      this.#remove(slot, key, present);
      return;
    }
    // Only the removal of a row inserted here leaves no change.
    if (present === undefined) {
      assert(slot.fresh !== undefined, 'only what was changed can be taken back');
      slot.fresh.add(key);
    }
    this.#put(slot, key, before, present);
  }

  #slot(table: number): MemtableRows {
    let slot = this.#tables[table];
    if (slot === undefined) {
      slot = { values: new Map(), fresh: undefined, sorted: undefined, unsorted: [] };
      this.#tables[table] = slot;
    }
    return slot;
  }

  #put(slot: MemtableRows, key: string, value: Change, before: Change | undefined): void {
    slot.values.set(key, value);
    this.#bytes += sizeOf(key, value);
    if (before !== undefined) {
      this.#bytes -= sizeOf(key, before);
      return;
    }
    this.#count += 1;
    if (slot.sorted !== undefined) slot.unsorted.push(key);
  }

  /** The key stays in the sorted set, because an iteration may be in progress. */
  #remove(slot: MemtableRows, key: string, present: Change): void {
    slot.values.delete(key);
    this.#bytes -= sizeOf(key, present);
    this.#count -= 1;
  }

  /** Adds every change of a newer memtable to this one. No part of this one may be in the shard yet. */
  absorb(newer: Memtable): void {
    newer.#tables.forEach((slot, table) => {
      if (slot === undefined) return;
      for (const [key, value] of slot.values) {
        if (slot.fresh?.has(key) === true) this.insert(table, key, value as Uint8Array);
        else this.set(table, key, value);
      }
    });
  }

  /**
   * Adds every change of a newer memtable to this one, when parts of this one may have reached the shard: every removal
   * is then kept as a change.
   */
  absorbHalfApplied(newer: Memtable): void {
    newer.#tables.forEach((slot, table) => {
      if (slot === undefined) return;
      for (const [key, value] of slot.values) this.set(table, key, value);
    });
  }

  /** One more than the highest table this memtable has changes of. */
  get tables(): number {
    return this.#tables.length;
  }

  /** The changed keys of a table, in the order of their first change. */
  keys(table: number): Iterable<string> {
    return this.#tables[table]?.values.keys() ?? [];
  }

  /** Every change, as effects for the log. */
  writes(): Write[] {
    const writes: Write[] = [];
    for (let table = 0; table < this.#tables.length; table++) {
      this.#tables[table]?.values.forEach((value, key) => void writes.push({ table, key, value }));
    }
    return writes;
  }

  /** As {@link writes}, one at a time. The memtable must not change meanwhile. */
  *eachWrite(): Generator<Write, void> {
    for (let table = 0; table < this.#tables.length; table++) {
      const slot = this.#tables[table];
      if (slot === undefined) continue;
      for (const [key, value] of slot.values) yield { table, key, value };
    }
  }

  /** Bytes of all keys and values. */
  get contentBytes(): number {
    return this.#bytes - this.#count * ENTRY_OVERHEAD_BYTES;
  }

  /**
   * Sorts the keys of large tables in steps, instead of in the first range read. The keys must not change meanwhile.
   *
   * @yields where the work may be suspended
   */
  *sortKeys(): Generator<undefined, void> {
    for (const slot of this.#tables) {
      if (slot === undefined || slot.sorted !== undefined || slot.values.size < LARGE_TABLE_KEYS) continue;
      const keys = yield* sortInSlices([...slot.values.keys()], byBytes);
      const sorted = new BTree<string, undefined>(undefined, byBytes);
      for (let at = 0; at < keys.length; at++) {
        sorted.set(keys[at] as string, undefined);
        if (at % KEYS_PER_STEP === 0) yield;
      }
      // A range read may have sorted the table meanwhile.
      slot.sorted ??= sorted;
    }
  }

  /**
   * The changes of a range in order, or undefined when there are none (the common case). Keys first changed during the
   * iteration are not included.
   */
  range(table: number, range: Range): IterableIterator<[string, Change]> | undefined {
    const slot = this.#tables[table];
    if (slot === undefined || slot.values.size === 0) return undefined;
    const sorted = sortedKeys(slot);
    const first = sorted.getPairOrNextHigher(range.start)?.[0];
    if (first === undefined || first >= range.end) return undefined;
    return range.reverse === true ? backwards(slot, sorted, range) : forwards(slot, sorted, range);
  }
}

function sizeOf(key: string, value: Change): number {
  return key.length + (value === null ? 0 : value.length) + ENTRY_OVERHEAD_BYTES;
}

function sortedKeys(slot: MemtableRows): SortedKeys {
  if (slot.sorted === undefined) {
    slot.sorted = new BTree<string, undefined>(undefined, byBytes);
    slot.unsorted = [...slot.values.keys()];
  }
  if (slot.unsorted.length > 0) {
    // The tree may be iterated while it is written; a clone shares all unchanged parts.
    slot.sorted = slot.sorted.clone();
    const keys = slot.unsorted.length > 64 ? slot.unsorted.sort() : slot.unsorted;
    for (const key of keys) slot.sorted.set(key, undefined);
    slot.unsorted = [];
  }
  return slot.sorted;
}

function* forwards(slot: MemtableRows, sorted: SortedKeys, range: Range): Generator<[string, Change]> {
  for (const [key] of sorted.entries(range.start)) {
    if (key >= range.end) return;
    const change = slot.values.get(key);
    if (change !== undefined) yield [key, change];
  }
}

function* backwards(slot: MemtableRows, sorted: SortedKeys, range: Range): Generator<[string, Change]> {
  for (const [key] of sorted.entriesReversed(range.end)) {
    if (key < range.start) return;
    const change = key < range.end ? slot.values.get(key) : undefined;
    if (change !== undefined) yield [key, change];
  }
}
