import { describe, expect, it } from 'vitest';
import {
  expressionSize,
  ExpressionNumbers,
  partsOf,
  rewriteExpression,
} from '#runtime/sql-plan/bind/expression-walk.ts';
import { suggestion } from '#runtime/sql-plan/bind/scopes/name-suggestions.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { booleanType, intType } from '#runtime/sql-values/types/basic-types.ts';
import { bound, columns, errorOf, step } from './binding.ts';

const many = (count: number, text: string, separator = ', '): string =>
  Array(count).fill(text).join(separator);

describe('bounds of a statement', () => {
  it('hold for relations', () => {
    const from = (count: number): string =>
      Array.from({ length: count }, (_, index) => `'g' t${index}`).join(', ');
    expect(columns(`SELECT 1 AS n FROM ${from(64)}`)).toEqual(['n INT']);
    expect(errorOf(`SELECT 1 AS n FROM ${from(65)}`)).toMatch(/^A statement may name at most 64 relations/);
    const joins = Array.from({ length: 65 }, (_, index) => `CROSS JOIN 'g' t${index}`).join(' ');
    expect(errorOf(`SELECT 1 FROM 'g' ${joins}`)).toMatch(/^A statement may name at most 64 relations/);
  });

  it('hold for columns', () => {
    expect(bound(`SELECT ${many(66, '*')}, ${many(14, 'id')} FROM 'g'`).query.output).toHaveLength(1_664);
    expect(errorOf(`SELECT ${many(66, '*')}, ${many(15, 'id')} FROM 'g'`)).toMatch(
      /^A select list may have at most 1664 columns/,
    );
  });

  it('hold for the columns of all select lists, and the elements of lists in parameters', () => {
    const union = (count: number): string => many(count, `SELECT ${many(40, '*')} FROM 'g'`, ' UNION ');
    expect(bound(union(5)).query.output).toHaveLength(1_000);
    expect(errorOf(union(6))).toMatch(/^The select lists of a statement may have at most 5000 columns/);
    const list = (count: number): string =>
      JSON.stringify(bound('SELECT 1 = ANY($1)', [Array(count).fill(1)]).query.output[0]!.expression);
    expect(list(20_000)).not.toContain('JSON_ELEMENTS');
    expect(list(20_001)).toContain('JSON_ELEMENTS');
  });

  it('hold for SELECT parts and subqueries', () => {
    expect(errorOf(many(201, 'SELECT 1', ' UNION ALL '))).toMatch(
      /^A statement may have at most 200 SELECT and VALUES parts/,
    );
    expect(bound(`SELECT ${many(100, '(SELECT 1)')}`).query.output).toHaveLength(100);
    expect(errorOf(`SELECT ${many(101, '(SELECT 1)')}`)).toMatch(
      /^A statement may have at most 100 subqueries/,
    );
  });

  it('hold for keys', () => {
    for (const clause of ['GROUP BY', 'ORDER BY'])
      expect(errorOf(`SELECT 1 FROM 'g' ${clause} ${many(501, 'id')}`)).toMatch(
        new RegExp(`^${clause} may have at most 500 expressions`),
      );
    expect(errorOf(`SELECT DISTINCT ON (${many(501, 'id')}) id FROM 'g'`)).toMatch(
      /^DISTINCT ON may have at most/,
    );
    expect(step(bound(`SELECT id FROM 'g' ORDER BY ${many(500, '1')}`).query.plan, 'sort').keys).toHaveLength(
      1,
    );
    expect(errorOf(`SELECT RANK() OVER (PARTITION BY ${many(501, 'id')}) FROM 'g'`)).toMatch(
      /^A window may have at most 500 expressions/,
    );
  });

  it('hold for operands that are evaluated in several places', () => {
    expect(errorOf(`SELECT ${nested(30)} FROM 'g'`)).toMatch(
      /^The operands of BETWEEN and CASE are too large/,
    );
    expect(columns(`SELECT ${nested(5)} AS x FROM 'g'`)).toEqual(['x BOOLEAN']);
  });

  it('do not make nested calls of NULLIF double', () => {
    const text = `${'NULLIF('.repeat(60)}name${", 'a')".repeat(60)}`;
    expect(columns(`SELECT ${text} AS x FROM 'g'`)).toEqual(['x TEXT']);
  });

  it('let long chains through without a deep stack', () => {
    expect(columns(`SELECT ${many(380, 'version', ' + ')} AS n FROM 'g'`)).toEqual(['n DOUBLE']);
    const { plan } = bound(`SELECT id FROM 'g' WHERE ${many(480, "id = 'a'", ' OR ')}`).query;
    const { predicate } = step(plan, 'filter');
    expect(partsOf(predicate)).toHaveLength(480);
    expect(columns(`SELECT SUM(${many(380, 'version', ' + ')}) AS n FROM 'g'`)).toEqual(['n DOUBLE']);
    expect(columns(`SELECT ${many(380, 'version', ' + ')} AS n FROM 'g' GROUP BY version`)).toEqual([
      'n DOUBLE',
    ]);
  });
});

