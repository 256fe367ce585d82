import { describe, expect, it } from 'vitest';
import { countedRowKey } from '#runtime/sql-exec/expressions/key-work.ts';
import { rowKey } from '#runtime/sql-values/ordering/hash-key.ts';
import { executionWith, int, text } from '../operators/operator-fixture.ts';

describe('a counted key', () => {
  const types = [int, text];

  it('is the key of the row', () => {
    expect(countedRowKey(types, executionWith())([1, 'a'])).toBe(rowKey([1, 'a'], types));
  });

  it('counts what a long text takes', () => {
    const execution = executionWith();
    countedRowKey(types, execution)([null, 'x'.repeat(1_000_000)]);
    expect(execution.budget.work).toBeGreaterThan(3_000_000);
  });

  it('is refused for texts that take too long in one row', () => {
    const keyOf = countedRowKey([text, text], executionWith());
    const long = 'x'.repeat(8_000_000);
    expect(() => keyOf([long, long])).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
  });
});
