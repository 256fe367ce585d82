import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { CallNode, FunctionTableNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import { jsonbType } from '#runtime/sql-values/types/basic-types.ts';
import { AUTH_SETTINGS, authCallKey, authTable, type AuthTableName } from '../../auth-functions.ts';
import type { BoundConstant, BoundExpression, ValuesPlan } from '../../bound/bound-statement.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';
import type { StatementBinding } from '../statement-binding.ts';

const MICROSECONDS_PER_MILLISECOND = 1_000n;

/** The rows of a function about how people authenticate. @throws {ServiceError} `VALIDATION_FAILED` */
export function authRows(
  node: FunctionTableNode,
  name: AuthTableName,
  bound: readonly BoundExpression[],
  binding: StatementBinding,
): ValuesPlan {
  const { argumentsMax, columns } = authTable(name);
  const count = node.args.length;
  if (count > argumentsMax)
    throw binding.at(node.span, () => {
      throw wrongArgumentCount(name, argumentsMax === 0 ? '0' : `0 to ${argumentsMax}`, count);
    });
  const args = bound.map((argument, index) => {
    if (argument.kind === 'constant') return toJson(argument.value, argument.type);
    throw binding.error(`The arguments of ${name} are literals or parameters`, node.args[index]!.span);
  });
  const rows = answerOf(node, args, binding) as readonly (readonly JsonValue[])[];
  return {
    kind: 'values',
    relation: binding.newRelation(),
    columns,
    rows: rows.map((row) => row.map((value, column) => constantFrom(value, columns[column]!.type))),
  };
}

/** SVC_AUTH_GET_SETTINGS(). @throws {ServiceError} `VALIDATION_FAILED` where it is not available */
export function authSettings(node: CallNode, binding: StatementBinding): BoundConstant {
  return constantOf(jsonbType, new Jsonb(answerOf({ ...node, name: AUTH_SETTINGS }, [], binding)));
}

function answerOf(
  { name, span }: Pick<FunctionTableNode, 'name' | 'span'>,
  args: readonly JsonValue[],
  binding: StatementBinding,
): JsonValue {
  const { auth } = binding.scope;
  const answer = auth?.[authCallKey(name, args)];
  if (answer !== undefined) return answer;
  const text = `${name} reads the settings of the tenant: it can stand in queries only, outside transactions`;
  throw binding.error(text, span);
}

function constantFrom(value: JsonValue, type: SqlType): BoundConstant {
  const isTime = value !== null && type.name === 'timestamptz';
  const read = isTime ? BigInt(Date.parse(value as string)) * MICROSECONDS_PER_MILLISECOND : value;
  return constantOf(type, read as SqlValue);
}
