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

/** Records looked at between two rests. */
const RECORDS_PER_STEP = 16;

/**
 * Keeps what a merge made ancestors, so that a branch knows its whole ancestry by itself, also when the source
 * of a merge has been deleted. Cost follows the revisions merged.
 *
 * @param records those of the source that the target did not have; what is kept already stays
 * @param home the source's actor, for records that do not name another one
 * @yields where the work may rest
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
 * What a revision was made from, of this branch's own revisions and of those that were merged into it.
 *
 * @returns undefined when this branch has never had it
 */
export function readAncestor(reader: TableReader, revision: Revision): GraphRecord | undefined {
  const own = readRevision(reader, revision);
  // Most revisions continue one other: then the record says it all.
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

/** What a merge noted of a revision, as the branch knew it that it came from. */
function mergedAncestor(reader: TableReader, revision: Revision): GraphRecord | undefined {
  const bytes = reader.get(BranchTable.ancestry, ancestryKey(revision));
  if (bytes === undefined) return undefined;
  const [parent, mergeParent, home, besides] = decodeJsonRow(bytes) as StoredAncestor;
  const known = { revision: formatRevision(revision), parent, mergeParent, home };
  return besides === undefined ? known : { ...known, besides };
}

/** A stored ancestor whose home has another id. @param moved id of an actor → its id now */
export function movedAncestor(bytes: Uint8Array, moved: (actor: string) => string): Uint8Array {
  const [parent, mergeParent, home, ...besides] = decodeJsonRow(bytes) as StoredAncestor;
  return encodeJsonRow([parent, mergeParent, moved(home), ...besides]);
}