/** `((version = 1) BETWEEN FALSE AND TRUE) BETWEEN …`: each level doubles its operand. */
function nested(levels: number): string {
  return `${'('.repeat(levels)}version = 1${') BETWEEN FALSE AND TRUE'.repeat(levels)}`;
}

describe('walks over expressions', () => {
  const column = (index: number): BoundExpression => ({
    kind: 'column',
    type: intType,
    relation: 0,
    column: index,
  });
  const not = (operand: BoundExpression): BoundExpression => ({ kind: 'not', type: booleanType, operand });
  const constant = (value: number): BoundExpression => ({ kind: 'constant', type: intType, value });

  it('count shared parts each time, up to a limit', () => {
    let doubled: BoundExpression = column(0);
    for (let level = 0; level < 100; level += 1)
      doubled = { kind: 'and', type: booleanType, operands: [doubled, doubled] };
    expect(expressionSize(doubled, 1_000)).toBe(1_000);
    expect(expressionSize(not(column(0)), 1_000)).toBe(2);
  });

  it('do not recurse, and leave alone what does not change', () => {
    let deep: BoundExpression = column(0);
    for (let level = 0; level < 100_000; level += 1) deep = not(deep);
    expect(rewriteExpression(deep, () => undefined) === deep).toBe(true);
    expect(expressionSize(deep, 1_000_000)).toBe(100_001);
    const rewritten = rewriteExpression(deep, (part) => (part.kind === 'column' ? column(1) : undefined));
    expect(rewritten === deep).toBe(false);
  });

  it('give the same numbers to the same expressions only', () => {
    const numbers = new ExpressionNumbers();
    expect(numbers.of(not(column(1)))).toBe(numbers.of(not(column(1))));
    expect(numbers.of(column(1))).not.toBe(numbers.of(column(2)));
    expect(numbers.of(constant(0))).not.toBe(numbers.of(constant(-0)));
    const texts = (values: readonly string[]): BoundExpression => ({
      kind: 'array',
      type: { name: 'array', element: { name: 'text' } },
      items: values.map((value) => ({ kind: 'constant', type: { name: 'text' }, value })),
    });
    expect(numbers.of(texts(['a', 'b']))).not.toBe(numbers.of(texts(['a b'])));
    expect(numbers.of(texts(['1']))).not.toBe(numbers.of(constant(1)));
  });

  it('rebuild every kind of expression', () => {
    const operand = column(0);
    const type = booleanType;
    const kinds: readonly BoundExpression[] = [
      { kind: 'and', type, operands: [operand, operand] },
      { kind: 'or', type, operands: [operand, operand] },
      { kind: 'coalesce', type, operands: [operand] },
      { kind: 'not', type, operand },
      { kind: 'is', type, test: 'null', operand },
      // biome-ignore lint/suspicious/noThenProperty: the word of SQL
      { kind: 'case', type, branches: [{ when: operand, then: column(3) }], otherwise: operand },
      { kind: 'in', type, operand, items: [constant(1), operand] },
      { kind: 'array', type, items: [operand] },
    ];
    for (const kind of kinds) {
      const replaced = rewriteExpression(kind, (part) =>
        part.kind === 'column' && part.column === 0 ? column(9) : undefined,
      );
      const text = JSON.stringify(replaced);
      expect(text).toBe(JSON.stringify(kind).replaceAll('"column":0', '"column":9'));
    }
  });
});

describe('suggestions', () => {
  it('are the nearest names, few of them', () => {
    expect(suggestion('nmae', ['name', 'node_type', 'same'])).toBe('. Did you mean name or same?');
    expect(suggestion('PATH', ['path'])).toBe('. Did you mean path?');
    expect(suggestion('abcd', ['abcx', 'abcy', 'abcz', 'abca'])).toBe('. Did you mean abcx or abcy or abcz?');
    expect(suggestion('zz', ['path', 'id'])).toBe('');
    expect(suggestion('x'.repeat(65), [`${'x'.repeat(64)}y`])).toBe('');
    expect(suggestion('name', ['name'])).toBe('');
  });
});
