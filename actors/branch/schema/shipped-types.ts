import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { isShipped, missingParts } from '#runtime/content/built-in/shipped-parts.ts';
import { type ResolvedSource, SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { SchemaSource } from '#runtime/content/resolution/type-resolver.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { InheritedNames } from './inherited-names.ts';
import { readDefinition, resolverOver, type StoredKind } from '#runtime/tree/schema-store.ts';

/** The missing parts of shipped types, by name. */
export type ShippedParts = ReadonlyMap<string, readonly string[]>;

/**
 * The missing parts of shipped types before node types change: of the types that change, and of types that inherit from
 * one of them. A shipped type may lack parts because it was changed before this rule existed, or by a merge. For
 * a changing type that does not resolve, the missing part is the reason of that failure. A type that does not change
 * and does not resolve is omitted: the change may repair it.
 *
 * @param names node types and mixins that are about to change
 * @param inherited what the command knows about the definitions; absent: nothing
 * @returns yields where the work may pause
 */
export function* shippedPartsBefore(
  reader: TableReader,
  names: ReadonlySet<string>,
  inherited: InheritedNames = new InheritedNames(reader),
): Generator<undefined, ShippedParts> {
  const found = new Map<string, readonly string[]>();
  if (names.size === 0) return found;
  const source = resolverOver(() => reader, {});
  for (const { definition } of builtInNodeTypes) {
    const { name } = definition;
    const { reads } = inherited;
    const isConcerned = names.has(name) || inherited.reaches(name, names);
    if (isConcerned || inherited.reads > reads) yield undefined;
    // Few types need to be resolved, which costs most.
    if (isConcerned && (names.has(name) || isMadeOf(reader, name, names)))
      found.set(name, missingIn(source, name));
  }
  return found;
}

/** Whether a type that resolves inherits from one of some types, in any way: its mixins may extend types as well. */
function isMadeOf(reader: TableReader, name: string, names: ReadonlySet<string>): boolean {
  let isMade = false;
  const source: SchemaSource = {
    nodeType: (each) => {
      isMade ||= names.has(each);
      return readDefinition(reader, 'node_type', each);
    },
    archetype: () => undefined,
    elementType: () => undefined,
  };
  try {
    return new SchemaResolver(source).nodeType(name) !== undefined && isMade;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    return false;
  }
}

/** Names of the shipped types that lack something on a branch. Yields where the work may pause. */
export function* changedShippedTypes(reader: () => TableReader): Generator<undefined, readonly string[]> {
  const source = resolverOver(reader, {});
  const changed: string[] = [];
  for (const { definition } of builtInNodeTypes) {
    if (missingIn(source, definition.name).length > 0) changed.push(definition.name);
    yield undefined;
  }
  return changed;
}

/** What a shipped type lacks; for one that cannot be resolved, the reason for that. */
export function missingIn(source: ResolvedSource, name: string): readonly string[] {
  try {
    return missingParts(name, source);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    return [error.message];
  }
}

/**
 * Refuses a change through which a shipped type would lose something that it has.
 *
 * @param before parts that were missing already, from {@link shippedPartsBefore}
 * @param proposed the schema with the change
 * @throws {ServiceError} `FORBIDDEN`; `details.errors` lists what is missing
 * @see docs/interface/built-ins.md#changing-built-in-types
 */
export function requireShippedParts(before: ShippedParts, proposed: ResolvedSource): void {
  for (const [name, known] of before) {
    const errors = missingIn(proposed, name).filter((part) => !known.includes(part));
    if (errors.length === 0) continue;
    const message = keptPartsText(name, errors);
    throw new ServiceError('FORBIDDEN', message, { field: 'node_type', details: { errors } });
  }
}

/** Describes what a shipped type would lose. */
export function keptPartsText(name: string, errors: readonly string[]): string {
  return `'${name}' is a built-in type and keeps what it has: ${errors.slice(0, 5).join('; ')}`;
}

/**
 * Refuses to remove a shipped type.
 *
 * @throws {ServiceError} `FORBIDDEN`
 * @see docs/interface/built-ins.md#changing-built-in-types
 */
export function requireNotShipped(kind: StoredKind, name: string): void {
  if (kind !== 'node_type' || !isShipped(name)) return;
  throw new ServiceError('FORBIDDEN', `'${name}' is a built-in type and cannot be deleted`);
}
