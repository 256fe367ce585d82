import {
  type ResolvedArchetype,
  type ResolvedElementType,
  resolveArchetype,
  resolveElementType,
} from './field-resolver.ts';
import { TYPE_NAME_LENGTH_MAX } from '../definitions/type-name.ts';
import { type Pinned, type ResolvedNodeType, resolveNodeType, type SchemaSource } from './type-resolver.ts';

/** Source of resolved types for checks of nodes. Undefined: no type of that name. */
export interface ResolvedSource extends Pinned {
  nodeType(name: string): ResolvedNodeType | undefined;
  archetype(name: string): ResolvedArchetype | undefined;
  elementType(name: string): ResolvedElementType | undefined;
}

/**
 * Resolves types on demand and caches them. It does not track changes: the owner of the schema creates a new one when
 * any definition changes, one per schema revision (and per workspace with pinned types). A name that is invalid for
 * types is not looked up, because it may be megabytes long.
 */
export class SchemaResolver implements ResolvedSource {
  readonly #source: SchemaSource;
  readonly #nodeTypes = new Map<string, ResolvedNodeType>();
  readonly #archetypes = new Map<string, ResolvedArchetype>();
  readonly #elementTypes = new Map<string, ResolvedElementType>();

  constructor(source: SchemaSource) {
    this.#source = source;
  }

  /**
   * @returns undefined when there is no node type of the name
   * @throws {ServiceError} `VALIDATION_FAILED` when it exists and cannot be resolved
   */
  nodeType(name: string): ResolvedNodeType | undefined {
    if (name.length > TYPE_NAME_LENGTH_MAX) return undefined;
    const known = this.#nodeTypes.get(name);
    if (known !== undefined || this.#source.nodeType(name) === undefined) return known;
    const resolved = resolveNodeType(name, this.#source);
    this.#nodeTypes.set(name, resolved);
    return resolved;
  }

  pinOf(name: string): string | undefined {
    return this.#source.pinOf?.(name);
  }

  /** As {@link nodeType}, for an archetype. */
  archetype(name: string): ResolvedArchetype | undefined {
    if (name.length > TYPE_NAME_LENGTH_MAX) return undefined;
    const known = this.#archetypes.get(name);
    if (known !== undefined || this.#source.archetype(name) === undefined) return known;
    const resolved = resolveArchetype(name, this.#source);
    this.#archetypes.set(name, resolved);
    return resolved;
  }

  /** As {@link nodeType}, for an element type. */
  elementType(name: string): ResolvedElementType | undefined {
    if (name.length > TYPE_NAME_LENGTH_MAX) return undefined;
    const known = this.#elementTypes.get(name);
    if (known !== undefined || this.#source.elementType(name) === undefined) return known;
    const resolved = resolveElementType(name, this.#source);
    this.#elementTypes.set(name, resolved);
    return resolved;
  }
}
