import type { InsertStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { Query, Span, ValuesNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundInsert, InsertedColumn } from '../../bound/bound-change.ts';
import type { BoundQuery, RelationColumn } from '../../bound/bound-statement.ts';
import type { StatementScope } from '../../ports.ts';
import { VALUES_FIELDS_MAX } from '../limits.ts';
import { unwrapped } from '../queries/bare-query.ts';
import { bindQuery } from '../queries/query-binder.ts';
import { expressionContext, type QueryContext, statementContext } from '../queries/query-context.ts';
import { NameScope } from '../scopes/name-scope.ts';
import { StatementBinding } from '../statement-binding.ts';
import { changedWorkspace } from './changed-table.ts';
import { bindReturning } from './returning-binder.ts';
import { columnsToInsert } from './written-columns.ts';
import { writtenValue } from './written-values.ts';

/**
 * Binds INSERT and UPSERT.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `WORKSPACE_NOT_FOUND`
 */
export function bindInsert(statement: InsertStatement, source: string, scope: StatementScope): BoundInsert {
  const binding = new StatementBinding(source, scope);
  // A query that reads an unknown workspace has the columns that were written, and no rows.
  const context: QueryContext = { ...statementContext(binding, bindQuery), isOutermost: false };
  const workspace = changedWorkspace(statement.table, context);
  const columns = columnsToInsert(statement.columns, statement.table.name, binding);
  const query = new RowsBinder(statement, columns, context).bind();
  return {
    kind: 'insert',
    isUpsert: statement.isUpsert,
    workspace,
    columns,
    rows: { query, commonTables: binding.commonTables, relationCount: binding.relationCount },
    returning: bindReturning(statement, workspace, source, scope),
  };
}

/** Binds the rows of an INSERT. */
class RowsBinder {
  readonly #statement: InsertStatement;
  readonly #columns: readonly InsertedColumn[];
  readonly #context: QueryContext;

  constructor(statement: InsertStatement, columns: readonly InsertedColumn[], context: QueryContext) {
    this.#statement = statement;
    this.#columns = columns;
    this.#context = context;
  }

  bind(): BoundQuery {
    const { source } = this.#statement;
    const values = valuesOf(source);
    return values === undefined ? this.#ofQuery(source) : this.#ofValues(values);
  }

  #ofQuery(source: Query): BoundQuery {
    const { output, plan } = bindQuery(source, this.#context);
    this.#requireCount(output.length, source.span);
    return {
      plan,
      output: output.map(({ expression }, index) => {
        const name = this.#columns[index]!;
        return { name, expression: writtenValue(expression, name, source.span, this.#context) };
      }),
    };
  }

  /** VALUES, in which each value has the type of its column: texts and objects of JSON may stand below each other. */
  #ofValues(node: ValuesNode): BoundQuery {
    const { binding } = this.#context;
    binding.countSelect(node.span);
    if (this.#columns.length * node.rows.length > VALUES_FIELDS_MAX)
      throw binding.error(`VALUES may have at most ${VALUES_FIELDS_MAX} fields`, node.span);
    const expressions = expressionContext(this.#context, new NameScope([], []), 'VALUES');
    const rows = node.rows.map((row) => {
      this.#requireCount(row.length, row[0]?.span ?? node.span);
      return row.map((field, index) =>
        writtenValue(expressions.bind(field, expressions), this.#columns[index]!, field.span, this.#context),
      );
    });
    const relation = binding.newRelation();
    const columns = this.#columns.map(
      (name): RelationColumn => ({ name, type: isJson(name) ? jsonbType : textType }),
    );
    return {
      plan: { kind: 'values', relation, columns, rows },
      output: columns.map(({ name, type }, column) => ({
        name,
        expression: { kind: 'column', type, relation, column },
      })),
    };
  }

  #requireCount(count: number, span: Span): void {
    const { isUpsert } = this.#statement;
    const wanted = this.#columns.length;
    if (count === wanted) return;
    const text = `${isUpsert ? 'UPSERT' : 'INSERT'} names ${wanted} columns, but ${count} values are given`;
    throw this.#context.binding.error(text, span);
  }
}

/** VALUES without anything around it. */
function valuesOf(source: Query): ValuesNode | undefined {
  const body = unwrapped(source);
  return body.kind === 'values' ? body : undefined;
}

function isJson(column: InsertedColumn): boolean {
  return column === 'properties' || column === 'translations';
}
