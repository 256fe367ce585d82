import { assert } from '#runtime/base/assert.ts';
import { parsePath, sanitizeName, pathName } from '#runtime/content/path.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { isJsonObject, type JsonObject, ownValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { InsertedColumn } from '#runtime/sql-plan/bound/bound-change.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';

/** Fields of a node that a row of a statement gives. Absent ones are not written. */
export interface WrittenFields {
  readonly id?: string;
  readonly path?: string;
  readonly name?: string;
  readonly nodeType?: string;
  readonly archetype?: string | null;
  readonly properties?: JsonObject;
  readonly translations?: JsonObject | null;
  readonly ownerId?: string | null;
}

/**
 * What a row gives a new node. NULL in `id`, `name` and `properties` means that the row gives none.
 *
 * @param columns what the values are written to
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function insertedFields(
  columns: readonly InsertedColumn[],
  values: readonly SqlValue[],
): WrittenFields & { readonly path: string; readonly name: string; readonly nodeType: string } {
  const given: Record<string, unknown> = {};
  for (const [index, column] of columns.entries()) {
    const value = values[index] ?? null;
    if (value !== null || column === 'archetype' || column === 'translations' || column === 'owner_id')
      Object.assign(given, fieldOf(column, value));
  }
  const fields: WrittenFields = given;
  if (fields.path === undefined) throw invalid("Required column 'path' is missing");
  if (fields.nodeType === undefined) throw invalid("Required column 'node_type' is missing");
  return { ...fields, path: fields.path, name: nameAt(fields.path, fields.name), nodeType: fields.nodeType };
}

/** What a row gives a node that exists. @throws {ServiceError} `VALIDATION_FAILED` */
export function updatedFields(columns: readonly InsertedColumn[], values: readonly SqlValue[]): WrittenFields {
  const given: Record<string, unknown> = {};
  for (const [index, column] of columns.entries()) Object.assign(given, fieldOf(column, values[index] ?? null));
  const fields: WrittenFields = given;
  if (fields.path === undefined) return fields.name === undefined ? fields : named(fields, fields.name);
  return { ...fields, name: nameAt(fields.path, fields.name) };
}

function named(fields: WrittenFields, name: string): WrittenFields {
  requireName(name);
  return fields;
}

function fieldOf(column: InsertedColumn, value: SqlValue): WrittenFields {
  switch (column) {
    case 'id':
      return { id: requiredText(column, value) };
    case 'path':
      return { path: parsePath(requiredText(column, value)) };
    case 'name':
      return { name: requiredText(column, value) };
    case 'node_type':
      return { nodeType: requiredText(column, value) };
    case 'archetype':
      return { archetype: optionalText(column, value) };
    case 'owner_id':
      return { ownerId: optionalText(column, value) };
    case 'properties':
      return { properties: requiredObject(column, value) };
    case 'translations':
      return { translations: value === null ? null : requiredObject(column, value) };
  }
}

function optionalText(column: InsertedColumn, value: SqlValue): string | null {
  assert(value === null || typeof value === 'string', `column ${column} is a text`);
  return value;
}

function requiredText(column: InsertedColumn, value: SqlValue): string {
  const text = optionalText(column, value);
  if (text === null) throw invalid(`Column '${column}' must not be NULL`, { field: column });
  return text;
}

function requiredObject(column: InsertedColumn, value: SqlValue): JsonObject {
  if (value instanceof Jsonb && isJsonObject(value.value)) return value.value;
  throw invalid(`${column} column must be a JSON object`, { field: column });
}

/** The name at the end of a path. A path in a statement is an address, so nothing in it is silently changed. */
function nameAt(path: string, name: string | undefined): string {
  const last = pathName(path);
  if (name !== undefined && name !== last)
    throw invalid(`The name '${name}' is not the last part of the path '${path}'`, { field: 'name' });
  // The root has no name; it exists, which is said where the node is stored.
  if (path !== '/') requireName(last);
  return last;
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a name that would be stored as another one */
function requireName(name: string): void {
  const stored = sanitizeName(name);
  if (stored === name) return;
  throw invalid(
    `'${name}' cannot be the name of a node: names have lower-case letters, digits, '-', '_' and '.'; use '${stored}'`,
    { field: 'name' },
  );
}

/**
 * The properties that a statement means: those within a lone key `properties`, as some clients send them. Not where the type
 * of the node has a property of that name.
 */
export function unwrappedProperties(properties: JsonObject, type: ResolvedNodeType | undefined): JsonObject {
  const keys = Object.keys(properties);
  const inner = keys.length === 1 ? ownValue(properties, 'properties') : undefined;
  if (inner === undefined || !isJsonObject(inner)) return properties;
  const isDeclared = type?.byName.has('properties') === true;
  return isDeclared ? properties : inner;
}
