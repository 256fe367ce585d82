import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { references } from '#runtime/sql-values/functions/hierarchy-functions.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import { visitExpression } from '../expression-walk.ts';
import type { NamedRelation } from '../scopes/name-scope.ts';
import type { StatementBinding } from '../statement-binding.ts';

/**
 * Checks that REFERENCES stands only where its table finds it: in an operand of AND that is about this one table, and whose
 * rows the condition chooses before anything else happens to them.
 *
 * @param chosen the relations whose rows the condition chooses
 */
export function requireTableConditions(
  condition: BoundExpression,
  chosen: readonly NamedRelation[],
  span: Span,
  binding: StatementBinding,
): void {
  const operands = condition.kind === 'and' ? condition.operands : [condition];
  for (const operand of operands) requireTableCondition(operand, chosen, span, binding);
}

function requireTableCondition(
  operand: BoundExpression,
  chosen: readonly NamedRelation[],
  span: Span,
  binding: StatementBinding,
): void {
  const relations = new Set<number>();
  let hasQuery = false;
  let hasReferences = false;
  visitExpression(operand, (part) => {
    if (part.kind === 'column') relations.add(part.relation);
    if ('query' in part) hasQuery = true;
    if (part.kind === 'call' && part.function === references) hasReferences = true;
    return true;
  });
  if (!hasReferences) return;
  if (hasQuery || relations.size > 1)
    throw binding.error('REFERENCES can only be combined with conditions on the same table', span);
  const [relation] = relations;
  const isChosen = chosen.some(
    ({ columns, isNullExtended }) => !isNullExtended && columns[0]?.relation === relation,
  );
  if (!isChosen)
    throw binding.error(
      'REFERENCES cannot be used for a table that an outer join keeps or extends here',
      span,
    );
}
