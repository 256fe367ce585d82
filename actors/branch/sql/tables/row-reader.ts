import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import { compileNumberCast, isNumberCast } from '#runtime/sql-exec/expressions/number-cast.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { WantedColumn } from '#runtime/sql-exec/ports.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type { BoundCall, BoundExpression, NodesPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { NodeRow, RowNeeds } from './node-row.ts';
import {
  isPrepared,
  type NodeValues,
  type PreparedColumn,
  preparedColumn,
  PropertyKey,
  storedColumn,
  textColumns,
  type TableFacts,
} from './node-values.ts';
import type { StoredValues } from './stored-values.ts';
import { propertyAsText } from './property-text.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';
import { columnNamed, constantText, propertyOf } from './known-conditions.ts';

/** Estimated nanoseconds of reading a property, and for each byte of a record in which it is looked for and parsed. */
const PROPERTY_WORK = 500;
const SEARCHED_BYTE_WORK = 0.5;

/** Estimated nanoseconds of reading a property that is a number, and of comparing one that is a text. */
const NUMBER_WORK = 200;
const TEXT_WORK = 200;

/** What conditions and wanted columns of a table read. */
export class RowReader {
  readonly #table: NodesPlan;
  readonly #facts: TableFacts;
  readonly #execution: Execution;
  readonly #targetOf: (call: BoundCall) => string | undefined;
  readonly #knownOrder: (row: NodeValues) => string | undefined;
  readonly #keys = new Map<string, PropertyKey>();

  /**
   * @param targetOf the target of a call of `REFERENCES`; undefined: none that the caller may see
   * @param knownOrder the value of `__tree_order` of a row in place; undefined: it has to be looked up. Default: of none it is known
   */
  constructor(
    table: NodesPlan,
    facts: TableFacts,
    execution: Execution,
    targetOf: (call: BoundCall) => string | undefined,
    knownOrder: (row: NodeValues) => string | undefined = () => undefined,
  ) {
    this.#table = table;
    this.#knownOrder = knownOrder;
    this.#facts = facts;
    this.#execution = execution;
    this.#targetOf = targetOf;
  }

