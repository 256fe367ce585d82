import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import { numberSlot, slotName } from './layout.ts';
import { numberAccess, type PropertyAccess, propertyAccess } from './property-access.ts';

/** A property that is read by itself. */
export interface NeededProperty extends PropertyAccess {
  /** The name of its slot. */
  readonly slot: string;
  /** Whether only casts to numbers read the slot: it may have a number in place of its text. */
  readonly isNumber: boolean;
}

/**
 * What is read of each relation. Lowering goes from the top down, and adds the expressions of a plan before it lowers what is
 * below it: so at a relation everything is known that is read of it.
 */
export class Needs {
  readonly #columns = new Map<number, Set<number>>();
  readonly #properties = new Map<number, Map<string, NeededProperty>>();

  add(expressions: readonly BoundExpression[]): void {
    const rest = [...expressions].reverse();
    for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
      const number = numberAccess(part);
      const access = propertyAccess(part);
      if (number !== undefined) this.#addProperty(number, true);
      else if (access !== undefined) this.#addProperty(access, false);
      else if (part.kind === 'column') this.addColumn(part.relation, part.column);
      else for (const inner of partsOf(part)) rest.push(inner);
    }
  }

  addColumn(relation: number, column: number): void {
    const columns = this.#columns.get(relation);
    if (columns === undefined) this.#columns.set(relation, new Set([column]));
    else columns.add(column);
  }

  /** Columns of a relation that are read as a whole, ascending. */
  columnsOf(relation: number): readonly number[] {
    return [...(this.#columns.get(relation) ?? [])].sort((a, b) => a - b);
  }

  /** Properties of columns of a relation that are not read as a whole. */
  propertiesOf(relation: number): readonly NeededProperty[] {
    const columns = this.#columns.get(relation);
    const properties = [...(this.#properties.get(relation)?.values() ?? [])];
    return properties.filter(({ column }) => columns?.has(column.column) !== true);
  }

  /** Columns of a relation that are read as a whole or in part, for what cannot give properties; ascending. */
  allColumnsOf(relation: number): readonly number[] {
    for (const { column } of this.propertiesOf(relation)) this.addColumn(relation, column.column);
    return this.columnsOf(relation);
  }

  #addProperty(access: PropertyAccess, isNumber: boolean): void {
    const { relation } = access.column;
    const slot = isNumber ? numberSlot(access) : (slotName(access.call) as string);
    const needed = { ...access, slot, isNumber };
    const properties = this.#properties.get(relation);
    if (properties === undefined) this.#properties.set(relation, new Map([[slot, needed]]));
    else properties.set(slot, needed);
  }
}
