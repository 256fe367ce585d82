import type { Expression, SelectNode, SortItem } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type {
  BoundExpression,
  BoundQuery,
  BoundSort,
  LogicalPlan,
  OutputColumn,
} from '../../bound/bound-statement.ts';
import { AggregateCalls } from '../expressions/aggregate-calls.ts';
import { WindowCalls } from '../expressions/window-calls.ts';
import { NameScope } from '../scopes/name-scope.ts';
import { sortKey } from '../sort-key.ts';
import { bindFrom } from './from-binder.ts';
import { Grouping } from './grouping.ts';
import { positionNamed, positionOf, positionsByName, requireFewKeys } from './output-order.ts';
import { expressionContext, type QueryContext } from './query-context.ts';
import { type SelectEntry, selectEntries } from './select-list.ts';
import { conjunctsOf } from './routing.ts';
import { bindWhere, withPredicate } from './where-binder.ts';

/**
 * Binds a SELECT, with the order of the query that it is in: the order may use columns that are not in the answer.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindSelect(
  node: SelectNode,
  orderBy: readonly SortItem[],
  context: QueryContext,
): BoundQuery {
  const { binding } = context;
  binding.countSelect(node.span);
  const from = bindFrom(node.from, context);
  const scope = new NameScope(from.relations, context.outer);
  const conjuncts = node.where === undefined ? [] : conjunctsOf(node.where);
  const input = withPredicate(from.plan, bindWhere(from.relations, conjuncts, scope, context));
  const entries = selectEntries(node, scope, context);
  return new SelectBinder(node, entries, scope, context).bind(input, orderBy);
}

/** A column of the answer while the SELECT is bound. */
interface Item {
  readonly name: string;
  readonly expression: BoundExpression;
}

/** A key of an order with what it was written as. */
interface WrittenSort {
  readonly item: SortItem;
  readonly key: BoundSort;
}

/** One SELECT while it is bound: what is behind FROM and WHERE. */
class SelectBinder {
  readonly #node: SelectNode;
  readonly #entries: readonly SelectEntry[];
  readonly #names: ReadonlyMap<string, readonly number[]>;
  readonly #scope: NameScope;
  readonly #context: QueryContext;

  constructor(node: SelectNode, entries: readonly SelectEntry[], scope: NameScope, context: QueryContext) {
    this.#node = node;
    this.#entries = entries;
    this.#names = positionsByName(entries);
    this.#scope = scope;
    this.#context = context;
  }

