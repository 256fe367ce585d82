import { hash } from 'node:crypto';
import { canonicalJson } from '#runtime/content/values/json-value.ts';
import type { SqlType } from '../sql-type.ts';
import type { Jsonb, SqlValue } from '../sql-value.ts';
import { elementOf } from '../types/basic-types.ts';

/** A key of a map or set. */
type HashKey = string | number | bigint | boolean;

/**
 * The key of a value, which is not NULL, for maps and sets. Two values of the type have the same key exactly when
 * `comparatorOf` calls them equal.
 */
function hashKeyOf(type: SqlType): (value: SqlValue) => HashKey {
  switch (type.name) {
    case 'unknown':
    case 'text':
    case 'uuid':
    case 'path':
      return (value) => (value as string).toWellFormed();
    case 'jsonb':
      return (value) => canonicalJson((value as Jsonb).value);
    case 'array': {
      const keyOf = hashKeyOf(elementOf(type));
      return (value) => {
        let key = '';
        for (const item of value as readonly SqlValue[]) key += part(item, keyOf);
        return key;
      };
    }
    default:
      // As texts, NaN is NaN and -0 is 0, as they compare.
      return (value) => value as HashKey;
  }
}

/** One part of the key of several values; its length stands before it, so that no two lists have one key. */
function part(value: SqlValue, keyOf: (value: SqlValue) => HashKey): string {
  if (value === null) return '-';
  const text = String(keyOf(value));
  return `${text.length}:${text}`;
}

/**
 * UTF-16 units of a key above which its digest takes its place: V8 hashes a text of more than 16,383 by its length alone, so
 * that all such texts of one length would meet in one place of a map. Digests of it also take less memory.
 */
export const KEY_LENGTH_MAX = 4_096;

/** A key of a map or set for a text, or the text itself where it is short. Texts of one kind are told apart by it. */
export function shortKey(text: string): string {
  return text.length <= KEY_LENGTH_MAX ? text : `d${hash('sha256', text, 'base64')}`;
}

/** The key of a row: two rows have the same key exactly when their values are equal, and NULLs count as equal. */
export function rowKey(values: readonly SqlValue[], types: readonly SqlType[]): string {
  return rowKeyOf(types)(values);
}

/** As {@link rowKey}, prepared for many rows of the same types. */
export function rowKeyOf(types: readonly SqlType[]): (values: readonly SqlValue[]) => string {
  const keys = types.map(hashKeyOf);
  return (values) => {
    // The hash of such a text has a secret seed in V8; those of numbers and of texts of digits could be chosen by a caller.
    let key = 'r';
    for (let index = 0; index < keys.length; index += 1) key += part(values[index]!, keys[index]!);
    return shortKey(key);
  };
}
