/** Values that are kept for a while, as many as fit: the one that was kept first makes room for a new one. */
export class BoundedEntries<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** @returns undefined for a value that is not kept, or not any more */
  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.untilMs <= nowMs ? undefined : entry.value;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#entriesMax)
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    this.#entries.set(key, { value, untilMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
