/** How much a {@link TextCache} keeps. */
export interface TextCacheBounds {
  /** Longest text that is kept, in UTF-16 units. */
  readonly textLengthMax: number;
  /** Length of all texts together, in UTF-16 units. What was made of them grows with it. */
  readonly lengthMax: number;
  /** Number of texts. */
  readonly entriesMax: number;
  /** Number of longer texts that are found again as long as somebody else holds what was made of them. */
  readonly weakMax: number;
}

/**
 * What was made of texts, by text. The text that was used least recently goes first.
 *
 * A long text is not kept. It is found again only while something else refers to its value: so whoever works with it can be
 * followed by others, and nothing stays behind when they are done.
 */
export class TextCache<Value extends object> {
  readonly #bounds: TextCacheBounds;
  readonly #textOf: (value: Value) => string | undefined;
  /** In the order of their use, the latest last. */
  readonly #values = new Map<string, Value>();
  readonly #weak: WeakRef<Value>[] = [];
  #length = 0;
  /** What was used last, which need not be moved behind the others. */
  #last: { readonly text: string; readonly value: Value } | undefined;

  /** @param textOf the text that a value was made of */
  constructor(bounds: TextCacheBounds, textOf: (value: Value) => string | undefined) {
    this.#bounds = bounds;
    this.#textOf = textOf;
  }

  /** Number of texts that are kept. */
  get size(): number {
    return this.#values.size;
  }

  /** Length of the texts that are kept, in UTF-16 units. */
  get length(): number {
    return this.#length;
  }

  /** What was made of a text; undefined: it is not known any more. */
  find(text: string): Value | undefined {
    if (text.length > this.#bounds.textLengthMax) return this.#findWeak(text);
    if (this.#last?.text === text) return this.#last.value;
    const value = this.#values.get(text);
    if (value === undefined) return undefined;
    this.#values.delete(text);
    this.#values.set(text, value);
    this.#last = { text, value };
    return value;
  }

  /** Keeps what was made of a text. It must not be changed any more. */
  keep(text: string, value: Value): void {
    if (text.length > this.#bounds.textLengthMax) {
      this.#weak.push(new WeakRef(value));
      if (this.#weak.length > this.#bounds.weakMax) this.#weak.shift();
      return;
    }
    if (!this.#values.delete(text)) this.#length += text.length;
    this.#values.set(text, value);
    // It may go at once, where the bounds are small.
    this.#last = undefined;
    for (const oldest of this.#values.keys()) {
      if (this.#length <= this.#bounds.lengthMax && this.#values.size <= this.#bounds.entriesMax) return;
      this.#values.delete(oldest);
      this.#length -= oldest.length;
    }
  }

  #findWeak(text: string): Value | undefined {
    for (const reference of this.#weak) {
      const value = reference.deref();
      if (value !== undefined && this.#textOf(value) === text) return value;
    }
    return undefined;
  }
}
