import { hasRow } from '#runtime/shard/has-row.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import { peekedValue, storedRows, storedValue } from '#runtime/shard/value-in-steps.ts';
import type { Range, Row, RowVisitor, TableReader } from '#runtime/shard/shard.ts';
import { rowOf, visitRows } from '#runtime/shard/visit-rows.ts';
import type { EmptyRanges } from './empty-ranges.ts';
import type { Change, Memtable } from './memtable.ts';

/**
 * Reads through a stack of memtables down to the shard. The list is fetched on every read, because the commit loop
 * moves changes from memtable to memtable and finally into the shard; the visible state stays the same.
 */
export class MemtableReader implements TableReader {
  readonly #memtables: () => readonly Memtable[];
  readonly #shard: () => TableReader;

  readonly #generation: (() => number) | undefined;
  readonly #drained: EmptyRanges | undefined;

  /**
   * @param memtables newest first
   * @param generation increases with every visible change; absent when changes are not counted
   * @param drained empty ranges, which the owner updates with every write to the memtables
   */
  constructor(
    memtables: () => readonly Memtable[],
    shard: () => TableReader,
    generation?: () => number,
    drained?: EmptyRanges,
  ) {
    this.#memtables = memtables;
    this.#shard = shard;
    this.#generation = generation;
    this.#drained = drained;
  }

  get generation(): number {
    // NaN is not equal to itself, so decoded values are never considered current.
    return this.#generation === undefined ? Number.NaN : this.#generation();
  }

  get(table: number, key: string): Uint8Array | undefined {
    for (const memtable of this.#memtables()) {
      const change = memtable.get(table, key);
      if (change !== undefined) return change ?? undefined;
    }
    return this.#shard().get(table, key);
  }

  stored(table: number, key: string): StoredValue | undefined {
    for (const memtable of this.#memtables()) {
      const change = memtable.get(table, key);
      if (change !== undefined) return change ?? undefined;
    }
    return storedValue(this.#shard(), table, key);
  }

  piece(key: string): Uint8Array | undefined {
    return this.#shard().piece?.(key);
  }

  peek(table: number, key: string): StoredValue | undefined {
    const memtables = this.#memtables();
    for (let index = 0; index < memtables.length; index++) {
      const change = (memtables[index] as Memtable).get(table, key);
      if (change !== undefined) return change ?? undefined;
    }
    return peekedValue(this.#shard(), table, key);
  }

  has(table: number, key: string): boolean {
    for (const memtable of this.#memtables()) {
      const change = memtable.get(table, key);
      if (change !== undefined) return change !== null;
    }
    return hasRow(this.#shard(), table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#merged(table, range, (rest) => this.#shard().range(table, rest));
  }

  storedRange(table: number, range: Range): Iterable<StoredRow> {
    return this.#merged<StoredRow>(table, range, (rest) => storedRows(this.#shard(), table, rest));
  }

  /** @param storedIn returns the rows of a range that are in the shard */
  #merged<R extends StoredRow>(
    table: number,
    range: Range,
    storedIn: (range: Range) => Iterable<R>,
  ): Iterable<R> {
    const drained = range.reverse === true ? undefined : this.#drained;
    const start = drained === undefined ? range.start : this.#firstAfter(table, range.start);
    if (start >= range.end) return [];
    const rest = start === range.start ? range : { start, end: range.end };
    const changed = this.#changed(table, rest);
    const stored = storedIn(rest);
    if (changed.length === 0) return stored;
    const writes = drained?.writes;
    return merge(changed, stored, range.reverse === true, (passed, key) => {
      if (drained !== undefined && drained.writes === writes)
        drained.walked(table, range.start, passed, key ?? range.end);
    });
  }

  visit(table: number, range: Range, visitor: RowVisitor): void {
    const start = range.reverse === true ? range.start : this.#firstAfter(table, range.start);
    if (start >= range.end) return;
    const rest = { ...range, start };
    const reverse = range.reverse === true;
    const changes = changesOf(this.#changed(table, rest), reverse);
    let change = nextOf(changes);
    let goesOn = true;
    /** Passes the changed rows before a key, or all. */
    const passBefore = (key?: string): void => {
      while (goesOn && change !== undefined) {
        const [changed, value] = change;
        if (key !== undefined && (reverse ? changed <= key : changed >= key)) return;
        if (value !== null) goesOn = visitor(rowOf(changed, value));
        change = nextOf(changes);
      }
    };
    visitRows(this.#shard(), table, rest, (row) => {
      if (change === undefined) return visitor(row);
      const key = row.key();
      passBefore(key);
      if (!goesOn) return false;
      if (change?.[0] !== key) goesOn = visitor(row);
      else {
        const [, value] = change;
        change = nextOf(changes);
        if (value !== null) goesOn = visitor(rowOf(key, value));
      }
      return goesOn;
    });
    passBefore();
  }

  #firstAfter(table: number, start: string): string {
    return this.#drained === undefined ? start : this.#drained.firstAfter(table, start);
  }

  /** The changed rows of a range, newest memtable first. */
  #changed(table: number, range: Range): Iterator<[string, Change]>[] {
    const changed = [];
    for (const memtable of this.#memtables()) {
      const rows = memtable.range(table, range);
      if (rows !== undefined) changed.push(rows);
    }
    return changed;
  }

