import { expect, it } from 'vitest';
import { both, propertyCondition, type ValueSet } from '#actors/branch/sql/tables/value-sets.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import {
  bigintType,
  booleanType,
  doubleType,
  intType,
  jsonbType,
} from '#runtime/sql-values/types/basic-types.ts';
import {
  cast,
  column,
  constant,
  isNull,
  not,
  op,
  property,
  RELATION,
} from '#test/support/bound-expressions.ts';

/** The values that an index is asked for, by kind. */
function asked(condition: BoundExpression): object | undefined {
  const found = propertyCondition(condition, RELATION);
  return found && Object.fromEntries(found.values);
}

const text = (operator: string, value: string): BoundExpression =>
  op(operator, property('k'), constant(value));
const asType = (operator: string, type: SqlType, value: SqlValue): BoundExpression =>
  op(operator, cast(property('k'), type), constant(value, type));
const json = (operator: string, value: Jsonb): BoundExpression =>
  op(operator, op('->', column('properties'), constant('k')), constant(value, jsonbType));

it('a text is also that of a number or a truth value', () => {
  expect(asked(text('=', 'true'))).toEqual({
    boolean: [{ operator: 'in', values: [true] }],
    text: [{ operator: 'in', values: ['true'] }],
  });
  expect(asked(text('=', '5'))).toEqual({
    number: [{ operator: 'in', values: [5] }],
    text: [{ operator: 'in', values: ['5'] }],
  });
});

it('a text that may be that of an array or object is not looked up', () => {
  expect(asked(text('=', '[1]'))).toBeUndefined();
  expect(asked(text('=', '{}'))).toBeUndefined();
});

it('an order of texts has a place for the texts of all other kinds', () => {
  for (const condition of [text('>', 'm'), text('LIKE', 'm%')])
    expect(Object.keys(asked(condition) ?? {}).sort()).toEqual(['boolean', 'composite', 'number', 'text']);
});

it('an order of JSON is not that of an index', () => {
  expect(asked(json('<', new Jsonb(5)))).toBeUndefined();
  expect(asked(json('=', new Jsonb(5)))).toEqual({ number: [{ operator: 'in', values: [5] }] });
});

it('a number is looked for among texts too, and as wide as a cast rounds', () => {
  expect(asked(asType('=', intType, 5))).toEqual({
    number: [
      { operator: 'gte', value: 4 },
      { operator: 'lte', value: 6 },
    ],
    text: [],
  });
  expect(asked(asType('<=', doubleType, 5))).toEqual({ number: [{ operator: 'lte', value: 5 }], text: [] });
  const [least] = (asked(asType('>=', bigintType, 2n ** 60n)) as { number: readonly { value: number }[] })
    .number;
  expect(least?.value).toBeLessThan(2 ** 60 - 1);
  expect(asked(asType('=', doubleType, Number.POSITIVE_INFINITY))).toBeUndefined();
});

it('a truth value is also a number or a text', () => {
  expect(asked(asType('=', booleanType, true))).toEqual({
    boolean: [{ operator: 'in', values: [true] }],
    number: [{ operator: 'in', values: [1] }],
    text: [],
  });
});

it('null is absent as a text, and a value as JSON', () => {
  expect(Object.keys(asked(not(isNull(property('k')))) ?? {})).not.toContain('none');
  const present = not(isNull(op('->', column('properties'), constant('k'))));
  expect(Object.keys(asked(present) ?? {})).toContain('none');
});

it('two conditions leave the kinds that both allow', () => {
  const set = (condition: BoundExpression): ValueSet => propertyCondition(condition, RELATION)!.values;
  expect(Object.fromEntries(both(set(text('>', 'a')), set(text('=', 'true'))))).toEqual({
    boolean: [{ operator: 'in', values: [true] }],
    text: [
      { operator: 'gt', value: 'a' },
      { operator: 'in', values: ['true'] },
    ],
  });
});
