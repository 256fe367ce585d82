import { describe, expect, test } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';

function failureOf(text: string): ServiceError {
  try {
    parseStatements(text);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`this was read: ${text}`);
}

describe('what was expected and what was found', () => {
  test.each([
    ['SELECT', 'Syntax error: expected', 1, 7],
    ['SELECT 1 FROM', 'found the end of the statement', 1, 14],
    ['SELECT 1 FROM WHERE', 'found "WHERE"', 1, 15],
    ['SELECT 1 +', 'Syntax error: expected an expression, found the end of the statement', 1, 11],
    ['SELECT a b c', 'Syntax error: unexpected "c"', 1, 12],
    ['SELECT (1', 'Syntax error: expected ), found the end of the statement', 1, 10],
    ['SELECT 1)', 'Syntax error: unexpected ")"', 1, 9],
    ["SELECT 'a' 'b'", "Syntax error: unexpected 'b'", 1, 12],
    ['SELECT a BETWEEN 1', 'Syntax error: expected AND behind BETWEEN', 1, 19],
    ['SELECT a BETWEEN -1', 'Syntax error: expected AND behind BETWEEN', 1, 20],
    ['SELECT a BETWEEN 1 + 2 FROM g', 'Syntax error: expected AND behind BETWEEN', 1, 24],
    ['SELECT a BETWEEN b BETWEEN 1 AND 2 * 3', 'Syntax error: expected AND behind BETWEEN', 1, 39],
    ["VALUES ('x' BETWEEN -1 ALL AND 'y')", 'Syntax error: expected AND behind BETWEEN', 1, 24],
    ['SELECT a BETWEEN 1 OR 2 AND 3', 'Syntax error: expected AND behind BETWEEN', 1, 20],
    ['SELECT * FROM a JOIN b', 'Syntax error: expected ON behind JOIN', 1, 23],
    ['SELECT 1 GROUP a', 'Syntax error: expected BY, found "a"', 1, 16],
    ['SELECT CASE END', 'Syntax error', 1, 13],
    ['SELECT 1;\nSELECT 2 FRM t u', 'Syntax error: unexpected "t"', 2, 14],
    ['SELECT 1 LIMIT 1 LIMIT 2', 'Syntax error: LIMIT is written twice', 1, 18],
    ['SELECT 1 LIMIT ALL FETCH FIRST ROW ONLY', 'Syntax error: LIMIT is written twice', 1, 20],
    ['SELECT 1 LIMIT 10,5', 'Syntax error: LIMIT takes one number. Write LIMIT 5 OFFSET 10', 1, 10],
    ['SELECT 1 LIMIT $1, $2', 'Syntax error: LIMIT takes one number. Write LIMIT $2 OFFSET $1', 1, 10],
    ['SELECT 1 LIMIT 2 + 1, 5', 'Syntax error: unexpected ","', 1, 21],
    [
      'DESCRIBE content',
      `BRANCH, ROLE, GROUP or USER, found "content". SELECT * FROM … LIMIT 1 shows`,
      1,
      10,
    ],
    ["DESCRIBE 'content'", 'SELECT * FROM … LIMIT 1 shows the columns of a workspace', 1, 10],
    ['DESC content', 'there is no DESC here. SELECT * FROM … LIMIT 1 shows the columns', 1, 1],
    ['DESCRIBE', 'Syntax error: expected', 1, 9],
    ['SELECT 1 OFFSET 1 OFFSET 2', 'Syntax error: OFFSET is written twice', 1, 19],
    ['SELECT a ! b', 'Syntax error: unexpected character "!"', 1, 10],
    ["SELECT 'abc", 'Unterminated string', 1, 8],
    ['SELECT "abc', 'Unterminated quoted name', 1, 8],
    ['SELECT $a$ $$', 'Unterminated string', 1, 8],
    ['SELECT 1 /* /* */', 'Unterminated comment', 1, 10],
    ['SELECT $.a[b]', 'Syntax error: expected a number, found "b"', 1, 12],
    ['SELECT $.a[1.5]', 'Syntax error: expected an index, found "1.5"', 1, 12],
  ])('%s', (text, message, line, column) => {
    const error = failureOf(text);
    expect(error.code).toBe('VALIDATION_FAILED');
    expect(error.message).toContain(message);
    expect(error.details).toEqual({ line, column });
    expect(error.message).toContain(`(line ${line}, column ${column})`);
  });
});

