import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { CallNode, Expression, FunctionTableNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import type { RelationColumn } from './bound/bound-statement.ts';
import { givenValue } from './given-values.ts';
import type { StatementScope } from './ports.ts';

/**
 * The functions about how people authenticate in a tenant. What they answer belongs to the tenant, not to a branch: a session
 * asks for it before it sends the statement, and the statement comes with the answers.
 *
 * @see docs/interface/sql-access.md#settings-of-the-tenant
 */

/** SVC_AUTH_GET_SETTINGS(): the only one that is a value. */
export const AUTH_SETTINGS = 'SVC_AUTH_GET_SETTINGS';

interface AuthTable {
  readonly columns: readonly RelationColumn[];
  readonly argumentsMax: number;
}

function table(argumentsMax: number, columns: Readonly<Record<string, SqlTypeName>>): AuthTable {
  return {
    argumentsMax,
    columns: Object.entries(columns).map(([name, type]) => ({ name, type: { name: type } })),
  };
}

const tables = {
  SVC_AUTH_PROVIDERS: table(0, {
    provider_id: 'text',
    strategy_type: 'text',
    display_name: 'text',
    icon: 'text',
    enabled: 'boolean',
    created_at: 'timestamptz',
  }),
  SVC_AUTH_IDENTITIES: table(1, {
    identity_id: 'text',
    email: 'text',
    display_name: 'text',
    email_verified: 'boolean',
    is_active: 'boolean',
    created_at: 'timestamptz',
    last_login_at: 'timestamptz',
  }),
  SVC_AUTH_SESSIONS: table(1, {
    session_id: 'text',
    identity_id: 'text',
    auth_strategy: 'text',
    user_agent: 'text',
    ip_address: 'text',
    created_at: 'timestamptz',
    last_active_at: 'timestamptz',
  }),
  SVC_AUTH_ACCESS_REQUESTS: table(2, {
    request_id: 'text',
    identity_id: 'text',
    email: 'text',
    repo_id: 'text',
    status: 'text',
    message: 'text',
    created_at: 'timestamptz',
  }),
} as const satisfies Record<string, AuthTable>;

/** A function in FROM about how people authenticate. */
export type AuthTableName = keyof typeof tables;

/** Names of all such functions in FROM. */
export const authTableNames: readonly string[] = Object.keys(tables);

/** Whether a name, in upper case, is that of such a function in FROM. */
export function isAuthTable(name: string): name is AuthTableName {
  return Object.hasOwn(tables, name);
}

/** Columns, and how many arguments it takes at most. */
export function authTable(name: AuthTableName): AuthTable {
  return tables[name];
}

/** Functions that change settings, with how many arguments each takes. */
const changes: Readonly<Record<string, number>> = {
  SVC_AUTH_UPDATE_SETTINGS: 1,
  SVC_AUTH_ADD_PROVIDER: 2,
  SVC_AUTH_UPDATE_PROVIDER: 2,
  SVC_AUTH_REMOVE_PROVIDER: 1,
};

/** How many arguments a function that changes settings takes; undefined for every other function. */
export function settingsChangeArguments(name: string): number | undefined {
  return Object.hasOwn(changes, name) ? changes[name] : undefined;
}

/** A call as a key of `AuthAnswers`. */
export function authCallKey(name: string, args: readonly JsonValue[]): string {
  return JSON.stringify([name, ...args]);
}

/**
 * The values of the arguments of a call. They are literals and parameters, also with a cast to TEXT or JSONB: nothing else is
 * known before the statement is sent.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED` for other expressions, and for a parameter that is not given
 */
export function authArguments(
  { args, name }: Pick<CallNode | FunctionTableNode, 'args' | 'name'>,
  scope: Pick<StatementScope, 'parameters'>,
  source: string,
): readonly JsonValue[] {
  return args.map((argument) => {
    const plain = withoutCast(argument);
    if (plain.kind === 'literal' || plain.kind === 'parameter') return givenValue(plain, scope, source);
    throw sqlError(`The arguments of ${name} are literals or parameters`, source, argument.span);
  });
}

function withoutCast(argument: Expression): Expression {
  if (argument.kind !== 'cast') return argument;
  const { name } = argument.type;
  const isPlain = ['json', jsonbType.name, textType.name].includes(name.toLowerCase());
  return isPlain ? argument.operand : argument;
}
