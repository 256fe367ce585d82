import { describe, expect, it } from 'vitest';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import { rowKey } from '#runtime/sql-values/ordering/hash-key.ts';
import {
  bigintType,
  doubleType,
  intType,
  pathType,
  textType,
} from '#runtime/sql-values/types/basic-types.ts';

describe('the common type of keys', () => {
  const numbers = [0, -0, 1, -1, 2 ** 31 - 1];
  const doubles = [...numbers, 0.5, Number.NaN, 2 ** 53, 1e300];
  const bigints = [0n, 1n, -1n, 2n ** 31n - 1n, 2n ** 53n];

  it.each([
    [pathType, textType, ['/a', '/b'], ['/a', 'b', '']],
    [intType, doubleType, numbers, doubles],
    [bigintType, intType, bigints, numbers],
  ] as const)('gives equal keys exactly to equal values: %j %j', (first, second, some, others) => {
    const type = commonKeyType(first, second)!;
    const equal = resolveOperator('=', [first, second]);
    for (const a of some)
      for (const b of others)
        expect([a, b, rowKey([a], [type]) === rowKey([b], [type])]).toEqual([a, b, equal.evaluate(a, b)]);
  });

  it('is none where equal values may have different texts', () => {
    expect(commonKeyType(bigintType, doubleType)).toBeUndefined();
    expect(commonKeyType(textType, intType)).toBeUndefined();
    expect(rowKey([2n ** 63n], [bigintType])).not.toBe(rowKey([2 ** 63], [doubleType]));
  });
});
