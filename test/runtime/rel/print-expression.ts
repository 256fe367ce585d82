import type { Expression } from '#runtime/rel/syntax/expression.ts';
import { type RelValue, WholeFloat } from '#runtime/rel/values/rel-value.ts';

const escapes: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\\': '\\', "'": "'" };

function printText(text: string): string {
  return `'${text.replace(/[\n\r\t\\']/g, (char) => `\\${escapes[char]}`)}'`;
}

/** A literal of any length. */
export function printLiteral(value: RelValue): string {
  if (typeof value === 'string') return printText(value);
  if (value instanceof WholeFloat) {
    const text = String(value.number);
    return text.includes('e') ? text : `${text}.0`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(printLiteral).join(', ')}]`;
  const entries = Object.entries(value).map(([key, item]) => `${printText(key)}: ${printLiteral(item)}`);
  return `{${entries.join(', ')}}`;
}

const sums = new Set(['+', '-']);

/** How tightly a printed expression binds; an operand that binds less stands in parentheses. */
function tightness(expression: Expression): number {
  switch (expression.kind) {
    case 'any':
      return 1;
    case 'all':
      return 2;
    case 'comparison':
    case 'relates':
      return 3;
    case 'arithmetic':
      return sums.has(expression.operator) ? 4 : 5;
    case 'not':
    case 'negate':
      return 6;
    case 'literal':
      // A minus in front, and a dot behind a number, belong to something else.
      return typeof expression.value === 'number' || typeof expression.value === 'bigint' ? 6 : 7;
    default:
      return 7;
  }
}

/** A syntax tree as text, with no more parentheses than it needs. */
export function printExpression(expression: Expression): string {
  const operand = (of: Expression, least: number): string =>
    tightness(of) < least ? `(${printExpression(of)})` : printExpression(of);
  switch (expression.kind) {
    case 'literal':
      return printLiteral(expression.value);
    case 'root':
      return expression.name;
    case 'member':
      return `${operand(expression.of, 7)}.${expression.name}`;
    case 'index':
      return `${operand(expression.of, 7)}[${printExpression(expression.index)}]`;
    case 'call':
      return `${operand(expression.of, 7)}.${expression.method}(${expression.arguments.map(printExpression).join(', ')})`;
    case 'not':
      return `!${operand(expression.of, 6)}`;
    case 'negate':
      return expression.of.kind === 'literal'
        ? `-(${printExpression(expression.of)})`
        : `-${operand(expression.of, 6)}`;
    case 'arithmetic': {
      const own = tightness(expression);
      return `${operand(expression.left, own)} ${expression.operator} ${operand(expression.right, own + 1)}`;
    }
    case 'comparison':
      return `${operand(expression.left, 4)} ${expression.operator} ${operand(expression.right, 4)}`;
    case 'all':
      return expression.items.map((item) => operand(item, 3)).join(' && ');
    case 'any':
      return expression.items.map((item) => operand(item, 2)).join(' || ');
    case 'relates': {
      const types = expression.types.map(printText);
      const via = types.length === 1 ? types[0] : `[${types.join(', ')}]`;
      const { depthMin, depthMax, direction } = expression;
      return `${operand(expression.from, 4)} RELATES ${operand(expression.to, 6)} VIA ${via} DEPTH ${depthMin}..${depthMax} DIRECTION ${direction}`;
    }
  }
}

/** A syntax tree without places. */
export function withoutPlaces(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof WholeFloat) return value;
  if (Array.isArray(value)) return value.map(withoutPlaces);
  const isExpression = Object.hasOwn(value, 'kind');
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !isExpression || key !== 'at')
      .map(([key, item]) => [key, isExpression && key === 'value' ? item : withoutPlaces(item)]),
  );
}
