import type { BoundConstant, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';

/** Texts that are equal for equal expressions only. */
export class ExpressionKeys {
  /** Numbers of parts that are equal only to themselves: subqueries, and constants with values inside. */
  readonly #numbers = new Map<object, number>();

  /** The key of an expression. Expressions may be deep, so they are walked without recursion. */
  of(expression: BoundExpression): string {
    const parts: string[] = [];
    const rest: BoundExpression[] = [expression];
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const { name, operands } = this.#step(next);
      parts.push(`${name}/${operands.length}`);
      for (const operand of operands) rest.push(operand);
    }
    return parts.join(' ');
  }

  #step(expression: BoundExpression): { name: string; operands: readonly BoundExpression[] } {
    switch (expression.kind) {
      case 'constant':
        return { name: `constant ${typeKey(expression.type)} ${this.#constant(expression)}`, operands: [] };
      case 'column':
        return { name: `column ${expression.relation}.${expression.column}`, operands: [] };
      case 'call':
        return { name: `call ${functionKey(expression.function)}`, operands: expression.args };
      case 'and':
      case 'or':
      case 'coalesce':
        return { name: expression.kind, operands: expression.operands };
      case 'not':
        return { name: 'not', operands: [expression.operand] };
      case 'is':
        return { name: `is ${expression.test}`, operands: [expression.operand] };
      case 'case': {
        const branches = expression.branches.flatMap(({ when, then }) => [when, then]);
        return { name: 'case', operands: [...branches, expression.otherwise] };
      }
      case 'in':
        return { name: 'in', operands: [expression.operand, ...expression.items] };
      case 'array':
        return { name: `array ${typeKey(expression.type)}`, operands: expression.items };
      case 'quantified': {
        const { array, function: compared, left, quantifier } = expression;
        return { name: `${quantifier} ${functionKey(compared)}`, operands: [left, array] };
      }
      case 'scalar-subquery':
      case 'exists-subquery':
      case 'quantified-subquery':
        return { name: `${expression.kind} ${this.#number(expression)}`, operands: [] };
    }
  }

  #constant({ value }: BoundConstant): string {
    if (typeof value === 'object' && value !== null) return `object ${this.#number(value)}`;
    if (typeof value === 'string') return JSON.stringify(value);
    return Object.is(value, -0) ? 'number -0' : `${typeof value} ${String(value)}`;
  }

  #number(part: object): number {
    const known = this.#numbers.get(part);
    if (known !== undefined) return known;
    this.#numbers.set(part, this.#numbers.size);
    return this.#numbers.size - 1;
  }
}

function functionKey({ name, parameters, result }: ScalarFunction): string {
  return `${name} (${parameters.map(typeKey).join(' ')}) ${typeKey(result)}`;
}

function typeKey({ element, name }: SqlType): string {
  return element === undefined ? name : `${typeKey(element)}[]`;
}
