import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';

/** Estimated nanoseconds to write a value, and a character of its text. */
const VALUE_WORK = 150;
const CHARACTER_WORK = 3;

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

  /** The text of a row, in one piece unless it has large values. */
  *pieces(row: Row): Generator<string, void> {
    let text = '';
    for (let index = 0; index < this.#openings.length; index += 1) {
      const value = toJson(row[index] ?? null, this.#types[index] as SqlType);
      text += this.#openings[index];
      if (isLargeJson(value)) {
        yield this.#counted(text);
        for (const piece of jsonPieces(value)) yield this.#counted(piece);
        text = '';
      } else text += JSON.stringify(value);
    }
    yield this.#counted(this.#openings.length === 0 ? '{}' : `${text}}`);
  }

  #counted(text: string): string {
    this.#execution.spend(this.#openings.length * VALUE_WORK + text.length * CHARACTER_WORK);
    return text;
  }
}
