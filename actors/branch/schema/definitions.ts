import { requireAdministrator } from '#runtime/access/policy.ts';
import { parseArchetypeDefinition } from '#runtime/content/definitions/archetype.ts';
import { parseElementTypeDefinition } from '#runtime/content/definitions/element-type.ts';
import {
  requireFittingFieldDefaults,
  requireFittingValues,
} from '#runtime/content/definitions/fitting-defaults.ts';
import { requireInitialTypes } from '#runtime/content/validation/plan-initial-structure.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import {
  newSchemaRecord,
  publishedSchemaRecord,
  replacedSchemaRecord,
  unpublishedSchemaRecord,
} from '#runtime/content/definitions/schema-record.ts';
import { type ResolvedSource, SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { SchemaSource } from '#runtime/content/resolution/type-resolver.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import {
  type DefinitionOf,
  listDefinitions,
  readDefinition,
  removeDefinition,
  resolverOver,
  type StoredKind,
  writeDefinition,
} from '#runtime/tree/schema-store.ts';
import type { EditScope } from '../edit-scope.ts';
import type {
  DefinitionKind,
  DefinitionWritten,
  DeleteDefinition,
  PublishDefinition,
  PutDefinition,
  Written,
} from '../messages.ts';
import type { CommitInfo } from '../commit-messages.ts';
import { requireNotShipped, requireShippedParts, shippedPartsBefore } from './shipped-types.ts';

/** The name of a kind in messages, and the kind it is stored as. */
const kinds = {
  node_type: { stored: 'node_type', label: 'node type', notFound: 'NODE_TYPE_NOT_FOUND' },
  mixin: { stored: 'node_type', label: 'mixin', notFound: 'NODE_TYPE_NOT_FOUND' },
  archetype: { stored: 'archetype', label: 'archetype', notFound: 'ARCHETYPE_NOT_FOUND' },
  element_type: { stored: 'element_type', label: 'element type', notFound: 'ELEMENT_TYPE_NOT_FOUND' },
} as const;

type Definition = DefinitionOf[StoredKind];

/** The stored kind of a kind. */
export function storedKind(kind: DefinitionKind): StoredKind {
  return kinds[kind].stored;
}

/** Whether a stored definition belongs to a kind: mixins and node types are stored as one kind. */
export function isOfKind(kind: DefinitionKind, definition: Definition): boolean {
  if (kinds[kind].stored !== 'node_type') return true;
  return ((definition as DefinitionOf['node_type']).is_mixin === true) === (kind === 'mixin');
}

/** The error for a definition that does not exist. */
export function definitionNotFound(kind: DefinitionKind, name: string): ServiceError {
  const { label, notFound } = kinds[kind];
  return new ServiceError(notFound, `${label[0]?.toUpperCase()}${label.slice(1)} '${name}' not found`);
}

function parseDefinition(kind: DefinitionKind, json: unknown) {
  switch (kind) {
    case 'node_type':
    case 'mixin':
      return parseNodeTypeDefinition(json, kind);
    case 'archetype':
      return parseArchetypeDefinition(json);
    case 'element_type':
      return parseElementTypeDefinition(json);
  }
}

/**
 * Stores a definition; one of the same name is replaced by a new version. Index rows are updated in the same revision.
 *
 * @see messages.ts, PutDefinition; docs/interface/node-types.md#routes-of-definitions
 */
export function* putDefinition(
  edit: EditScope,
  command: PutDefinition,
): Generator<undefined, DefinitionWritten> {
  const { commit, kind } = command;
  const { created, definition } = yield* placeDefinition(edit, command);
  const message = definitionMessage(created ? 'Create' : 'Update', kind, definition.name);
  const revision = finishSystem(edit, commit, message);
  return { revision, created, definition: definition as unknown as JsonObject };
}

/** The message of a revision that changes one definition. */
export function definitionMessage(
  verb: 'Create' | 'Update' | 'Delete' | 'Publish' | 'Unpublish',
  kind: DefinitionKind,
  name: string,
): string {
  return `${verb} ${kinds[kind].label} ${name}`;
}

/** A definition that an edit has stored. */
export interface PlacedDefinition {
  readonly created: boolean;
  readonly definition: Definition;
}

/**
 * As {@link putDefinition}, within an edit that goes on: what follows in it sees the definition.
 *
 * @throws {ServiceError} `FORBIDDEN`; `VALIDATION_FAILED`, `UNPROCESSABLE_BODY` for a bad definition; the code for a missing
 *   definition of the kind, if one has to be replaced
 */
