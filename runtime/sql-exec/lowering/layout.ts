import { assert } from '#runtime/base/assert.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { numberAccess, type PropertyAccess, propertyAccess } from './property-access.ts';

/** The name of a slot that has a column of a relation. */
export function columnSlot(relation: number, column: number): string {
  return `${relation}.${column}`;
}

/** The name of the slot that has what an expression reads; undefined: it is computed. */
export function slotName(expression: BoundExpression): string | undefined {
  if (expression.kind === 'column') return columnSlot(expression.relation, expression.column);
  const access = propertyAccess(expression);
  if (access === undefined) return undefined;
  const { column, key, isText } = access;
  return `${columnSlot(column.relation, column.column)}${isText ? '->>' : '->'}${key}`;
}

/** The name of the slot of a property that only casts to numbers read: it has its text, or the number of JSON instead. */
export function numberSlot({ column, key }: PropertyAccess): string {
  return `${columnSlot(column.relation, column.column)}=>${key}`;
}

/** Which slot of the rows of an operator has which column. */
export class Layout {
  readonly names: readonly string[];
  readonly #slots: ReadonlyMap<string, number>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#slots = new Map(names.map((name, slot) => [name, slot]));
  }

  get width(): number {
    return this.names.length;
  }

  /** The slot that an expression is read from; undefined: none has it. */
  slotOf(expression: BoundExpression): number | undefined {
    const name = slotName(expression);
    return name === undefined ? undefined : this.#slots.get(name);
  }

  /** The slot of a column of a relation; undefined: none has it. */
  slotOfColumn(relation: number, column: number): number | undefined {
    return this.#slots.get(columnSlot(relation, column));
  }

  /** The slot from which a cast to a number is made, see {@link numberSlot}; undefined: there is none. */
  numberSlotOf(expression: BoundExpression): number | undefined {
    const access = numberAccess(expression);
    return access === undefined ? undefined : this.#slots.get(numberSlot(access));
  }

  /** The slots of this layout, then others. */
  with(names: readonly string[]): Layout {
    return new Layout([...this.names, ...names]);
  }

  /** The slot of a column, which must be there. */
  columnSlot(relation: number, column: number): number {
    const slot = this.#slots.get(columnSlot(relation, column));
    assert(slot !== undefined, 'a plan does not give a column that is needed above it');
    return slot;
  }
}
