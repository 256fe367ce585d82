import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { isShipped, missingParts } from '#runtime/content/built-in/shipped-parts.ts';
import type { ResolvedSource } from '#runtime/content/schema-resolver.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { resolverOver, type StoredKind } from '#runtime/tree/schema-store.ts';

/**
 * What a stored definition lacks of a shipped one of its name. A definition may lack something from before there
 * was a rule, or because a merge brought it. Of one that cannot be resolved the reason is what it lacks.
 *
 * @param kind family of the definition; only node types are shipped
 */
export function missingOf(reader: TableReader, kind: StoredKind, name: string): readonly string[] {
  if (kind !== 'node_type' || !isShipped(name)) return [];
  return missingIn(
    resolverOver(() => reader, {}),
    name,
  );
}

/** Names of the shipped types that lack something on a branch. Yields where the work may rest. */
export function* changedShippedTypes(reader: () => TableReader): Generator<undefined, readonly string[]> {
  const source = resolverOver(reader, {});
  const changed: string[] = [];
  for (const { definition } of builtInNodeTypes) {
    if (missingIn(source, definition.name).length > 0) changed.push(definition.name);
    yield undefined;
  }
  return changed;
}

function missingIn(source: ResolvedSource, name: string): readonly string[] {
  try {
    return missingParts(name, source);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    return [error.message];
  }
}

/**
 * Refuses a change of a shipped type that takes something away which it has.
 *
 * @param proposed the schema with the change
 * @param missingBefore what it lacked already, from {@link missingOf}
 * @throws {ServiceError} `FORBIDDEN`; `details.errors` lists what is missing
 * @see docs/interface/built-ins.md#changing-built-in-types
 */
export function requireShippedParts(
  name: string,
  proposed: ResolvedSource,
  missingBefore: readonly string[],
): void {
  const errors = missingIn(proposed, name).filter((part) => !missingBefore.includes(part));
  if (errors.length === 0) return;
  throw new ServiceError(
    'FORBIDDEN',
    `'${name}' is a built-in type and keeps what it has: ${errors.slice(0, 5).join('; ')}`,
    { field: 'node_type', details: { errors } },
  );
}

/**
 * Refuses to take a shipped type away.
 *
 * @throws {ServiceError} `FORBIDDEN`
 * @see docs/interface/built-ins.md#changing-built-in-types
 */
export function requireNotShipped(kind: StoredKind, name: string): void {
  if (kind !== 'node_type' || !isShipped(name)) return;
  throw new ServiceError('FORBIDDEN', `'${name}' is a built-in type and cannot be deleted`);
}
