import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** Statistics of a type, in the order of names. */
export interface CountedType {
  readonly name: string;
  nodes: number;
  published: number;
  versions: number;
  propertyBytes: number;
  oldestChange: string;
  newestChange: string;
  readonly archetypes: Record<string, number>;
  readonly locales: Record<string, number>;
  readonly relations: Record<string, number>;
  /** By name and kind. */
  readonly properties: Record<string, Record<string, number>>;
}

/** Counts nodes one by one, from their decoded states: what statistics of them have to say. */
export function countedNodes(nodes: Iterable<NodeRecord>): Record<string, CountedType> {
  const types: Record<string, CountedType> = {};
  for (const { header, properties } of nodes) {
    const day = header.updatedAt.slice(0, 10);
    types[header.nodeType] ??= {
      name: header.nodeType,
      nodes: 0,
      published: 0,
      versions: 0,
      propertyBytes: 0,
      oldestChange: day,
      newestChange: day,
      archetypes: named(),
      locales: named(),
      relations: named(),
      properties: named(),
    };
    const type = types[header.nodeType] as CountedType;
    type.nodes += 1;
    type.published += header.publishedAt === null ? 0 : 1;
    type.versions += header.version;
    // Without the braces.
    type.propertyBytes += Buffer.byteLength(JSON.stringify(properties)) - 2;
    if (day < type.oldestChange) type.oldestChange = day;
    if (day > type.newestChange) type.newestChange = day;
    if (header.archetype !== null) add(type.archetypes, header.archetype);
    for (const locale of Object.keys(header.translations ?? {})) add(type.locales, locale);
    for (const { relation_type: kind } of header.relations) add(type.relations, kind);
    for (const [name, value] of Object.entries(properties)) {
      type.properties[name] ??= named();
      add(type.properties[name] as Record<string, number>, kindOf(value));
    }
  }
  return types;
}

/** Values by any name: a property may have the name of a method of objects. */
function named<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
