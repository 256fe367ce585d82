import { describe, expect, test } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import {
  parseStatement,
  parseStatements,
  parseStatementsInSteps,
} from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { StatementGrammar } from '#runtime/sql-syntax/statement-grammar.ts';
import {
  NESTING_MAX,
  STATEMENT_TOKENS_MAX,
  TEXT_LENGTH_MAX,
  TEXT_TOKENS_MAX,
} from '#runtime/sql-syntax/tokenize.ts';
import { TREE_DEPTH_MAX } from '#runtime/sql-syntax/tree-depth.ts';
import { transform } from '#runtime/sql-syntax/visitor.ts';
import { withoutSpans } from './syntax-shape.ts';

const nested = (depth: number, open: string, close: string, core = '1') =>
  `SELECT ${open.repeat(depth)}${core}${close.repeat(depth)}`;

describe('hostile texts are refused, not followed', () => {
  test.each([
    ['parentheses', 'SELECT '.padEnd(TEXT_LENGTH_MAX, '(')],
    ['brackets', 'SELECT a'.padEnd(TEXT_LENGTH_MAX, '[')],
    ['CASE', 'SELECT '.padEnd(TEXT_LENGTH_MAX, 'CASE ')],
    ['NOT', 'SELECT '.padEnd(TEXT_LENGTH_MAX, 'NOT ')],
    ['signs', 'SELECT '.padEnd(TEXT_LENGTH_MAX, '- ')],
    ['selects', ''.padEnd(TEXT_LENGTH_MAX, '(SELECT ')],
    ['AND', 'SELECT a'.padEnd(TEXT_LENGTH_MAX, ' AND a')],
    ['UNION', 'SELECT a'.padEnd(TEXT_LENGTH_MAX, ' UNION SELECT a')],
    ['casts', 'SELECT a'.padEnd(TEXT_LENGTH_MAX, '::text')],
    ['line comments', 'SELECT 1'.padEnd(TEXT_LENGTH_MAX, '--\n')],
    ['comments that nest', 'SELECT 1 '.padEnd(TEXT_LENGTH_MAX, '/*')],
    ['quotation marks', "SELECT '".padEnd(TEXT_LENGTH_MAX, "''")],
    ['tags', 'SELECT '.padEnd(TEXT_LENGTH_MAX, '$a$ ')],
    ['statements', ''.padEnd(TEXT_LENGTH_MAX, 'SELECT 1;')],
    ['length', 'SELECT 1'.padEnd(TEXT_LENGTH_MAX + 1)],
  ])('%s', (_name, text) => {
    expect(() => parseStatements(text)).toThrow(ServiceError);
  });
});

describe('nesting', () => {
  const forms: readonly (readonly [string, string, string])[] = [
    ['parentheses', '(', ')'],
    ['calls', 'f(', ')'],
    ['CASE', 'CASE WHEN a THEN ', ' END'],
    ['arrays', 'ARRAY[', ']'],
    ['IN', 'a IN (', ')'],
  ];
  test.each(forms)('%s up to the bound', (_name, open, close) => {
    expect(parseStatement(nested(NESTING_MAX, open, close)).kind).toBe('query-statement');
    expect(() => parseStatement(nested(NESTING_MAX + 1, open, close))).toThrow(
      `Statement nests too deeply: more than ${NESTING_MAX} levels`,
    );
  });

  test('queries up to the bound of the tree', () => {
    expect(parseStatement(nested(80, '(SELECT ', ')')).kind).toBe('query-statement');
    expect(
      parseStatement(`SELECT * FROM ${'(SELECT * FROM '.repeat(100)}t${') AS t'.repeat(100)}`).kind,
    ).toBe('query-statement');
    expect(() => parseStatement(nested(NESTING_MAX + 1, '(SELECT ', ')'))).toThrow('nests too deeply');
  });
});

