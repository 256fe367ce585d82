import type { ActorEvent, Caller, Turn } from './behaviour.ts';
import type { Policy } from '#runtime/access/policy.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { RequestBudget, type RequestLimits } from '#runtime/budget/request-budget.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { commitTooLarge, type ServiceError } from '#runtime/errors/service-error.ts';
import { ENTRY_BYTES_MAX } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import { peekedValue, storedRows, storedValue } from '#runtime/shard/value-in-steps.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { Range, Row, RowVisitor, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { HybridClock } from './hybrid-clock.ts';
import type { Change, Memtable } from './memtable.ts';

/**
 * Bytes of changes above which a command is refused, regardless of the heap size. A batch takes no further command long
 * before, so only a large command reaches it. The rest of {@link ENTRY_BYTES_MAX} is room for its last change.
 */
export const COMMIT_BYTES_MAX: number = ENTRY_BYTES_MAX / 2;

function tooLarge(bytesMax: number): ServiceError {
  const mebibytes = Math.floor(bytesMax / 1024 / 1024);
  return commitTooLarge(`hold ${mebibytes} MiB of changes`);
}

/** Resource limits of a turn. */
export interface TurnLimits {
  /** Limits of its request; absent: the default. */
  readonly request?: RequestLimits;
  /** Maximum bytes of changes, including replaced values kept for an undo; absent: {@link COMMIT_BYTES_MAX}. */
  readonly commitBytesMax?: number;
}

/** Size from which a replaced value is not kept for an undo if the same turn wrote it. */
const LARGE_VALUE_BYTES = 1024;

/** Changes undone in one step. */
const UNDO_PER_STEP = 128;

interface Undo {
  readonly table: number;
  readonly key: string;
  readonly before: Change | undefined;
}

/** A reader that is notified of writes to the memtables beneath it. */
export interface WrittenReader extends TableReader {
  /** A key may have a value from now on. */
  written?(table: number, key: string): void;
}

/** One command's part of a batch: its writes go to the batch's memtable and can be undone together. */
export class TurnScope implements Turn {
  caller: Caller;
  readonly wallMs: number;
  readonly events: ActorEvent[] = [];
  readonly #reader: WrittenReader;
  readonly #memtable: Memtable;
  readonly #clock: HybridClock;
  readonly #random: Random;
  readonly #undo: Undo[] = [];
  readonly #limits: TurnLimits;
  #undoBytes = 0;
  /** Large values that this turn wrote and that were not replaced or removed since, by table and key. */
  readonly #largeValues = new Map<string, Uint8Array>();
  #revision: Revision | undefined;
  #budget: RequestBudget | undefined;

  constructor(
    caller: Caller,
    wallMs: number,
    reader: WrittenReader,
    memtable: Memtable,
    clock: HybridClock,
    random: Random,
    limits: TurnLimits = {},
  ) {
    this.#limits = limits;
    this.caller = caller;
    this.wallMs = wallMs;
    this.#reader = reader;
    this.#memtable = memtable;
    this.#clock = clock;
    this.#random = random;
  }

  usePolicy(policy: Policy): void {
    this.caller = { ...this.caller, policy };
  }

  get budget(): RequestBudget {
    this.#budget ??= new RequestBudget(this.#limits.request);
    return this.#budget;
  }

  get revision(): Revision {
    this.#revision ??= this.#clock.next();
    return this.#revision;
  }

  /** Whether the turn has written anything. */
  get hasChanges(): boolean {
    return this.#undo.length > 0;
  }

  /** Bytes of stored nodes that the command holds. */
  get heldBytes(): number {
    return this.#budget?.held ?? 0;
  }

  /** Bytes of replaced values that are kept for an undo. */
  get undoBytes(): number {
    return this.#undoBytes;
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  stored(table: number, key: string): StoredValue | undefined {
    return storedValue(this.#reader, table, key);
  }

  piece(key: string): Uint8Array | undefined {
    return this.#reader.piece?.(key);
  }

  peek(table: number, key: string): StoredValue | undefined {
    return peekedValue(this.#reader, table, key);
  }

  has(table: number, key: string): boolean {
    return hasRow(this.#reader, table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#reader.range(table, range);
  }

  storedRange(table: number, range: Range): Iterable<StoredRow> {
    return storedRows(this.#reader, table, range);
  }

  visit(table: number, range: Range, visitor: RowVisitor): void {
    visitRows(this.#reader, table, range, visitor);
  }

  put(table: number, key: string, value: Uint8Array): void {
    this.#check(table, key);
    const before = this.#memtable.set(table, key, value);
    // An undo restores the state before the first change, so intermediate values are not needed.
    if (!this.#isOwnLarge(table, key, before)) this.#note(table, key, before);
    this.#noteLarge(table, key, value);
    this.#reader.written?.(table, key);
  }

  insert(table: number, key: string, value: Uint8Array): void {
    this.#check(table, key);
    this.#note(table, key, this.#memtable.insert(table, key, value));
    this.#noteLarge(table, key, value);
    this.#reader.written?.(table, key);
  }

  remove(table: number, key: string): void {
    this.#check(table, key);
    this.#note(table, key, this.#memtable.set(table, key, null));
    if (this.#largeValues.size > 0) this.#largeValues.delete(`${table}\0${key}`);
  }

  requireRoom(bytes: number): void {
    const { commitBytesMax = COMMIT_BYTES_MAX } = this.#limits;
    if (this.#memtable.bytes + this.#undoBytes + bytes > commitBytesMax) throw tooLarge(commitBytesMax);
  }

  newId(): string {
    return uuidV7(this.wallMs, this.#random);
  }

  ageMs(atMs: number): number {
    return this.#clock.steps.ageMs(atMs, this.wallMs);
  }

  observe(revision: Revision): void {
    this.#clock.observe(revision);
  }

  emit(event: ActorEvent): void {
    this.events.push(event);
  }

  undo(): void {
    for (const _rest of this.undoInSteps());
  }

  *undoInSteps(): Generator<undefined, void> {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) {
      const { table, key, before } = undo;
      this.#memtable.restore(table, key, before);
      this.#undoBytes -= before?.length ?? 0;
      this.#reader.written?.(table, key);
      if (this.#undo.length % UNDO_PER_STEP === 0) yield;
    }
    this.events.length = 0;
    this.#largeValues.clear();
  }

  #noteLarge(table: number, key: string, value: Uint8Array): void {
    if (value.length >= LARGE_VALUE_BYTES) this.#largeValues.set(`${table}\0${key}`, value);
  }

  #isOwnLarge(table: number, key: string, before: Change | undefined): boolean {
    if (before == null || before.length < LARGE_VALUE_BYTES) return false;
    return this.#largeValues.get(`${table}\0${key}`) === before;
  }

  #note(table: number, key: string, before: Change | undefined): void {
    this.#undo.push({ table, key, before });
    this.#undoBytes += before?.length ?? 0;
  }

  #check(table: number, key: string): void {
    // If only the shard detected such a key, it could never apply the log again.
    if (key === '' || key.length > KEY_BYTES_MAX) {
      throw new InvariantError(`a key of ${key.length} bytes in table ${table}`);
    }
    this.requireRoom(0);
  }
}
