import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { uniqueValue } from '#runtime/index/unique-value.ts';
import { AFTER_END, END, storedText, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, uniqueKey } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { keyInUniqueIndex } from '#runtime/tree/index-entries.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Moment } from './moment.ts';
import { PathPlaces } from './path-places.ts';
import type { PartBounds, Place, PlacePart, PlaceSource } from './places.ts';
import { SortedPlaces } from './sorted-places.ts';

/** The nodes of a type that have a value in a unique property. */
export interface UniqueSource {
  readonly kind: 'unique';
  readonly workspace: string;
  readonly nodeType: string;
  readonly property: string;
  /** Only the node with this value; absent: all. Null is the value of none. */
  readonly value?: JsonValue;
}

/**
 * The rows of a unique index. The position is the key of the value and the id, with `END` between them: at a revision before
 * the property was unique, several nodes may have one value.
 */
export class UniquePlaces implements IndexedSource {
  readonly rows: PlaceSource;
  readonly #moment: Moment;
  readonly #source: UniqueSource;
  readonly #budget: RequestBudget | undefined;
  /** The key of the value; undefined: of all values. */
  readonly #wanted: string | undefined;

  constructor(moment: Moment, source: UniqueSource, budget?: RequestBudget) {
    this.#moment = moment;
    this.#source = source;
    this.#budget = budget;
    this.#wanted = source.value === undefined ? undefined : (uniqueValue(source.value) ?? '');
    this.rows = { part: (bounds) => this.#part(bounds) };
  }

  get workspace(): string {
    return this.#source.workspace;
  }

  hasAll(reader: TableReader): boolean {
    const { nodeType, property, workspace } = this.#source;
    return readTypeCount(reader, workspace, nodeType)?.fields.uniques.includes(property) !== false;
  }

  *positionOf(record: NodeRecord): Generator<undefined, string | undefined> {
    const { nodeType, property } = this.#source;
    if (record.nodeType !== nodeType) return undefined;
    const key = yield* keyInUniqueIndex(record, property);
    if (key === undefined || (this.#wanted !== undefined && key !== this.#wanted)) return undefined;
    return key + END + textBytes(record.id);
  }

  withoutTable(): PlaceSource {
    const { nodeType, workspace } = this.#source;
    const among = new PathPlaces(this.#moment, { workspace, nodeType, budget: this.#budget });
    return new SortedPlaces(this.#moment, among, this, this.#budget);
  }

  *#part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const { nodeType, property, workspace } = this.#source;
    const prefix = uniqueKey(workspace, nodeType, property, '');
    const places: Place[] = [];
    const isBehind = (position: string): boolean =>
      after === undefined || (reverse ? position < after : position > after);
    const range = rangeOf(prefix, this.#wanted, after, reverse);
    for (const { key, value } of this.#moment.reader.range(BranchTable.uniques, range)) {
      const id = storedText(value);
      const position = key.slice(prefix.length) + END + textBytes(id);
      // The node of the row with which the rest begins may have been another one.
      if (!isBehind(position)) continue;
      places.push({ position, id });
      if (places.length >= most) return { places, next: position };
    }
    return { places };
  }
}

function rangeOf(
  prefix: string,
  wanted: string | undefined,
  after: string | undefined,
  reverse: boolean,
): Range {
  // A key ends with that of its value.
  const first = prefix + (wanted ?? '');
  const end = wanted === undefined ? prefix.slice(0, -END.length) + AFTER_END : first + END;
  if (after === undefined) return { start: first, end, reverse };
  const key = prefix + after.slice(0, after.lastIndexOf(END));
  if (reverse) return { start: first, end: key + END < end ? key + END : end, reverse };
  return { start: key > first ? key : first, end, reverse };
}
