import { type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { boundedJsonb } from '../json/json-limits.ts';
import { valueBytes } from '../ordering/value-bytes.ts';
import type { Accumulator } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { toJson } from '../to-json.ts';
import { toText } from '../to-text.ts';
import { arrayOf, jsonbType, textType } from '../types/basic-types.ts';
import { typeText } from '../types/type-names.ts';
import { type AggregateDefinition, ResultSize } from './aggregate-definition.ts';

/** Estimated bytes of an array for each of its elements. */
const SLOT_BYTES = 8;

function known(type: SqlType): SqlType {
  return type.name === 'unknown' ? textType : type;
}

/** Collects values, and makes the result of them when it is asked for, once for the same values. */
class Collected<T> implements Accumulator {
  readonly #items: T[] = [];
  readonly #size: ResultSize;
  readonly #itemOf: (args: readonly SqlValue[]) => readonly [item: T, bytes: number] | undefined;
  readonly #make: (items: readonly T[]) => SqlValue;
  #made: SqlValue | undefined = null;

  /**
   * @param itemOf what to keep of a row, and the bytes that it takes; undefined: nothing
   * @param make the result of a list of its own
   */
  constructor(
    name: string,
    itemOf: (args: readonly SqlValue[]) => readonly [item: T, bytes: number] | undefined,
    make: (items: readonly T[]) => SqlValue,
  ) {
    this.#size = new ResultSize(name);
    this.#itemOf = itemOf;
    this.#make = make;
  }

  add(args: readonly SqlValue[]): number {
    const found = this.#itemOf(args);
    if (found === undefined) return 0;
    const [item, bytes] = found;
    const grown = this.#size.grow(bytes + SLOT_BYTES);
    this.#items.push(item);
    this.#made = undefined;
    return grown;
  }

  result(): SqlValue {
    this.#made ??= this.#items.length === 0 ? null : this.#make(this.#items.slice());
    return this.#made;
  }
}

const arrayAggregate: AggregateDefinition = {
  name: 'ARRAY_AGG',
  least: 1,
  most: 1,
  resolve: ([argument]) => {
    const type = known(argument!);
    return {
      name: 'ARRAY_AGG',
      parameters: [type],
      result: arrayOf(type),
      skipsNulls: false,
      start: () =>
        new Collected<SqlValue>(
          'ARRAY_AGG',
          ([value]) => [value!, valueBytes(value!)],
          (items) => items,
        ),
    };
  },
};

/** Short texts that are joined in one step: a text that is put together one by one has a node of 32 bytes for each of them. */
const PIECES_MAX = 256;

/** The delimiter of a row stands before its text, and is left out of the first one. */
class JoinedTexts implements Accumulator {
  readonly #size = new ResultSize('STRING_AGG');
  /** Texts that follow `#text`. */
  #pieces: string[] = [];
  #text: string | null = null;

  add([value, delimiter]: readonly SqlValue[]): number {
    if (value === null) return 0;
    const added = this.#text === null ? (value as string) : `${delimiter ?? ''}${value}`;
    const grown = this.#size.grow(added.length);
    this.#text ??= '';
    this.#pieces.push(added);
    if (this.#pieces.length === PIECES_MAX) this.#join();
    return grown;
  }

  result(): SqlValue {
    if (this.#pieces.length > 0) this.#join();
    return this.#text;
  }

  #join(): void {
    const text = this.#pieces.join('');
    this.#text = this.#text === '' ? text : `${this.#text}${text}`;
    this.#pieces = [];
  }
}

const textual: ReadonlySet<SqlType['name']> = new Set(['text', 'path', 'uuid', 'unknown']);

const textAggregate: AggregateDefinition = {
  name: 'STRING_AGG',
  least: 2,
  most: 2,
  resolve: (types) => {
    for (const type of types)
      if (!textual.has(type.name))
        throw invalid(`STRING_AGG() requires text argument, got ${typeText(type)}`);
    return {
      name: 'STRING_AGG',
      parameters: types.map(known),
      result: textType,
      skipsNulls: false,
      start: () => new JoinedTexts(),
    };
  },
};

function jsonOf(value: SqlValue, type: SqlType): JsonValue {
  return value === null ? null : toJson(value, type);
}

function jsonArrayAggregate(name: string): AggregateDefinition {
  return {
    name,
    least: 1,
    most: 1,
    resolve: ([argument]) => {
      const type = known(argument!);
      return {
        name,
        parameters: [type],
        result: jsonbType,
        skipsNulls: false,
        start: () =>
          new Collected<JsonValue>(
            name,
            ([value]) => [jsonOf(value!, type), valueBytes(value!)],
            (items) => boundedJsonb(items, `${name} result`),
          ),
      };
    },
  };
}

function jsonObjectAggregate(name: string): AggregateDefinition {
  return {
    name,
    least: 2,
    most: 2,
    resolve: (types) => {
      const [keyType, valueType] = types.map(known) as [SqlType, SqlType];
      return {
        name,
        parameters: [keyType, valueType],
        result: jsonbType,
        skipsNulls: false,
        start: () =>
          new Collected<readonly [string, JsonValue]>(
            name,
            ([key, value]) => {
              if (key === null) throw invalid(`${name}: a key must not be NULL`);
              const member = [toText(key!, keyType), jsonOf(value!, valueType)] as const;
              return [member, valueBytes(key!) + valueBytes(value!)];
            },
            (members) => {
              const object: Record<string, JsonValue> = {};
              for (const [key, value] of members) setKey(object, key, value);
              return boundedJsonb(object, `${name} result`);
            },
          ),
      };
    },
  };
}

/** Aggregates whose results grow with the rows. */
export const collectingAggregates: readonly AggregateDefinition[] = [
  arrayAggregate,
  textAggregate,
  ...['JSONB_AGG', 'JSON_AGG'].map(jsonArrayAggregate),
  ...['JSONB_OBJECT_AGG', 'JSON_OBJECT_AGG'].map(jsonObjectAggregate),
];
