import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, setKey } from './json-value.ts';

/** Values looked at between two rests. */
const VALUES_PER_STEP = 1_024;

/** What of a value is selected. */
export interface SelectedPart {
  /** All of it; the rest does not count then. */
  readonly isWhole: boolean;
  /** Parts of it by key. */
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
 * Some of the properties of nodes, named by paths: `title`, `hero.image`. A dot steps into an object, and into every item of
 * an array. A property whose own name has dots is selected as well.
 */
export class PropertySelection {
  /** The names in order, each once. */
  readonly names: readonly string[];
  readonly #parts = new Map<string, GrowingPart>();

  /** @param names paths; an empty one among them selects nothing */
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

  /** What of a top-level property is selected; undefined when nothing is. */
  partOf(name: string): SelectedPart | undefined {
    return this.#parts.get(name);
  }

  /** Whether each of these is selected whole or not at all, so that nothing has to be looked into. */
  get isFlat(): boolean {
    for (const part of this.#parts.values()) if (!part.isWhole) return false;
    return true;
  }

  /**
   * The selected properties, in the order they are stored in. Yields where the work may rest, which it does only for
   * large values.
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

/** Takes parts of one value; counts what it looks at. */
class PartOfValue {
  #looked = 0;

  /** @returns undefined where the path goes on and the value is no object */
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
