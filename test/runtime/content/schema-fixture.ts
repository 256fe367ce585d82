import { type Archetype, parseArchetypeDefinition } from '#runtime/content/definitions/archetype.ts';
import { type ElementType, parseElementTypeDefinition } from '#runtime/content/definitions/element-type.ts';
import { type NodeType, parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { newSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { TranslationRules } from '#runtime/content/translations/translation-check.ts';
import type { SchemaSource } from '#runtime/content/resolution/type-resolver.ts';

const now = '2024-01-01T00:00:00.000Z';

/** Definitions in wire form, of the three kinds. */
export interface Definitions {
  readonly nodeTypes?: readonly object[];
  readonly archetypes?: readonly object[];
  readonly elementTypes?: readonly object[];
}

/** A schema of definitions given in wire form, read by the product's own parsers. */
export function schemaOf(definitions: Definitions): SchemaSource & { readonly resolved: SchemaResolver } {
  const nodeTypes = new Map<string, NodeType>();
  const archetypes = new Map<string, Archetype>();
  const elementTypes = new Map<string, ElementType>();
  for (const json of definitions.nodeTypes ?? []) {
    const record = newSchemaRecord(parseNodeTypeDefinition(json), `id-${nodeTypes.size}`, now);
    nodeTypes.set(record.name, record);
  }
  for (const json of definitions.archetypes ?? []) {
    const record = newSchemaRecord(parseArchetypeDefinition(json), `id-${archetypes.size}`, now);
    archetypes.set(record.name, record);
  }
  for (const json of definitions.elementTypes ?? []) {
    const record = newSchemaRecord(parseElementTypeDefinition(json), `id-${elementTypes.size}`, now);
    elementTypes.set(record.name, record);
  }
  const source: SchemaSource = {
    nodeType: (name) => nodeTypes.get(name),
    archetype: (name) => archetypes.get(name),
    elementType: (name) => elementTypes.get(name),
  };
  return { ...source, resolved: new SchemaResolver(source) };
}

/** The rules of nodes of a type, the first one given, for translated values. @param archetype name of theirs */
export function rulesOf(definitions: Definitions, archetype: string | null = null): TranslationRules {
  const { resolved } = schemaOf(definitions);
  const { name } = definitions.nodeTypes![0] as { readonly name: string };
  return {
    type: resolved.nodeType(name)!,
    archetype: archetype === null ? null : resolved.archetype(archetype)!,
    source: resolved,
  };
}
