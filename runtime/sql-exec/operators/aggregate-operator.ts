import { countedRowKey } from '../expressions/key-work.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { CompiledAggregate } from './compiled-aggregate.ts';
import { BATCH_ROWS, type Batches, GeneratedOperator } from './generated-operator.ts';
import { GroupAggregate, type GroupState } from './groups/group-aggregate.ts';
import type { RowExpression } from './row-expression.ts';
import { BYTE_WORK, keyBytes, ROW_WORK, rowBytes } from './row-memory.ts';

/** Bytes of a group besides its key and its aggregates. */
const GROUP_BYTES = 96;

/** Estimated nanoseconds for a group that begins, besides its aggregates. */
const GROUP_WORK = 600;

/** Rows with equal keys. */
interface Group {
  /** The values of the first row: equal ones may look different, as 0 and -0. */
  readonly keys: readonly SqlValue[];
  /** One for each aggregate. */
  readonly states: readonly GroupState[];
}

/**
 * One row for each group of equal keys, where NULLs are equal: the keys, then the aggregates. Groups are in the order in which
 * they first appear. Without keys there is exactly one group, also for an input without rows.
 */
export class AggregateOperator extends GeneratedOperator {
  readonly #input: Operator;
  readonly #keys: readonly RowExpression[];
  readonly #keyOf: (keys: readonly SqlValue[]) => string;
  readonly #aggregates: readonly GroupAggregate[];

  constructor(
    execution: Execution,
    input: Operator,
    keys: readonly RowExpression[],
    keyTypes: readonly SqlType[],
    aggregates: readonly CompiledAggregate[],
  ) {
    super(execution, [input]);
    this.#input = input;
    this.#keys = keys;
    this.#keyOf = countedRowKey(keyTypes, execution);
    const keep = (bytes: number): void => this.keep(bytes);
    this.#aggregates = aggregates.map((aggregate) => new GroupAggregate(execution, aggregate, keep));
  }

  protected *batches(): Batches {
    const groups = yield* this.#groups();
    this.#input.close();
    let batch: Row[] = [];
    for (const { keys, states } of groups) {
      const row: SqlValue[] = [...keys];
      for (const [at, aggregate] of this.#aggregates.entries()) {
        row.push(yield* aggregate.result(states[at] as GroupState));
      }
      this.execution.spend(ROW_WORK);
      batch.push(row);
      if (batch.length === BATCH_ROWS) {
        yield batch;
        batch = [];
      }
      if (this.execution.isDue) yield this.pause();
    }
    if (batch.length > 0) yield batch;
  }

  *#groups(): Generator<undefined, Iterable<Group>> {
    const { execution } = this;
    const groups = new Map<string, Group>();
    if (this.#keys.length === 0) groups.set(this.#keyOf([]), this.#start([]));
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      for (const row of rows) {
        const { states } = this.#groupOf(groups, row);
        for (let at = 0; at < states.length; at++) {
          (this.#aggregates[at] as GroupAggregate).add(states[at] as GroupState, row);
          if (execution.isDue) yield this.pause();
        }
        if (execution.isDue) yield this.pause();
      }
    }
    return groups.values();
  }

  #groupOf(groups: Map<string, Group>, row: Row): Group {
    const keys = this.#keys.map((read) => read(row));
    const key = this.#keyOf(keys);
    const bytes = keyBytes(key);
    this.execution.spend(ROW_WORK + bytes * BYTE_WORK);
    const known = groups.get(key);
    if (known !== undefined) return known;
    this.execution.spend(GROUP_WORK);
    this.keep(bytes + rowBytes(keys) + GROUP_BYTES);
    const group = this.#start(keys);
    groups.set(key, group);
    return group;
  }

  #start(keys: readonly SqlValue[]): Group {
    return { keys, states: this.#aggregates.map((aggregate) => aggregate.start()) };
  }
}
