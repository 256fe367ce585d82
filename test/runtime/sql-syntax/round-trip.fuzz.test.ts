import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { parseStatement, parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { keywords } from '#runtime/sql-syntax/tokens.ts';
import { transform, visit } from '#runtime/sql-syntax/visitor.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { arbitraryStatement } from './arbitrary-statements.ts';
import { withoutSpans } from './syntax-shape.ts';

const runs = { numRuns: workloadCount(4_000) };

/** A tree may be deeper or longer than a statement may be. */
function readAgain(statement: Statement): Statement | undefined {
  try {
    return parseStatement(printStatement(statement));
  } catch (error) {
    if (error instanceof ServiceError && /nests too deeply|too long/.test(error.message)) return undefined;
    throw error;
  }
}

test('a printed tree is read as the same tree', () => {
  fc.assert(
    fc.property(arbitraryStatement, (statement) => {
      const again = readAgain(statement);
      fc.pre(again !== undefined);
      expect(withoutSpans(again)).toEqual(withoutSpans(statement));
    }),
    runs,
  );
});

test('a transformation that changes nothing loses nothing, and a visit meets every node', () => {
  fc.assert(
    fc.property(arbitraryStatement, (statement) => {
      expect(transform(statement, (node) => node)).toEqual(statement);
      let visited = 0;
      let transformed = 0;
      visit(statement, () => {
        visited += 1;
      });
      transform(statement, (node) => {
        transformed += 1;
        return node;
      });
      expect(visited).toBe(transformed);
    }),
    { numRuns: workloadCount(400) },
  );
});

const words = [
  ...Object.keys(keywords),
  'a',
  'b',
  '"c"',
  "'d'",
  '$$e$$',
  '1',
  '2.5',
  '$1',
  '$.',
  '(',
  ')',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '!',
  '&&',
  ',',
  '.',
  '*',
  '+',
  '-',
  '->>',
  '@>',
  '=',
  '<',
  '::',
  ';',
  '~',
  '<->',
  '||',
  'int',
  'count',
  'precision',
  'double',
  'rollup',
  '--x\n',
  '/*x*/',
  "'",
  '"',
  '/*',
  '$a$',
  '1_2',
  "''",
  'path',
  '\\',
  '\u00e9',
  '\ud800',
  '\u0000',
]; // one line a kind would be a page

/** Nothing else may come of a text. */
function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'VALIDATION_FAILED';
}

test('a soup of tokens is read or refused with a place', () => {
  const soup = fc.array(fc.constantFrom(...words), { maxLength: 30 });
  const beginning = fc.constantFrom(
    '',
    'SELECT ',
    'SELECT a FROM ',
    'SELECT a ORDER BY ',
    'WITH a AS (',
    'SELECT f(',
    'SELECT CASE ',
    'INSERT INTO g (',
    'UPDATE g SET a = ',
    'UPDATE g FOR LOCALE ',
    'DELETE FROM g ',
    'MOVE g SET ',
    'RELATE FROM ',
    'RESTORE NODE ',
    'CREATE BRANCH b ',
    "CREATE NODETYPE 'a' ",
    "CREATE MIXIN 'a' PROPERTIES (a ",
    "ALTER ARCHETYPE 'a' ",
    "CREATE ROLE 'a' PERMISSIONS (ALLOW READ ",
    "CREATE USER 'a' ",
    "ALTER SECURITY CONFIG 'a' SET ",
    'GRANT ROLE ',
    'MERGE BRANCH a INTO b ',
    'SHOW ',
    'SET ',
    'COMMIT ',
    'EXPLAIN ',
  );
  fc.assert(
    fc.property(beginning, soup, fc.constantFrom('', ' '), (start, tokens, between) => {
      const text = start + tokens.join(between);
      try {
        for (const { statement } of parseStatements(text)) printStatement(statement);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const hasPlace = typeof error.details?.line === 'number' && typeof error.details.column === 'number';
        if (!hasPlace && !/^(Empty statement|No valid statements to execute)$/.test(error.message))
          throw error;
        expect(error.message).not.toContain('undefined');
      }
    }),
    { numRuns: workloadCount(8_000) },
  );
});

test('a statement that is cut off or changed anywhere is read or refused', () => {
  fc.assert(
    fc.property(arbitraryStatement, fc.nat(), fc.constantFrom(...words), (statement, at, word) => {
      const printed = printStatement(statement);
      const place = at % (printed.length + 1);
      for (const text of [printed.slice(0, place), printed.slice(0, place) + word + printed.slice(place)]) {
        try {
          parseStatements(text);
        } catch (error) {
          if (!isRefusal(error)) throw error;
        }
      }
    }),
    { numRuns: workloadCount(1_000) },
  );
});
