import sortedBtree from 'sorted-btree';
import { assert } from '#runtime/base/assert.ts';
import { sortInSlices } from '#runtime/base/sliced-sort.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Range } from '#runtime/shard/shard.ts';

// The package is CommonJS, so Node hands its default export over inside the module object.
const BTree = sortedBtree.default;
type SortedKeys = InstanceType<typeof BTree<string, undefined>>;

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One changed key: the new value, or null where the key is removed. */
export type Change = Uint8Array | null;

interface MemtableRows {
  readonly values: Map<string, Change>;
  /** Keys of `values` that nothing is stored under beneath this memtable. Made with the first one. */
  fresh: Set<string> | undefined;
  /**
   * Sorted keys, made when somebody first asks for a range and brought up to date when somebody does so again.
   * There may be keys among them that have no value any more.
   */
  sorted: SortedKeys | undefined;
  /** Keys that are not among the sorted ones yet. */
  unsorted: string[];
}

/** Keys of a table from which on they are not sorted in one go. */
const LARGE_TABLE_KEYS = 2048;

/** Keys put into a tree between two rests. */
const KEYS_PER_STEP = 128;

/** Bytes one entry is counted with besides its key and value. */
const ENTRY_OVERHEAD_BYTES = 48;

/** What the heap holds of one change besides its key and value: their objects, places in tables, what undoes it. */
const CHANGE_HEAP_BYTES = 352;

/**
 * Changes that are not in LMDB yet, on top of it: point reads cost one hash look-up, ranges are sorted when
 * first asked for. Memtables are stacked; the newest one that knows a key decides.
 *
 * A row that was inserted here and is removed again leaves nothing behind: beneath there is none to be removed.
 */
export class Memtable {
  readonly #tables: (MemtableRows | undefined)[] = [];
  #bytes = 0;
  #count = 0;

  /** Rough size in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Size in memory, with everything that is held of a change until it is in the shard. */
  get memoryBytes(): number {
    return this.#bytes + this.#count * CHANGE_HEAP_BYTES;
  }

  /** Number of changed keys. */
  get count(): number {
    return this.#count;
  }

  /** The change of a key; undefined when this memtable does not know it. */
  get(table: number, key: string): Change | undefined {
    return this.#tables[table]?.values.get(key);
  }

  /** @returns what {@link get} answered before */
  set(table: number, key: string, value: Change): Change | undefined {
    const slot = this.#slot(table);
    const before = slot.values.get(key);
    if (value === null && slot.fresh?.delete(key) === true) this.#remove(slot, key, before as Uint8Array);
    else this.#put(slot, key, value, before);
    return before;
  }

  /**
   * As {@link set}, for a key that nothing is stored under, neither here nor beneath.
   *
   * @returns what {@link get} answered before: undefined, or null where the row beneath was removed here
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

  /** Takes back one change: `before` is what {@link get} answered before it. The newest change goes first. */
  restore(table: number, key: string, before: Change | undefined): void {
    const slot = this.#slot(table);
    const present = slot.values.get(key);
    if (before === undefined) {
      assert(present !== undefined, 'only what was changed can be taken back');
      slot.fresh?.delete(key);
      this.#remove(slot, key, present);
      return;
    }
    // Only of what was inserted here nothing is left by a removal.
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

  /** The key stays among the sorted ones, where somebody may be walking. */
  #remove(slot: MemtableRows, key: string, present: Change): void {
    slot.values.delete(key);
    this.#bytes -= sizeOf(key, present);
    this.#count -= 1;
  }

  /** Adds every change of a newer memtable to this one. This one must not be in the shard, in whole or in part. */
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
   * Adds every change of a newer memtable to this one, where some of them may have reached the shard already: a
   * removal then is a change like any other.
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

  /** The keys it knows of a table, in the order of their first change. */
  keys(table: number): Iterable<string> {
    return this.#tables[table]?.values.keys() ?? [];
  }

  /** Every change, as effects for the log. */
  writes(): Write[] {
    return [...this.eachWrite()];
  }

  /** As {@link writes}, one at a time; nothing may change meanwhile. */
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
   * Sorts the keys of large tables, which the first range would do in one go. The keys may not change meanwhile.
   *
   * @yields where the work may rest
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
      // Somebody may have walked over the table meanwhile.
      slot.sorted ??= sorted;
    }
  }

  /**
   * The changes inside a stretch in order, or undefined when there are none (the common case). Keys changed for
   * the first time while the stretch is walked over are not in it.
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
    // Somebody may be walking over the tree while writing; a clone shares everything that does not change.
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
