import { exactNumber, isNumber } from '#runtime/base/text/exact-number.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { givenValue } from '#runtime/sql-plan/given-values.ts';
import type { Expression } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { parseJson } from '#runtime/sql-values/json/parse-json.ts';
import type { StatementValues } from './statement-values.ts';

const jsonTypes: ReadonlySet<string> = new Set(['json', 'jsonb']);

/**
 * The value behind DEFAULT: a string, number, truth value, NULL, a parameter, an array of them, or JSON as `'…'::jsonb`.
 *
 * @param isJson whether the property has values that only JSON can write, so that a string is read as JSON
 * @throws {ServiceError} `VALIDATION_FAILED` for any other expression, a parameter that is not given, and bad JSON
 */
export function constantValue(node: Expression, isJson: boolean, values: StatementValues): JsonValue {
  const value = constant(node, values);
  return isJson && typeof value === 'string' && node.kind !== 'parameter' ? parseJson(value) : value;
}

function constant(node: Expression, values: StatementValues): JsonValue {
  switch (node.kind) {
    case 'literal':
      // A BIGINT that a double represents is that double, as everywhere in content.
      return typeof node.value === 'bigint' ? (exactNumber(String(node.value)) ?? node.value) : node.value;
    case 'parameter':
      return givenValue(node, values.context.scope, values.context.source);
    case 'array':
      return node.items.map((item) => constant(item, values));
    case 'unary': {
      const operand = constant(node.operand, values);
      if (node.operator === 'NOT' || !isNumber(operand)) throw notConstant(node, values);
      if (node.operator === '+' || operand === 0) return operand;
      return exactNumber(String(-operand)) ?? -operand;
    }
    case 'cast': {
      const operand = constant(node.operand, values);
      const isText = typeof operand === 'string' && !node.type.isArray;
      if (isText && jsonTypes.has(node.type.name)) return parseJson(operand);
      if (isText && node.type.name === 'text') return operand;
      throw notConstant(node, values);
    }
    default:
      throw notConstant(node, values);
  }
}

function notConstant(node: Expression, values: StatementValues): Error {
  return values.error(
    "DEFAULT takes a string, number, TRUE, FALSE, NULL, an array of these, or JSON as '…'::jsonb",
    node.span,
  );
}
