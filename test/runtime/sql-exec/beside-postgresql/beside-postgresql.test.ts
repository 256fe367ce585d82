import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { NodeRow } from '#test/support/memory-tables.ts';
import { SqlInMemory } from '#test/support/sql-in-memory.ts';

/** Answers of PostgreSQL 15, made by record-answers.ts. */
const [content, ...answers] = readFileSync(join(import.meta.dirname, 'answers.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line)) as [NodeRow[], ...{ sql: string; rows: unknown[][] }[]];

/** Averages of integers are NUMERIC in PostgreSQL, which has more digits. */
function rounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'number' && typeof value !== 'bigint') return value;
  return Number(Number(value).toPrecision(12));
}

describe('windows, groups, orders and set operations', () => {
  test(`answer ${answers.length} statements as PostgreSQL does, and free their memory`, () => {
    const kinds = new Set<string>();
    for (const [at, { rows, sql }] of answers.entries()) {
      const memory = new SqlInMemory({ workspaces: { content }, batchRows: 1 + (at % 9) });
      expect(memory.json(sql).map(rounded), sql).toEqual(rows.map(rounded));
      expect(memory.execution.budget.memory, sql).toBe(0);
      for (const [word] of sql.matchAll(/\b(?:OVER|ROWS|RANGE|GROUP BY|DISTINCT ON|EXCEPT|LIMIT)\b/g))
        kinds.add(word);
    }
    expect([...kinds].sort()).toEqual([
      'DISTINCT ON',
      'EXCEPT',
      'GROUP BY',
      'LIMIT',
      'OVER',
      'RANGE',
      'ROWS',
    ]);
  });
});
