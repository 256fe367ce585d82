import { exactNumber } from '#runtime/base/text/exact-number.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Comparison } from '#runtime/index/key-range.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { comparisonOf, constantText, type KnownComparison, propertyOf } from './known-conditions.ts';

/** Kinds of values, in the order in which an index has them. Absent properties are as null. */
export const kinds = ['boolean', 'number', 'text', 'composite', 'none'] as const;

/** A kind of values. */
export type Kind = (typeof kinds)[number];

/**
 * Values of a property for which a condition may hold: those of some kinds for which comparisons hold. It may have values for
 * which the condition does not hold, and never lacks one.
 *
 * SQL compares most values as texts or after a cast, so a condition is not one comparison of an index: `->> 'k' = '5'` holds for
 * the text and for the number.
 */
export type ValueSet = ReadonlyMap<Kind, readonly Comparison[]>;

const wholeKinds: Readonly<Record<Kind, Comparison>> = {
  boolean: { operator: 'gte', value: false },
  number: { operator: 'gte', value: -Number.MAX_VALUE },
  text: { operator: 'gte', value: '' },
  composite: { operator: 'composite' },
  none: { operator: 'null' },
};

/** Every value. */
export const everyValue: ValueSet = new Map(kinds.map((kind) => [kind, []]));

/** The comparisons of the values of a kind in a set. */
export function comparisonsOf(set: ValueSet, kind: Kind): readonly Comparison[] {
  const where = set.get(kind) ?? [];
  return where.length === 0 ? [wholeKinds[kind]] : where;
}

/** The values that are in both sets. */
export function both(a: ValueSet, b: ValueSet): ValueSet {
  const found = new Map<Kind, readonly Comparison[]>();
  for (const [kind, where] of a) {
    const other = b.get(kind);
    if (other !== undefined) found.set(kind, [...where, ...other]);
  }
  return found;
}

/** Values that an index looks up: a node may be compared with each of them. */
const VALUES_MAX = 256;

/** Values from which doubles may be apart from the numbers that they stand for. */
const EXACT_MAX = 2 ** 53;

/** More than the part by which a double may be apart from a number. */
const DOUBLE_STEP = 2 ** -51;

const numericTypes: ReadonlySet<SqlTypeName> = new Set<SqlTypeName>(['int', 'bigint', 'double']);

const comparisonNames = { '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' } as const;

/** A condition on one property. */
export interface PropertyCondition {
  readonly condition: BoundExpression;
  readonly property: string;
  readonly values: ValueSet;
  /** Whether it asks for certain values: explanations tell equality from ranges. */
  readonly isEqual: boolean;
}

/** What a condition says about one property. @returns undefined for any other condition */
export function propertyCondition(
  condition: BoundExpression,
  relation: number,
): PropertyCondition | undefined {
  const negated = condition.kind === 'not' ? condition.operand : undefined;
  if (negated?.kind === 'is' && negated.test === 'null') {
    const property = propertyOf(negated.operand, relation);
    if (property === undefined) return undefined;
    const values = new Map([...everyValue].filter(([kind]) => (property.isText ? kind !== 'none' : true)));
    return { condition, property: property.key, values, isEqual: false };
  }
  if (condition.kind === 'is' && condition.test === 'null') {
    const property = propertyOf(condition.operand, relation);
    if (property === undefined) return undefined;
    return { condition, property: property.key, values: new Map([['none', []]]), isEqual: true };
  }
  return prefixCondition(condition, relation) ?? comparedCondition(condition, relation);
}

function prefixCondition(condition: BoundExpression, relation: number): PropertyCondition | undefined {
  if (condition.kind !== 'call' || condition.function.name !== 'LIKE') return undefined;
  const [operand, pattern] = condition.args;
  const property = operand === undefined ? undefined : propertyOf(operand, relation);
  const text = constantText(pattern);
  if (property?.isText !== true || text === undefined) return undefined;
  const end = text.search(/[%_\\]/);
  const prefix = end === -1 ? text : text.slice(0, end);
  if (prefix === '') return undefined;
  return {
    condition,
    property: property.key,
    values: withOthers(new Map([['text', [{ operator: 'prefix', text: prefix }]]])),
    isEqual: false,
  };
}

function comparedCondition(condition: BoundExpression, relation: number): PropertyCondition | undefined {
  const known = comparisonOf(condition);
  if (known === undefined) return undefined;
  const { casts, inner } = uncast(known.operand);
  const property = propertyOf(inner, relation);
  if (property === undefined) return undefined;
  const values = valuesOf(known, casts, property.isText);
  return values && { condition, property: property.key, values, isEqual: known.operator === '=' };
}

