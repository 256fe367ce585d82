import type { DefinitionReader } from './definition-reader.ts';

/** The longest name of a type, in bytes. */
export const TYPE_NAME_LENGTH_MAX = 255;

const nodeTypeShape = /^[a-zA-Z]+:(?:[A-Z][a-z]*)+$/;
const fieldTypeShape = /^[A-Za-z][A-Za-z0-9_-]*(?::[A-Za-z][A-Za-z0-9_-]*)?$/;

/** Whether a string is a node type name: a name space, a colon, PascalCase without digits. */
export function isNodeTypeName(name: string): boolean {
  return name.length <= TYPE_NAME_LENGTH_MAX && nodeTypeShape.test(name);
}

/**
 * Checks the name of a node type or mixin.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/node-types.md#names-of-types
 */
export function requireNodeTypeName(reader: DefinitionReader, key: string, name: string): string {
  if (isNodeTypeName(name)) return name;
  throw reader.badValue(key, `'${name.slice(0, 80)}' is not a node type name; it reads namespace:PascalCase`);
}

/**
 * Checks the name of an archetype or element type. Only node type names must be PascalCase; these may also have digits,
 * dashes and no name space.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireFieldTypeName(reader: DefinitionReader, key: string, name: string): string {
  if (name.length <= TYPE_NAME_LENGTH_MAX && fieldTypeShape.test(name)) return name;
  throw reader.badValue(key, `'${name.slice(0, 80)}' is not a name; it reads namespace:Name`);
}
