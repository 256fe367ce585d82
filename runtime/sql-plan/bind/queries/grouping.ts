import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type {
  BoundAggregate,
  BoundExpression,
  BoundSort,
  BoundWindow,
  LogicalPlan,
} from '../../bound/bound-statement.ts';
import type { AggregateCalls } from '../expressions/aggregate-calls.ts';
import { rewriteExpression } from '../expression-walk.ts';
import type { NameScope } from '../scopes/name-scope.ts';
import type { QueryContext } from './query-context.ts';

/** The groups of a SELECT: what is computed above them may use their keys and aggregates, and nothing else of the rows. */
export class Grouping {
  readonly #keys: readonly BoundExpression[];
  readonly #positions: ReadonlyMap<number, number>;
  readonly #calls: AggregateCalls;
  readonly #windows: number;
  readonly #scope: NameScope;
  readonly #context: QueryContext;

  /** @param windows number of the relation of the windows, whose columns exist above the groups too */
  constructor(
    keys: readonly BoundExpression[],
    calls: AggregateCalls,
    windows: number,
    scope: NameScope,
    context: QueryContext,
  ) {
    const { numbers } = context.binding;
    this.#keys = keys;
    this.#positions = new Map(keys.map((key, index) => [numbers.of(key), index]));
    this.#calls = calls;
    this.#windows = windows;
    this.#scope = scope;
    this.#context = context;
  }

  /**
   * An expression over the rows as one over the groups: keys become their columns.
   *
   * @param span where it was written
   * @throws {ServiceError} `VALIDATION_FAILED` for a column that is neither in a key nor in an aggregate
   */
  above(expression: BoundExpression, span: Span): BoundExpression {
    const { binding } = this.#context;
    const { relation } = this.#calls;
    return rewriteExpression(expression, (part) => {
      const position = this.#positions.get(binding.numbers.of(part));
      if (position !== undefined) return { kind: 'column', type: part.type, relation, column: position };
      if (part.kind !== 'column') return undefined;
      if (part.relation === relation || part.relation === this.#windows) return part;
      const origin = binding.originOf(part);
      const name = origin?.name ?? this.#scope.nameOf(part);
      const text = `Column ${name} must appear in GROUP BY or be used in an aggregate function`;
      throw binding.error(text, origin?.span ?? span);
    });
  }

  /** A window over the groups. */
  window(window: BoundWindow): BoundWindow {
    const { span } = emptySpan;
    const above = (expression: BoundExpression): BoundExpression => this.above(expression, span);
    const sorted = (keys: readonly BoundSort[]): readonly BoundSort[] =>
      keys.map((key) => ({ ...key, expression: above(key.expression) }));
    const aggregated = (aggregate: BoundAggregate): BoundAggregate => ({
      ...aggregate,
      args: aggregate.args.map(above),
      orderBy: sorted(aggregate.orderBy),
      filter: aggregate.filter === undefined ? undefined : above(aggregate.filter),
    });
    const called = window.function;
    return {
      ...window,
      function:
        called.kind === 'window'
          ? { ...called, args: called.args.map(above) }
          : { kind: 'aggregate', aggregate: aggregated(called.aggregate) },
      partitionBy: window.partitionBy.map(above),
      orderBy: sorted(window.orderBy),
    };
  }

  /** The plan for the groups of rows. */
  planOver(input: LogicalPlan): LogicalPlan {
    const { relation, aggregates } = this.#calls;
    const keys = this.#keys.map((key, index) => ({
      name: this.#context.binding.originOf(key)?.name ?? `key${index + 1}`,
      type: key.type,
    }));
    const results = aggregates.map((aggregate) => ({
      name: aggregate.function.name.toLowerCase(),
      type: aggregate.function.result,
    }));
    return {
      kind: 'aggregate',
      relation,
      columns: [...keys, ...results],
      input,
      keys: this.#keys,
      aggregates,
    };
  }
}

/** For columns that remember their own place, as all that a statement names do. */
const emptySpan = { span: { start: 0, end: 0 } } as const;
