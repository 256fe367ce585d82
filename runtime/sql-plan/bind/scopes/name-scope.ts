import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { BoundColumn, NodesPlan, RelationColumn, SchemaPlan } from '../../bound/bound-statement.ts';
import type { StatementBinding } from '../statement-binding.ts';
import { propertyHint, suggestion, textHint } from './name-suggestions.ts';

/** What a WHERE clause says about how a table is read; it is known only after the plan for the table was made. */
export type RoutedTable =
  | {
      -readonly [Key in keyof NodesPlan]: NodesPlan[Key];
    }
  | {
      -readonly [Key in keyof SchemaPlan]: SchemaPlan[Key];
    };

/** A column of a relation as a statement may name it. */
export interface NamedColumn {
  readonly name: string;
  readonly type: SqlType;
  readonly relation: number;
  readonly column: number;
}

/** An entry of FROM. */
export interface NamedRelation {
  /** Its alias, or its name. */
  readonly name: string;
  readonly columns: readonly NamedColumn[];
  /** Whether it is a workspace, also one that does not exist. */
  readonly isWorkspace: boolean;
  /** Of a workspace or a table of the schema. */
  readonly table: RoutedTable | undefined;
  /** Whether an outer join may give NULLs in the place of its rows. */
  readonly isNullExtended: boolean;
}

/** Second names of columns of a workspace. */
const columnAliases: ReadonlyMap<string, string> = new Map([
  ['__id', 'id'],
  ['__path', 'path'],
  ['__node_type', 'node_type'],
  ['__created_at', 'created_at'],
  ['__updated_at', 'updated_at'],
]);

/** The name of a column of a workspace where a second name of it may be written. */
export function plainColumnName(name: string): string {
  return columnAliases.get(name) ?? name;
}

/** The columns of a relation as a statement may name them; the first ones may be renamed. */
export function namedColumns(
  relation: number,
  columns: readonly RelationColumn[],
  names: readonly string[],
): readonly NamedColumn[] {
  return columns.map(({ name, type }, column) => ({ name: names[column] ?? name, type, relation, column }));
}

/** The names that expressions of a query may use: the columns of the relations of its FROM clause. */
export class NameScope {
  readonly relations: readonly NamedRelation[];
  /** The scopes around this query, from the inside to the outside. They cannot be used: they only make better messages. */
  readonly outer: readonly NameScope[];
  #byName: Map<string, NamedColumn | 'ambiguous'> | undefined;

  constructor(relations: readonly NamedRelation[], outer: readonly NameScope[]) {
    this.relations = relations;
    this.outer = outer;
  }

  /** Of what a subquery in this scope is surrounded. */
  get aroundSubquery(): readonly NameScope[] {
    return [this, ...this.outer];
  }

  /** The relation of a name, if there is one. */
  relation(name: string): NamedRelation | undefined {
    return this.relations.find((relation) => relation.name === name);
  }

  /** The name of a column of this scope. */
  nameOf({ relation, column }: BoundColumn): string {
    const found = this.relations.flatMap(({ columns }) =>
      columns.filter((entry) => entry.relation === relation && entry.column === column),
    );
    return found[0]?.name ?? '';
  }

  /** The column of a name; undefined: there is none. */
  find(table: string | undefined, name: string): NamedColumn | 'ambiguous' | undefined {
    if (table === undefined) {
      const plain = columnAliases.get(name);
      return this.#named(name) ?? (plain === undefined ? undefined : this.#aliased(plain));
    }
    const relation = this.relation(table);
    if (relation === undefined) return undefined;
    const plain = relation.isWorkspace || relation.table !== undefined ? columnAliases.get(name) : undefined;
    const found = relation.columns.filter((column) => column.name === name);
    if (found.length === 0 && plain !== undefined)
      return relation.columns.find((column) => column.name === plain);
    return found.length > 1 ? 'ambiguous' : found[0];
  }

  #named(name: string): NamedColumn | 'ambiguous' | undefined {
    if (this.#byName === undefined) {
      this.#byName = new Map();
      for (const column of this.relations.flatMap(({ columns }) => columns))
        this.#byName.set(column.name, this.#byName.has(column.name) ? 'ambiguous' : column);
    }
    return this.#byName.get(name);
  }

  /** A column by its second name, which only tables have. */
  #aliased(plain: string): NamedColumn | 'ambiguous' | undefined {
    const found = this.relations
      .filter(({ isWorkspace, table }) => isWorkspace || table !== undefined)
      .flatMap(({ columns }) => columns.filter(({ name }) => name === plain));
    return found.length > 1 ? 'ambiguous' : found[0];
  }

  /**
   * The column that a name means.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for a name without a column, with several, or with one of a query around this
   */
  column(binding: StatementBinding, table: string | undefined, name: string, span: Span): BoundColumn {
    const full = table === undefined ? name : `${table}.${name}`;
    const found = this.find(table, name);
    if (found === 'ambiguous') throw binding.error(`Ambiguous column reference: ${full}`, span);
    if (found === undefined) {
      const source = binding.textOf(span);
      throw binding.error(this.#missing(full, table, name, source), span);
    }
    return columnOf(binding, found, full, span);
  }

  #missing(full: string, table: string | undefined, name: string, source: string): string {
    // A name of this query is meant before one of a query around it, even if it is misspelt.
    if (table === undefined || this.relation(table) === undefined) {
      if (this.outer.some((scope) => scope.find(table, name) !== undefined))
        return `Subqueries cannot refer to the outer query: ${full} is a column of it`;
    }
    if (table === undefined) {
      const names = this.relations.flatMap(({ columns }) => columns.map((column) => column.name));
      const ofWorkspace = this.relations.some(({ isWorkspace }) => isWorkspace);
      return `Column not found: ${full}${suggestion(name, names) || hint(name, source, ofWorkspace)}`;
    }
    const relation = this.relation(table);
    if (relation !== undefined) {
      const names = relation.columns.map((column) => column.name);
      const similar = suggestion(name, names) || hint(name, '', relation.isWorkspace);
      return `Column not found: ${full}${similar}`;
    }
    const tables = this.relations.map((entry) => entry.name);
    const similar = suggestion(table, tables);
    return `Column not found: ${full}${similar === '' ? `. FROM has no table ${table}` : similar}`;
  }
}

/** What else may be meant by a name that no column has. */
function hint(name: string, source: string, isOfWorkspace: boolean): string {
  if (isOfWorkspace) return propertyHint(name, source);
  return source.startsWith('"') ? textHint(name) : '';
}

/** An expression for a column; it remembers where it was written. */
export function columnOf(
  binding: StatementBinding,
  { type, relation, column }: NamedColumn,
  name: string,
  span: Span,
): BoundColumn {
  const bound: BoundColumn = { kind: 'column', type, relation, column };
  binding.remember(bound, { name, span });
  return bound;
}
