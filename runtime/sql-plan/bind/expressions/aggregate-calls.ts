import type { BoundAggregate, BoundColumn } from '../../bound/bound-statement.ts';
import type { ExpressionNumbers } from '../expression-walk.ts';

/** The aggregates of a query while it is bound. They are columns of the relation of its groups, behind the keys. */
export class AggregateCalls {
  readonly aggregates: BoundAggregate[] = [];
  readonly relation: number;
  readonly #keys: number;
  readonly #numbers: ExpressionNumbers;
  readonly #columns = new Map<string, BoundColumn>();

  /** @param relation number of the relation of the groups @param keys how many keys they have */
  constructor(relation: number, keys: number, numbers: ExpressionNumbers) {
    this.relation = relation;
    this.#keys = keys;
    this.#numbers = numbers;
  }

  /** The column for an aggregate; equal ones have the same column. */
  column(aggregate: BoundAggregate): BoundColumn {
    const numbers = this.#numbers;
    const args = aggregate.args.map((argument) => `${argument.type.name} ${numbers.of(argument)}`);
    const order = aggregate.orderBy.map(
      (key) => `${numbers.of(key.expression)} ${key.isDescending} ${key.nullsFirst}`,
    );
    const filter = aggregate.filter === undefined ? '' : numbers.of(aggregate.filter);
    const text = [aggregate.function.name, aggregate.isDistinct, args, order, filter].join(';');
    const known = this.#columns.get(text);
    if (known !== undefined) return known;
    const column: BoundColumn = {
      kind: 'column',
      type: aggregate.function.result,
      relation: this.relation,
      column: this.#keys + this.aggregates.length,
    };
    this.aggregates.push(aggregate);
    this.#columns.set(text, column);
    return column;
  }
}
