import type { Query, QueryBody, SortItem, Source } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundQuery, LogicalPlan } from '../../bound/bound-statement.ts';
import { isSchemaTable } from '../../schema-columns.ts';
import { unwrapped } from './bare-query.ts';
import { bindCommonTables } from './common-table-binder.ts';
import { bindLimits } from './limit-binder.ts';
import type { QueryContext } from './query-context.ts';
import { bindSelect } from './select-binder.ts';
import { bindSetOperation } from './set-operation-binder.ts';
import { sortedByOutput } from './output-order.ts';
import { bindValues } from './values-binder.ts';

/**
 * Binds a query with its WITH clause, its order and its limits.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place
 */
export function bindQuery(query: Query, context: QueryContext): BoundQuery {
  const inner: QueryContext = { ...context, commonTables: bindCommonTables(query, context) };
  const limits = bindLimits(query, inner);
  const missing = context.isOutermost ? unknownWorkspace(query.body, inner) : undefined;
  if (missing !== undefined) return emptyQuery(missing, context);
  const bound = bindBody(query.body, query.orderBy, inner);
  return limits === undefined ? bound : { ...bound, plan: { ...limits, input: bound.plan } };
}

/** Binds what a query is made of, in an order. */
export function bindBody(
  written: QueryBody,
  orderBy: readonly SortItem[],
  context: QueryContext,
): BoundQuery {
  const body = unwrapped(written);
  if (body.kind === 'select') return bindSelect(body, orderBy, context);
  return sortedByOutput(bindUnordered(body, context), orderBy, context);
}

function bindUnordered(body: Exclude<QueryBody, { kind: 'select' }>, context: QueryContext): BoundQuery {
  switch (body.kind) {
    case 'values':
      return bindValues(body, context);
    case 'set-operation':
      return bindSetOperation(body, context, (arm) => bindBody(arm, [], { ...context, isOutermost: false }));
    case 'query':
      return bindQuery(body, context);
  }
}

/** A workspace that the outermost SELECT reads and that does not exist: then the answer has no columns and no rows. */
function unknownWorkspace(written: QueryBody, context: QueryContext): string | undefined {
  const body = unwrapped(written);
  if (body.kind !== 'select') return undefined;
  const open: Source[] = [...body.from];
  for (let source = open.pop(); source !== undefined; source = open.pop()) {
    if (source.kind === 'join') open.push(source.left, source.right);
    else if (source.kind === 'table') {
      const { name, isBare: isBareName } = source;
      const isKnown =
        context.commonTables.find(name) !== undefined ||
        isSchemaTable(name) ||
        context.binding.scope.workspaceNamed(name, isBareName) !== undefined;
      if (!isKnown) return name;
    }
  }
  return undefined;
}

function emptyQuery(missing: string, { binding }: QueryContext): BoundQuery {
  const relation = binding.newRelation();
  const plan: LogicalPlan = { kind: 'values', relation, columns: [], rows: [], missing };
  return { plan, output: [] };
}
