import type { DeleteStatement, UpdateStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type {
  ColumnNode,
  Expression,
  LiteralNode,
  ParameterNode,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import type { BoundPoint } from '../../bound/bound-change.ts';
import { givenText, givenValue } from '../../given-values.ts';
import type { StatementScope } from '../../ports.ts';
import { branchConstant, conjunctsOf } from '../queries/routing.ts';
import { plainColumnName } from '../scopes/name-scope.ts';

/** A statement that changes the nodes that a condition chooses. */
export type ChoosingStatement = UpdateStatement | DeleteStatement;

/** The one node that a statement names, as it is written. */
interface WrittenPoint {
  readonly by: BoundPoint['by'];
  readonly value: LiteralNode | ParameterNode;
}

/**
 * Whether a statement names its one node: its condition is exactly `id = …` or `path = …` with a literal or a parameter, the
 * column on the left. `AND __branch = '…'` may stand beside it. All other statements are done in bulk.
 */
export function isPoint(statement: ChoosingStatement): boolean {
  return writtenPoint(statement) !== undefined;
}

/** The one node that a statement names, see {@link isPoint}. */
export function pointOf(
  statement: ChoosingStatement,
  source: string,
  scope: Pick<StatementScope, 'parameters'>,
): BoundPoint | undefined {
  const point = writtenPoint(statement);
  if (point === undefined) return undefined;
  const value = givenValue(point.value, scope, source);
  const typed = fromParameter(value);
  return { by: point.by, value: typed.value === null ? null : toText(typed.value, typed.type) };
}

/**
 * The branch that a statement writes to, from `__branch = '…'` at the top of its condition.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @returns undefined: that of the request
 * @throws {ServiceError} `VALIDATION_FAILED` for a value that is no text, or is not given, and for two different branches
 */
export function routedBranch(
  statement: ChoosingStatement,
  source: string,
  scope: Pick<StatementScope, 'parameters'>,
): string | undefined {
  let branch: string | undefined;
  for (const { value } of branchConditions(statement)) {
    const name = givenText(value, scope, source);
    if (branch !== undefined && name !== branch)
      throw sqlError('Contradictory conditions on __branch', source, value.span);
    branch = name;
  }
  return branch;
}

/** The operands of the condition of a statement that choose among nodes: all but `__branch = '…'`. */
export function choosingConjuncts(statement: ChoosingStatement): readonly Expression[] {
  const { where } = statement;
  if (where === undefined) return [];
  return conjunctsOf(where).filter((conjunct) => branchCondition(conjunct, statement) === undefined);
}

function writtenPoint(statement: ChoosingStatement): WrittenPoint | undefined {
  const [condition, another] = choosingConjuncts(statement);
  if (condition?.kind !== 'binary' || condition.operator !== '=' || another !== undefined) return undefined;
  const { left, right } = condition;
  if (left.kind !== 'column' || !isOf(left, statement)) return undefined;
  if (right.kind !== 'literal' && right.kind !== 'parameter') return undefined;
  const by = plainColumnName(left.name);
  return by === 'id' || by === 'path' ? { by, value: right } : undefined;
}

function branchConditions(statement: ChoosingStatement): readonly { readonly value: WrittenPoint['value'] }[] {
  const { where } = statement;
  if (where === undefined) return [];
  return conjunctsOf(where)
    .map((conjunct) => branchCondition(conjunct, statement))
    .filter((found) => found !== undefined);
}

function branchCondition(
  conjunct: Expression,
  statement: ChoosingStatement,
): ReturnType<typeof branchConstant> {
  const found = branchConstant(conjunct);
  return found !== undefined && isOf(found.column, statement) ? found : undefined;
}

/** Whether a column is one of the changed table; one with the name of another table is refused where it is bound. */
export function isOf({ table }: ColumnNode, statement: ChoosingStatement): boolean {
  return table === undefined || table === statement.table.name;
}
