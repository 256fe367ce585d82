import { Buffer } from 'node:buffer';
import { wholeScope } from '#runtime/access/policy.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { storedRows } from '#runtime/shard/value-in-steps.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { changedFor, type ScanSource, scan } from '#runtime/scan/scan.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** A node whose record contains the id of the target. */
export interface NamingNode {
  /** Workspace and id as in keys. */
  readonly source: string;
  readonly workspace: string;
  readonly id: string;
  readonly record: NodeRecord;
}

/** How much one walk reads: nodes, and bytes of them. */
export interface WalkBounds {
  readonly nodes: number;
  readonly bytes: number;
}

const LAST_KEY = '\u00ff';

/**
 * The nodes of all workspaces that may refer to a node, in the order of workspace and id: those whose record contains its
 * id.
 *
 * No table stores removed references: it would grow with each write of a node that has some, for reads of the past only. So
 * the table of the head and the nodes that changed since tell them. Where these are too many, all nodes of a workspace are
 * read, and those that do not contain the id are passed over without decoding.
 *
 * @param after only nodes behind this workspace and id, as in keys
 * @param most where the walk ends; default: at the last node
 * @returns yields undefined where the work may pause. Returns the workspace and id behind which the walk goes on
 */
export function* namingNodes(
  moment: Moment,
  target: { readonly workspace: string; readonly id: string },
  after: string | undefined,
  most: WalkBounds = { nodes: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
): Generator<NamingNode | undefined, string | undefined> {
  // The id as encoded in the JSON of a record.
  const mark = Buffer.from(JSON.stringify(target.id).slice(1, -1));
  let [workspace, first] = after === undefined ? [] : (after.split(END) as [string, string]);
  workspace ??= nextWorkspace(moment.reader, '');
  let nodes = 0;
  let bytes = 0;
  while (workspace !== undefined) {
    const referring: ScanSource = { kind: 'references', workspace, target };
    const isTold = (yield* changedFor(moment, referring)) !== undefined;
    const source: ScanSource = isTold ? referring : { kind: 'nodes', workspace };
    const rows = scan(moment, { source, scope: wholeScope, after: first, placesMax: most.nodes - nodes });
    let step = rows.next();
    for (; step.done !== true; step = rows.next()) {
      const row = step.value;
      nodes += 1;
      if (row === undefined) {
        yield undefined;
        continue;
      }
      const { id, record } = row;
      const key = workspace + END + row.position;
      bytes += record.bytes.length;
      if (contains(record.bytes, mark)) yield { source: key, workspace, id, record };
      moment.rest();
      yield undefined;
      if (bytes >= most.bytes) return key;
    }
    if (step.value !== undefined) return workspace + END + step.value;
    const next = nextWorkspace(moment.reader, workspace + AFTER_END);
    if (next !== undefined && nodes >= most.nodes) return workspace + END + LAST_KEY;
    workspace = next;
    first = undefined;
  }
  return undefined;
}

/** The first workspace at or behind a key that has or had nodes. */
function nextWorkspace(reader: TableReader, start: string): string | undefined {
  let first: string | undefined;
  for (const table of [BranchTable.nodes, BranchTable.nodeVersions]) {
    for (const { key } of storedRows(reader, table, { start, end: LAST_KEY })) {
      const workspace = key.slice(0, key.indexOf(END));
      if (first === undefined || workspace < first) first = workspace;
      break;
    }
  }
  return first;
}

function contains({ buffer, byteLength, byteOffset }: Uint8Array, mark: Buffer): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(mark);
}
