import { invalid } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { Jsonb, SqlValue } from '../sql-value.ts';
import {
  arrayOf,
  bigintType,
  booleanType,
  dateType,
  doubleType,
  intervalType,
  intType,
  jsonbType,
  pathType,
  textType,
  timestamptzType,
  timestampType,
} from '../types/basic-types.ts';

/** Values in the program of the types that functions are written for. */
interface Natives {
  int: number;
  bigint: bigint;
  double: number;
  boolean: boolean;
  text: string;
  path: string;
  timestamptz: bigint;
  timestamp: bigint;
  date: number;
  interval: bigint;
  jsonb: Jsonb;
  'text[]': readonly SqlValue[];
}

/** The name of a type that functions are written for. */
type NativeName = keyof Natives;

/** The type of a parameter; with `?`: the argument, and those after it, may be left out. */
type Parameter = NativeName | `${NativeName}?`;

type NativeOf<P> = P extends `${infer N extends NativeName}?`
  ? Natives[N] | undefined
  : P extends NativeName
    ? Natives[P]
    : never;

type NativesOf<P extends readonly Parameter[]> = { [K in keyof P]: NativeOf<P[K]> };
type NullableOf<P extends readonly Parameter[]> = { [K in keyof P]: NativeOf<P[K]> | null };

/** The types of {@link NativeName}. */
const nativeTypes: Readonly<Record<NativeName, SqlType>> = {
  int: intType,
  bigint: bigintType,
  double: doubleType,
  boolean: booleanType,
  text: textType,
  path: pathType,
  timestamptz: timestamptzType,
  timestamp: timestampType,
  date: dateType,
  interval: intervalType,
  jsonb: jsonbType,
  'text[]': arrayOf(textType),
};

/** A function for certain types, before it has a name. */
export interface Overload {
  readonly parameters: readonly SqlType[];
  /** Number of arguments that must be given; the parameters after it may be left out. */
  readonly least: number;
  readonly result: SqlType;
  readonly isStrict: boolean;
  readonly work?: (args: readonly SqlValue[]) => number;
  readonly evaluate: (...args: SqlValue[]) => SqlValue;
}

function overload(
  parameters: readonly Parameter[],
  result: NativeName,
  isStrict: boolean,
  evaluate: unknown,
  work: unknown,
): Overload {
  const optional = parameters.findIndex((parameter) => parameter.endsWith('?'));
  const run = evaluate as Overload['evaluate'];
  const workOf = work as ((...args: SqlValue[]) => number) | undefined;
  return {
    parameters: parameters.map((parameter) => nativeTypes[parameter.replace('?', '') as NativeName]),
    least: optional < 0 ? parameters.length : optional,
    result: nativeTypes[result],
    isStrict,
    evaluate: run,
    ...(workOf && { work: (args) => workOf(...args) }),
  };
}

/** A function that gives NULL for NULL. @param work estimated nanoseconds for the arguments, none of which is NULL */
export function strict<const P extends readonly Parameter[]>(
  parameters: P,
  result: NativeName,
  evaluate: (...args: NativesOf<P>) => SqlValue,
  work?: (...args: NativesOf<P>) => number,
): Overload {
  return overload(parameters, result, true, evaluate, work);
}

/** A function that is called for NULLs too. @param work estimated nanoseconds for the arguments */
export function nullable<const P extends readonly Parameter[]>(
  parameters: P,
  result: NativeName,
  evaluate: (...args: NullableOf<P>) => SqlValue,
  work?: (...args: NullableOf<P>) => number,
): Overload {
  return overload(parameters, result, false, evaluate, work);
}

/** A function of the catalog. */
export interface FunctionDefinition {
  readonly name: string;
  /** Fewest arguments. */
  readonly least: number;
  /** Most arguments. */
  readonly most: number;
  /** @returns undefined when there is none for these types @throws {ServiceError} `VALIDATION_FAILED` as `resolveFunction` */
  readonly resolve: (types: readonly SqlType[]) => ScalarFunction | undefined;
}