describe('chains', () => {
  const chain = (length: number, operator: string) =>
    `SELECT ${Array(length).fill('a').join(` ${operator} `)}`;

  test.each(['+', '||', '=', '->', 'LIKE'])('%s up to the bound of the tree', (operator) => {
    // The statement, its query, the select and the last operand are four levels.
    const longest = TREE_DEPTH_MAX - 3;
    const tree = parseStatement(chain(longest, operator));
    expect(withoutSpans(parseStatement(printStatement(tree)))).toEqual(withoutSpans(tree));
    expect(transform(tree, (node) => node)).toEqual(tree);
    expect(() => parseStatement(chain(longest + 1, operator))).toThrow(
      `Statement nests too deeply: more than ${TREE_DEPTH_MAX} levels`,
    );
  });

  test.each(['NOT ', '- ', '+ '])('%s before an operand', (prefix) => {
    expect(() => parseStatement(`SELECT ${prefix.repeat(TREE_DEPTH_MAX)}a`)).toThrow('nests too deeply');
  });

  test.each(['AND', 'OR'])('%s is balanced, so that its length does not matter', (operator) => {
    const tree = parseStatement(chain(2_000, operator));
    expect(withoutSpans(parseStatement(printStatement(tree)))).toEqual(withoutSpans(tree));
  });

  test('the order of balanced operands is kept', () => {
    const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
    const tree = parseStatement(`SELECT ${names.join(' AND ')}`);
    expect(printStatement(tree).match(/c\d+/g)).toEqual(names);
  });

  test('UNION and JOIN', () => {
    const unions = (length: number) => Array(length).fill('SELECT 1').join(' UNION ');
    expect(parseStatement(unions(300)).kind).toBe('query-statement');
    expect(() => parseStatement(unions(TREE_DEPTH_MAX))).toThrow('nests too deeply');
    const joins = (length: number) => `SELECT * FROM a${' CROSS JOIN a'.repeat(length)}`;
    expect(parseStatement(joins(300)).kind).toBe('query-statement');
    expect(() => parseStatement(joins(TREE_DEPTH_MAX))).toThrow('nests too deeply');
  });
});

describe('length', () => {
  test('of one statement', () => {
    const statement = (tokens: number) =>
      `SELECT ${Array((tokens - 1) / 2 + 0.5)
        .fill('a')
        .join(',')}`;
    expect(parseStatement(statement(STATEMENT_TOKENS_MAX)).kind).toBe('query-statement');
    expect(() => parseStatement(`${statement(STATEMENT_TOKENS_MAX)} a`)).toThrow(
      `Statement too long: more than ${STATEMENT_TOKENS_MAX} words and signs`,
    );
  });

  test('of a text of several statements', () => {
    const statement = `SELECT ${'a,'.repeat(499)}a;`;
    const count = Math.floor(TEXT_TOKENS_MAX / 1_000);
    expect(parseStatements(statement.repeat(count))).toHaveLength(count);
    expect(() => parseStatements(`${statement.repeat(count)}SELECT 1`)).toThrow(
      `Text too long: more than ${TEXT_TOKENS_MAX} words and signs in all statements`,
    );
  });

  test('a long string is one token', () => {
    const text = `SELECT '${'x y '.repeat(200_000)}'`;
    expect(parseStatement(text).kind).toBe('query-statement');
  });
});

test('reading gives way between two statements', () => {
  const steps = parseStatementsInSteps('SELECT 1; SELECT 2; SELECT 3');
  expect(steps.next().done).toBe(false);
  expect(steps.next().done).toBe(false);
  const end = steps.next();
  expect(end.done === true && end.value.length).toBe(3);
});

test('an error of a later statement comes after the pause, and before it nothing is wrong', () => {
  const steps = parseStatementsInSteps('SELECT 1; SELECT ~');
  expect(steps.next().done).toBe(false);
  expect(() => steps.next()).toThrow(ServiceError);
});

test('the grammar is free of ambiguities', () => {
  expect(() => new StatementGrammar(true)).not.toThrow();
});
