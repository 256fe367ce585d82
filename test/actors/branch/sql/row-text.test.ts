import { describe, expect, it } from 'vitest';
import { columnKeys, RowText } from '#actors/branch/sql/row-text.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { arrayOf, bigintType, jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';

describe('the keys of rows', () => {
  it('are the names of the columns', () => {
    expect(columnKeys(['a', 'b', '__proto__', ''])).toEqual(['a', 'b', '__proto__', '']);
  });

  it('have a number where a name comes again, and never one that a column has', () => {
    expect(columnKeys(['a', 'a', 'a'])).toEqual(['a', 'a_2', 'a_3']);
    expect(columnKeys(['a', 'a', 'a_2', 'a_2', 'a'])).toEqual(['a', 'a_3', 'a_2', 'a_2_2', 'a_4']);
    expect(columnKeys(['a_2', 'a', 'a'])).toEqual(['a_2', 'a', 'a_3']);
  });

  it('are found in linear time', () => {
    const names = Array.from({ length: 20_000 }, () => 'a');
    expect(new Set(columnKeys(names)).size).toBe(20_000);
  });
});

function textOf(workMax: number, columns: ConstructorParameters<typeof RowText>[1]) {
  const execution = new Execution(new RequestBudget({ workMax, memoryMax: 1_000 }));
  return new RowText(execution, columns);
}

describe('the text of a row', () => {
  const columns = [
    { name: 'a"', type: textType },
    { name: 'j', type: jsonbType },
    { name: 'n', type: bigintType },
  ];

  it('is a JSON object', () => {
    const rows = textOf(1_000_000, columns);
    const row = ['x\n', new Jsonb({ ['__proto__']: null, b: [1, 12345678901234567890n] }), 9007199254740993n];
    expect([...rows.pieces(row)]).toEqual([
      '{"a\\"":"x\\n","j":{"__proto__":null,"b":[1,12345678901234567890]},"n":9007199254740993}',
    ]);
    expect([...rows.pieces([null, null, null])]).toEqual(['{"a\\"":null,"j":null,"n":null}']);
    expect([...textOf(1_000, []).pieces([])]).toEqual(['{}']);
  });

  it('comes in pieces where a value is large', () => {
    const large = 'x'.repeat(300_000);
    const pieces = [...textOf(10_000_000, columns).pieces([large, new Jsonb([large]), 1n])];
    expect(pieces.length).toBeGreaterThan(8);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000);
    expect(JSON.parse(pieces.join(''))).toEqual({ 'a"': large, j: [large], n: 1 });
  });

  it('comes in pieces where a row has many values, or an array many elements', () => {
    const many = Array.from({ length: 100 }, (_, index) => ({ name: `c${index}`, type: textType }));
    const row = many.map(() => 'y'.repeat(10_000));
    const pieces = [...textOf(10_000_000, many).pieces(row)];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(80_000);
    expect(Object.values(JSON.parse(pieces.join('')))).toEqual(row);
    const numbers = Array.from({ length: 5_000 }, (_, index) => (index % 7 === 0 ? null : BigInt(index)));
    const list = [...textOf(10_000_000, [{ name: 'l', type: arrayOf(bigintType) }]).pieces([numbers])];
    expect(list.length).toBeGreaterThan(9);
    expect(JSON.parse(list.join(''))).toEqual({
      l: numbers.map((each) => (each === null ? null : Number(each))),
    });
    const texts = ['a', 'x'.repeat(100_000), ...Array.from({ length: 600 }, () => 'b')];
    const long = [...textOf(10_000_000, [{ name: 'l', type: arrayOf(textType) }]).pieces([texts])];
    expect(JSON.parse(long.join(''))).toEqual({ l: texts });
  });

  it('is not counted for the row behind it', () => {
    const execution = new Execution(new RequestBudget());
    const text = new RowText(execution, [{ name: 'a', type: textType }]);
    for (let row = 0; row < 1_000; row += 1) for (const _ of text.pieces(['x'.repeat(20_000)]));
    expect(execution.budget.work).toBeGreaterThan(60_000_000);
    expect(() => execution.spendOnCall(1_000)).not.toThrow();
  });

  it('is counted as work', () => {
    const rows = textOf(100_000, columns);
    expect(() => [...rows.pieces(['x'.repeat(50_000), null, null])]).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });
});
