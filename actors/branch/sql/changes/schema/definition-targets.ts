import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { DefinitionTarget } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { readDefinition } from '#runtime/tree/schema-store.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { DefinitionKind } from '../../../messages.ts';
import { isOfKind, storedKind } from '../../../schema/definitions.ts';

interface Target {
  readonly kind: DefinitionKind;
  /** Its name in results and errors. */
  readonly noun: string;
  readonly notFound: 'NODE_TYPE_NOT_FOUND' | 'ARCHETYPE_NOT_FOUND' | 'ELEMENT_TYPE_NOT_FOUND';
}

/** What the targets of the statements are. */
export const targets: Readonly<Record<DefinitionTarget, Target>> = {
  nodetype: { kind: 'node_type', noun: 'NodeType', notFound: 'NODE_TYPE_NOT_FOUND' },
  mixin: { kind: 'mixin', noun: 'Mixin', notFound: 'NODE_TYPE_NOT_FOUND' },
  archetype: { kind: 'archetype', noun: 'Archetype', notFound: 'ARCHETYPE_NOT_FOUND' },
  elementtype: { kind: 'element_type', noun: 'ElementType', notFound: 'ELEMENT_TYPE_NOT_FOUND' },
};

/**
 * The stored definition that a statement names.
 *
 * @param verb of the statement, for the message
 * @returns undefined when there is none
 * @throws {ServiceError} `VALIDATION_FAILED` for a mixin in the place of a node type, and the other way round
 */
export function storedTarget(
  turn: Turn,
  target: DefinitionTarget,
  name: string,
  verb: 'ALTER' | 'DROP',
): JsonObject | undefined {
  const { kind } = targets[target];
  const stored = readDefinition(turn, storedKind(kind), name);
  if (stored === undefined) return undefined;
  if (isOfKind(kind, stored)) return stored as unknown as JsonObject;
  const isMixin = target === 'nodetype';
  const text = `'${name}' is ${isMixin ? 'a' : 'not a'} mixin, use ${verb} ${isMixin ? 'MIXIN' : 'NODETYPE'} instead`;
  throw invalid(text, { field: 'name' });
}

/** The error for a definition that does not exist. */
export function missingTarget(target: DefinitionTarget, name: string): ServiceError {
  const { noun, notFound } = targets[target];
  return new ServiceError(notFound, `${noun} '${name}' not found`);
}

/** @throws {ServiceError} `ALREADY_EXISTS` when a definition has the name */
export function requireNewName(turn: Turn, target: DefinitionTarget, name: string): void {
  const stored = readDefinition(turn, storedKind(targets[target].kind), name);
  if (stored === undefined) return;
  const isOther = !isOfKind(targets[target].kind, stored);
  const { noun } = isOther ? targets[target === 'mixin' ? 'nodetype' : 'mixin'] : targets[target];
  throw new ServiceError('ALREADY_EXISTS', `${noun} '${name}' already exists`, { field: 'name' });
}
