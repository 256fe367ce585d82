import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { wantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column, type TextColumn } from '#runtime/tree/record/record-layout.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import type { FilteredNode } from './dsl-row.ts';

/** The node of a row that a scan looks at where it is stored, as input of a filter. */
export class StoredRow implements FilteredNode {
  readonly #view: RecordView;

  constructor(view: RecordView) {
    this.#view = view;
  }

  get id(): string {
    return this.#text(Column.id);
  }

  get name(): string {
    return this.#text(Column.name);
  }

  get path(): string {
    return this.#text(Column.path);
  }

  get nodeType(): string {
    return this.#text(Column.nodeType);
  }

  get archetype(): string | null {
    return this.#view.column(Column.archetype);
  }

  get version(): number {
    return this.#view.version();
  }

  get orderKey(): string {
    return this.#text(Column.orderKey);
  }

  get ownerId(): string | null {
    return this.#view.column(Column.ownerId);
  }

  get createdAt(): string {
    return this.#text(Column.createdAt);
  }

  get createdBy(): string {
    return this.#text(Column.createdBy);
  }

  get updatedAt(): string {
    return this.#text(Column.updatedAt);
  }

  get updatedBy(): string {
    return this.#text(Column.updatedBy);
  }

  get publishedAt(): string | null {
    return this.#view.column(Column.publishedAt);
  }

  get publishedBy(): string | null {
    return this.#view.column(Column.publishedBy);
  }

  property(name: string): JsonValue | undefined {
    return this.#view.property(wantedProperty(name));
  }

  #text(column: TextColumn): string {
    return this.#view.column(column) as string;
  }
}
