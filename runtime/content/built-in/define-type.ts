import type { JsonObject } from '../json-value.ts';
import { type NodeTypeDefinition, parseNodeTypeDefinition } from '../node-type.ts';

/** A node type the product ships. */
export interface BuiltInNodeType {
  /** Rises with every change of the definition: a branch that has an older one receives this one on open. */
  readonly version: number;
  readonly definition: NodeTypeDefinition;
}

/**
 * Defines a built-in node type, through the same reader that callers' definitions pass.
 *
 * @param name without the prefix `svc:`
 * @param version shipped version
 * @param definition the rest, in wire form
 */
export function shipped(name: string, version: number, definition: JsonObject): BuiltInNodeType {
  return Object.freeze({
    version,
    definition: parseNodeTypeDefinition({ ...definition, name: `svc:${name}` }),
  });
}

/** A property in wire form; a String unless it says otherwise. */
export function property(name: string, more: JsonObject = {}): JsonObject {
  return { name, type: 'String', ...more };
}

/** A property of another type than String. */
export function typed(type: string, name: string, more: JsonObject = {}): JsonObject {
  return { name, type, ...more };
}

/** Several properties of one type, with nothing else to say of them. */
export function several(type: string, ...names: readonly string[]): readonly JsonObject[] {
  return names.map((name) => typed(type, name));
}

/** Must be there. */
export const required: JsonObject = Object.freeze({ required: true });
/** No two nodes of the type in a workspace share it. */
export const unique: JsonObject = Object.freeze({ unique: true });
/** Found by full-text search. */
export const fulltext: JsonObject = Object.freeze({ index: Object.freeze(['Fulltext']) });
/** Found by value. */
export const indexed: JsonObject = Object.freeze({ index: Object.freeze(['Property']) });

/** One of a closed set of strings. */
export function oneOf(...values: readonly string[]): JsonObject {
  return { constraints: { enum: values } };
}

/** Type names with the prefix. */
export function svc(...names: readonly string[]): readonly string[] {
  return names.map((name) => `svc:${name}`);
}

/** Versions, publishing and audit are on. */
export const vpa: JsonObject = Object.freeze({ versionable: true, publishable: true, auditable: true });
/** Versions and audit are on. */
export const va: JsonObject = Object.freeze({ versionable: true, publishable: false, auditable: true });
/** Audit is on. */
export const audited: JsonObject = Object.freeze({ versionable: false, publishable: false, auditable: true });