/** Defines a function by its overloads. Where several fit, the one with the nearest types is taken, of equal ones the first. */
export function overloaded(name: string, ...overloads: readonly Overload[]): FunctionDefinition {
  return {
    name,
    least: Math.min(...overloads.map(({ least }) => least)),
    most: Math.max(...overloads.map(({ parameters }) => parameters.length)),
    resolve: (types) => nearest(name, overloads, types),
  };
}

/** A way to accept an argument: the type it is to have, the distance from its own, and how the function wants it. */
interface Acceptance {
  readonly type: SqlType;
  readonly distance: number;
  readonly convert?: (value: SqlValue, name: string) => SqlValue;
}

function nearest(
  name: string,
  overloads: readonly Overload[],
  types: readonly SqlType[],
): ScalarFunction | undefined {
  let best: { readonly overload: Overload; readonly accepted: readonly Acceptance[] } | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of overloads) {
    if (types.length < candidate.least || types.length > candidate.parameters.length) continue;
    const accepted = types.map((type, index) => acceptance(candidate.parameters[index]!, type));
    if (!accepted.every((each) => each !== undefined)) continue;
    const distance = accepted.reduce((sum, each) => sum + each.distance, 0);
    if (distance >= bestDistance) continue;
    best = { overload: candidate, accepted };
    bestDistance = distance;
  }
  return best && functionOf(name, best.overload, best.accepted);
}

const wideningTo: Readonly<Partial<Record<SqlType['name'], readonly SqlType['name'][]>>> = {
  bigint: ['int'],
  double: ['bigint', 'int'],
  timestamp: ['date'],
  timestamptz: ['timestamp', 'date'],
};

/** How a parameter accepts an argument. @returns undefined: it does not */
function acceptance(parameter: SqlType, type: SqlType): Acceptance | undefined {
  if (type.name === 'unknown') return { type: parameter, distance: 0 };
  if (parameter.name === 'array') {
    const isText = type.name === 'array' && isTextual(type.element);
    return isText ? { type, distance: 0 } : undefined;
  }
  if (type.name === parameter.name) return { type: parameter, distance: 0 };
  // Paths and UUIDs are texts in the program.
  if (parameter.name === 'text' && isTextual(type)) return { type, distance: 1 };
  if (parameter.name === 'path' && type.name === 'text') return { type: parameter, distance: 2 };
  // Arithmetic gives DOUBLE, so LEFT(name, LENGTH(name) - 1) would be refused if INT meant INT only.
  if (parameter.name === 'int' && type.name === 'bigint') return { type, distance: 3, convert: wholeNumber };
  if (parameter.name === 'int' && type.name === 'double') return { type, distance: 4, convert: wholeNumber };
  const narrower = wideningTo[parameter.name]?.indexOf(type.name) ?? -1;
  return narrower < 0 ? undefined : { type: parameter, distance: narrower + 1 };
}

function isTextual(type: SqlType | undefined): boolean {
  return type?.name === 'text' || type?.name === 'path' || type?.name === 'uuid' || type?.name === 'unknown';
}

function wholeNumber(value: SqlValue, name: string): SqlValue {
  if (value === null) return null;
  const number = Number(value);
  if (!Number.isInteger(number)) throw invalid(`${name} expects a whole number, got ${number}`);
  return number;
}

function functionOf(
  name: string,
  { result, isStrict, work, evaluate }: Overload,
  accepted: readonly Acceptance[],
): ScalarFunction {
  const parameters = accepted.map(({ type }) => type);
  if (!accepted.some(({ convert }) => convert !== undefined))
    return { name, parameters, result, isStrict, evaluate, ...(work && { work }) };
  const converted = (args: readonly SqlValue[]): SqlValue[] =>
    args.map((value, index) => accepted[index]?.convert?.(value, name) ?? value);
  return {
    name,
    parameters,
    result,
    isStrict,
    evaluate: (...args) => evaluate(...converted(args)),
    ...(work && { work: (args) => work(converted(args)) }),
  };
}
