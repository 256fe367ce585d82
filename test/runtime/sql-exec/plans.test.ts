import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { NaiveQuery } from '#test/support/naive-query.ts';
import { SqlInMemory } from '#test/support/sql-in-memory.ts';
import { randomStatement, randomWorkspaces } from './random-statements.ts';

function sorted(rows: readonly Row[]): readonly string[] {
  const text = (value: SqlValue): string =>
    value instanceof Jsonb ? JSON.stringify(value.value) : `${typeof value} ${String(value)}`;
  return rows.map((row) => row.map(text).join(', ')).sort();
}

test('a statement has the rows of its logical plan, however it is run', () => {
  fc.assert(
    fc.property(
      randomWorkspaces,
      randomStatement,
      fc.integer({ min: 1, max: 3 }),
      (workspaces, sql, batchRows) => {
        const run = new SqlInMemory({ workspaces, batchRows });
        const expected = new NaiveQuery(workspaces).rows(run.bind(sql));
        expect(sorted(run.rows(sql))).toEqual(sorted(expected));
        expect(run.execution.budget.memory).toBe(0);
        expect(run.tables.open).toBe(0);
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
});

test('a condition does not double with each derived table that it may be moved below', () => {
  const memory = new SqlInMemory({ workspaces: { g: [] } });
  let query = "SELECT version AS x FROM 'g'";
  for (let level = 0; level < 60; level += 1) query = `SELECT x + x AS x FROM (${query}) AS t`;
  expect(memory.rows(`SELECT x FROM (${query}) AS u WHERE x > 5`)).toEqual([]);
});
