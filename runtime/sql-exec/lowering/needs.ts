import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import { slotName } from './layout.ts';
import { type PropertyAccess, propertyAccess } from './property-access.ts';

/**
 * What is read of each relation. Lowering goes from the top down, and adds the expressions of a plan before it lowers what is
 * below it: so at a relation everything is known that is read of it.
 */
export class Needs {
  readonly #columns = new Map<number, Set<number>>();
  readonly #properties = new Map<number, Map<string, PropertyAccess>>();

  add(expressions: readonly BoundExpression[]): void {
    const rest = [...expressions].reverse();
    for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
      const access = propertyAccess(part);
      if (access !== undefined) this.#addProperty(access);
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
  propertiesOf(relation: number): readonly PropertyAccess[] {
    const columns = this.#columns.get(relation);
    const properties = [...(this.#properties.get(relation)?.values() ?? [])];
    return properties.filter(({ column }) => columns?.has(column.column) !== true);
  }

  /** Columns of a relation that are read as a whole or in part, for what cannot give properties; ascending. */
  allColumnsOf(relation: number): readonly number[] {
    for (const { column } of this.propertiesOf(relation)) this.addColumn(relation, column.column);
    return this.columnsOf(relation);
  }

  #addProperty(access: PropertyAccess): void {
    const { relation } = access.column;
    const name = slotName(access.call)!;
    const properties = this.#properties.get(relation);
    if (properties === undefined) this.#properties.set(relation, new Map([[name, access]]));
    else properties.set(name, access);
  }
}