  /** What an expression needs of a row. */
  needsOf(expressions: readonly BoundExpression[], wanted: readonly WantedColumn[] = []): RowNeeds {
    const needs = new Needs(this.#table.relation, this.#targetOf);
    for (const each of expressions) needs.add(each);
    for (const each of wanted) needs.want(each);
    return needs;
  }

  /**
   * Whether a condition can be evaluated where a node is stored.
   *
   * @param isOneLocale whether the row is the node in the default language
   */
  isInPlace(condition: BoundExpression, isOneLocale: boolean): boolean {
    const { columns, isOfProperties, targets } = this.needsOf([condition]);
    if (!isOneLocale && (isOfProperties || columns.has('locale'))) return false;
    return targets.size === 0 && [...columns].every((column) => column === 'locale');
  }

  /** Compiles a condition for rows where they are stored, see {@link isInPlace}. */
  inPlace(condition: BoundExpression, locale: string): Evaluate<NodeValues> {
    return compileExpression<NodeValues>(
      condition,
      (expression) =>
        this.#stored(expression) ?? (this.#columnOf(expression) === 'locale' ? () => locale : undefined),
      this.#execution,
    );
  }

  /** Compiles a condition for rows that were prepared for it. */
  condition(condition: BoundExpression): Evaluate<NodeRow> {
    return compileExpression<NodeRow>(
      condition,
      (expression) => this.#stored(expression) ?? this.#prepared(expression),
      this.#execution,
    );
  }

  /** Reads a slot of a row that was prepared for it. */
  slot(wanted: WantedColumn): Evaluate<NodeRow> {
    if (wanted.kind === 'property') return this.#wantedProperty(wanted);
    const { name } = nodeColumns[wanted.column] as (typeof nodeColumns)[number];
    return isPrepared(name) ? preparedColumn(name) : storedColumn(name, this.#facts);
  }

  /**
   * Reads slots of a row where its node is stored: of one that has no translations and no relations, where those are wanted.
   *
   * @param locale the only one of the rows
   * @returns undefined: some have to be prepared
   */
  slotsInPlace(
    wanted: readonly WantedColumn[],
    locale: string,
  ): readonly Evaluate<StoredValues>[] | undefined {
    const slots: Evaluate<StoredValues>[] = [];
    for (const each of wanted) {
      if (each.kind === 'property') {
        slots.push(this.#wantedProperty(each));
        continue;
      }
      const { name } = nodeColumns[each.column] as (typeof nodeColumns)[number];
      if (name === 'locale') slots.push(() => locale);
      else if (name === 'properties') slots.push((row) => row.properties());
      else if (name === '__tree_order') slots.push((row) => this.#knownOrder(row) ?? null);
      else if (name === 'translations' || name === 'relations') slots.push(() => null);
      else if (isPrepared(name)) return undefined;
      else slots.push(storedColumn(name, this.#facts));
    }
    return slots;
  }

  /** Whether the value of `__tree_order` of a row in place is known, so that {@link slotsInPlace} can read it. */
  knowsOrder(row: NodeValues): boolean {
    return this.#knownOrder(row) !== undefined;
  }

  #columnOf(expression: BoundExpression): NodeColumn | undefined {
    return columnNamed(expression, this.#table.relation);
  }

  #stored(expression: BoundExpression): Evaluate<NodeValues> | undefined {
    if (isReferences(expression) && this.#targetOf(expression) === undefined) return () => false;
    const property = propertyOf(expression, this.#table.relation);
    if (property !== undefined) return this.#property(property.key, property.isText);
    const equality = this.#equalText(expression);
    if (equality !== undefined) return equality;
    if (isNumberCast(expression)) {
      const cast = propertyOf(expression.args[0] as BoundExpression, this.#table.relation);
      return cast && compileNumberCast(expression, this.#numberOrText(cast.key), this.#execution);
    }
    const column = this.#columnOf(expression);
    return column === undefined || isPrepared(column) ? undefined : storedColumn(column, this.#facts);
  }

  #prepared(expression: BoundExpression): Evaluate<NodeRow> | undefined {
    if (isReferences(expression)) {
      const target = this.#targetOf(expression);
      return target === undefined ? undefined : (row) => row.refersTo(target);
    }
    const column = this.#columnOf(expression);
    return column !== undefined && isPrepared(column) ? preparedColumn(column) : undefined;
  }

  #wantedProperty({
    isNumber,
    isText,
    key,
  }: Extract<WantedColumn, { kind: 'property' }>): Evaluate<NodeValues> {
    return isNumber === true ? this.#numberOrText(key) : this.#property(key, isText);
  }

  #property(name: string, isText: boolean): Evaluate<NodeValues> {
    const key = this.#keyOf(name);
    const read = (row: NodeValues): JsonValue | undefined => {
      this.#execution.spendOnCall(PROPERTY_WORK + row.searchedBytes * SEARCHED_BYTE_WORK);
      return row.property(key);
    };
    return isText ? (row) => propertyAsText(read(row), this.#execution) : (row) => jsonb(read(row));
  }

  /** `properties ->> 'key' = 'text'`, or a column that is never NULL, compared with the stored bytes. @returns undefined: it is something else */
  #equalText(expression: BoundExpression): Evaluate<NodeValues> | undefined {
    if (expression.kind !== 'call' || expression.function.name !== '=') return undefined;
    const [left, right] = expression.args as readonly [BoundExpression, BoundExpression];
    const constant = constantText(right);
    if (constant === undefined || !isPlainJson(constant)) return undefined;
    const expected = new WantedText(constant);
    const name = this.#columnOf(left);
    const column = name && textColumns[name];
    if (column !== undefined) return (row) => row.hasText(column, expected);
    const property = propertyOf(left, this.#table.relation);
    if (property?.isText !== true) return undefined;
    const key = this.#keyOf(property.key);
    const read = this.#property(property.key, true);
    return (row) => {
      this.#execution.spend(TEXT_WORK);
      const isEqual = row.isText(key, expected);
      if (isEqual !== undefined) return isEqual;
      const text = read(row);
      return text === null ? null : text === constant;
    };
  }

  /** The text of a property, or the number of JSON that it is. */
  #numberOrText(name: string): Evaluate<NodeValues> {
    const key = this.#keyOf(name);
    const text = this.#property(name, true);
    return (row) => {
      this.#execution.spend(NUMBER_WORK);
      return row.number(key) ?? text(row);
    };
  }

  #keyOf(name: string): PropertyKey {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = new PropertyKey(name);
      this.#keys.set(name, key);
    }
    return key;
  }
}

/** Whether the JSON of a text is the text between quotes, and that of no other text equals it as SQL compares them. */
function isPlainJson(text: string): boolean {
  // In comparisons half a surrogate pair counts as the replacement character.
  return !text.includes('\ufffd') && JSON.stringify(text) === `"${text}"`;
}

function jsonb(value: JsonValue | undefined): SqlValue {
  return value === undefined ? null : new Jsonb(value);
}

/** Whether an expression is a call of `REFERENCES`, which the table itself has to answer. */
export function isReferences(expression: BoundExpression): expression is BoundCall {
  return expression.kind === 'call' && expression.function.name === 'REFERENCES';
}

/** Collects what expressions read. */
class Needs implements RowNeeds {
  readonly columns = new Set<PreparedColumn>();
  readonly targets = new Set<string>();
  readonly properties = new Set<string>();
  readonly #relation: number;
  readonly #targetOf: (call: BoundCall) => string | undefined;

  constructor(relation: number, targetOf: (call: BoundCall) => string | undefined) {
    this.#relation = relation;
    this.#targetOf = targetOf;
  }

  want(wanted: WantedColumn): void {
    if (wanted.kind === 'property') this.#property(wanted.key);
    else this.#column((nodeColumns[wanted.column] as (typeof nodeColumns)[number]).name);
  }

  add(root: BoundExpression): void {
    const rest = [root];
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      if (isReferences(next)) {
        const target = this.#targetOf(next);
        if (target !== undefined) this.targets.add(target);
        continue;
      }
      const property = propertyOf(next, this.#relation);
      if (property !== undefined) {
        this.#property(property.key);
        continue;
      }
      const column = columnNamed(next, this.#relation);
      if (column !== undefined) this.#column(column);
      else rest.push(...partsOf(next));
    }
  }

  get isOfProperties(): boolean {
    return this.properties.size > 0 || this.columns.has('properties');
  }

  #property(name: string): void {
    this.properties.add(name);
  }

  #column(column: NodeColumn): void {
    if (isPrepared(column)) this.columns.add(column);
  }
}

/** The text of a call of `REFERENCES`. */
export function referenceText(call: BoundCall): string | undefined {
  return constantText(call.args.at(-1));
}
