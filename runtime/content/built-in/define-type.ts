import type { JsonObject } from '../values/json-value.ts';
import { type NodeTypeDefinition, parseNodeTypeDefinition } from '../definitions/node-type.ts';

/** A built-in node type. */
export interface BuiltInNodeType {
  /** Rises with every change of the definition: a branch with an older one receives this one when it is opened. */
  readonly version: number;
  readonly definition: NodeTypeDefinition;
}

/**
 * Defines a built-in node type, through the same reader as callers' definitions.
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

/** A property in wire form; a String by default. */
export function property(name: string, more: JsonObject = {}): JsonObject {
  return { name, type: 'String', ...more };
}

/** A property of another type than String. */
export function typed(type: string, name: string, more: JsonObject = {}): JsonObject {
  return { name, type, ...more };
}

/** Several properties of one type, without further settings. */
export function several(type: string, ...names: readonly string[]): readonly JsonObject[] {
  return names.map((name) => typed(type, name));
}

/** The property is required. */
export const required: JsonObject = Object.freeze({ required: true });
/** The value is unique among the nodes of the type in a workspace. */
export const unique: JsonObject = Object.freeze({ unique: true });
/** In the full-text index. */
export const fulltext: JsonObject = Object.freeze({ index: Object.freeze(['Fulltext']) });
/** In the property index. */
export const indexed: JsonObject = Object.freeze({ index: Object.freeze(['Property']) });

/** One of a closed set of strings. */
export function oneOf(...values: readonly string[]): JsonObject {
  return { constraints: { enum: values } };
}

/** Type names with the prefix. */
export function svc(...names: readonly string[]): readonly string[] {
  return names.map((name) => `svc:${name}`);
}

/** Versions, publishing and audit are enabled. */
export const vpa: JsonObject = Object.freeze({ versionable: true, publishable: true, auditable: true });
/** Versions and audit are enabled. */
export const va: JsonObject = Object.freeze({ versionable: true, publishable: false, auditable: true });
/** Audit is enabled. */
export const audited: JsonObject = Object.freeze({ versionable: false, publishable: false, auditable: true });
