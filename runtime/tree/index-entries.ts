import type { NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/json-value.ts';
import { findReferences } from '#runtime/content/references.ts';
import type { ResolvedNodeType } from '#runtime/content/type-resolver.ts';
import { indexValue, uniqueValue } from '#runtime/index/index-value.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyKey, referenceKey, typeKey, uniqueKey } from '#runtime/shard/key-layout.ts';

/** One row a node puts into an index. */
export interface IndexEntry {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
  /** For a unique row: the property, so that a clash can be named. */
  readonly uniqueProperty?: string;
}

const nothing = new Uint8Array(0);

/**
 * Every index row of one state of a node: a pure function of the workspace, the type and the record, so that
 * the indexes can be rebuilt from content and compared.
 *
 * @param type undefined when the type has been deleted: then only the type row and references are kept
 */
export function indexEntries(
  workspace: string,
  type: ResolvedNodeType | undefined,
  header: NodeHeader,
  properties: JsonObject,
): readonly IndexEntry[] {
  const id = Buffer.from(textBytes(header.id), 'latin1');
  const entries: IndexEntry[] = [
    { table: BranchTable.types, key: typeKey(workspace, header.nodeType, header.path), value: id },
  ];
  if (type !== undefined) propertyEntries(entries, workspace, type, header, properties, id);
  for (const relation of header.relations) {
    entries.push({
      table: BranchTable.references,
      key: referenceKey(
        relation.workspace,
        relation.target,
        'relation',
        workspace,
        header.id,
        relation.relation_type,
      ),
      value: Buffer.from(JSON.stringify(relation)),
    });
  }
  for (const found of findReferences(properties)) {
    const target = found.workspace ?? workspace;
    entries.push({
      table: BranchTable.references,
      key: referenceKey(target, found.ref, 'property', workspace, header.id, found.pointer),
      value: nothing,
    });
  }
  return entries;
}

function propertyEntries(
  entries: IndexEntry[],
  workspace: string,
  type: ResolvedNodeType,
  header: NodeHeader,
  properties: JsonObject,
  id: Uint8Array,
): void {
  if (type.indexable && type.indexTypes.includes('Property')) {
    for (const { name, kinds } of type.indexed) {
      if (!kinds.includes('Property') || !Object.hasOwn(properties, name)) continue;
      const value = indexValue(properties[name] as JsonValue);
      if (value === undefined) continue;
      entries.push({
        table: BranchTable.properties,
        key: propertyKey(workspace, name, value, header.id),
        value: nothing,
      });
    }
  }
  for (const name of type.unique) {
    if (!Object.hasOwn(properties, name)) continue;
    const value = uniqueValue(properties[name] as JsonValue);
    if (value === undefined) continue;
    const key = uniqueKey(workspace, header.nodeType, name, value);
    entries.push({ table: BranchTable.uniques, key, value: id, uniqueProperty: name });
  }
}
