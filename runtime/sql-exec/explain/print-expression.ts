import type { BoundExpression, BoundSort } from '#runtime/sql-plan/bound/bound-statement.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import type { Names } from './names.ts';

/** Longest text of an expression, in UTF-16 units. */
const LENGTH_MAX = 200;
/** Most items of a list that are shown. */
const ITEMS_MAX = 10;
/** Longest constant that is shown, in UTF-16 units. */
const CONSTANT_MAX = 80;
/** Levels of an expression that are shown. */
const LEVELS_MAX = 12;

/** An expression as text for a person, shortened. */
export function printExpression(expression: BoundExpression, names: Names): string {
  return shortened(new Printer(names).print(expression, LEVELS_MAX), LENGTH_MAX);
}

/** Several expressions, separated by commas, shortened. */
export function printExpressions(expressions: readonly BoundExpression[], names: Names): string {
  return list(expressions, (expression) => printExpression(expression, names));
}

/** The keys of an order. */
export function printSort(keys: readonly BoundSort[], names: Names): string {
  return list(keys, ({ expression, isDescending, nullsFirst }) => {
    const direction = isDescending ? ' DESC' : ' ASC';
    const nulls = nullsFirst === isDescending ? '' : nullsFirst ? ' NULLS FIRST' : ' NULLS LAST';
    return `${printExpression(expression, names)}${direction}${nulls}`;
  });
}

function list<T>(items: readonly T[], print: (item: T) => string): string {
  const shown = items.slice(0, ITEMS_MAX).map(print);
  if (items.length > ITEMS_MAX) shown.push(`… ${items.length - ITEMS_MAX} more`);
  return shown.join(', ');
}

function shortened(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

/** Functions that are written between their operands. */
const operatorName = /^(?:[^A-Z_a-z]+|LIKE|ILIKE|IS DISTINCT FROM|IS NOT DISTINCT FROM)$/;

class Printer {
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  /** @param levels that are still shown */
  print(expression: BoundExpression, levels: number): string {
    if (levels === 0) return '…';
    const print = (part: BoundExpression): string => this.print(part, levels - 1);
    switch (expression.kind) {
      case 'constant':
        return this.#names.showsValues ? constant(expression) : '?';
      case 'column':
        return this.#names.column(expression.relation, expression.column);
      case 'call':
        return call(expression.function.name, expression.args, expression, print);
      case 'and':
      case 'or': {
        const shown = expression.operands.slice(0, ITEMS_MAX).map(print);
        if (expression.operands.length > ITEMS_MAX) shown.push('…');
        return `(${shown.join(` ${expression.kind.toUpperCase()} `)})`;
      }
      case 'not':
        return `NOT ${print(expression.operand)}`;
      case 'is':
        return `${print(expression.operand)} IS ${expression.test.toUpperCase()}`;
      case 'case': {
        const branches = expression.branches
          .slice(0, ITEMS_MAX)
          .map(({ when, then }) => ` WHEN ${print(when)} THEN ${print(then)}`);
        return `CASE${branches.join('')} ELSE ${print(expression.otherwise)} END`;
      }
      case 'coalesce':
        return `COALESCE(${list(expression.operands, print)})`;
      case 'in':
        return `${print(expression.operand)} IN (${list(expression.items, print)})`;
      case 'array':
        return `ARRAY[${list(expression.items, print)}]`;
      case 'quantified':
        return `${print(expression.left)} ${expression.function.name} ${expression.quantifier.toUpperCase()}(${print(expression.array)})`;
      case 'scalar-subquery':
        return '(subquery)';
      case 'exists-subquery':
        return 'EXISTS (subquery)';
      case 'quantified-subquery':
        return `${print(expression.left)} ${expression.function.name} ${expression.quantifier.toUpperCase()} (subquery)`;
    }
  }
}

function constant({ value, type }: Extract<BoundExpression, { readonly kind: 'constant' }>): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return `'${shortened(value, CONSTANT_MAX)}'`;
  return `'${shortened(toText(value, type), CONSTANT_MAX)}'`;
}

function call(
  name: string,
  args: readonly BoundExpression[],
  { type }: BoundExpression,
  print: (part: BoundExpression) => string,
): string {
  const [first, second] = args;
  if (name === 'CAST' && first !== undefined) return `${print(first)}::${typeText(type)}`;
  if (args.length === 2 && operatorName.test(name)) return `(${print(first!)} ${name} ${print(second!)})`;
  if (args.length === 1 && operatorName.test(name)) return `${name}${print(first!)}`;
  return `${name}(${list(args, print)})`;
}
