import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, hasRows } from './index-catalog.ts';

/** Number of rows of an index of a workspace. The cost grows with the number of types in the workspace. */
export function indexSize(reader: TableReader, workspace: string, index: string): number {
  let rows = 0;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { count, fields } = decodeTypeCount(value);
    if (hasRows(fields, index)) rows += count;
  }
  return rows;
}
