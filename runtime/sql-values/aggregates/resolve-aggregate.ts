import { invalid } from '#runtime/errors/service-error.ts';
import { requireCount } from '../functions/argument-count.ts';
import type { AggregateFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { AggregateDefinition } from './aggregate-definition.ts';
import { choosingAggregates } from './choosing-aggregates.ts';
import { collectingAggregates } from './collecting-aggregates.ts';
import { countAggregate, numberAggregates } from './number-aggregates.ts';

const definitions: ReadonlyMap<string, AggregateDefinition> = new Map(
  [countAggregate, ...numberAggregates, ...choosingAggregates, ...collectingAggregates].map((definition) => [
    definition.name,
    definition,
  ]),
);

/** Whether a name, in any case, is that of an aggregate. */
export function isAggregate(name: string): boolean {
  return definitions.has(name.toUpperCase());
}

/** The names of all aggregates, in upper case. */
export function aggregateNames(): readonly string[] {
  return [...definitions.keys()];
}

/**
 * The aggregate of a name for arguments of certain types. An argument has to be cast to the type of its parameter.
 *
 * @param name in any case
 * @param argumentTypes none for `COUNT(*)`
 * @throws {ServiceError} `VALIDATION_FAILED`: there is no aggregate of this name, for this number or for these types
 */
export function resolveAggregate(name: string, argumentTypes: readonly SqlType[]): AggregateFunction {
  const upperName = name.toUpperCase();
  const definition = definitions.get(upperName);
  if (definition === undefined) throw invalid(`Function not found: ${upperName}`);
  requireCount(upperName, definition, argumentTypes.length);
  return definition.resolve(argumentTypes);
}