  /** A key may have a value from now on. Must be called for every write to the memtables. */
  written(table: number, key: string): void {
    this.#drained?.written(table, key);
  }
}

/**
 * Merges sorted sources. If several have a key, the first source decides; removed keys are skipped.
 *
 * @param onFirst called with the number of removed keys before the first row, and the key of that row
 */
function* merge<R extends StoredRow>(
  changed: readonly Iterator<[string, Change]>[],
  stored: Iterable<R>,
  reverse: boolean,
  onFirst: (passed: number, key: string | undefined) => void,
): Generator<R, undefined> {
  let passed = 0;
  const storedRows = stored[Symbol.iterator]();
  const heads: ([string, Change] | undefined)[] = changed.map((source) => nextOf(source));
  let row = nextOf(storedRows);
  try {
    for (;;) {
      let key = row?.key;
      for (const head of heads) {
        if (head === undefined) continue;
        if (key === undefined || (reverse ? head[0] > key : head[0] < key)) key = head[0];
      }
      if (key === undefined) {
        if (passed >= 0) onFirst(passed, undefined);
        return;
      }
      let value: R['value'] | null | undefined;
      for (let index = 0; index < heads.length; index++) {
        const head = heads[index];
        if (head === undefined || head[0] !== key) continue;
        if (value === undefined) value = head[1];
        heads[index] = nextOf(changed[index] as Iterator<[string, Change]>);
      }
      if (row?.key === key) {
        if (value === undefined) value = row.value;
        row = nextOf(storedRows);
      }
      if (value === null || value === undefined) {
        if (passed >= 0) passed += 1;
        continue;
      }
      if (passed >= 0) onFirst(passed, key);
      // Reported once, for the removed keys before the first row.
      passed = -1;
      yield { key, value } as R;
    }
  } finally {
    storedRows.return?.();
  }
}

/** The changes of several memtables, in order. @param changed newest first */
function* changesOf(
  changed: readonly Iterator<[string, Change]>[],
  reverse: boolean,
): Generator<[string, Change], undefined> {
  const heads = changed.map((source) => nextOf(source));
  for (;;) {
    let first: [string, Change] | undefined;
    for (const head of heads) {
      if (head === undefined) continue;
      if (first === undefined || (reverse ? head[0] > first[0] : head[0] < first[0])) first = head;
    }
    if (first === undefined) return;
    const [key] = first;
    for (const [index, head] of heads.entries())
      if (head?.[0] === key) heads[index] = nextOf(changed[index] as Iterator<[string, Change]>);
    yield first;
  }
}

function nextOf<T>(source: Iterator<T>): T | undefined {
  const result = source.next();
  return result.done === true ? undefined : result.value;
}
