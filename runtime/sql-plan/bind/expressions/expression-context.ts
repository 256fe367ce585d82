import type { Expression, Query, Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression, BoundQuery } from '../../bound/bound-statement.ts';
import type { NameScope } from '../scopes/name-scope.ts';
import type { StatementBinding } from '../statement-binding.ts';
import type { AggregateCalls } from './aggregate-calls.ts';
import type { Typing } from './typing.ts';
import type { WindowCalls } from './window-calls.ts';

/** What expressions of one part of a query may use. */
export interface ExpressionContext {
  readonly binding: StatementBinding;
  readonly typing: Typing;
  readonly scope: NameScope;
  /** The part, for messages: `WHERE clause`. */
  readonly clause: string;
  /** Takes the aggregates of the query; absent: they are not allowed here. */
  readonly aggregates?: AggregateCalls | undefined;
  /** Takes the windows of the query; absent: they are not allowed here. */
  readonly windows?: WindowCalls | undefined;
  /** Whether it is a condition whose top-level AND operands are given to tables: WHERE and ON. */
  readonly isCondition?: boolean;
  /** Binds an expression in a context. */
  readonly bind: (node: Expression, context: ExpressionContext) => BoundExpression;
  /** Binds a subquery of an expression in this scope. */
  readonly bindSubquery: (query: Query, span: Span) => BoundQuery;
}
