import { invalid } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import { typeText } from '../types/type-names.ts';
import { requireCount } from './argument-count.ts';
import { arrayFunctions } from './array-functions.ts';
import { dateFunctions } from './date-functions.ts';
import { hierarchyFunctions } from './hierarchy-functions.ts';
import { jsonFunctions } from './json-functions.ts';
import { jsonPathFunctions } from './json-path-functions.ts';
import { numberFunctions } from './number-functions.ts';
import type { FunctionDefinition } from './overload.ts';
import { paddingFunctions } from './padding-functions.ts';
import { textFunctions } from './text-functions.ts';
import { textPartFunctions } from './text-part-functions.ts';

const definitions: ReadonlyMap<string, FunctionDefinition> = new Map(
  [
    ...textFunctions,
    ...textPartFunctions,
    ...paddingFunctions,
    ...numberFunctions,
    ...arrayFunctions,
    ...dateFunctions,
    ...jsonFunctions,
    ...jsonPathFunctions,
    ...hierarchyFunctions,
  ].map((definition) => [definition.name, definition]),
);

/** The names of all functions, in upper case. */
export function functionNames(): readonly string[] {
  return [...definitions.keys()];
}

/**
 * The function of a name for arguments of certain types. An argument has to be cast to the type of its parameter.
 *
 * @param name in any case
 * @throws {ServiceError} `VALIDATION_FAILED`: there is no function of this name, for this number or for these types
 */
export function resolveFunction(name: string, argumentTypes: readonly SqlType[]): ScalarFunction {
  const upperName = name.toUpperCase();
  const definition = definitions.get(upperName);
  if (definition === undefined) throw notFound(upperName, argumentTypes);
  requireCount(upperName, definition, argumentTypes.length);
  const found = definition.resolve(argumentTypes);
  if (found === undefined) throw notFound(upperName, argumentTypes);
  return found;
}

function notFound(name: string, types: readonly SqlType[]): Error {
  return invalid(`Function not found: ${name}(${types.map(typeText).join(', ')})`);
}