export function* placeDefinition(
  edit: EditScope,
  command: Pick<PutDefinition, 'kind' | 'definition' | 'replaceName'>,
): Generator<undefined, PlacedDefinition> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const { kind, replaceName } = command;
  const isLong = isLongDefinition(command.definition);
  const given = parseDefinition(kind, nameFromPath(kind, command.definition, replaceName));
  if (isLong) yield;
  const { stored } = kinds[kind];
  const previous = readDefinition(edit.turn, stored, given.name);
  if (replaceName !== undefined && (previous === undefined || !isOfKind(kind, previous))) {
    throw definitionNotFound(kind, replaceName);
  }
  if (previous !== undefined && !isOfKind(kind, previous)) {
    const other = kind === 'mixin' ? 'node type' : 'mixin';
    throw invalid(`'${given.name}' is a ${other} already`, { field: 'name' });
  }
  if (previous === undefined) requireAddressable(kind, given.name);
  if (isLong) yield;
  const definition = (
    previous === undefined
      ? newSchemaRecord(given, edit.turn.newId(), edit.now)
      : replacedSchemaRecord(previous, given, edit.now)
  ) as Definition;
  const proposed = requireSound(edit, stored, definition);
  if (isLong) yield;
  requireFittingDefaults(stored, definition, proposed, previous);
  requireShippedParts(
    yield* shippedPartsBefore(edit.turn, shippedBy(stored, given.name), edit.inherited),
    proposed,
  );
  store(edit, stored, definition, previous === undefined ? 'added' : 'modified');
  yield* edit.writer.reindex();
  return { created: previous === undefined, definition };
}

/** Members and mixins of a definition from which on the work pauses between its checks: each takes some microseconds for each. */
const LONG_DEFINITION = 100;

