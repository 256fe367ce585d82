import type { FieldFilter } from '#runtime/access/field-filter.ts';
import { type JsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { eachReference } from '#runtime/content/values/references.ts';
import { translationsWithin } from '#runtime/content/translations/shown-translations.ts';
import { applyTranslations, translationsField } from '#runtime/content/translations/translation.ts';
import { assert } from '#runtime/base/assert.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { TextColumn } from '#runtime/tree/record/record-layout.ts';
import type { WantedText } from '#runtime/tree/record/wanted-text.ts';
import { type SeesNode, shownRelations } from '#runtime/tree/shown-relations.ts';
import { shownProperties } from '../../reads/shown-node.ts';
import type { PreparedColumn, PreparedValues, PropertyKey } from './node-values.ts';

/** What has to be prepared before a row is looked at. */
export interface RowNeeds {
  readonly columns: ReadonlySet<PreparedColumn>;
  /** Names of properties that are read by themselves. */
  readonly properties: ReadonlySet<string>;
  /** Whether properties are read at all. */
  readonly isOfProperties: boolean;
  /** Targets of `REFERENCES`: `workspace:id`. */
  readonly targets: ReadonlySet<string>;
}

/** What rows of a table are prepared with. */
export interface RowMeans {
  readonly workspace: string;
  readonly sees: SeesNode;
  /** The text of `__tree_order` of a node. */
  treeOrder(record: NodeRecord): Generator<undefined, string>;
}

/** A node that was read, as a row in a locale. What takes long to decode is prepared in steps before it is read. */
export class NodeRow implements PreparedValues {
  readonly locale: string;
  readonly #record: NodeRecord;
  readonly #shown: FieldFilter;
  readonly #chain: readonly string[];
  #properties: JsonObject | undefined;
  #translations: JsonValue | undefined;
  #relations: JsonValue | undefined;
  #treeOrder: string | undefined;
  #targets: ReadonlySet<string> | undefined;

  /**
   * @param shown the properties that the caller may read
   * @param chain the locales whose values are shown, most specific first; empty: those that are stored
   */
  constructor(record: NodeRecord, shown: FieldFilter, locale: string, chain: readonly string[]) {
    this.#record = record;
    this.#shown = shown;
    this.locale = locale;
    this.#chain = chain;
  }

  /** Makes what is needed readable. Yields where the work may pause; what it reads is of one state. */
  *prepare(means: RowMeans, { columns, isOfProperties, targets }: RowNeeds): Generator<undefined, void> {
    const record = this.#record;
    const isDecoded = columns.has('properties') || (isOfProperties && (record.isLarge || this.#isTranslated));
    if (isDecoded) this.#properties ??= yield* this.#shownProperties();
    if (targets.size > 0) this.#targets ??= yield* this.#referencedTargets(means.workspace);
    if (columns.has('translations') && this.#translations === undefined) {
      const stored = record.hasTranslations ? this.#shownTranslations() : null;
      this.#translations = stored === null ? null : translationsField(stored);
    }
    if (columns.has('relations') && this.#relations === undefined)
      this.#relations = yield* shownRelationsOf(record, means.sees);
    if (columns.has('__tree_order')) this.#treeOrder ??= yield* means.treeOrder(record);
  }

  text(column: TextColumn): string | null {
    return this.#record.column(column);
  }

  hasText(column: TextColumn, { text }: WantedText): boolean {
    return this.#record.column(column) === text;
  }

  version(): number {
    return this.#record.version;
  }

  revision(): string {
    return this.#record.revision;
  }

  get searchedBytes(): number {
    return this.#properties === undefined ? this.#record.bytes.length : 0;
  }

  property({ name }: PropertyKey): JsonValue | undefined {
    if (this.#properties !== undefined) return ownValue(this.#properties, name);
    return this.#shown.has(name) ? this.#record.property(name) : undefined;
  }

  number(key: PropertyKey): number | undefined {
    const value = this.property(key);
    return typeof value === 'number' ? value : undefined;
  }

  isText(key: PropertyKey, { text }: WantedText): boolean | undefined {
    const value = this.property(key);
    return typeof value === 'string' ? value === text : undefined;
  }

  get properties(): JsonObject {
    return prepared(this.#properties);
  }

  get translations(): JsonValue {
    return prepared(this.#translations);
  }

  get relations(): JsonValue {
    return prepared(this.#relations);
  }

  get treeOrder(): string {
    return prepared(this.#treeOrder);
  }

  refersTo(target: string): boolean {
    return prepared(this.#targets).has(target);
  }

  /** Whether values of its locale may take the place of stored ones. */
  get #isTranslated(): boolean {
    return this.#chain.length > 0 && this.#record.hasTranslations;
  }

  *#storedProperties(): Generator<undefined, JsonObject> {
    const stored = yield* this.#record.decode();
    return this.#shown.isAll ? stored : yield* shownProperties(stored, this.#shown);
  }

  *#shownProperties(): Generator<undefined, JsonObject> {
    const stored = yield* this.#storedProperties();
    if (!this.#isTranslated) return stored;
    return yield* applyTranslations(stored, this.#shownTranslations(), this.#chain);
  }

  #shownTranslations(): JsonObject | null {
    const { translations } = this.#record.header;
    return this.#shown.isAll
      ? translations
      : translationsWithin(translations, (name) => this.#shown.has(name));
  }

  /** References of stored properties: those that are indexed. */
  *#referencedTargets(workspace: string): Generator<undefined, ReadonlySet<string>> {
    const found = new Set<string>();
    if (!(yield* this.#record.mayReferInSteps())) return found;
    for (const reference of eachReference(yield* this.#storedProperties())) {
      if (reference === undefined) yield undefined;
      else found.add(targetName(reference.workspace ?? workspace, reference.ref));
    }
    return found;
  }
}

/** A target of references as one text. */
export function targetName(workspace: string, id: string): string {
  return `${workspace}:${id}`;
}

function* shownRelationsOf(record: NodeRecord, sees: SeesNode): Generator<undefined, JsonValue> {
  if (!record.hasRelations) return null;
  const shown = (yield* shownRelations(record, sees))?.relations ?? record.header.relations;
  return shown.length === 0 ? null : shown.map((relation) => ({ ...relation }));
}

function prepared<T>(value: T | undefined): T {
  assert(value !== undefined, 'what is read of a row was prepared');
  return value;
}
