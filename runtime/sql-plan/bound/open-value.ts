import { assert } from '#runtime/base/assert.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** Makes one value of another, as a cast does. It throws for a value that it cannot take. */
export type ValueStep = (value: SqlValue) => SqlValue;

/** The values with which a statement is bound that is to be kept, and which of them were looked at. */
export class ReadValues {
  readonly #values = new Map<number, SqlValue>();
  readonly #read = new Set<number>();

  /** The numbers of the values that were looked at. */
  get read(): ReadonlySet<number> {
    return this.#read;
  }

  /** @param value not null */
  add(slot: number, value: SqlValue): void {
    this.#values.set(slot, value);
  }

  noteRead(slot: number): void {
    this.#read.add(slot);
  }

  valueOf(slot: number): SqlValue {
    const value = this.#values.get(slot);
    assert(value !== undefined, 'a value is read that was forgotten, because binding had not looked at it');
    return value;
  }

  /** Forgets what was not looked at: it is no part of what is kept. */
  forgetUnread(): void {
    for (const slot of this.#values.keys()) if (!this.#read.has(slot)) this.#values.delete(slot);
  }
}

/**
 * The value of a parameter while a statement is bound that is to be kept. Whoever looks at it makes the bound statement one for
 * this value only; as long as nobody does, another value of the same kind may be put in its place.
 */
export class OpenValue {
  /** Number of the parameter, from 1. */
  readonly slot: number;
  /** What the parameter goes through, in this order. */
  readonly steps: readonly ValueStep[];
  readonly #values: ReadValues;

  constructor(slot: number, values: ReadValues, steps: readonly ValueStep[] = []) {
    this.slot = slot;
    this.steps = steps;
    this.#values = values;
  }

  /** The value, for whoever decides something by it. */
  read(): SqlValue {
    this.#values.noteRead(this.slot);
    return this.#value;
  }

  /**
   * The value after a step that is made of every value that takes its place.
   *
   * @returns undefined: the step makes NULL of it, which is another kind of value
   * @throws what the step throws
   */
  after(step: ValueStep): OpenValue | undefined {
    if (step(this.#value) === null) return undefined;
    return new OpenValue(this.slot, this.#values, [...this.steps, step]);
  }

  get #value(): SqlValue {
    return this.steps.reduce((value, step) => step(value), this.#values.valueOf(this.slot));
  }
}
