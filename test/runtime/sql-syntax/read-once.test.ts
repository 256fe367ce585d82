import { describe, expect, it } from 'vitest';
import { parseStatements, parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';

describe('a text of statements', () => {
  it('is read once, and its trees are given again', () => {
    const text = `SELECT 'read once'; DELETE FROM 'g' WHERE id = $1`;
    const trees = parseStatements(text);
    expect(parseStatements(`${text}`)).toBe(trees);
    expect(parseStatements(`${text} `)).not.toBe(trees);
    expect(trees.map(({ statement }) => statement.kind)).toEqual(['query-statement', 'delete']);
  });

  it('is read once also where it is long, as long as its trees are in use', () => {
    const text = `VALUES ${Array.from({ length: 1_000 }, (_, at) => `(${at}, 'long')`).join(', ')}`;
    const trees = parseStatements(text);
    expect(parseStatements(text)).toBe(trees);
  });

  it('is refused each time it is wrong', () => {
    for (let time = 0; time < 3; time += 1)
      expect(() => parseStatements('SELEC 1')).toThrow(/line 1, column 1/);
  });

  it('that nobody has read to its end is read again', () => {
    const text = `SELECT 'half'; SELECT 'read'`;
    const steps = parseStatementsInSteps(text);
    expect(steps.next().done).toBe(false);
    const trees = parseStatements(text);
    expect(trees).toHaveLength(2);
    expect(steps.next()).toMatchObject({ done: true, value: trees });
  });
});
