import { setKey, type JsonValue } from '#runtime/content/values/json-value.ts';
import type { CallNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import { jsonbType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import { columnOf, type NamedRelation } from '../scopes/name-scope.ts';
import type { ExpressionContext } from './expression-context.ts';

/** Estimated nanoseconds for one column of a row. */
const COLUMN_WORK = 100;

/**
 * `TO_JSON(alias)`: a row of a relation as an object, one key for each column.
 *
 * @returns undefined: the argument is not the name of a relation
 */
export function rowAsJson(node: CallNode, context: ExpressionContext): BoundExpression | undefined {
  const [argument] = node.args;
  if (node.args.length !== 1 || argument?.kind !== 'column' || argument.table !== undefined) return undefined;
  const { scope, binding, typing } = context;
  // A column of the same name is meant before the relation.
  if (scope.find(undefined, argument.name) !== undefined) return undefined;
  const relation = scope.relation(argument.name);
  if (relation === undefined) return undefined;
  const columns = relation.columns.map((column) =>
    columnOf(binding, column, `${relation.name}.${column.name}`, argument.span),
  );
  return typing.call(objectOf(relation), columns, node.span);
}

function objectOf({ columns }: NamedRelation): ScalarFunction {
  return {
    name: 'TO_JSONB',
    parameters: columns.map(({ type }) => type),
    result: jsonbType,
    isStrict: false,
    work: () => columns.length * COLUMN_WORK,
    evaluate: (...values) => {
      const object: Record<string, JsonValue> = {};
      for (const [index, { name, type }] of columns.entries())
        setKey(object, name, toJson(values[index]!, type));
      return new Jsonb(object);
    },
  };
}
