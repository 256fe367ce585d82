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
import { LIST_TOKENS_MAX, RULE_TOKENS_MAX } from '#runtime/sql-syntax/grammar-base.ts';
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
    const tree = parseStatement(chain(400, operator));
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
  const selected = (count: number) => `SELECT ${Array(count).fill('a').join(',')}`;

  test('of one statement', () => {
    expect(parseStatement(selected(RULE_TOKENS_MAX / 2)).kind).toBe('query-statement');
    expect(() => parseStatement(`${selected(RULE_TOKENS_MAX / 2)} a`)).toThrow(
      `Statement too long: more than ${RULE_TOKENS_MAX} words and signs besides the constants of lists. Pass long lists as a parameter: = ANY($1) (line 1, column ${RULE_TOKENS_MAX + 8})`,
    );
  });

  test('of one statement with its lists', () => {
    const list = (tokens: number) => `SELECT 1 IN (${'1,'.repeat(tokens / 2)}1)`;
    expect(parseStatement(list(LIST_TOKENS_MAX)).kind).toBe('query-statement');
    for (const text of [
      list(LIST_TOKENS_MAX + 2),
      `SELECT * FROM (VALUES ${'(1),'.repeat(LIST_TOKENS_MAX / 4 + 1)}(1)) t`,
      `INSERT INTO t (a) SELECT * FROM (VALUES ${'(1),'.repeat(LIST_TOKENS_MAX / 4 + 1)}(1)) t`,
    ]) {
      expect(() => parseStatement(text)).toThrow(
        `Statement too long: more than ${LIST_TOKENS_MAX} words and signs. Pass long lists as a parameter: = ANY($1)`,
      );
    }
  });

  test('of an INSERT with its rows', () => {
    const insert = (tokens: number) => `INSERT INTO t (a) VALUES ${'(1),'.repeat((tokens - 10) / 4)}(1)`;
    expect(parseStatement(insert(STATEMENT_TOKENS_MAX)).kind).toBe('insert');
    expect(() => parseStatement(insert(STATEMENT_TOKENS_MAX + 4))).toThrow(
      `Statement too long: more than ${STATEMENT_TOKENS_MAX} words and signs. Pass long lists as a parameter: = ANY($1)`,
    );
  });

  test.each([
    ['texts', "'a'"],
    ['numbers', '-1'],
    ['parameters', '$1'],
    ['casts', "'{}'::jsonb"],
    ['NULL and booleans', 'NULL, TRUE, FALSE'],
  ])('constants in lists do not count: %s', (_name, constant) => {
    const list = Array(1_500).fill(constant).join(', ');
    for (const text of [`SELECT a IN (${list})`, `SELECT ARRAY[${list}]`, `VALUES (${list})`]) {
      expect(parseStatement(text).kind).toBe('query-statement');
    }
  });

  test('nor do rows of them: an INSERT of a thousand rows of ten values', () => {
    const row = `('/a', 't', '{"a":1}'::jsonb, 1, -2, $1, NULL, TRUE, 'x', 'y')`;
    const statement = parseStatement(
      `INSERT INTO t (a, b, c, d, e, f, g, h, i, j) VALUES ${Array(1_000).fill(row).join(', ')}`,
    );
    expect(statement).toMatchObject({ kind: 'insert', source: { body: { rows: { length: 1_000 } } } });
  });

  test.each([
    ['+', 'a+'],
    ['a comment', '/**/'],
    ['a string', "''||"],
  ])('a text of %s is refused before it is read', (_name, part) => {
    const steps = parseStatementsInSteps(`SELECT 1${part.repeat(60_000)}`);
    expect(() => {
      while (steps.next().done !== true);
    }).toThrow(/too long/);
  });

  test('of a text of several statements', () => {
    const statement = `${selected(500)};`;
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

describe('a long text is read in many steps', () => {
  const stepsOf = (text: string): number => {
    const steps = parseStatementsInSteps(text);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    return count;
  };

  // The lexer makes 2,000 tokens in a step at most, words are told apart in steps of 4,000.
  test.each([
    ['a list', `SELECT 1 IN (${'1,'.repeat(4_900)}1)`, 4 + 2 + 3],
    ['rows', `INSERT INTO t (a) VALUES ${'(1), '.repeat(7_000)}(1)`, 14 + 7 + 3],
    ['statements', 'SELECT 1; '.repeat(1_000), 1_000],
    ['spaces', `SELECT 2${' '.repeat(900_000)}`, 4],
  ])('%s', (_name, text, least) => {
    expect(stepsOf(text)).toBeGreaterThanOrEqual(least);
  });

  test('what rules read of a statement is a step of its own', () => {
    const steps = parseStatementsInSteps(`SELECT ${Array(900).fill('b').join(',')}`);
    expect([1, 2, 3].map(() => steps.next().done)).toEqual([false, false, false]);
    expect(steps.next().done).toBe(true);
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
