import { invalid } from '#runtime/errors/service-error.ts';
import type { CallNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import { boundedJsonb, jsonWork } from '#runtime/sql-values/json/json-limits.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import {
  booleanType,
  dateType,
  intType,
  jsonbType,
  textType,
  timestamptzType,
} from '#runtime/sql-values/types/basic-types.ts';
import type { BoundConstant } from '../../bound/bound-statement.ts';
import type { StatementCaller, StatementScope } from '../../ports.ts';
import type { StatementBinding } from '../statement-binding.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';

/** Estimated nanoseconds to find a node and to ask about it; conditions are counted besides. */
const PERMISSION_WORK = 20_000;

const DAY_MICROSECONDS = 86_400_000_000n;
/** The only schema, so that tools that ask for one get an answer. */
const SCHEMA = 'public';
/** The database, as it is named to such tools. */
const DATABASE = 'svc';

const now = ({ nowMicroseconds }: StatementScope) => constantOf(timestamptzType, nowMicroseconds);
const user = ({ user: name }: StatementScope) => constantOf(textType, name);
const database = () => constantOf(textType, DATABASE);

const values: Readonly<Record<string, (scope: StatementScope) => BoundConstant>> = {
  NOW: now,
  CURRENT_TIMESTAMP: now,
  CURRENT_DATE: ({ nowMicroseconds }) => constantOf(dateType, dayOf(nowMicroseconds)),
  CURRENT_USER: user,
  SESSION_USER: user,
  CURRENT_SCHEMA: () => constantOf(textType, SCHEMA),
  CURRENT_DATABASE: database,
  CURRENT_CATALOG: database,
  VERSION: ({ version }) => constantOf(textType, version),
  CURRENT_BRANCH: ({ branch }) => constantOf(textType, branch),
  SVC_AUTH_CURRENT_USER: (scope) => constantOf(textType, callerOf(scope).id),
  SVC_CURRENT_USER: (scope) => {
    const { node } = callerOf(scope);
    return constantOf(jsonbType, node === null ? null : new Jsonb(node));
  },
  // No request names a workspace besides those of its statements.
  SVC_AUTH_CURRENT_WORKSPACE: () => constantOf(textType, null),
};

/** @throws {ServiceError} `VALIDATION_FAILED` where statements have no caller */
function callerOf({ caller }: StatementScope): StatementCaller {
  if (caller === undefined) throw invalid('Functions about the caller are not available here');
  return caller;
}

/**
 * SVC_AUTH_HAS_PERMISSION(resource, operation).
 *
 * @throws {ServiceError} as {@link callerOf}
 */
export function permissionFunction(scope: StatementScope): ScalarFunction {
  const caller = callerOf(scope);
  return {
    name: 'SVC_AUTH_HAS_PERMISSION',
    parameters: [textType, textType],
    result: booleanType,
    isStrict: true,
    // What it says depends on more than its arguments, and a plan need not wait for it.
    isVolatile: true,
    work: () => PERMISSION_WORK,
    evaluate: (resource, operation) => caller.may(operation as string, resource as string),
  };
}

/** Estimated nanoseconds of a call with one reference; others count when they are followed. */
const RESOLVE_WORK = 50_000;

/**
 * RESOLVE(json [, depth]).
 *
 * @throws {ServiceError} as {@link callerOf}
 */
export function resolveReferences(scope: StatementScope): ScalarFunction {
  const caller = callerOf(scope);
  return {
    name: 'RESOLVE',
    parameters: [jsonbType, intType],
    result: jsonbType,
    isStrict: true,
    // What it gives depends on more than its arguments.
    isVolatile: true,
    work: ([json]) => RESOLVE_WORK + (json === null ? 0 : jsonWork(json as Jsonb)),
    evaluate: (json, depth) =>
      boundedJsonb(caller.resolve((json as Jsonb).value, depth as number), 'RESOLVE result'),
  };
}

/** Days since 1970-01-01, rounded down: also moments before it belong to their own day. */
function dayOf(microseconds: bigint): number {
  const isBefore = microseconds < 0n && microseconds % DAY_MICROSECONDS !== 0n;
  return Number(microseconds / DAY_MICROSECONDS) - (isBefore ? 1 : 0);
}

/**
 * The value of a function of the session, such as NOW(). It is the same in all of a statement.
 *
 * @returns undefined: the call is of another function
 */
export function sessionValue(node: CallNode, binding: StatementBinding): BoundConstant | undefined {
  if (!Object.hasOwn(values, node.name)) return undefined;
  const count = node.args.length;
  if (count > 0)
    binding.at(node.span, () => {
      throw wrongArgumentCount(node.name, '0', count);
    });
  return binding.at(node.span, () => values[node.name]!(binding.scope));
}
