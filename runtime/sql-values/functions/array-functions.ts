import type { SqlType } from '../sql-type.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlValue } from '../sql-value.ts';
import { comparatorOf } from '../ordering/comparator.ts';
import { splitAt } from '../text/find-part.ts';
import { joined } from '../text/joined.ts';
import { ownText } from '../text/own-text.ts';
import { textLength, textWork, toText } from '../to-text.ts';
import { arrayOf, intType, textType } from '../types/basic-types.ts';
import { commonOfTwo } from '../types/common-type.ts';
import { type FunctionDefinition, nullable, overloaded } from './overload.ts';

/** Estimated nanoseconds per UTF-16 unit of a text that is split: each may be an element. */
const SPLIT_WORK = 60;
/** The same per element of an array that is looked at. */
const ELEMENT_WORK = 60;

/** Functions on arrays. */
export const arrayFunctions: readonly FunctionDefinition[] = [
  overloaded(
    'STRING_TO_ARRAY',
    nullable(['text', 'text', 'text?'], 'text[]', split, (text, delimiter) => {
      return (text?.length ?? 0) * SPLIT_WORK + (delimiter?.length ?? 0) * SPLIT_WORK;
    }),
  ),
  ofArray('ARRAY_TO_STRING', 2, 3, (array, rest) => ({
    parameters: [array, ...rest.map(() => textType)],
    result: textType,
    isStrict: false,
    work: ([items]) => textLength(items!) + textWork(items!),
    evaluate: (items, separator, nullText) =>
      items === null || separator === null
        ? null
        : joined(
            textsOf(items as readonly SqlValue[], array, (nullText ?? null) as string | null),
            separator as string,
            'ARRAY_TO_STRING result',
          ),
  })),
  ofArray('ARRAY_LENGTH', 2, 2, (array) => ({
    parameters: [array, intType],
    result: intType,
    isStrict: true,
    evaluate: (items, dimension) => lengthOf(items as readonly SqlValue[], dimension as number),
  })),
  ofArray('CARDINALITY', 1, 1, (array) => ({
    parameters: [array],
    result: intType,
    isStrict: true,
    evaluate: (items) => (items as readonly SqlValue[]).length,
  })),
  ofArray('ARRAY_POSITION', 2, 3, (array, [wanted, start]) => {
    const element = commonOfTwo(array.element ?? textType, wanted!);
    if (element === undefined) return undefined;
    return {
      parameters: [arrayOf(element), element, ...(start === undefined ? [] : [intType])],
      result: intType,
      isStrict: false,
      work: ([items]) => (items === null ? 0 : (items as readonly SqlValue[]).length * ELEMENT_WORK),
      evaluate: (items, value, from) =>
        items === null
          ? null
          : positionOf(items as readonly SqlValue[], value!, element, (from ?? 1) as number),
    };
  }),
];

/** A function whose first argument is an array of any type. */
function ofArray(
  name: string,
  least: number,
  most: number,
  define: (array: SqlType, rest: readonly SqlType[]) => Omit<ScalarFunction, 'name'> | undefined,
): FunctionDefinition {
  return {
    name,
    least,
    most,
    resolve: ([first, ...rest]) => {
      const array = first?.name === 'unknown' ? arrayOf(textType) : first;
      if (array?.name !== 'array') return undefined;
      const defined = define(array, rest);
      return defined && { name, ...defined };
    },
  };
}

/** NULL as delimiter separates all characters, an empty one separates nothing; elements equal to `nullText` are NULL. */
function split(text: string | null, delimiter: string | null, nullText?: string | null): SqlValue {
  if (text === null) return null;
  if (text === '') return [];
  const pieces = piecesOf(text, delimiter);
  return typeof nullText === 'string' ? pieces.map((piece) => (piece === nullText ? null : piece)) : pieces;
}

function piecesOf(text: string, delimiter: string | null): readonly string[] {
  if (delimiter === null) return [...text];
  return delimiter === '' ? [text] : splitAt(text, delimiter).map((piece) => ownText(piece, text));
}

function textsOf(items: readonly SqlValue[], array: SqlType, nullText: string | null): string[] {
  const element = array.element ?? textType;
  const texts: string[] = [];
  for (const item of items) {
    if (item === null) {
      if (nullText !== null) texts.push(nullText);
    } else {
      texts.push(toText(item, element));
    }
  }
  return texts;
}

/** @returns NULL for an empty array, and for a second dimension, which no array has */
function lengthOf(items: readonly SqlValue[], dimension: number): SqlValue {
  return dimension === 1 && items.length > 0 ? items.length : null;
}

/** @param from the place at which the search begins, from 1 @returns the place, or NULL */
function positionOf(items: readonly SqlValue[], value: SqlValue, type: SqlType, from: number): SqlValue {
  const compare = comparatorOf(type);
  for (let index = Math.max(0, from - 1); index < items.length; index += 1) {
    const item = items[index]!;
    const isSame = item === null || value === null ? item === value : compare(item, value) === 0;
    if (isSame) return index + 1;
  }
  return null;
}