function isLongDefinition(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const { fields, mixins, properties } = json as {
    readonly [Key in 'fields' | 'mixins' | 'properties']?: unknown;
  };
  return [fields, mixins, properties].some((list) => Array.isArray(list) && list.length > LONG_DEFINITION);
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a default that no node could be created with */
function requireFittingDefaults(
  kind: StoredKind,
  given: Definition,
  schema: ResolvedSource,
  previous: Definition | undefined,
): void {
  if ('overrides' in given) {
    const before = previous !== undefined && 'overrides' in previous ? previous : undefined;
    requireFittingValues(given, schema.nodeType(given.name), before);
  } else if (kind !== 'node_type') {
    const resolved = kind === 'archetype' ? schema.archetype(given.name) : schema.elementType(given.name);
    const before = previous !== undefined && 'fields' in previous ? previous : undefined;
    requireFittingFieldDefaults(kind, given, resolved, before);
  }
}

/** The path segment of a list, which would otherwise name a definition. */
const LIST_NAME = 'published';

/** Names of node types and mixins have a colon, so only the other two kinds can have the name of the list. */
function requireAddressable(kind: DefinitionKind, name: string): void {
  if (name !== LIST_NAME || (kind !== 'archetype' && kind !== 'element_type')) return;
  const family = kind === 'archetype' ? 'archetypes' : 'elementtypes';
  throw invalid(`'${name}' cannot be a name: '…/${family}/${name}' lists what is published`, {
    field: 'name',
  });
}

/** The names of node types in one change; other kinds have no influence on shipped types. */
function shippedBy(kind: StoredKind, name: string): ReadonlySet<string> {
  return new Set(kind === 'node_type' ? [name] : []);
}

/**
 * The record of a definition given by a caller.
 *
 * @param json as in the body of a write
 * @param previous the record it replaces
 * @throws {ServiceError} `VALIDATION_FAILED`, `UNPROCESSABLE_BODY`
 */
export function manualDefinition(
  edit: EditScope,
  family: StoredKind,
  json: JsonObject,
  previous: Definition | undefined,
): Definition {
  const isMixin = family === 'node_type' && json.is_mixin === true;
  const given = parseDefinition(isMixin ? 'mixin' : family, json);
  const record =
    previous === undefined
      ? newSchemaRecord(given, edit.turn.newId(), edit.now)
      : replacedSchemaRecord(previous, given, edit.now);
  return record as Definition;
}

/**
 * For node types, the name in the path takes precedence; for archetypes and element types a different name is refused.
 */
function nameFromPath(kind: DefinitionKind, json: unknown, name: string | undefined): unknown {
  if (name === undefined || typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const given = (json as { name?: unknown }).name;
  const isField = kind === 'archetype' || kind === 'element_type';
  if (isField && given !== undefined && given !== name) {
    throw invalid(`The name in the body, '${String(given)}', differs from '${name}' in the address`, {
      field: 'name',
    });
  }
  return { ...json, name };
}

/**
 * As {@link requireSoundIn}, in the current schema, where it replaces the definition of the same name.
 *
 * @returns the schema with the definition in it
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireSound(edit: EditScope, kind: StoredKind, definition: Definition): ResolvedSource {
  const { turn } = edit;
  const proposed =
    <K extends StoredKind>(family: K) =>
    (name: string): DefinitionOf[K] | undefined =>
      family === (kind as string) && name === definition.name
        ? (definition as DefinitionOf[K])
        : readDefinition(turn, family, name);
  const source = {
    nodeType: proposed('node_type'),
    archetype: proposed('archetype'),
    elementType: proposed('element_type'),
  };
  const resolver = new SchemaResolver(source);
  requireSoundIn(source, resolver, kind, definition);
  return resolver;
}

/**
 * Checks that a definition resolves and that everything its initial structure names exists.
 *
 * @param source includes the definition
 * @param resolver a resolver over the same definitions
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireSoundIn(
  source: SchemaSource,
  resolver: ResolvedSource,
  kind: StoredKind,
  definition: Definition,
): void {
  if (kind === 'archetype') resolver.archetype(definition.name);
  else if (kind === 'element_type') resolver.elementType(definition.name);
  else {
    resolver.nodeType(definition.name);
    requireInitialTypes((definition as DefinitionOf['node_type']).initial_structure, definition.name, source);
  }
}

/** Removes a definition. @see messages.ts, DeleteDefinition */
export function* deleteDefinition(edit: EditScope, command: DeleteDefinition): Generator<undefined, Written> {
  const { commit, kind, name } = command;
  yield* dropDefinition(edit, kind, name);
  return { revision: finishSystem(edit, commit, definitionMessage('Delete', kind, name)) };
}

/**
 * As {@link deleteDefinition}, within an edit that goes on.
 *
 * @throws {ServiceError} `FORBIDDEN`, also for a built-in type; the code for a missing definition of the kind;
 *   `VALIDATION_FAILED` while nodes depend on it through other definitions
 */
export function* dropDefinition(
  edit: EditScope,
  kind: DefinitionKind,
  name: string,
): Generator<undefined, void> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const { stored } = kinds[kind];
  const previous = readDefinition(edit.turn, stored, name);
  if (previous === undefined || !isOfKind(kind, previous)) throw definitionNotFound(kind, name);
  requireNotShipped(stored, name);
  const shipped = yield* shippedPartsBefore(edit.turn, shippedBy(stored, name), edit.inherited);
  removeDefinition(edit.turn, stored, name);
  edit.inherited.forget(name);
  requireShippedParts(
    shipped,
    resolverOver(() => edit.turn, {}),
  );
  edit.state.commandSchemas.forget();
  edit.noteDefinition({ kind: stored, name, operation: 'deleted' });
  try {
    yield* edit.writer.reindex();
  } catch (error) {
    throw inUse(edit, stored, name, error);
  }
}

/** Most users of a definition that the error for its deletion names. */
const SHOWN_USERS_MAX = 10;

/**
 * The reason why a definition could not be deleted. Reindexing fails at nodes of a type that extends it or mixes it in:
 * the type does not resolve without it. That error only reports that the definition does not exist.
 *
 * @returns the error itself if no other definition uses this one
 */
function inUse(edit: EditScope, kind: StoredKind, name: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') return error;
  const users = listDefinitions<StoredKind>(edit.turn, kind)
    .filter((other) => other.extends === name || ('mixins' in other && other.mixins.includes(name)))
    .map((other) => `'${other.name}'`);
  if (users.length === 0) return error;
  const more = users.length - SHOWN_USERS_MAX;
  const list = users.slice(0, SHOWN_USERS_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return invalid(
    `'${name}' cannot be deleted: nodes depend on it through ${list}; change the definition of these, or delete their nodes, first`,
    { field: 'name', cause: error },
  );
}

/** Publishes or unpublishes a definition. @see messages.ts, PublishDefinition */
export function publishDefinition(edit: EditScope, command: PublishDefinition): DefinitionWritten {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const { kind, name, publish } = command;
  const { stored } = kinds[kind];
  const previous = readDefinition(edit.turn, stored, name);
  if (previous === undefined || !isOfKind(kind, previous)) throw definitionNotFound(kind, name);
  const by = command.commit?.actor ?? 'system';
  const definition = publish
    ? publishedSchemaRecord(previous, edit.now, by)
    : unpublishedSchemaRecord(previous, edit.now);
  store(edit, stored, definition, 'modified');
  const message = definitionMessage(publish ? 'Publish' : 'Unpublish', kind, name);
  const revision = finishSystem(edit, command.commit, message);
  return { revision, created: false, definition: definition as unknown as JsonObject };
}

/** Stores a definition and records the change; the next read of the schema sees it. */
export function store(
  edit: EditScope,
  kind: StoredKind,
  definition: Definition,
  operation: 'added' | 'modified',
): void {
  writeDefinition(edit.turn, kind, definition as never);
  edit.inherited.forget(definition.name);
  edit.state.commandSchemas.forget();
  edit.noteDefinition({ kind, name: definition.name, operation });
}

/** Schema writes without a commit are recorded with a generated message and actor `system`. */
function finishSystem(edit: EditScope, commit: CommitInfo | undefined, message: string): string | null {
  if (commit !== undefined) return edit.finish(commit, message);
  return edit.finish({ actor: 'system', isSystem: true }, message);
}
