import { isJsonObject, type JsonValue, ownValue } from './json-value.ts';

/** Items indexed between two yields: some tenths of a millisecond. */
const STEP_ITEMS = 256;

/** The `uuid` of a list item; undefined when it has none that a pointer can name. */
export function uuidOf(item: JsonValue): string | undefined {
  const uuid = isJsonObject(item) ? ownValue(item, 'uuid') : undefined;
  return typeof uuid === 'string' ? uuid : undefined;
}

/** The positions of list items by their `uuid`. Of several items with one `uuid` the first is found. */
export class UuidIndex {
  readonly #first = new Map<string, number>();
  /** Positions of further items with the same `uuid`, ascending. */
  readonly #later = new Map<string, number[]>();

  /** Indexes a list, in steps: yields only when the list is long. */
  static *of(list: readonly JsonValue[]): Generator<undefined, UuidIndex> {
    const index = new UuidIndex();
    for (const [place, item] of list.entries()) {
      index.#add(uuidOf(item), place);
      if (place % STEP_ITEMS === STEP_ITEMS - 1) yield undefined;
    }
    return index;
  }

  /** @returns -1 when no item has the `uuid` */
  placeOf(uuid: string): number {
    return this.#first.get(uuid) ?? -1;
  }

  /**
   * Updates the index after the first item with a `uuid` was replaced.
   *
   * @param before the `uuid` of the replaced item
   * @param after that of the new item; undefined when it has none
   */
  replaceFirst(before: string, after: string | undefined): void {
    if (before === after) return;
    const place = this.placeOf(before);
    const next = this.#later.get(before)?.shift();
    if (next === undefined) this.#first.delete(before);
    else this.#first.set(before, next);
    this.#add(after, place);
  }

  #add(uuid: string | undefined, place: number): void {
    if (uuid === undefined) return;
    const first = this.#first.get(uuid);
    if (first === undefined) {
      this.#first.set(uuid, place);
      return;
    }
    if (place < first) this.#first.set(uuid, place);
    const behind = Math.max(first, place);
    const later = this.#later.get(uuid);
    if (later === undefined) this.#later.set(uuid, [behind]);
    else insertSorted(later, behind);
  }
}

function insertSorted(places: number[], place: number): void {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]! < place) low = middle + 1;
    else high = middle;
  }
  places.splice(low, 0, place);
}
