import type { NodeHeader } from '#runtime/content/content-node.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { decodeExactJsonRowInSteps, encodeJsonRow, encodeJsonRowInSteps } from '#runtime/shard/json-row.ts';
import { BranchTable, manualVersionKey, underParts } from '#runtime/shard/key-layout.ts';
import type { StoredValue } from '#runtime/shard/large-value.ts';
import { storedRows, storedValue } from '#runtime/shard/value-in-steps.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from './node-reader.ts';
import { makeNodeRecordInSteps } from './record/make-record.ts';
import type { NodeRecord } from './record/node-record.ts';
import { renderNodeInSteps } from './render-node.ts';

/**
 * A state of a node that a user saved under a number. It never changes, and it stays when the node is deleted. It is
 * not content: saving one changes nothing that a read at a revision returns.
 *
 * @see docs/interface/nodes.md#manual-versions
 */
export interface ManualVersion {
  /** From 1, per node, in order of creation. */
  readonly number: number;
  readonly note: string | null;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: string;
  /** Clock of the command that made it, so that a fork can tell which versions came later. */
  readonly madeAt: string;
  readonly hasChildren: boolean;
  readonly header: NodeHeader;
  readonly properties: JsonObject;
}

/** Length of the number at the end of a key. */
const NUMBER_BYTES = 4;

/**
 * Saves a state of a node as its next manual version, in steps: yields only for a large node.
 *
 * @param who for `created_by`
 * @returns the number of the version
 */
export function* writeManualVersion(
  turn: Turn,
  workspace: string,
  record: NodeRecord,
  who: string,
  note: string | null,
): Generator<undefined, number> {
  const { header } = record;
  const number = lastNumber(turn, workspace, header.id) + 1;
  const facts: Omit<ManualVersion, 'properties'> = {
    number,
    note,
    createdAt: new Date(turn.wallMs).toISOString(),
    createdBy: who,
    madeAt: formatRevision(turn.revision),
    hasChildren: new HeadNodeReader(turn).hasChildren(workspace, header.id),
    header,
  };
  const row = record.isLarge
    ? yield* encodeJsonRowInSteps(largeVersionPieces(facts, record))
    : encodeJsonRow({ ...facts, properties: record.properties } satisfies ManualVersion);
  turn.put(BranchTable.manualVersions, manualVersionKey(workspace, header.id, number), row);
  return number;
}

/** The text of a version. Its properties are copied from the record without decoding. */
function* largeVersionPieces(
  facts: Omit<ManualVersion, 'properties'>,
  record: NodeRecord,
): Generator<string | Uint8Array, void> {
  // The last character written is the closing brace.
  let held = '';
  for (const piece of jsonPieces(facts)) {
    yield held;
    held = piece;
  }
  yield `${held.slice(0, -1)},"properties":{`;
  yield record.propertyBytes().text;
  yield '}}';
}

/** Number of the newest manual version of a node, 0 when there is none; read from the key. */
function lastNumber(reader: TableReader, workspace: string, nodeId: string): number {
  const range = { ...underParts(workspace, textBytes(nodeId)), reverse: true };
  for (const { key } of storedRows(reader, BranchTable.manualVersions, range)) {
    return Buffer.from(key.slice(-NUMBER_BYTES), 'latin1').readUInt32BE();
  }
  return 0;
}

/** The stored value of a manual version; undefined when no version has this number. */
export function findManualVersion(
  reader: TableReader,
  workspace: string,
  nodeId: string,
  number: number,
): StoredValue | undefined {
  // Numbers come from callers, and a key holds 32 bits.
  if (!Number.isInteger(number) || number < 1 || number > 0xffffffff) return undefined;
  return storedValue(reader, BranchTable.manualVersions, manualVersionKey(workspace, nodeId, number));
}

/**
 * Decodes the value of a row of the `manualVersions` table, in steps: yields only when it is large.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function* decodeManualVersion(bytes: Uint8Array): Generator<undefined, ManualVersion> {
  return (yield* decodeExactJsonRowInSteps(bytes)) as ManualVersion;
}

/** The manual versions of a node, newest first. Must be consumed within one turn of the event loop unless pinned. */
export function* manualVersions(
  reader: TableReader,
  workspace: string,
  nodeId: string,
): Generator<ManualVersion, undefined> {
  const range = { ...underParts(workspace, textBytes(nodeId)), reverse: true };
  for (const { value } of reader.range(BranchTable.manualVersions, range)) {
    yield atOnce(decodeManualVersion(value));
  }
}

/**
 * A manual version as JSON text, as the version routes answer it, in steps: yields only for a large node.
 *
 * @param type of the saved node, for the derived fields of `node_data`; undefined for a deleted type
 * @see docs/interface/nodes.md#manual-versions
 */
export function* renderManualVersion(
  version: ManualVersion,
  workspace: string,
  type: ResolvedNodeType | undefined,
): Generator<undefined, string> {
  const { number, note, createdAt, createdBy, header, hasChildren } = version;
  const record = yield* makeNodeRecordInSteps(header, version.properties);
  const data = yield* renderNodeInSteps(record, { workspace, hasChildren, type });
  return (
    `{"id":${JSON.stringify(`${header.id}:${number}`)},"node_id":${JSON.stringify(header.id)}` +
    `,"version":${number},"node_data":${data},"note":${JSON.stringify(note)}` +
    `,"created_at":"${createdAt}","updated_at":"${createdAt}","created_by":${JSON.stringify(createdBy)}}`
  );
}
