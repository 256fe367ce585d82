import type { FieldRules, ResolvedField } from '../validation/validation.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { Archetype } from '../definitions/archetype.ts';
import type { ElementType } from '../definitions/element-type.ts';
import { compileField } from '../validation/field-check.ts';
import type { FieldSchema } from '../definitions/field-schema.ts';
import type { JsonValue } from '../values/json-value.ts';
import { requireTrail, type SchemaSource } from './type-resolver.ts';

/** An archetype with everything it inherits. Frozen; valid until an archetype changes. */
export interface ResolvedArchetype extends FieldRules {
  readonly name: string;
  readonly archetype: Archetype;
  /** The node type a node must have; null allows any. */
  readonly baseNodeType: string | null;
  readonly layout: readonly JsonValue[] | null;
  /** From this archetype to the root ancestor. */
  readonly inheritanceChain: readonly string[];
}

/** An element type with everything it inherits. Frozen; valid until an element type changes. */
export interface ResolvedElementType extends FieldRules {
  readonly name: string;
  readonly elementType: ElementType;
  readonly layout: readonly JsonValue[] | null;
  readonly inheritanceChain: readonly string[];
}

/**
 * Merges an archetype with its ancestors: fields of the root ancestor come first, and a later field replaces an earlier
 * one with its name.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when it or a parent does not exist, for a cycle, for too many levels
 * @see docs/interface/node-types.md#inheritance
 */
export function resolveArchetype(name: string, source: SchemaSource): ResolvedArchetype {
  const chain = chainOf('Archetype', name, (each) => source.archetype(each));
  return Object.freeze({
    ...rulesOf(mergeFields(chain), nearest(chain, 'strict') ?? false),
    name,
    archetype: chain[0]!,
    baseNodeType: nearest(chain, 'base_node_type'),
    layout: nearest(chain, 'layout'),
    inheritanceChain: Object.freeze(chain.map((each) => each.name)),
  });
}

/** As {@link resolveArchetype}, for an element type. */
export function resolveElementType(name: string, source: SchemaSource): ResolvedElementType {
  const chain = chainOf('ElementType', name, (each) => source.elementType(each));
  return Object.freeze({
    ...rulesOf(mergeFields(chain), nearest(chain, 'strict') ?? false),
    name,
    elementType: chain[0]!,
    layout: nearest(chain, 'layout'),
    inheritanceChain: Object.freeze(chain.map((each) => each.name)),
  });
}

/** The fields of both `/resolved` answers besides the definition itself. */
interface ResolvedFieldsJson {
  readonly resolved_fields: readonly FieldSchema[];
  readonly resolved_layout: readonly JsonValue[] | null;
  readonly inheritance_chain: readonly string[];
  readonly resolved_strict: boolean;
}

/** The answer of `/archetypes/{name}/resolved`. */
export function resolvedArchetypeJson(
  resolved: ResolvedArchetype,
): { readonly archetype: Archetype } & ResolvedFieldsJson {
  return { archetype: resolved.archetype, ...fieldsJson(resolved) };
}

/** The answer of `/elementtypes/{name}/resolved`. */
export function resolvedElementTypeJson(
  resolved: ResolvedElementType,
): { readonly element_type: ElementType } & ResolvedFieldsJson {
  return { element_type: resolved.elementType, ...fieldsJson(resolved) };
}

function fieldsJson(resolved: ResolvedArchetype | ResolvedElementType): ResolvedFieldsJson {
  return {
    resolved_fields: resolved.fields,
    resolved_layout: resolved.layout,
    inheritance_chain: resolved.inheritanceChain,
    resolved_strict: resolved.strict,
  };
}

interface Extending {
  readonly name: string;
  readonly extends: string | null;
  readonly fields: readonly FieldSchema[];
}

/** The definition and its ancestors, nearest first. */
function chainOf<T extends Extending>(
  kind: string,
  name: string,
  find: (name: string) => T | undefined,
): T[] {
  const chain: T[] = [];
  let trail: readonly string[] = [];
  for (let next: string | null = name; next !== null; ) {
    trail = requireTrail(kind, next, trail);
    const found: T | undefined = find(next);
    if (found === undefined) {
      throw chain.length === 0
        ? invalid(`${kind} not found: '${name}'`)
        : invalid(`${kind} '${chain[chain.length - 1]!.name}' extends '${next}', which does not exist`);
    }
    chain.push(found);
    next = found.extends;
  }
  return chain;
}

function nearest<T, K extends keyof T>(chain: readonly T[], key: K): T[K] | null {
  return chain.find((each) => each[key] !== null)?.[key] ?? null;
}

function mergeFields(chain: readonly Extending[]): readonly FieldSchema[] {
  const fields = new Map<string, FieldSchema>();
  for (const each of chain.toReversed()) for (const field of each.fields) fields.set(field.name, field);
  return [...fields.values()];
}

function rulesOf(fields: readonly FieldSchema[], strict: boolean): FieldRules {
  const resolved = fields.map((schema): ResolvedField => {
    const nested = schema.fields === undefined ? null : Object.freeze(rulesOf(schema.fields, false));
    return Object.freeze({ schema, nested, check: compileField(schema, nested) });
  });
  return {
    fields: Object.freeze(fields),
    byName: new Map(resolved.map((field) => [field.schema.name, field])),
    required: Object.freeze(fields.filter((field) => field.required === true).map((field) => field.name)),
    strict,
    defaults: Object.freeze(
      fields
        .filter((field) => field.default_value !== undefined && field.default_value !== null)
        .map((field) => [field.name, field.default_value!] as const),
    ),
    hasLocation: resolved.some(
      (field) => field.schema.$type === 'LocationField' || (field.nested?.hasLocation ?? false),
    ),
  };
}
