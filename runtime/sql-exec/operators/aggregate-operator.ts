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
const GROUP_BYTES = 136;

/** Longest text that is looked up as it is. */
const QUICK_KEY_MAX = 256;

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
  /** The key, where there is only one and it is a text. */
  readonly #text: RowExpression | undefined;
  readonly #byText = new Map<string, Group>();
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
    this.#text = keys.length === 1 && keyTypes[0]?.name === 'text' ? keys[0] : undefined;
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
    const only = this.#keys.length === 0 ? this.#groupOfKeys(groups, []) : undefined;
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      for (const row of rows) {
        execution.spend(ROW_WORK);
        const { states } = only ?? this.#groupOf(groups, row);
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
    if (this.#text === undefined)
      return this.#groupOfKeys(
        groups,
        this.#keys.map((read) => read(row)),
      );
    const text = this.#text(row);
    if (typeof text !== 'string' || !isQuickKey(text)) return this.#groupOfKeys(groups, [text]);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const group = this.#groupOfKeys(groups, [text]);
    // A text with half a surrogate pair may belong to the group of another text.
    if (group.keys[0] === text) this.#byText.set(text, group);
    return group;
  }

  #groupOfKeys(groups: Map<string, Group>, keys: readonly SqlValue[]): Group {
    const key = this.#keyOf(keys);
    const bytes = keyBytes(key);
    this.execution.spend(bytes * BYTE_WORK);
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

/**
 * Whether a text may be a key of a map as it is. V8 gives one of digits a hash without a secret, so that a caller could choose
 * many that meet in one place of the map.
 */
function isQuickKey(text: string): boolean {
  const first = text.charCodeAt(0);
  return text.length > 0 && text.length <= QUICK_KEY_MAX && !(first >= 0x30 && first <= 0x39);
}
