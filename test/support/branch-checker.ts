import { ROOT_ID } from '#runtime/content/content-node.ts';
import { joinPath } from '#runtime/content/path.ts';
import { parseRevision, compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { bytesText, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, childKey, countKey, nodeKey, parentKey, pathKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount } from '#runtime/tree/index-catalog.ts';
import { indexEntries } from '#runtime/tree/index-entries.ts';
import { decodeBinding, decodeParentEntry } from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { revisionsUpTo } from '#runtime/tree/leading-revisions.ts';
import { readBranchHead, readChanges } from '#runtime/tree/revision-store.ts';

const everything = { start: '', end: '\u00ff' };

interface Stored {
  readonly workspace: string;
  readonly record: NodeRecord;
}

/** Tables that follow from the nodes alone. */
const derivedTables = {
  paths: BranchTable.paths,
  children: BranchTable.children,
  parents: BranchTable.parents,
  counts: BranchTable.counts,
  types: BranchTable.types,
  properties: BranchTable.properties,
  uniques: BranchTable.uniques,
  references: BranchTable.references,
} as const;

type TableName = keyof typeof derivedTables;

/**
 * Rebuilds everything that follows from the stored nodes and compares it with what is stored: path bindings,
 * places, counters, every index row. Also that the list of revisions agrees with itself.
 *
 * @returns one sentence for each difference; none when the branch is whole
 */
export function findDamage(reader: TableReader): readonly string[] {
  const damage: string[] = [];
  const nodes = new Map<string, Stored>();
  for (const { key, value } of reader.range(BranchTable.nodes, everything)) {
    const record = new NodeRecord(value);
    const workspace = key.slice(0, key.indexOf(END));
    nodes.set(key, { workspace, record });
    if (nodeKey(workspace, record.header.id) !== key)
      damage.push(`nodes: ${record.header.path} has another key`);
  }
  for (const stored of nodes.values()) checkPlace(stored, nodes, damage);
  const expected = rebuild(reader, [...nodes.values()]);
  for (const name of Object.keys(derivedTables) as TableName[]) {
    compare(name, expected[name], reader, damage);
  }
  checkRevisions(reader, [...nodes.values()], damage);
  return damage;
}

function checkPlace(
  { workspace, record }: Stored,
  nodes: ReadonlyMap<string, Stored>,
  damage: string[],
): void {
  const { path, name, parentId } = record.header;
  const parent = parentId === ROOT_ID ? '/' : nodes.get(nodeKey(workspace, parentId))?.record.header.path;
  if (parent === undefined) damage.push(`nodes: ${path} has no parent`);
  else if (joinPath(parent, name) !== path) damage.push(`nodes: ${path} is not '${name}' under ${parent}`);
}

type Rows = Map<string, string>;

function rebuild(reader: TableReader, nodes: readonly Stored[]): Record<TableName, Rows> {
  const tables = Object.fromEntries(
    Object.keys(derivedTables).map((name) => [name, new Map<string, string>()]),
  ) as Record<TableName, Rows>;
  const names = new Map(
    Object.entries(derivedTables).map(([name, table]) => [table as number, name as TableName]),
  );
  const children = new Map<string, { count: number; lastOrderKey: string }>();
  for (const { workspace, record } of nodes) {
    const { header } = record;
    tables.paths.set(pathKey(workspace, header.path), header.id);
    tables.children.set(childKey(workspace, header.parentId, header.orderKey), header.id);
    const parent = parentKey(workspace, header.parentId);
    const { count, lastOrderKey } = children.get(parent) ?? { count: 0, lastOrderKey: '' };
    const isLast = header.orderKey > lastOrderKey;
    children.set(parent, { count: count + 1, lastOrderKey: isLast ? header.orderKey : lastOrderKey });
    const type = countKey(workspace, header.nodeType);
    tables.counts.set(type, `${Number(tables.counts.get(type) ?? 0) + 1}`);
    const bytes = reader.get(BranchTable.counts, type);
    if (bytes === undefined) continue;
    const { fields } = decodeTypeCount(bytes);
    for (const entry of indexEntries(workspace, fields, header, record.properties, 'possible')) {
      const { key, mayBeMissing, table, value } = entry;
      if (mayBeMissing === true && reader.get(table, key) === undefined) continue;
      tables[names.get(table) as TableName].set(key, latin1(value));
    }
  }
  for (const [key, { count, lastOrderKey }] of children) tables.parents.set(key, `${count} ${lastOrderKey}`);
  return tables;
}

function compare(name: TableName, expected: Rows, reader: TableReader, damage: string[]): void {
  const missing = new Map(expected);
  for (const { key, value } of reader.range(derivedTables[name], everything)) {
    const wanted = missing.get(key);
    missing.delete(key);
    const found = shown(name, value);
    if (wanted === undefined) damage.push(`${name}: ${printable(key)} points to what is not there`);
    else if (wanted !== found)
      damage.push(`${name}: ${printable(key)} is ${printable(found)}, not ${printable(wanted)}`);
  }
  for (const key of missing.keys()) damage.push(`${name}: ${printable(key)} is missing`);
}

/** The part of a value that follows from the nodes. */
function shown(name: TableName, value: Uint8Array): string {
  if (name === 'paths' || name === 'children') return decodeBinding(value).id;
  if (name === 'parents') {
    const { count, lastOrderKey } = decodeParentEntry(value);
    return `${count} ${lastOrderKey}`;
  }
  if (name === 'counts') return `${decodeTypeCount(value).count}`;
  return latin1(value);
}

function checkRevisions(reader: TableReader, nodes: readonly Stored[], damage: string[]): void {
  const { head, revisions } = readBranchHead(reader);
  let count = 0;
  let before: Revision | undefined;
  const named = new Set<string>();
  for (const record of revisionsUpTo(reader, head)) {
    const revision = parseRevision(record.revision);
    if (before !== undefined && compareRevisions(revision, before) >= 0) damage.push('revisions do not rise');
    before = revision;
    count += 1;
    const changes = readChanges(reader, record);
    if (changes.length !== record.changeCount) damage.push(`${record.revision} counts its changes wrongly`);
    for (const change of changes) named.add(`${record.revision} ${change.workspace} ${change.node_id}`);
  }
  if (count !== revisions) damage.push(`the head counts ${revisions} revisions, there are ${count}`);
  for (const { workspace, record } of nodes) {
    const { id, path, revision } = record.header;
    if (!named.has(`${revision} ${workspace} ${id}`))
      damage.push(`${path} is not named by revision ${revision}`);
  }
}

function latin1(value: Uint8Array): string {
  return Buffer.from(value).toString('latin1');
}

function printable(bytes: string): string {
  return JSON.stringify(bytesText(bytes).replaceAll(END, '·'));
}
