import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aggregateNames } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import { functionNames } from '#runtime/sql-values/functions/function-catalog.ts';
import { sqlRows } from '#test/support/sql-in-memory.ts';

const page = readFileSync(new URL('../../../docs/interface/sql-functions.md', import.meta.url), 'utf8');

/** A statement of the page, and the lines behind it. */
interface Example {
  readonly sql: string;
  readonly answer: readonly string[];
}

function examplesOf(text: string): readonly Example[] {
  const examples: { sql: string; answer: string[] }[] = [];
  for (const [, block = ''] of text.matchAll(/^```sql\n(.*?)^```$/gms))
    for (const line of block.trimEnd().split('\n'))
      if (line.startsWith('-- ')) examples.at(-1)?.answer.push(line.slice(3));
      else examples.push({ sql: line, answer: [] });
  return examples;
}

const examples = examplesOf(page);

describe('examples of docs/interface/sql-functions.md', () => {
  it.each(examples)('$sql', ({ sql, answer }) => {
    const [first = ''] = answer;
    if (first.startsWith('error: ')) expect(() => sqlRows(sql)).toThrow(first.slice(7));
    else expect(sqlRows(sql)).toEqual(answer.map((row) => JSON.parse(row)));
  });

  it('have every function, and so have the tables', () => {
    const tables = page.split('\n').filter((line) => line.startsWith('| '));
    const texts = { tables: tables.join('\n'), examples: examples.map(({ sql }) => sql).join('\n') };
    // Conditions on rows of a workspace, which these examples do not have.
    const conditions = ['CHILD_OF', 'DESCENDANT_OF', 'REFERENCES'];
    for (const name of [...functionNames(), ...aggregateNames()]) {
      if (conditions.includes(name)) expect(page).toContain(`${name}(`);
      else for (const text of Object.values(texts)) expect(text).toMatch(new RegExp(`\\b${name}\\(`));
    }
  });
});
