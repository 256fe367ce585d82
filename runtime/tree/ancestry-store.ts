import type { Turn } from '#runtime/commit/behaviour.ts';
import { formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { ancestryKey, BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { GraphRecord } from './revision-graph.ts';
import { readRevision } from './revision-store.ts';

type StoredAncestor = readonly [parent: string | null, mergeParent: string | null, home: string];

/**
 * Keeps what a merge made ancestors, so that a branch knows its whole ancestry by itself, also when the source
 * of a merge has been deleted. Cost follows the revisions merged.
 *
 * @param records those of the source that the target did not have; what is kept already stays
 * @param home the source's actor, for records that do not name another one
 */
export function writeMergedRevisions(turn: Turn, records: Iterable<GraphRecord>, home: string): void {
  for (const record of records) {
    const { revision, parent, mergeParent } = record;
    const key = ancestryKey(parseRevision(revision));
    if (turn.get(BranchTable.ancestry, key) !== undefined) continue;
    const stored: StoredAncestor = [parent, mergeParent, record.home ?? home];
    turn.put(BranchTable.ancestry, key, encodeJsonRow(stored));
  }
}

/**
 * What a revision was made from, of this branch's own revisions and of those that were merged into it.
 *
 * @returns undefined when this branch has never had it
 */
export function readAncestor(reader: TableReader, revision: Revision): GraphRecord | undefined {
  const own = readRevision(reader, revision);
  if (own !== undefined) return { revision: own.revision, parent: own.parent, mergeParent: own.mergeParent };
  const bytes = reader.get(BranchTable.ancestry, ancestryKey(revision));
  if (bytes === undefined) return undefined;
  const [parent, mergeParent, home] = decodeJsonRow(bytes) as StoredAncestor;
  return { revision: formatRevision(revision), parent, mergeParent, home };
}
