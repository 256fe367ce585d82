import type { Turn } from '#runtime/commit/behaviour.ts';
import { formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { ancestryKey, BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type GraphRecord, parentsOf } from './revision-graph.ts';
import { readRevision } from './revision-store.ts';

type StoredAncestor = readonly [
  parent: string | null,
  mergeParent: string | null,
  home: string,
  besides?: readonly string[],
];

/** Records processed between two yields. */
const RECORDS_PER_STEP = 16;

/**
 * Stores the ancestors that a merge added, so that a branch has its whole ancestry even after the source of the merge
 * was deleted. Cost follows the number of merged revisions.
 *
 * @param records those of the source that the target did not have; existing rows are kept
 * @param home the source's actor, for records that do not name another one
 * @yields between steps of bounded length
 */
export function* writeMergedRevisions(
  turn: Turn,
  records: Iterable<GraphRecord>,
  home: string,
): Generator<undefined, void> {
  let handled = 0;
  for (const record of records) {
    handled += 1;
    if (handled % RECORDS_PER_STEP === 0) yield;
    const { revision, parent, mergeParent, besides } = record;
    const key = ancestryKey(parseRevision(revision));
    if (turn.get(BranchTable.ancestry, key) !== undefined) continue;
    const known = [parent, mergeParent, record.home ?? home] as const;
    const stored: StoredAncestor = besides === undefined ? known : [...known, besides];
    turn.put(BranchTable.ancestry, key, encodeJsonRow(stored));
  }
}

/**
 * The parents of a revision of this branch, or of one that was merged into it.
 *
 * @returns undefined when this branch has never had it
 */
export function readAncestor(reader: TableReader, revision: Revision): GraphRecord | undefined {
  const own = readRevision(reader, revision);
  // Most revisions have one parent: then the record is complete.
  if (own !== undefined && own.mergeParent === null) {
    return { revision: own.revision, parent: own.parent, mergeParent: null };
  }
  const elsewhere = mergedAncestor(reader, revision);
  if (own === undefined) return elsewhere;
  const { mergeParent, parent } = own;
  const besides = elsewhere === undefined ? [] : parentsOf(elsewhere);
  const others = besides.filter((one) => one !== parent && one !== mergeParent);
  return { revision: own.revision, parent, mergeParent, ...(others.length === 0 ? {} : { besides: others }) };
}

/** The stored ancestor record of a merged revision, as its source branch had it. */
function mergedAncestor(reader: TableReader, revision: Revision): GraphRecord | undefined {
  const bytes = reader.get(BranchTable.ancestry, ancestryKey(revision));
  if (bytes === undefined) return undefined;
  const [parent, mergeParent, home, besides] = decodeJsonRow(bytes) as StoredAncestor;
  const known = { revision: formatRevision(revision), parent, mergeParent, home };
  return besides === undefined ? known : { ...known, besides };
}

/** A stored ancestor with the new id of its home. @param moved old actor id → new one */
export function movedAncestor(bytes: Uint8Array, moved: (actor: string) => string): Uint8Array {
  const [parent, mergeParent, home, ...besides] = decodeJsonRow(bytes) as StoredAncestor;
  return encodeJsonRow([parent, mergeParent, moved(home), ...besides]);
}
