import { describe, expect, test } from 'vitest';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { LookupOperator } from '#runtime/sql-exec/operators/joins/lookup-operator.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { intType } from '#runtime/sql-values/types/basic-types.ts';
import { batchesOf, executionWith, RowsInput } from '../operator-fixture.ts';

/** Rows 0 to 99, two of each key. */
const rows = Array.from({ length: 100 }, (_, number): Row => [Math.floor(number / 2), number]);

interface Setup {
  readonly keys: readonly SqlValue[] | undefined;
  readonly keyRows?: number;
  readonly isMeasured?: boolean;
  /** What opening a batch takes for each key, in nanoseconds. */
  readonly keyWork?: number;
  readonly scanCost?: number;
  /** Batches from this one on cannot be looked up. */
  readonly refusedFrom?: number;
}

function lookUp(execution: Execution, setup: Setup) {
  const { isMeasured = true, keyRows = 2, keyWork = 0, keys, refusedFrom, scanCost = 1_000 } = setup;
  const batches: number[] = [];
  const inputs: RowsInput[] = [];
  const input = (given: readonly Row[]): RowsInput => {
    const made = new RowsInput(given, 7);
    inputs.push(made);
    return made;
  };
  const counts = { lookups: 0, scans: 0 };
  const operator = new LookupOperator(
    execution,
    {
      lookup: {
        isMeasured,
        keyCost: 1,
        keyRows,
        keysMax: 16,
        *open(batch) {
          yield undefined;
          if (batches.length === refusedFrom) return undefined;
          batches.push(batch.length);
          execution.spend(keyWork * batch.length);
          return input(rows.filter(([key]) => batch.includes(key!)));
        },
      },
      scan: () => input(rows),
      scanCost,
      keyOf: ([key]) => key!,
      type: intType,
    },
    // biome-ignore lint/correctness/useYield: they are known
    function* () {
      return keys;
    },
    counts,
  );
  return { operator, batches, inputs, counts };
}

const keys = Array.from({ length: 30 }, (_, key) => key);

/** The numbers of the rows of some keys. */
function numbersOf(found: readonly (readonly Row[])[]): readonly unknown[] {
  return found
    .flat()
    .map(([, number]) => number as number)
    .sort((a, b) => a - b);
}

describe('a look-up by keys', () => {
  test('begins with few keys where one may have many rows, and gives each row once', () => {
    const execution = executionWith();
    const { batches, counts, inputs, operator } = lookUp(execution, { keys });
    const found = batchesOf(operator);
    expect(numbersOf(found)).toEqual(Array.from({ length: 60 }, (_, number) => number));
    expect(batches).toEqual([8, 16, 6]);
    expect(counts).toEqual({ lookups: 30, scans: 0 });
    expect(inputs.every(({ isClosed }) => isClosed)).toBe(true);
    expect(execution.budget.memory).toBe(0);
    const unique = lookUp(executionWith(), { keys, keyRows: 1 });
    batchesOf(unique.operator);
    expect(unique.batches).toEqual([16, 14]);
  });

  test.each([
    ['there are too many keys', { keys, scanCost: 29 }],
    ['the keys are not known', { keys: undefined }],
    ['the first of them cannot be looked up', { keys, refusedFrom: 0 }],
  ])('reads all rows where %s', (_reason, setup) => {
    const { counts, operator } = lookUp(executionWith(), setup);
    expect(numbersOf(batchesOf(operator))).toHaveLength(100);
    expect(counts).toEqual({ lookups: 0, scans: 1 });
  });

  test('reads the rest with all rows where keys take more than these, and gives no row twice', () => {
    const { batches, counts, operator } = lookUp(executionWith(), { keys, keyWork: 100 });
    expect(numbersOf(batchesOf(operator))).toEqual(Array.from({ length: 100 }, (_, number) => number));
    expect(batches).toEqual([8]);
    expect(counts).toEqual({ lookups: 8, scans: 1 });
    const refused = lookUp(executionWith(), { keys, refusedFrom: 1 });
    expect(numbersOf(batchesOf(refused.operator))).toEqual(
      Array.from({ length: 100 }, (_, number) => number),
    );
  });

  test('is not given up for what it takes where that is not measured', () => {
    const { counts, operator } = lookUp(executionWith(), { keys, keyWork: 100, isMeasured: false });
    expect(numbersOf(batchesOf(operator))).toHaveLength(60);
    expect(counts).toEqual({ lookups: 30, scans: 0 });
  });

  test('closes what is open, and frees its memory, when it is closed early', () => {
    for (const setup of [{ keys }, { keys, keyWork: 100 }]) {
      const execution = executionWith();
      const { inputs, operator } = lookUp(execution, setup);
      const steps = operator.next();
      while (steps.next().done !== true);
      operator.close();
      operator.close();
      expect(inputs.every(({ isClosed }) => isClosed)).toBe(true);
      expect(execution.budget.memory).toBe(0);
    }
  });

  test('reads nothing for no keys', () => {
    const { counts, inputs, operator } = lookUp(executionWith(), { keys: [] });
    expect(batchesOf(operator)).toEqual([]);
    expect(inputs).toEqual([]);
    expect(counts).toEqual({ lookups: 0, scans: 0 });
  });
});
