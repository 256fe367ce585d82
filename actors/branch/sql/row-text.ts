import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';

/** Estimated nanoseconds to write a value, and a character of its text. */
const VALUE_WORK = 150;
const CHARACTER_WORK = 3;

/** Characters from which on the text of a row is given away, so that a row with many columns is not long. */
const PIECE_LENGTH = 65_536;

/** Elements of an array that are written without a pause. */
const ELEMENTS_STEP = 500;

/**
 * The names under which an answer gives its columns. A statement may give several columns one name, but an object has a key only
 * once: the second `id` is `id_2`, or the next number that no column has.
 */
export function columnKeys(names: readonly string[]): readonly string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let number = numbers.get(name) ?? 2;
    while (taken.has(`${name}_${number}`)) number += 1;
    numbers.set(name, number + 1);
    const key = `${name}_${number}`;
    taken.add(key);
    return key;
  });
}

/** Writes the rows of an answer as JSON objects. */
export class RowText {
  /** The keys of each object, in their order. */
  readonly keys: readonly string[];
  readonly #execution: Execution;
  readonly #types: readonly SqlType[];
  /** What stands before each value. */
  readonly #openings: readonly string[];

  constructor(execution: Execution, columns: readonly RelationColumn[]) {
    this.#execution = execution;
    this.keys = columnKeys(columns.map(({ name }) => name));
    this.#types = columns.map(({ type }) => type);
    this.#openings = this.keys.map((key, index) => `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`);
  }

  /** The text of a row, in one piece unless it is long. */
  *pieces(row: Row): Generator<string, void> {
    this.#execution.spend(this.#openings.length * VALUE_WORK);
    let text = '';
    for (let index = 0; index < this.#openings.length; index += 1) {
      const value = row[index] ?? null;
      const type = this.#types[index] as SqlType;
      text += this.#openings[index];
      const stored = value instanceof Jsonb ? value.storedText : undefined;
      if (isLongArray(value)) {
        yield this.#counted(text);
        text = '';
        yield* this.#elements(value, type.element ?? type);
        continue;
      }
      const json = stored === undefined ? toJson(value, type) : null;
      if (stored !== undefined) text += stored;
      else if (isLargeJson(json)) {
        yield this.#counted(text);
        text = '';
        for (const piece of jsonPieces(json)) yield this.#counted(piece);
      } else text += JSON.stringify(json);
      if (text.length < PIECE_LENGTH) continue;
      yield this.#counted(text);
      text = '';
    }
    yield this.#counted(this.#openings.length === 0 ? '{}' : `${text}}`);
  }

  /** The text of an array: its elements are brought into their form one after the other. */
  *#elements(elements: readonly SqlValue[], type: SqlType): Generator<string, void> {
    let text = '[';
    for (const [index, element] of elements.entries()) {
      if (index > 0) text += ',';
      const json = toJson(element, type);
      if (isLargeJson(json)) {
        yield this.#counted(text);
        text = '';
        for (const piece of jsonPieces(json)) yield this.#counted(piece);
      } else text += JSON.stringify(json);
      if (index % ELEMENTS_STEP === 0) this.#execution.spend(ELEMENTS_STEP * VALUE_WORK);
      if (text.length < PIECE_LENGTH && index % ELEMENTS_STEP !== 0) continue;
      yield this.#counted(text);
      text = '';
    }
    yield this.#counted(`${text}]`);
  }

  #counted(text: string): string {
    this.#execution.spend(text.length * CHARACTER_WORK);
    // Whoever takes the text may pause; what was written does not count for the next row.
    this.#execution.pausing();
    return text;
  }
}

function isLongArray(value: SqlValue): value is readonly SqlValue[] {
  return Array.isArray(value) && value.length > ELEMENTS_STEP;
}
