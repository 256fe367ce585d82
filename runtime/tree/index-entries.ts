import { Buffer } from 'node:buffer';
import { isNodeId, type NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/json-value.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { findReferences } from '#runtime/content/references.ts';
import { indexValue, uniqueValue } from '#runtime/index/index-value.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyKey, referenceKey, typeKey, uniqueKey } from '#runtime/shard/key-layout.ts';
import type { IndexFields } from './index-catalog.ts';

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
 * Every index row of one state of a node: a pure function of the workspace, the indexed fields and the
 * record, so that the indexes can be rebuilt from content and compared.
 *
 * @param fields what the catalog says is indexed for nodes of this type in this workspace
 */
export function indexEntries(
  workspace: string,
  fields: IndexFields,
  header: NodeHeader,
  properties: JsonObject,
): readonly IndexEntry[] {
  const id = Buffer.from(textBytes(header.id), 'latin1');
  const entries: IndexEntry[] = [
    { table: BranchTable.types, key: typeKey(workspace, header.nodeType, header.path), value: id },
  ];
  propertyEntries(entries, workspace, fields, header, properties, id);
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
    // What cannot be a node needs no row; its text is the caller's and may be anything.
    if (!isNodeId(found.ref) || !isWorkspaceName(target)) continue;
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
  fields: IndexFields,
  header: NodeHeader,
  properties: JsonObject,
  id: Uint8Array,
): void {
  for (const name of fields.properties) {
    if (!Object.hasOwn(properties, name)) continue;
    const value = indexValue(properties[name] as JsonValue);
    if (value === undefined) continue;
    const key = propertyKey(workspace, name, value, header.id);
    entries.push({ table: BranchTable.properties, key, value: nothing });
  }
  for (const name of fields.uniques) {
    if (!Object.hasOwn(properties, name)) continue;
    const value = uniqueValue(properties[name] as JsonValue);
    if (value === undefined) continue;
    const key = uniqueKey(workspace, header.nodeType, name, value);
    entries.push({ table: BranchTable.uniques, key, value: id, uniqueProperty: name });
  }
}