/** An expression without casts around it, and the types to which they lead, the innermost first. */
function uncast(expression: BoundExpression): {
  readonly inner: BoundExpression;
  readonly casts: readonly SqlTypeName[];
} {
  const casts: SqlTypeName[] = [];
  let inner = expression;
  while (inner.kind === 'call' && inner.function.name === 'CAST') {
    casts.unshift(inner.type.name);
    inner = inner.args[0] as BoundExpression;
  }
  return { inner, casts };
}

function valuesOf(
  known: KnownComparison,
  casts: readonly SqlTypeName[],
  isText: boolean,
): ValueSet | undefined {
  if (casts.length === 0) return isText ? textValues(known) : jsonValues(known);
  if (casts.every((type) => numericTypes.has(type))) return numberValues(known, casts);
  if (casts.length === 1 && casts[0] === 'boolean') return truthValues(known);
  return undefined;
}

/** Where the values of the text of a property are compared. */
function textValues({ operator, values }: KnownComparison): ValueSet | undefined {
  if (values.length > VALUES_MAX || !values.every((value) => typeof value === 'string')) return undefined;
  const texts: readonly string[] = values;
  if (operator === '=') return valuesWithTexts(texts);
  const [text] = texts as [string];
  return withOthers(new Map([['text', [{ operator: comparisonNames[operator], value: text }]]]));
}

/** The values that have one of some texts. @returns undefined when an array or object may have one */
export function valuesWithTexts(texts: readonly string[]): ValueSet | undefined {
  if (texts.some((text) => text.startsWith('[') || text.startsWith('{'))) return undefined;
  const found = new Map<Kind, readonly Comparison[]>();
  const add = (kind: Kind, values: readonly JsonValue[]): void => {
    if (values.length > 0) found.set(kind, [{ operator: 'in', values }]);
  };
  add('boolean', [...(texts.includes('true') ? [true] : []), ...(texts.includes('false') ? [false] : [])]);
  add(
    'number',
    texts.map(exactNumber).filter((value) => value !== undefined),
  );
  add('text', texts);
  return found;
}

function jsonValues({ operator, values }: KnownComparison): ValueSet | undefined {
  // JSON is ordered by its text.
  if (operator !== '=') return undefined;
  if (values.length > VALUES_MAX) return undefined;
  const byKind = new Map<Kind, JsonValue[]>();
  for (const value of values) {
    if (!(value instanceof Jsonb)) return undefined;
    const kind = kindOf(value.value);
    const found = byKind.get(kind);
    if (found === undefined) byKind.set(kind, [value.value]);
    else found.push(value.value);
  }
  return new Map(
    [...byKind].map(([kind, found]) => [kind, kind === 'none' ? [] : [{ operator: 'in', values: found }]]),
  );
}

function kindOf(value: JsonValue): Kind {
  switch (typeof value) {
    case 'string':
      return 'text';
    case 'boolean':
      return 'boolean';
    case 'object':
      return value === null ? 'none' : 'composite';
    default:
      return 'number';
  }
}

/** Where a property is cast to a number: a text may be one too. Casts of other values fail. */
function numberValues(
  { operator, values }: KnownComparison,
  casts: readonly SqlTypeName[],
): ValueSet | undefined {
  if (values.length > VALUES_MAX) return undefined;
  const numbers = values.map(asNumber);
  if (!numbers.every((value) => value !== undefined)) return undefined;
  // A cast to a whole number cuts off less than 1.
  const isCut = casts.some((type) => type !== 'double');
  const lowest = Math.min(...numbers.map((value) => value - margin(value, isCut)));
  const highest = Math.max(...numbers.map((value) => value + margin(value, isCut)));
  const where: Comparison[] = [];
  if (operator !== '<' && operator !== '<=') where.push({ operator: 'gte', value: lowest });
  if (operator !== '>' && operator !== '>=') where.push({ operator: 'lte', value: highest });
  return new Map<Kind, readonly Comparison[]>([
    ['number', where],
    ['text', []],
  ]);
}

function margin(value: number, isCut: boolean): number {
  return (isCut ? 1 : 0) + (Math.abs(value) < EXACT_MAX ? 0 : Math.abs(value) * DOUBLE_STEP);
}

function asNumber(value: SqlValue): number | undefined {
  const number = typeof value === 'bigint' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Where a property is cast to a truth value: `1` and some texts are true, too. */
function truthValues({ operator, values }: KnownComparison): ValueSet | undefined {
  if (operator !== '=' || !values.every((value) => typeof value === 'boolean')) return undefined;
  return new Map<Kind, readonly Comparison[]>([
    ['boolean', [{ operator: 'in', values }]],
    ['number', [{ operator: 'in', values: values.map(Number) }]],
    ['text', []],
  ]);
}

/** With all values of other kinds that have a text. */
function withOthers(set: ValueSet): ValueSet {
  return new Map<Kind, readonly Comparison[]>([['boolean', []], ['number', []], ['composite', []], ...set]);
}
