import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { assert } from '#runtime/base/assert.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import type {
  AggregatePlan,
  BoundAggregate,
  BoundExpression,
  BoundQuery,
  BoundSort,
  BoundStatement,
  JoinPlan,
  LogicalPlan,
  SetOperationPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { rowKey } from '#runtime/sql-values/ordering/hash-key.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { NodeRow } from './memory-tables.ts';

/** The rows of all relations of a plan, by number of the relation; a relation that a join has filled with NULLs is absent. */
type Binding = ReadonlyMap<number, readonly SqlValue[]>;

/**
 * Runs a statement as its logical plan says, word by word: all pairs of a join, then its condition, and every expression where
 * it stands. Windows are left out. It is what the plans of the product are compared with.
 */
export class NaiveQuery {
  readonly #workspaces: Readonly<Record<string, readonly NodeRow[]>>;
  readonly #execution = new Execution(new RequestBudget());
  readonly #tables: (readonly SqlValue[])[][] = [];

  constructor(workspaces: Readonly<Record<string, readonly NodeRow[]>>) {
    this.#workspaces = workspaces;
  }

  rows(statement: BoundStatement): readonly (readonly SqlValue[])[] {
    for (const { query, step, isDistinct } of statement.commonTables) {
      let round = this.#query(query);
      const types = query.output.map(({ expression }) => expression.type);
      const seen = new Set<string>();
      const fresh = (rows: (readonly SqlValue[])[]) =>
        isDistinct
          ? rows.filter((row) => {
              const key = rowKey(row, types);
              return !seen.has(key) && seen.add(key);
            })
          : rows;
      if (step !== undefined) round = fresh(round);
      const all = [...round];
      const table = this.#tables.length;
      while (step !== undefined && round.length > 0) {
        this.#tables[table] = round;
        round = fresh(this.#query(step));
        all.push(...round);
      }
      this.#tables[table] = all;
    }
    return this.#query(statement.query);
  }

  #query(query: BoundQuery): (readonly SqlValue[])[] {
    const compiled = query.output.map(({ expression }) => this.#compile(expression));
    return this.#plan(query.plan).map((binding) => compiled.map((evaluate) => evaluate(binding)));
  }

  #compile(expression: BoundExpression): Evaluate<Binding> {
    const read = (part: BoundExpression): Evaluate<Binding> | undefined => {
      if (part.kind === 'column') {
        const { relation, column } = part;
        return (binding) => binding.get(relation)?.[column] ?? null;
      }
      if (!('query' in part)) return undefined;
      const rows = this.#query(part.query);
      if (part.kind === 'exists-subquery') return () => rows.length > 0;
      if (part.kind === 'scalar-subquery') {
        assert(rows.length < 2, 'a scalar subquery has several rows');
        return () => rows[0]?.[0] ?? null;
      }
      assert(part.kind === 'quantified-subquery', 'another subquery');
      const left = this.#compile(part.left);
      return (binding) => quantified(part, left(binding), rows);
    };
    return compileExpression(expression, read, this.#execution);
  }

  #plan(plan: LogicalPlan): Binding[] {
    switch (plan.kind) {
      case 'nodes':
        return (this.#workspaces[plan.workspace] ?? []).map(
          (row) => new Map([[plan.relation, nodeColumns.map(({ name }) => row[name] ?? null)]]),
        );
      case 'values': {
        const rows = plan.rows.map((row) => row.map((expression) => this.#compile(expression)(new Map())));
        return rows.map((row) => new Map([[plan.relation, row]]));
      }
      case 'common-table':
        return this.#tables[plan.table]!.map((row) => new Map([[plan.relation, row]]));
      case 'join':
        return this.#join(plan);
      case 'filter': {
        const predicate = this.#compile(plan.predicate);
        return this.#plan(plan.input).filter((binding) => predicate(binding) === true);
      }
      case 'project': {
        const expressions = plan.expressions.map((expression) => this.#compile(expression));
        return this.#plan(plan.input).map(
          (binding) => new Map([[plan.relation, expressions.map((evaluate) => evaluate(binding))]]),
        );
      }
      case 'aggregate':
        return this.#aggregate(plan);
      case 'distinct':
        return this.#distinct(this.#plan(plan.input), plan.on);
      case 'sort':
        return this.#sorted(this.#plan(plan.input), plan.keys);
      case 'limit':
        return this.#plan(plan.input).slice(
          plan.offset,
          plan.offset + (plan.limit ?? Number.POSITIVE_INFINITY),
        );
      case 'set-operation':
        return this.#setOperation(plan);
      case 'schema':
      case 'series':
      case 'window':
        return assert(false, `a ${plan.kind} is not computed`) as never;
    }
  }

  #join({ left, right, type, on }: JoinPlan): Binding[] {
    const condition = on === undefined ? () => true : this.#compile(on);
    const [lefts, rights] = [this.#plan(left), this.#plan(right)];
    const matched = new Set<Binding>();
    const rows: Binding[] = [];
    for (const one of lefts) {
      for (const other of rights) {
        const both = new Map([...one, ...other]);
        if (condition(both) !== true) continue;
        matched.add(one).add(other);
        rows.push(both);
      }
    }
    if (type === 'left' || type === 'full') rows.push(...lefts.filter((binding) => !matched.has(binding)));
    if (type === 'right' || type === 'full') rows.push(...rights.filter((binding) => !matched.has(binding)));
    return rows;
  }

  #aggregate({ input, keys, aggregates, relation }: AggregatePlan): Binding[] {
    const compiled = keys.map((key) => this.#compile(key));
    const groups = new Map<string, { keys: SqlValue[]; rows: Binding[] }>();
    for (const binding of this.#plan(input)) {
      const values = compiled.map((evaluate) => evaluate(binding));
      const key = rowKey(
        values,
        keys.map(({ type }) => type),
      );
      const group = groups.get(key) ?? { keys: values, rows: [] };
      group.rows.push(binding);
      groups.set(key, group);
    }
    if (keys.length === 0 && groups.size === 0) groups.set('', { keys: [], rows: [] });
    return [...groups.values()].map(
      (group) =>
        new Map([[relation, [...group.keys, ...aggregates.map((each) => this.#result(each, group.rows))]]]),
    );
  }

  #result(aggregate: BoundAggregate, group: readonly Binding[]): SqlValue {
    const accumulator = aggregate.function.start();
    const args = aggregate.args.map((arg) => this.#compile(arg));
    const filter = aggregate.filter === undefined ? () => true : this.#compile(aggregate.filter);
    const seen = new Set<string>();
    for (const binding of this.#sorted([...group], aggregate.orderBy)) {
      if (filter(binding) !== true) continue;
      const values = args.map((evaluate) => evaluate(binding));
      if (aggregate.function.skipsNulls && values.includes(null)) continue;
      const key = rowKey(
        values,
        aggregate.args.map(({ type }) => type),
      );
      if (aggregate.isDistinct && seen.has(key)) continue;
      seen.add(key);
      accumulator.add(values);
    }
    return accumulator.result();
  }

  #distinct(rows: readonly Binding[], on: readonly BoundExpression[] | undefined): Binding[] {
    const compiled = on?.map((expression) => this.#compile(expression));
    const seen = new Set<string>();
    return rows.filter((binding) => {
      const values = compiled?.map((evaluate) => evaluate(binding)) ?? [...binding.values()].flat();
      const types: SqlType[] = on?.map(({ type }) => type) ?? values.map(typeOf);
      const key = rowKey(values, types);
      return !seen.has(key) && seen.add(key);
    });
  }

  #sorted(rows: Binding[], keys: readonly BoundSort[]): Binding[] {
    const compiled = keys.map((key) => this.#compile(key.expression));
    return rows.sort((a, b) => {
      for (const [index, key] of keys.entries()) {
        const [x, y] = [compiled[index]!(a), compiled[index]!(b)];
        if (x === null && y === null) continue;
        if (x === null || y === null) return (x === null) === key.nullsFirst ? -1 : 1;
        const order = comparatorOf(key.expression.type)(x, y);
        if (order !== 0) return key.isDescending ? -order : order;
      }
      return 0;
    });
  }

  #setOperation({ operator, isAll, left, right, relation, columns }: SetOperationPlan): Binding[] {
    const types = columns.map(({ type }) => type);
    const [lefts, rights] = [this.#query(left), this.#query(right)];
    const counts = new Map<string, number>();
    for (const row of rights) counts.set(rowKey(row, types), (counts.get(rowKey(row, types)) ?? 0) + 1);
    let rows: (readonly SqlValue[])[] = [];
    if (operator === 'union') rows = [...lefts, ...rights];
    for (const row of operator === 'union' ? [] : lefts) {
      const key = rowKey(row, types);
      const count = counts.get(key) ?? 0;
      if (isAll) counts.set(key, count - 1);
      if (count > 0 === (operator === 'intersect')) rows.push(row);
    }
    const bindings = rows.map((row) => new Map([[relation, row]]));
    return isAll ? bindings : this.#distinct(bindings, undefined);
  }
}

function quantified(
  part: Extract<BoundExpression, { readonly kind: 'quantified-subquery' }>,
  left: SqlValue,
  rows: readonly (readonly SqlValue[])[],
): SqlValue {
  const results = rows.map((row) =>
    left === null || row[0] === null ? null : part.function.evaluate(left, row[0]!),
  );
  const isAny = part.quantifier === 'any';
  if (results.includes(isAny)) return isAny;
  return results.includes(null) ? null : !isAny;
}

/** A type whose keys tell values apart, for rows whose types are not at hand. */
function typeOf(value: SqlValue): SqlType {
  if (typeof value === 'bigint') return { name: 'bigint' };
  if (typeof value === 'number') return { name: 'double' };
  if (typeof value === 'boolean') return { name: 'boolean' };
  return { name: typeof value === 'object' && value !== null ? 'jsonb' : 'text' };
}
