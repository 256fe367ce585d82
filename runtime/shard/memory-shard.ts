import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from './binary-key.ts';
import type { Applied, Range, Row, Shard, ShardPosition, ShardSnapshot, TableReader } from './shard.ts';

interface Table {
  /** Sorted. */
  readonly keys: readonly string[];
  readonly values: ReadonlyMap<string, Uint8Array>;
}

/** One immutable state of a shard, so that snapshots and crashes only keep a reference. */
interface State {
  readonly tables: ReadonlyMap<number, Table>;
  readonly position: ShardPosition;
}

const emptyTable: Table = { keys: [], values: new Map() };

/** The next step of an application. */
export type MemoryShardStep = 'commit' | 'flush';

/** The storage of a {@link MemoryShard}: the state that survives a crash. */
export class MemoryDisk {
  #flushed: State;

  constructor(flushed: State = { tables: new Map(), position: { sequence: 0, clock: revisionZero } }) {
    this.#flushed = flushed;
  }

  get flushed(): State {
    return this.#flushed;
  }

  /** Flushes a state to the disk. */
  flush(state: State): void {
    this.#flushed = state;
  }

  /** The disk after a power failure at this moment. Work still running on this disk does not change the new one. */
  crash(): MemoryDisk {
    return new MemoryDisk(this.#flushed);
  }
}

/**
 * A shard in memory, for fault simulation: a commit is visible before it is flushed, a crash drops unflushed changes,
 * and each step can be made to fail. An application copies the tables it changes, so it is for small data only.
 */
export class MemoryShard implements Shard {
  readonly #disk: MemoryDisk;
  readonly #tableCount: number;
  readonly #clock: Clock;
  readonly #failure: (step: MemoryShardStep) => ServiceError | undefined;
  readonly #snapshots = new Set<ShardSnapshot>();
  #state: State;
  #isCommitting = false;
  /** Settles when everything applied so far is flushed or has failed. Never rejects. */
  #flushed: Promise<void> | undefined;
  #failed: ServiceError | undefined;
  #isClosed = false;

  /**
   * @param tableCount number of tables, numbered from 0
   * @param clock runs each step in a later turn
   * @param failure called before each step; returns the error of the step, if it is to fail
   */
  constructor(
    disk: MemoryDisk,
    tableCount: number,
    clock: Clock,
    failure: (step: MemoryShardStep) => ServiceError | undefined = () => undefined,
  ) {
    this.#disk = disk;
    this.#tableCount = tableCount;
    this.#clock = clock;
    this.#failure = failure;
    this.#state = disk.flushed;
  }

  get position(): ShardPosition {
    return this.#state.position;
  }

  get(table: number, key: string): Uint8Array | undefined {
    this.#requireOpen();
    return storedValue(this.#state, this.#checked(table), key);
  }

  range(table: number, range: Range): Iterable<Row> {
    this.#requireOpen();
    return rowsOf(this.#state, this.#checked(table), range);
  }

  apply(writes: readonly Write[], position: ShardPosition): Applied {
    const refusal = this.#failed ?? (this.#isClosed ? closedError() : undefined);
    if (refusal !== undefined) {
      const rejected = Promise.reject(refusal);
      rejected.catch(() => {});
      return { committed: rejected, flushed: rejected };
    }
    assert(!this.#isCommitting, 'applications of a shard do not overlap');
    assert(position.sequence >= this.#state.position.sequence, 'a shard never goes back in the log');
    for (const { table, key } of writes) {
      assert(key !== '' && key.length <= KEY_BYTES_MAX, `a key of ${key.length} bytes`);
      this.#checked(table);
    }
    const next = { tables: changed(this.#state.tables, writes), position };
    const committed = this.#commit(next);
    const flushed = this.#flush(next, committed, this.#flushed);
    committed.catch(() => {});
    const running = flushed
      .catch(() => {})
      .then(() => {
        if (this.#flushed === running) this.#flushed = undefined;
      });
    this.#flushed = running;
    return { committed, flushed };
  }

  async #commit(next: State): Promise<void> {
    this.#isCommitting = true;
    try {
      await this.#step('commit');
      this.#state = next;
    } finally {
      this.#isCommitting = false;
    }
  }

  async #flush(next: State, committed: Promise<void>, earlier: Promise<void> | undefined): Promise<void> {
    await committed;
    await earlier;
    await this.#step('flush');
    this.#disk.flush(next);
  }

  snapshot(): ShardSnapshot {
    this.#requireOpen();
    const state = this.#state;
    let isOpen = true;
    const pinned = (): State => {
      if (!isOpen) throw closedError();
      return state;
    };
    const reader: TableReader = {
      get: (table, key) => storedValue(pinned(), this.#checked(table), key),
      range: (table, range) => rowsOf(pinned(), this.#checked(table), range),
    };
    const snapshot: ShardSnapshot = {
      ...reader,
      close: () => {
        isOpen = false;
        this.#snapshots.delete(snapshot);
      },
    };
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  sizeBytes(): number {
    let bytes = 0;
    for (const { values } of this.#state.tables.values())
      for (const [key, value] of values) bytes += key.length + value.length;
    return bytes;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    if (this.#flushed !== undefined) return this.#flushed.then(() => this.close());
    for (const snapshot of [...this.#snapshots]) snapshot.close();
    return Promise.resolve();
  }

  async #step(step: MemoryShardStep): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.soon(resolve));
    // A step after a failed one fails with the same error, because it builds on missing changes.
    this.#failed ??= this.#failure(step);
    if (this.#failed !== undefined) throw this.#failed;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw closedError();
  }

  #checked(table: number): number {
    assert(table >= 0 && table < this.#tableCount, `no table ${table}`);
    return table;
  }
}

function closedError(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'What was being read is closed; read it again');
}

function changed(tables: ReadonlyMap<number, Table>, writes: readonly Write[]): ReadonlyMap<number, Table> {
  const next = new Map(tables);
  const touched = new Map<number, Map<string, Uint8Array>>();
  for (const { table, key, value } of writes) {
    const values = touched.get(table) ?? new Map((tables.get(table) ?? emptyTable).values);
    touched.set(table, values);
    if (value === null) values.delete(key);
    // Copied, as on a disk: later changes of the caller's bytes have no effect.
    else values.set(key, Uint8Array.from(value));
  }
  for (const [table, values] of touched) next.set(table, { keys: [...values.keys()].sort(), values });
  return next;
}

function storedValue(state: State, table: number, key: string): Uint8Array | undefined {
  return state.tables.get(table)?.values.get(key);
}

function* rowsOf(state: State, table: number, { start, end, reverse }: Range): Generator<Row, undefined> {
  const { keys, values } = state.tables.get(table) ?? emptyTable;
  const inside = keys.filter((key) => key >= start && key < end);
  if (reverse === true) inside.reverse();
  for (const key of inside) yield { key, value: values.get(key) as Uint8Array };
}
