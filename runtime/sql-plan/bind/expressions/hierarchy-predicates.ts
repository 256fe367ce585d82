import type { CallNode, Expression } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { childOf, descendantOf, references } from '#runtime/sql-values/functions/hierarchy-functions.ts';
import { intType, pathType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundConstant, BoundExpression } from '../../bound/bound-statement.ts';
import { columnOf } from '../scopes/name-scope.ts';
import type { ExpressionContext } from './expression-context.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';

/** The predicates that are about the current table. */
type HierarchyPredicate = 'CHILD_OF' | 'DESCENDANT_OF' | 'REFERENCES';

/** Whether a function is a predicate about a node of the current table. */
export function isHierarchyPredicate(name: string): name is HierarchyPredicate {
  return name === 'CHILD_OF' || name === 'DESCENDANT_OF' || name === 'REFERENCES';
}

/**
 * Binds `CHILD_OF('/p')`, `DESCENDANT_OF('/p' [, levels])` and `REFERENCES('ws:/p')`. The column of the current table that
 * they are about may be written before the other arguments: `CHILD_OF(t.path, '/p')`.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindHierarchy(
  node: CallNode,
  name: HierarchyPredicate,
  context: ExpressionContext,
): BoundExpression {
  const { binding, typing } = context;
  const [first] = node.args;
  const isWritten = first !== undefined && !isConstantNode(first) && node.args.length > 1;
  const others = isWritten ? node.args.slice(1) : node.args;
  const most = name === 'DESCENDANT_OF' ? 2 : 1;
  if (others.length < 1 || others.length > most)
    binding.at(node.span, () => {
      throw wrongArgumentCount(name, most === 1 ? '1' : '1 to 2', others.length);
    });
  const column = isWritten ? context.bind(first, context) : currentColumn(node, name, context);
  const target = constantText(others[0]!, name, context);
  if (name === 'REFERENCES') return bindReferences(node, column, target, context);
  const path = typing.coerce(column, pathType, node.span);
  const parent = withoutLastSlash(typing.coerce(target, pathType, others[0]!.span));
  if (name === 'CHILD_OF') return typing.call(childOf, [path, parent], node.span);
  const levels = others[1] === undefined ? constantOf(intType, null) : levelsOf(others[1], context);
  return typing.call(descendantOf, [path, parent, levels], node.span);
}

function bindReferences(
  node: CallNode,
  column: BoundExpression,
  target: BoundConstant,
  context: ExpressionContext,
): BoundExpression {
  const { binding, scope } = context;
  if (context.isCondition !== true)
    throw binding.error('REFERENCES is only allowed in WHERE and ON', node.span);
  const isOfTable = scope.relations.some(
    ({ table, isWorkspace, columns }) =>
      isWorkspace &&
      column.kind === 'column' &&
      columns.some(
        (entry) =>
          entry.relation === column.relation && entry.column === column.column && entry.type.name === 'jsonb',
      ) &&
      (table === undefined || table.columns[column.column]?.name === 'properties'),
  );
  if (!isOfTable)
    throw binding.error('REFERENCES needs the column properties of a workspace of this query', node.span);
  const text = target.value === null ? '' : String(target.value);
  // Names of workspaces may have colons themselves.
  if (target.value !== null && text.indexOf(':/') < 1)
    throw binding.error(`REFERENCES target must be in 'workspace:/path' format`, node.span);
  return {
    kind: 'call',
    type: references.result,
    function: references,
    args: [column, constantOf(textType, target.value)],
  };
}

/** The column of the current table: of the only workspace, or else of the only relation that has such a column. */
function currentColumn(
  node: CallNode,
  name: HierarchyPredicate,
  context: ExpressionContext,
): BoundExpression {
  const { binding, scope } = context;
  const wanted = name === 'REFERENCES' ? 'properties' : 'path';
  const workspaces = scope.relations.filter(({ isWorkspace }) => isWorkspace);
  const candidates = workspaces.length > 0 ? workspaces : scope.relations;
  const columns = candidates.flatMap((relation) => relation.columns.filter((entry) => entry.name === wanted));
  const [column] = columns;
  if (column === undefined)
    throw binding.error(`${name} needs a table with a column ${wanted} in FROM`, node.span);
  if (columns.length > 1)
    throw binding.error(`${name} is ambiguous: write ${name}(table.${wanted}, …)`, node.span);
  return columnOf(binding, column, wanted, node.span);
}

function isConstantNode(node: Expression): boolean {
  return (
    node.kind === 'literal' ||
    node.kind === 'parameter' ||
    (node.kind === 'cast' && isConstantNode(node.operand))
  );
}

/** An argument that must be known while planning, as a text or NULL. */
function constantText(node: Expression, name: HierarchyPredicate, context: ExpressionContext): BoundConstant {
  const bound = context.bind(node, context);
  const isText = bound.kind === 'constant' && (bound.value === null || typeof bound.value === 'string');
  if (!isText) throw context.binding.error(`${name} needs a literal or a parameter with a text`, node.span);
  return bound;
}

function withoutLastSlash(path: BoundExpression): BoundExpression {
  if (path.kind !== 'constant' || typeof path.value !== 'string') return path;
  const { value } = path;
  return value.length > 1 && value.endsWith('/') ? { ...path, value: value.slice(0, -1) } : path;
}

function levelsOf(node: Expression, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  const levels = typing.coerce(context.bind(node, context), intType, node.span);
  const isFitting =
    levels.kind === 'constant' &&
    (levels.value === null || (typeof levels.value === 'number' && levels.value >= 1));
  if (!isFitting)
    throw binding.error('The levels of DESCENDANT_OF must be a constant integer of at least 1', node.span);
  return levels;
}
