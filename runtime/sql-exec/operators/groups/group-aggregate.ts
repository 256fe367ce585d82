import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { countedRowKey } from '../../expressions/key-work.ts';
import type { Accumulator } from '#runtime/sql-values/scalar-function.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import type { Row } from '../../operator.ts';
import type { CompiledAggregate } from '../compiled-aggregate.ts';
import { BYTE_WORK, keyBytes, NEW_KEY_WORK, ROW_WORK, rowBytes } from '../row-memory.ts';
import { sortEntries } from '../sorting/sort-entries.ts';
import { compareWork, entryBytes, entryOrder, type SortEntry, sortKeysOf } from '../sorting/sort-entry.ts';
import type { SortKey } from '../sort-key.ts';
import { addWork, argumentsOf } from './aggregate-input.ts';

/** Bytes of an aggregate of one group that has seen no rows. */
const START_BYTES = 160;

/** Estimated nanoseconds for an aggregate of one group: its beginning and its result. */
const START_WORK = 500;

/** Aggregates whose result does not depend on the order of rows: distinct arguments need not be sorted for them. */
const withoutOrder: ReadonlySet<string> = new Set([
  'COUNT',
  'SUM',
  'AVG',
  'MIN',
  'MAX',
  'BOOL_AND',
  'BOOL_OR',
  'EVERY',
]);

/** Arguments that wait for their order. */
interface WaitingArguments extends SortEntry {
  readonly args: readonly SqlValue[];
}

/** What an aggregate has seen of one group. */
export interface GroupState {
  readonly accumulator: Accumulator;
  /** Keys of the arguments seen, where only distinct ones are taken in. */
  readonly seen: Set<string> | undefined;
  /** Arguments to be sorted before they are taken in. */
  readonly waiting: WaitingArguments[] | undefined;
  /** Bytes by which the accumulator has grown. */
  grown: number;
}

/**
 * An aggregate of groups, with its DISTINCT and ORDER BY. Distinct arguments are taken in in their order, NULLs last, as
 * PostgreSQL does, where nothing else is said.
 */
export class GroupAggregate {
  readonly #execution: Execution;
  readonly #aggregate: CompiledAggregate;
  readonly #keep: (bytes: number) => void;
  readonly #keyOf: (args: readonly SqlValue[]) => string;
  /** The order of the arguments; undefined: that of the input. */
  readonly #order: ((a: SortEntry, b: SortEntry) => number) | undefined;

  /** @param keep counts memory until its group is done; below 0: frees it */
  constructor(execution: Execution, aggregate: CompiledAggregate, keep: (bytes: number) => void) {
    this.#execution = execution;
    this.#aggregate = aggregate;
    this.#keep = keep;
    this.#keyOf = countedRowKey(aggregate.argTypes, execution);
    this.#order = orderOf(aggregate);
  }

  start(): GroupState {
    this.#execution.spend(START_WORK);
    this.#keep(START_BYTES);
    return {
      accumulator: this.#aggregate.function.start(),
      seen: this.#aggregate.isDistinct ? new Set() : undefined,
      waiting: this.#order === undefined ? undefined : [],
      grown: 0,
    };
  }

  /** Takes in a row of the group. */
  add(state: GroupState, row: Row): void {
    const args = argumentsOf(this.#aggregate, row);
    if (args === undefined || !this.#isNew(state, args)) {
      this.#execution.spend(addWork([], 0));
      return;
    }
    if (state.waiting === undefined) {
      this.#take(state, args);
      return;
    }
    const { orderBy } = this.#aggregate;
    const keys = orderBy.length === 0 ? args : sortKeysOf(orderBy, row);
    this.#keep(entryBytes(keys) + rowBytes(args));
    state.waiting.push({ args, keys, work: compareWork(keys) });
  }

  /** The result of a group; yields where the work may pause. */
  *result(state: GroupState): Generator<undefined, SqlValue> {
    const execution = this.#execution;
    if (state.waiting !== undefined && this.#order !== undefined) {
      for (const { args } of yield* sortEntries(execution, state.waiting, this.#order)) {
        this.#take(state, args);
        if (execution.isDue) {
          execution.pausing();
          yield undefined;
        }
      }
    }
    execution.spend(state.grown * BYTE_WORK);
    return state.accumulator.result();
  }

  #take(state: GroupState, args: readonly SqlValue[]): void {
    const grown = state.accumulator.add(args);
    this.#execution.spend(addWork(args, grown));
    if (grown === 0) return;
    this.#keep(grown);
    state.grown += grown;
  }

  /** Whether arguments are to be taken in: not seen before, where only distinct ones are. */
  #isNew(state: GroupState, args: readonly SqlValue[]): boolean {
    if (state.seen === undefined) return true;
    const key = this.#keyOf(args);
    const bytes = keyBytes(key);
    this.#execution.spend(ROW_WORK + bytes * BYTE_WORK);
    if (state.seen.has(key)) return false;
    this.#execution.spend(NEW_KEY_WORK);
    this.#keep(bytes);
    state.seen.add(key);
    return true;
  }
}

function orderOf(aggregate: CompiledAggregate): ((a: SortEntry, b: SortEntry) => number) | undefined {
  const { argTypes, function: taken, isDistinct, orderBy } = aggregate;
  if (withoutOrder.has(taken.name)) return undefined;
  if (orderBy.length > 0) return entryOrder(orderBy);
  if (!isDistinct) return undefined;
  const keys = argTypes.map(
    (type, at): SortKey => ({
      read: (row) => row[at] as SqlValue,
      compare: comparatorOf(type),
      isDescending: false,
      nullsFirst: false,
    }),
  );
  return entryOrder(keys);
}