describe('what PostgreSQL has and this dialect has not', () => {
  test.each([
    ["SELECT a ~ 'x'", 'Unsupported expression: ~'],
    ["SELECT a !~* 'x'", 'Unsupported expression: !~*'],
    ["SELECT a SIMILAR TO 'x'", 'Unsupported expression: SIMILAR TO'],
    ["SELECT a NOT SIMILAR TO 'x'", 'Unsupported expression: SIMILAR TO'],
    ['SELECT a <-> b', 'Unsupported expression: <->'],
    ['SELECT a + ANY (b)', 'Unsupported expression: + ANY'],
    ['SELECT 1 FROM a NATURAL JOIN b', 'NATURAL JOIN is not supported; write JOIN … ON'],
    ['SELECT 1 FROM a JOIN b USING (c)', 'JOIN … USING is not supported; write JOIN … ON'],
    ['SELECT sum(a) OVER w FROM t', 'Named windows are not supported'],
    ['SELECT sum(a) OVER (w ORDER BY b) FROM t', 'Named windows are not supported'],
    ['SELECT 1 FROM t WINDOW w AS ()', 'Named windows are not supported'],
    ['SELECT sum(a) OVER (ORDER BY b GROUPS 1 PRECEDING)', 'Unsupported expression: a frame of GROUPS'],
    ['SELECT sum(a) OVER (ROWS 1 PRECEDING EXCLUDE TIES)', 'Unsupported expression: EXCLUDE in a frame'],
    ['SELECT 1 GROUP BY ROLLUP (a)', 'Unsupported expression: ROLLUP'],
    ['SELECT 1 GROUP BY b, cube(a)', 'Unsupported expression: CUBE'],
    ['SELECT 1 GROUP BY GROUPING SETS ((a))', 'Unsupported expression: GROUPING SETS'],
    ['SELECT f(a) WITHIN GROUP (ORDER BY b)', 'Unsupported expression: WITHIN GROUP'],
    [
      'EXPLAIN MOVE x',
      'Syntax error: EXPLAIN is for SELECT, VALUES, WITH, INSERT, UPSERT, UPDATE or DELETE, found "MOVE"',
    ],
    ['truncate x', 'Syntax error: there is no TRUNCATE here. Remove nodes with DELETE FROM … WHERE …'],
    [
      'Create Table x (a INT)',
      'there is no CREATE TABLE here. Workspaces are the tables, and PUT /api/workspaces/',
    ],
    ['SHOW TABLES', 'there is no SHOW TABLES here. Workspaces are the tables: SELECT name FROM Workspaces'],
    ['END', 'there is no END here. A transaction ends with COMMIT or ROLLBACK'],
    [
      'reindex x',
      'Syntax error: a statement begins with SELECT, VALUES, WITH, INSERT, UPSERT, UPDATE, DELETE,',
    ],
    ['1', 'Syntax error: a statement begins with SELECT'],
  ])('%s', (text, message) => {
    expect(failureOf(text).message).toContain(message);
  });
});

describe('the source with a caret', () => {
  test('of a line among others', () => {
    expect(failureOf('SELECT 1\nFROM a b c\nWHERE d').message).toBe(
      'Syntax error: unexpected "c" (line 2, column 10)\nFROM a b c\n         ^',
    );
  });

  test('of a long line shows the surroundings only', () => {
    const { message } = sqlError('Wrong', `${'a'.repeat(500)}!${'b'.repeat(500)}`, { start: 500 });
    const [, line, caret] = message.split('\n');
    expect(line).toBe(`…${'a'.repeat(40)}!${'b'.repeat(39)}…`);
    expect(caret).toBe(`${' '.repeat(41)}^`);
  });

  test('counts characters outside of the first plane once, and shows no control characters', () => {
    const error = sqlError('Wrong', "'😀'\t!", { start: 5 });
    expect(error.message).toBe("Wrong (line 1, column 5)\n'😀' !\n    ^");
  });

  test('behind the text', () => {
    expect(sqlError('Wrong', 'ab', { start: 99 }).details).toEqual({ line: 1, column: 3 });
  });
});

test('the parser is of use after an error', () => {
  expect(() => parseStatements("SELECT a ~ 'x'")).toThrow('Unsupported');
  expect(() => parseStatements('SELECT (((')).toThrow('Syntax error');
  expect(parseStatements('SELECT 1')).toHaveLength(1);
});
