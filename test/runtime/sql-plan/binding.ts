import { expect } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type { BoundChange } from '#runtime/sql-plan/bound/bound-change.ts';
import type {
  BoundExpression,
  BoundStatement,
  LogicalPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';

const workspaces = ['g', 'p', 'svc:access_control'];

/** A scope with the workspaces `g`, `p` and `svc:access_control`. */
export function scopeWith(parameters: readonly JsonValue[] = []): StatementScope {
  return {
    workspaceNamed: (name, isBare) => {
      if (workspaces.includes(name)) return name;
      return isBare && name === 'SvcAccessControl' ? 'svc:access_control' : undefined;
    },
    parameters,
    nowMicroseconds: 1_700_000_000_000_000n,
    user: 'ana',
    branch: 'main',
    version: 'svc 1',
  };
}

/** The query that a statement is or explains. */
function queryOf(statement: Statement): Query {
  if (statement.kind === 'query-statement') return statement.query;
  if (statement.kind === 'explain' && statement.statement.kind === 'query') return statement.statement;
  throw new Error(`no query: ${statement.kind}`);
}

/** The bound form of a query. */
export function bound(sql: string, parameters: readonly JsonValue[] = []): BoundStatement {
  const statement = parseStatement(sql);
  return bindStatement(queryOf(statement), sql, scopeWith(parameters));
}

/** The bound form of a statement that writes rows. */
export function boundChange(sql: string, parameters: readonly JsonValue[] = []): BoundChange {
  return bindChange(dataStatement(sql), sql, scopeWith(parameters));
}

/** A statement that writes rows, read. */
export function dataStatement(sql: string): DataStatement {
  const statement = parseStatement(sql);
  const { kind } = statement;
  if (kind === 'insert' || kind === 'update' || kind === 'delete') return statement;
  throw new Error(`writes no rows: ${kind}`);
}

/** The first line of the error of a query. */
export function errorOf(sql: string, parameters: readonly JsonValue[] = []): string {
  return refusalOf(sql, () => bound(sql, parameters)).message.split('\n')[0]!;
}

/** The first line of the error of a statement that writes rows. */
export function changeErrorOf(sql: string, parameters: readonly JsonValue[] = []): string {
  return refusalOf(sql, () => boundChange(sql, parameters)).message.split('\n')[0]!;
}

/** The error `VALIDATION_FAILED` of something. */
function refusalOf(sql: string, run: () => unknown): ServiceError {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.code).toBe('VALIDATION_FAILED');
    return error;
  }
  throw new Error(`accepted: ${sql}`);
}

/** The columns of the answer: `name TYPE`. */
export function columns(sql: string, parameters: readonly JsonValue[] = []): readonly string[] {
  return bound(sql, parameters).query.output.map(
    ({ name, expression }) => `${name} ${typeText(expression.type)}`,
  );
}

/** The only expression of `SELECT …`, as text. */
export function expression(sql: string, parameters: readonly JsonValue[] = []): string {
  const { output } = bound(`SELECT ${sql}`, parameters).query;
  expect(output).toHaveLength(1);
  return shown(output[0]!.expression);
}

/** An expression as text: `+(r0.c1, 2)`. */
export function shown(bound: BoundExpression): string {
  switch (bound.kind) {
    case 'constant':
      return bound.value instanceof Jsonb
        ? JSON.stringify(bound.value.value)
        : Array.isArray(bound.value)
          ? `[${bound.value.join(',')}]`
          : String(bound.value);
    case 'column':
      return `r${bound.relation}.c${bound.column}`;
    case 'call':
      return `${bound.function.name}(${bound.args.map(shown).join(', ')})`;
    case 'is':
      return `${shown(bound.operand)} is ${bound.test}`;
    default:
      return `${bound.kind}(${partsOf(bound).map(shown).join(', ')})`;
  }
}

/** The kinds of the steps of a plan, the last one first, along the first inputs. */
export function steps(plan: LogicalPlan): readonly string[] {
  const kinds: string[] = [];
  let at: LogicalPlan | undefined = plan;
  while (at !== undefined) {
    kinds.push(at.kind);
    at = 'input' in at ? at.input : at.kind === 'join' ? at.left : undefined;
  }
  return kinds;
}

/** The first step of a kind. */
export function step<Kind extends LogicalPlan['kind']>(
  plan: LogicalPlan,
  kind: Kind,
): Extract<LogicalPlan, { kind: Kind }> {
  let at: LogicalPlan | undefined = plan;
  while (at !== undefined) {
    if (at.kind === kind) return at as Extract<LogicalPlan, { kind: Kind }>;
    at = 'input' in at ? at.input : at.kind === 'join' ? at.left : undefined;
  }
  throw new Error(`no ${kind} in ${steps(plan).join(' ')}`);
}
