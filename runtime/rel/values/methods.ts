import { type Evaluation, STEP_WORK } from '../evaluation/evaluation.ts';
import { isEqual } from './equality.ts';
import { ancestorAt, depthOf, isBelow, isChild, parentOf } from './path-methods.ts';
import { isEmptyObject, isList, isObject, kindOf, type RelValue } from './rel-value.ts';
import { characterCount, includesText, substring } from './text-methods.ts';

/** A method of the language. */
export interface Method {
  readonly name: string;
  /** Least and largest number of arguments. */
  readonly argumentsMin: number;
  readonly argumentsMax: number;
  /**
   * Carries it out for a value that is not null.
   *
   * @throws {Fault} when the value or an argument is of a wrong kind
   */
  readonly apply: (
    evaluation: Evaluation,
    value: RelValue,
    first: RelValue | undefined,
    second: RelValue | undefined,
  ) => RelValue;
}

type Apply = Method['apply'];

/** A method of texts, with a text as its argument. */
function ofTexts(
  name: string,
  apply: (evaluation: Evaluation, text: string, other: string) => RelValue,
): readonly [number, number, Apply] {
  return [
    1,
    1,
    (evaluation, value, other) =>
      apply(
        evaluation,
        requireText(evaluation, name, value),
        requireTextArgument(evaluation, name, other as RelValue),
      ),
  ];
}

/** A method of texts that copies the text. */
function copyOf(name: string, copy: (text: string) => string): readonly [number, number, Apply] {
  return [
    0,
    0,
    (evaluation, value) => {
      const text = requireText(evaluation, name, value);
      evaluation.spend(text.length);
      const copied = copy(text);
      // A few characters become two or three others.
      evaluation.spend(copied.length);
      return copied;
    },
  ];
}

function requireText(evaluation: Evaluation, name: string, value: RelValue): string {
  return typeof value === 'string' ? value : evaluation.fail(`${name}() is not for ${kindOf(value)}`);
}

function requireTextArgument(evaluation: Evaluation, name: string, value: RelValue): string {
  return typeof value === 'string'
    ? value
    : evaluation.fail(`${name}() takes a string, not ${kindOf(value)}`);
}

function requireList(evaluation: Evaluation, name: string, value: RelValue): readonly RelValue[] {
  return isList(value) ? value : evaluation.fail(`${name}() is not for ${kindOf(value)}`);
}

/** Number of characters, items or keys. */
function lengthOf(evaluation: Evaluation, value: RelValue): number {
  if (typeof value === 'string') return characterCount(evaluation, value);
  if (isList(value)) return value.length;
  if (!isObject(value)) return evaluation.fail(`length() is not for ${kindOf(value)}`);
  const { length } = Object.keys(value);
  evaluation.spend(length);
  return length;
}

function isEmpty(evaluation: Evaluation, name: string, value: RelValue): boolean {
  if (typeof value === 'string' || isList(value)) return value.length === 0;
  return isObject(value) ? isEmptyObject(value) : evaluation.fail(`${name}() is not for ${kindOf(value)}`);
}

function contains(evaluation: Evaluation, value: RelValue, wanted: RelValue): boolean {
  if (isList(value)) return value.some((item) => isEqual(evaluation, item, wanted));
  const text = requireText(evaluation, 'contains', value);
  return includesText(evaluation, text, requireTextArgument(evaluation, 'contains', wanted));
}

function indexOf(evaluation: Evaluation, value: RelValue, wanted: RelValue): number {
  return requireList(evaluation, 'indexOf', value).findIndex((item) => isEqual(evaluation, item, wanted));
}

function join(evaluation: Evaluation, value: RelValue, separator: RelValue | undefined): string {
  const list = requireList(evaluation, 'join', value);
  const between = separator === undefined ? '' : requireTextArgument(evaluation, 'join', separator);
  for (const item of list) {
    if (typeof item !== 'string')
      return evaluation.fail(`join() takes a list of strings; it has ${kindOf(item)}`);
    evaluation.spend(item.length + between.length + STEP_WORK);
  }
  return list.join(between);
}

const table: Readonly<Record<string, readonly [number, number, Apply]>> = {
  length: [0, 0, lengthOf],
  isEmpty: [0, 0, (evaluation, value) => isEmpty(evaluation, 'isEmpty', value)],
  isNotEmpty: [0, 0, (evaluation, value) => !isEmpty(evaluation, 'isNotEmpty', value)],
  contains: [1, 1, (evaluation, value, wanted) => contains(evaluation, value, wanted as RelValue)],
  startsWith: ofTexts('startsWith', (evaluation, text, start) => {
    evaluation.spend(start.length);
    return text.startsWith(start);
  }),
  endsWith: ofTexts('endsWith', (evaluation, text, end) => {
    evaluation.spend(end.length);
    return text.endsWith(end);
  }),
  toLowerCase: copyOf('toLowerCase', (text) => text.toLowerCase()),
  toUpperCase: copyOf('toUpperCase', (text) => text.toUpperCase()),
  trim: copyOf('trim', (text) => text.trim()),
  substring: [
    1,
    2,
    (evaluation, value, start, end) =>
      substring(evaluation, requireText(evaluation, 'substring', value), start as RelValue, end),
  ],
  first: [0, 0, (evaluation, value) => requireList(evaluation, 'first', value)[0] ?? null],
  last: [0, 0, (evaluation, value) => requireList(evaluation, 'last', value).at(-1) ?? null],
  indexOf: [1, 1, (evaluation, value, wanted) => indexOf(evaluation, value, wanted as RelValue)],
  join: [0, 1, join],
  parent: [0, 1, parentOf],
  ancestor: [1, 1, (evaluation, value, segments) => ancestorAt(evaluation, value, segments as RelValue)],
  depth: [0, 0, depthOf],
  ancestorOf: [1, 1, (evaluation, value, path) => isBelow(evaluation, path as RelValue, value)],
  descendantOf: [1, 1, (evaluation, value, path) => isBelow(evaluation, value, path as RelValue)],
  childOf: [1, 1, (evaluation, value, path) => isChild(evaluation, value, path as RelValue)],
};

/** All methods by their names. @see docs/interface/condition-language.md#methods */
export const methods: ReadonlyMap<string, Method> = new Map(
  Object.entries(table).map(([name, [argumentsMin, argumentsMax, apply]]) => [
    name,
    Object.freeze({ name, argumentsMin, argumentsMax, apply }),
  ]),
);

/** The names of all methods. */
export const methodNames: readonly string[] = Object.freeze(Object.keys(table));