  bind(input: LogicalPlan, orderBy: readonly SortItem[]): BoundQuery {
    const node = this.#node;
    const { binding, typing } = this.#context;
    requireFewKeys('ORDER BY', orderBy, binding);
    const keys = this.#groupKeys();
    const aggregates = new AggregateCalls(binding.newRelation(), keys.length, binding.numbers);
    const windows = new WindowCalls(binding.newRelation());
    const allowed = { aggregates, windows };
    const list = expressionContext(this.#context, this.#scope, 'SELECT list', allowed);
    const raw = this.#entries.map((entry) => entry.bind(list));
    const having = this.#having(aggregates);
    const order = orderBy.map((item) => ({
      item,
      raw: this.#orderExpression(item.expression, 'ORDER BY', raw, allowed),
    }));
    const on = this.#distinctOn().map((expression) => ({
      expression,
      raw: this.#orderExpression(expression, 'DISTINCT ON', raw, allowed),
    }));
    const grouping =
      keys.length > 0 || having !== undefined || aggregates.aggregates.length > 0
        ? new Grouping(keys, aggregates, windows.relation, this.#scope, this.#context)
        : undefined;
    const above = (expression: BoundExpression, place: Expression | undefined): BoundExpression =>
      grouping?.above(expression, place?.span ?? node.span) ?? expression;
    const items = raw.map((expression, index) => ({
      name: this.#entries[index]!.name,
      expression: above(expression, this.#entries[index]!.node),
    }));
    const sort = this.#firstOfEach(order).map(({ item, raw: key }) => ({
      item,
      key: sortKey(item, typing.settled(above(key, item.expression), item.expression.span)),
    }));
    let plan = grouping?.planOver(input) ?? input;
    if (having !== undefined) plan = { kind: 'filter', input: plan, predicate: above(having, node.having) };
    plan = this.#windowed(plan, windows, grouping);
    if (node.distinct === 'all') return this.#distinct(plan, items, sort);
    if (sort.length > 0) plan = { kind: 'sort', input: plan, keys: sort.map(({ key }) => key) };
    if (node.distinct !== undefined) {
      const leading = this.#firstOfEach(on).map(({ expression, raw: key }) => above(key, expression));
      this.#requireLeading(leading, sort);
      plan = { kind: 'distinct', input: plan, on: leading };
    }
    return { plan, output: items };
  }

  /** Each expression once: a repeated key decides nothing, and a short number may stand for a long expression. */
  #firstOfEach<T extends { readonly raw: BoundExpression }>(keys: readonly T[]): readonly T[] {
    const { numbers } = this.#context.binding;
    const known = new Set<number>();
    return keys.filter(({ raw }) => {
      const number = numbers.of(raw);
      if (known.has(number)) return false;
      known.add(number);
      return true;
    });
  }

  /** The expressions of GROUP BY: numbers and names of the select list stand for its expressions. */
  #groupKeys(): readonly BoundExpression[] {
    const { binding, typing } = this.#context;
    const { groupBy } = this.#node;
    requireFewKeys('GROUP BY', groupBy, binding);
    const context = expressionContext(this.#context, this.#scope, 'GROUP BY clause');
    const keys = new Map<number, BoundExpression>();
    // Bound once each, however often a number stands for it.
    const entries = new Map<number, BoundExpression>();
    const entryAt = (position: number): BoundExpression => {
      const known = entries.get(position) ?? this.#entries[position]!.bind(context);
      entries.set(position, known);
      return known;
    };
    const same = (a: number, b: number): boolean => this.#entries[a] === this.#entries[b];
    for (const node of groupBy) {
      const isColumn =
        node.kind === 'column' &&
        node.table === undefined &&
        this.#scope.find(undefined, node.name) !== undefined;
      const position =
        positionOf(node, 'GROUP BY', this.#entries.length, binding) ??
        (isColumn ? undefined : positionNamed(node, this.#names, same, binding));
      const bound = position === undefined ? context.bind(node, context) : entryAt(position);
      const key = typing.settled(bound, node.span);
      keys.set(binding.numbers.of(key), key);
    }
    return [...keys.values()];
  }

  #having(aggregates: AggregateCalls): BoundExpression | undefined {
    const { having } = this.#node;
    if (having === undefined) return undefined;
    const context = expressionContext(this.#context, this.#scope, 'HAVING clause', { aggregates });
    return this.#context.typing.condition(context.bind(having, context), 'HAVING', having.span);
  }

  /** An expression of ORDER BY or DISTINCT ON: numbers and names of the select list come before columns. */
  #orderExpression(
    node: Expression,
    clause: string,
    items: readonly BoundExpression[],
    allowed: { readonly aggregates: AggregateCalls; readonly windows: WindowCalls },
  ): BoundExpression {
    const { binding } = this.#context;
    const same = (a: number, b: number): boolean =>
      binding.numbers.of(items[a]!) === binding.numbers.of(items[b]!);
    const position =
      positionOf(node, clause, items.length, binding) ?? positionNamed(node, this.#names, same, binding);
    if (position !== undefined) return items[position]!;
    const context = expressionContext(this.#context, this.#scope, `${clause} clause`, allowed);
    return context.bind(node, context);
  }

  #distinctOn(): readonly Expression[] {
    const { distinct } = this.#node;
    if (distinct === undefined || distinct === 'all') return [];
    requireFewKeys('DISTINCT ON', distinct, this.#context.binding);
    return distinct;
  }

  #windowed(
    plan: LogicalPlan,
    { windows, relation }: WindowCalls,
    grouping: Grouping | undefined,
  ): LogicalPlan {
    if (windows.length === 0) return plan;
    const bound = grouping === undefined ? windows : windows.map((window) => grouping.window(window));
    const columns = bound.map(({ type }, index) => ({ name: `window${index + 1}`, type }));
    return { kind: 'window', relation, columns, input: plan, windows: bound };
  }

  /** `SELECT DISTINCT`: the columns become a relation first, because only they decide what is equal. */
  #distinct(input: LogicalPlan, items: readonly Item[], sort: readonly WrittenSort[]): BoundQuery {
    const { binding, typing } = this.#context;
    const relation = binding.newRelation();
    const expressions = items.map(({ expression }) => typing.settled(expression, this.#node.span));
    const output: OutputColumn[] = items.map(({ name }, column) => ({
      name,
      expression: { kind: 'column', type: expressions[column]!.type, relation, column },
    }));
    const positions = new Map(
      expressions.map((expression, index) => [binding.numbers.of(expression), index] as const).reverse(),
    );
    const keys = sort.map(({ item, key }) => {
      const position = positions.get(binding.numbers.of(key.expression));
      if (position !== undefined) return { ...key, expression: output[position]!.expression };
      const text = 'For SELECT DISTINCT, ORDER BY expressions must appear in the select list';
      throw binding.error(text, item.expression.span);
    });
    const columns = output.map(({ name, expression }) => ({ name, type: expression.type }));
    const project: LogicalPlan = { kind: 'project', relation, columns, input, expressions };
    const distinct: LogicalPlan = { kind: 'distinct', input: project, on: undefined };
    return { plan: keys.length === 0 ? distinct : { kind: 'sort', input: distinct, keys }, output };
  }

  /** The order has to begin with what is distinct, so that the first row of each group is known. */
  #requireLeading(on: readonly BoundExpression[], sort: readonly WrittenSort[]): void {
    const { binding } = this.#context;
    const missing = new Set(on.map((expression) => binding.numbers.of(expression)));
    for (const { item, key } of sort) {
      if (missing.size === 0) return;
      if (!missing.delete(binding.numbers.of(key.expression)))
        throw binding.error('DISTINCT ON expressions must lead ORDER BY', item.expression.span);
    }
  }
}
