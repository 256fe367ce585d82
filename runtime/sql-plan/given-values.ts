import type { GivenText, GivenValue } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { StatementScope } from './ports.ts';

/**
 * The value of a literal or parameter that stands where no expression may.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED` for a parameter that is not given, and for `$0`
 */
export function givenValue(
  node: GivenValue,
  scope: Pick<StatementScope, 'parameters'>,
  source: string,
): JsonValue {
  if (node.kind === 'literal') {
    return typeof node.value === 'bigint' ? Number(node.value) : node.value;
  }
  const { index } = node;
  if (index === 0) throw sqlError('Parameter indices must start at $1', source, node.span);
  const { parameters } = scope;
  const value = parameters[index - 1];
  if (value === undefined) {
    const text = `Parameter $${index} not provided (only ${parameters.length} parameters given)`;
    throw sqlError(text, source, node.span);
  }
  return value;
}

/**
 * The text that a statement gives.
 *
 * @param source as {@link givenValue}
 * @throws {ServiceError} as {@link givenValue}; `VALIDATION_FAILED` for a value that is no text
 */
export function givenText(
  node: GivenText,
  scope: Pick<StatementScope, 'parameters'>,
  source: string,
): string {
  const value = givenValue(node, scope, source);
  if (typeof value === 'string') return value;
  throw sqlError('A text is wanted here', source, node.span);
}
