import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printWithoutLiterals } from '#runtime/sql-syntax/hide-literals.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { transform, visit } from '#runtime/sql-syntax/visitor.ts';
import { arbitraryStatement } from './arbitrary-statements.ts';

describe('a statement without its literals', () => {
  it.each([
    [
      "SELECT name FROM 'goods' WHERE properties->>'title' = 'x' LIMIT 20",
      'SELECT name FROM "goods" WHERE properties ->> ? = ? LIMIT ?',
    ],
    ["SELECT $1, -3, 2.5, TRUE, NULL, INTERVAL '2 days' FROM goods", 'SELECT $1, -?, ?, ?, ?, ? FROM goods'],
    [
      "SELECT id FROM goods WHERE id IN ('a', 'b') OR CHILD_OF('/p')",
      'SELECT id FROM goods WHERE id IN (?, ?) OR CHILD_OF(?)',
    ],
    [
      'SELECT EXTRACT(year FROM created_at), x[0] FROM goods',
      'SELECT "EXTRACT"(?, created_at), x[?] FROM goods',
    ],
    ["EXPLAIN ANALYZE SELECT 'x'", 'EXPLAIN ANALYZE SELECT ?'],
    [
      "INSERT INTO goods (path, node_type) VALUES ('/a', 't')",
      'INSERT INTO goods (path, node_type) VALUES (?, ?)',
    ],
    ["UPDATE goods SET name = 'n' WHERE id = 'i'", 'UPDATE goods SET name = ? WHERE id = ?'],
    [
      "UPDATE goods FOR LOCALE 'de' SET items[uuid='u'].title = 'T' WHERE id = 'i'",
      "UPDATE goods FOR LOCALE ? SET items[uuid='?'].title = ? WHERE id=?",
    ],
    ["MOVE goods SET path='/a' TO path='/b'", 'MOVE goods SET path=? TO path=?'],
    ["CREATE USER 'eve' EMAIL 'eve@example.org'", 'CREATE USER ? EMAIL ?'],
    [
      "CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH '/**' WHERE node.owner == 'eve')",
      'CREATE ROLE ? PERMISSIONS (ALLOW READ PATH ? WHERE ?)',
    ],
    [
      "ALTER ROLE 'r' ADD PERMISSION ALLOW READ PATH '/**' WHERE node.owner == 'eve'",
      'ALTER ROLE ? ADD PERMISSION ALLOW READ PATH ? WHERE ?',
    ],
  ])('%s', (sql, expected) => {
    expect(printWithoutLiterals(parseStatement(sql), 1_000)).toBe(expected);
  });

  it('has no text of a literal, in whatever statement', () => {
    const marker = 'SecretText';
    fc.assert(
      fc.property(arbitraryStatement, (statement) => {
        let literals = 0;
        const marked = transform(statement, (node) => {
          if (node.kind === 'interval') return { ...node, text: marker };
          if (node.kind !== 'literal') return node;
          return { ...node, type: 'text', value: marker };
        });
        visit(marked, ({ kind }) => {
          if (kind === 'literal' || kind === 'interval') literals += 1;
        });
        expect(printStatement(marked).includes(marker)).toBe(literals > 0);
        expect(printWithoutLiterals(marked, Number.POSITIVE_INFINITY)).not.toContain(marker);
      }),
      { numRuns: 300 },
    );
  });

  it('is cut off where it is long', () => {
    const text = printWithoutLiterals(parseStatement(`SELECT ${'1, '.repeat(500)}2`), 100);
    expect(text).toHaveLength(100);
    expect(text.endsWith('…')).toBe(true);
  });

  it.each([
    `SELECT a IN (${'1, '.repeat(500)}2), 3`,
    `SELECT ARRAY[${"'a', ".repeat(500)}2], 3`,
    `INSERT INTO g (a, b) VALUES ${"(1, 'a'), ".repeat(500)}(2, 'b') RETURNING id`,
    `SELECT * FROM (VALUES ${'(1), '.repeat(500)}(2)) t`,
  ])('is made only as far as it is shown: %#', (sql) => {
    const statement = parseStatement(sql);
    const whole = printWithoutLiterals(statement, Number.POSITIVE_INFINITY);
    for (const lengthMax of [50, 51, 200, 1_001])
      expect(printWithoutLiterals(statement, lengthMax)).toBe(`${whole.slice(0, lengthMax - 1)}…`);
  });
});
