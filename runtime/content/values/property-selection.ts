import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, setKey } from './json-value.ts';

/** Values visited between two yields. */
const VALUES_PER_STEP = 1_024;

/** The selected part of a value. */
export interface SelectedPart {
  /** Whether all of it is selected; then `inner` is ignored. */
  readonly isWhole: boolean;
  /** Selected parts by key. */
  readonly inner: ReadonlyMap<string, SelectedPart>;
}

interface GrowingPart extends SelectedPart {
  isWhole: boolean;
  readonly inner: Map<string, GrowingPart>;
}

function newPart(): GrowingPart {
  return { isWhole: false, inner: new Map() };
}

/**
 * A selection of node properties by paths: `title`, `hero.image`. A dot steps into an object, and into every item of an
 * array. A property whose own name contains dots is selected as well.
 */
export class PropertySelection {
  /** The names in order, each once. */
  readonly names: readonly string[];
  readonly #parts = new Map<string, GrowingPart>();

  /** @param names paths; an empty one selects nothing */
  constructor(names: readonly string[]) {
    this.names = [...new Set(names)].sort();
    for (const name of this.names) {
      this.#part(name).isWhole = true;
      const [first, ...rest] = name.split('.') as [string, ...string[]];
      let part = this.#part(first);
      for (const key of rest) {
        const inner = part.inner.get(key) ?? newPart();
        part.inner.set(key, inner);
        part = inner;
      }
      part.isWhole = true;
    }
  }

  #part(name: string): GrowingPart {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const part = newPart();
    this.#parts.set(name, part);
    return part;
  }

  /** The selected part of a top-level property; undefined when nothing is selected. */
  partOf(name: string): SelectedPart | undefined {
    return this.#parts.get(name);
  }

  /** Whether every property is selected completely or not at all, so that values need not be visited. */
  get isFlat(): boolean {
    for (const part of this.#parts.values()) if (!part.isWhole) return false;
    return true;
  }

  /**
   * The selected properties in stored order, in steps: yields only for large values.
   */
  *select(properties: JsonObject): Generator<undefined, JsonObject> {
    const selected: Record<string, JsonValue> = {};
    for (const name in properties) {
      const part = this.#parts.get(name);
      if (part === undefined) continue;
      const value = yield* new PartOfValue().of(properties[name] as JsonValue, part);
      if (value !== undefined) setKey(selected, name, value);
    }
    return selected;
  }
}

/** Selects parts of one value; counts the values it visits. */
class PartOfValue {
  #looked = 0;

  /** @returns undefined when the path continues and the value is no object */
  *of(value: JsonValue, part: SelectedPart): Generator<undefined, JsonValue | undefined> {
    if (part.isWhole) return value;
    this.#looked += 1;
    if (this.#looked % VALUES_PER_STEP === 0) yield undefined;
    if (isJsonArray(value)) {
      const items: JsonValue[] = [];
      for (const item of value) {
        const selected = yield* this.of(item, part);
        if (selected !== undefined) items.push(selected);
      }
      return items;
    }
    if (!isJsonObject(value)) return undefined;
    const selected: Record<string, JsonValue> = {};
    for (const [key, inner] of part.inner) {
      if (!Object.hasOwn(value, key)) continue;
      const found = yield* this.of(value[key] as JsonValue, inner);
      if (found !== undefined) setKey(selected, key, found);
    }
    return selected;
  }
}
