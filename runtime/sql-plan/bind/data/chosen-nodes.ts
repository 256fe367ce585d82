import type { Expression, Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { visit } from '#runtime/sql-syntax/visitor.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import { booleanType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type {
  BoundColumn,
  BoundExpression,
  BoundStatement,
  LogicalPlan,
  OutputColumn,
} from '../../bound/bound-statement.ts';
import { nodeColumns } from '../../node-columns.ts';
import { constantOf } from '../expressions/typing.ts';
import type { QueryContext } from '../queries/query-context.ts';
import type { RoutingColumn } from '../queries/routing.ts';
import { bindWhere, withPredicate } from '../queries/where-binder.ts';
import type { ChangedTable } from './changed-table.ts';
import { type ChoosingStatement, choosingConjuncts, isOf } from './point.ts';

const idColumn = nodeColumns.findIndex(({ name }) => name === 'id');

/** The id of each node of a table. */
function idOf({ plan }: ChangedTable): BoundColumn {
  return { kind: 'column', type: textType, relation: plan.relation, column: idColumn };
}

/** Whether a node is one of some. */
function isAmong(table: ChangedTable, ids: readonly string[]): BoundExpression {
  const items = ids.map((id) => constantOf(textType, id));
  return { kind: 'in', type: booleanType, operand: idOf(table), items };
}

/** Queries over the nodes of a table for which conditions hold; the first column of each is the id. */
export class ChosenNodes {
  readonly #table: ChangedTable;
  readonly #conditions: readonly BoundExpression[];
  readonly #relationCount: number;

  constructor(table: ChangedTable, conditions: readonly BoundExpression[], relationCount: number) {
    this.#table = table;
    this.#conditions = conditions;
    this.#relationCount = relationCount;
  }

  /** All of them. @param output further columns */
  all(output: readonly OutputColumn[]): BoundStatement {
    return this.#statement(this.#filtered([]), output);
  }

  /** Those with ids that are among some. They are chosen by their ids before the conditions are looked at. */
  among(ids: readonly string[], output: readonly OutputColumn[]): BoundStatement {
    return this.#statement(this.#filtered([isAmong(this.#table, ids)]), output);
  }

  /** The first ids behind one, in the order of their code units. @param id undefined: from the first on */
  after(id: string | undefined, limit: number): BoundStatement {
    const expression = idOf(this.#table);
    const behind: BoundExpression[] = [];
    if (id !== undefined) {
      const compared = resolveOperator('>', [textType, textType]);
      const args = [expression, constantOf(textType, id)];
      behind.push({ kind: 'call', type: booleanType, function: compared, args });
    }
    const sorted: LogicalPlan = {
      kind: 'sort',
      input: this.#filtered(behind),
      keys: [{ expression, isDescending: false, nullsFirst: false }],
    };
    return this.#statement({ kind: 'limit', input: sorted, limit, offset: 0 }, []);
  }

  #filtered(first: readonly BoundExpression[]): LogicalPlan {
    return withPredicate(this.#table.plan, [...first, ...this.#conditions]);
  }

  #statement(plan: LogicalPlan, output: readonly OutputColumn[]): BoundStatement {
    const id = { name: 'id', expression: idOf(this.#table) };
    return {
      query: { plan, output: [id, ...output] },
      commonTables: [],
      relationCount: this.#relationCount,
    };
  }
}

const refusedRoutes: Readonly<Partial<Record<RoutingColumn, string>>> = {
  __revision:
    '__revision cannot choose nodes in UPDATE and DELETE: they change the present state. ' +
    'To change a node only if nobody else has, compare its version',
  locale:
    'locale cannot choose nodes in UPDATE and DELETE: they change what is stored in the default language. ' +
    `To change a translation, use UPDATE … FOR LOCALE '…'`,
};

/**
 * Binds the condition of an UPDATE or DELETE.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`: `UPDATE requires a WHERE clause`; a condition on `__revision` or `locale` that
 *   would say what is read; one on `__branch` that does not name a branch to write to; a subquery
 */
export function bindCondition(
  statement: ChoosingStatement,
  { scope }: ChangedTable,
  context: QueryContext,
): readonly BoundExpression[] {
  const conjuncts = choosingConjuncts(statement);
  // A condition on the branch alone chooses no nodes.
  if (conjuncts.length === 0) {
    const text = `${statement.kind.toUpperCase()} requires a WHERE clause`;
    throw context.binding.error(text, statement.where?.span ?? statement.span);
  }
  for (const conjunct of conjuncts) requireNoBranch(conjunct, statement, context);
  return bindWhere(scope.relations, conjuncts, scope, context, (column) => refusedRoutes[column]);
}

/**
 * Refuses a condition that compares the branch of each node. All nodes that a statement changes are of one branch: such a condition
 * would hold for all of them or for none, and its author means another branch.
 */
function requireNoBranch(conjunct: Expression, statement: ChoosingStatement, context: QueryContext): void {
  visit(conjunct, (node) => {
    if (node.kind !== 'column' || node.name !== '__branch' || !isOf(node, statement)) return;
    const text =
      "__branch cannot choose nodes in UPDATE and DELETE: write __branch = '…' beside the other conditions, with AND";
    throw context.binding.error(text, node.span);
  });
}

/** A context in which a subquery is an error. */
export function withoutSubqueries(context: QueryContext, place: string): QueryContext {
  const refuse = (span: Span): never => {
    throw context.binding.error(`Subqueries in ${place} are not supported`, span);
  };
  return { ...context, bindQuery: (query) => refuse(query.span) };
}
