import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { CallNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { aggregateNames, isAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import { intType, jsonbType } from '#runtime/sql-values/types/basic-types.ts';
import { functionNames, resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import { AUTH_SETTINGS, settingsChangeArguments } from '../../auth-functions.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import { authSettings } from './auth-rows.ts';
import { suggestion } from '../scopes/name-suggestions.ts';
import { bindAggregate } from './aggregate-binder.ts';
import type { ExpressionContext } from './expression-context.ts';
import { bindHierarchy, isHierarchyPredicate } from './hierarchy-predicates.ts';
import { nullIf } from './null-if.ts';
import { rowAsJson } from './row-as-json.ts';
import { permissionFunction, resolveReferences, sessionValue } from './session-values.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';
import { bindWindow, isWindowFunction } from './window-binder.ts';

/**
 * Binds a call: of an aggregate, a window function, a predicate of the hierarchy, or any other function.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindCall(node: CallNode, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  const { name } = node;
  if (node.over !== undefined) return bindWindow(node, node.over, context);
  if (isWindowFunction(name))
    throw binding.error(`Window function ${name} requires an OVER clause`, node.span);
  if (isAggregate(name)) return bindAggregate(node, context);
  refuseAggregateForms(node, context);
  if (isHierarchyPredicate(name)) return bindHierarchy(node, name, context);
  const session = sessionValue(node, binding);
  if (session !== undefined) return session;
  if (name === 'TO_JSON' || name === 'TO_JSONB') {
    const row = rowAsJson(node, context);
    if (row !== undefined) return row;
  }
  const bound = node.args.map((argument) => context.bind(argument, context));
  switch (name) {
    case 'COALESCE': {
      requireCount(node, 1, Number.POSITIVE_INFINITY, context);
      const { type, expressions } = typing.common(bound, node.span);
      return expressions.length === 1 ? expressions[0]! : { kind: 'coalesce', type, operands: expressions };
    }
    case 'NULLIF': {
      requireCount(node, 2, 2, context);
      return nullIf(bound[0]!, bound[1]!, node.span, typing);
    }
    case AUTH_SETTINGS:
      requireCount(node, 0, 0, context);
      return authSettings(node, binding);
    case 'RESOLVE': {
      requireCount(node, 1, 2, context);
      const scalar = binding.at(node.span, () => resolveReferences(binding.scope));
      const [json, depth = constantOf(intType, 1)] = bound;
      const given = typing.coerce(json!, jsonbType, node.args[0]!.span);
      return typing.call(scalar, [given, typing.coerce(depth, intType, node.span)], node.span);
    }
    case 'SVC_AUTH_HAS_PERMISSION': {
      requireCount(node, 2, 2, context);
      const scalar = binding.at(node.span, () => permissionFunction(binding.scope));
      return typing.call(scalar, bound, node.span);
    }
    default: {
      if (settingsChangeArguments(name) !== undefined)
        throw binding.error(`${name} changes settings, so it stands alone: SELECT ${name}(…)`, node.span);
      const { scalar, args } = typing.resolve(bound, node.span, (types) =>
        found(name, () => resolveFunction(name, types)),
      );
      return typing.call(scalar, args, node.span);
    }
  }
}

/** Adds names that were perhaps meant to the error for a function that does not exist. */
function found<T>(name: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    const names = functionNames();
    if (error instanceof ServiceError && !names.includes(name)) {
      const others = [...names, ...aggregateNames()];
      throw invalid(`${error.message}${suggestion(name, others)}`);
    }
    throw error;
  }
}

function refuseAggregateForms(node: CallNode, { binding }: ExpressionContext): void {
  const { name, span } = node;
  const form = node.isDistinct
    ? 'DISTINCT'
    : node.filter !== undefined
      ? 'FILTER'
      : node.orderBy.length > 0
        ? 'ORDER BY'
        : node.isStar
          ? '*'
          : undefined;
  if (form !== undefined)
    throw binding.error(`${form} is only supported for aggregates, and ${name} is none`, span);
}

function requireCount(node: CallNode, least: number, most: number, { binding }: ExpressionContext): void {
  const count = node.args.length;
  if (count >= least && count <= most) return;
  const open = Number.isFinite(most) ? `${least} to ${most}` : `at least ${least}`;
  const expected = most === least ? `${least}` : open;
  binding.at(node.span, () => {
    throw wrongArgumentCount(node.name, expected, count);
  });
}
