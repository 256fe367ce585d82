import { allFields, type FieldFilter } from '#runtime/access/field-filter.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { decodeRevision, formatRevision } from '#runtime/content/revision.ts';
import { Jsonb, StoredJson } from '#runtime/sql-values/sql-value.ts';
import type { TextColumn } from '#runtime/tree/record/record-layout.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import type { WantedText } from '#runtime/tree/record/wanted-text.ts';
import type { NodeValues, PropertyKey } from './node-values.ts';

/** The node that a scan looks at where it is stored. One instance is moved from row to row. */
export class StoredValues implements NodeValues {
  readonly #budget: RequestBudget;
  #view = new RecordView();
  #shown: FieldFilter = allFields;

  /** @param budget counts the work of reading what was left a text */
  constructor(budget: RequestBudget) {
    this.#budget = budget;
  }

  /** Moves to a row. @param shown the properties that the caller may read */
  point(view: RecordView, shown: FieldFilter): void {
    this.#view = view;
    this.#shown = shown;
  }

  text(column: TextColumn): string | null {
    return this.#view.column(column);
  }

  hasText(column: TextColumn, expected: WantedText): boolean {
    return this.#view.columnEquals(column, expected);
  }

  version(): number {
    return this.#view.version();
  }

  revision(): string {
    return formatRevision(decodeRevision(this.#view.sinceKey(), 0));
  }

  get searchedBytes(): number {
    return this.#view.length;
  }

  /** All properties: of a node of which none is hidden. */
  properties(): Jsonb {
    return new Jsonb(new StoredJson(this.#view.propertiesText, this.#budget));
  }

  property({ name, wanted }: PropertyKey): JsonValue | undefined {
    return this.#shown.has(name) ? this.#view.property(wanted) : undefined;
  }

  number({ name, wanted }: PropertyKey): number | undefined {
    return this.#shown.has(name) ? this.#view.propertyNumber(wanted) : undefined;
  }

  isText({ name, wanted }: PropertyKey, expected: WantedText): boolean | undefined {
    return this.#shown.has(name) ? this.#view.propertyEquals(wanted, expected) : undefined;
  }
}
