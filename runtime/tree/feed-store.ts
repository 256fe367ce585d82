import type { Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, feedKey, feedSequence } from '#runtime/shard/key-layout.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';

/**
 * An entry of the change feed of a branch: one for each commit that changes its head, under a rising sequence number.
 *
 * - `revision`: a commit wrote a revision;
 * - `head_moved`: the head went from `previous` to `revision`, back or forward;
 * - `fast_forwarded`: a merge applied the revisions after `previous` up to `revision`;
 * - `created`: the branch was forked from a revision of another branch, whose feed it does not continue;
 * - `restored`: the branch was restored from a backup; it is the first commit after it that tells so;
 * - `begun`: earlier commits have no entry, because they were made by a version without a feed.
 *
 * Entries repeat nothing of the revision records, so they stay small, and a commit of any size writes one.
 */
export type FeedRow =
  | readonly [kind: 'revision' | 'begun' | 'restored', revision: string]
  | readonly [kind: 'head_moved' | 'fast_forwarded', revision: string, previous: string]
  | readonly [kind: 'created', revision: string, source: string];

/** The entries of a feed. */
export interface FeedSpan {
  /** Sequence of the first entry; rows before it belong to the source of a fork. 0: the feed has not begun. */
  readonly first: number;
  /** Sequence of the last entry that was written; `first - 1` when there is none. */
  readonly last: number;
  /** Whether the branch was restored from a backup and has had no commit since. */
  readonly isRestored: boolean;
}

/** Every kind of entry. */
const feedKinds: ReadonlySet<string> = new Set<FeedRow[0]>([
  'revision',
  'head_moved',
  'fast_forwarded',
  'created',
  'restored',
  'begun',
]);

/** A branch without a feed. */
export const noFeed: FeedSpan = Object.freeze({ first: 0, last: 0, isRestored: false });

/**
 * Writes an entry.
 *
 * @param span the entries so far
 * @param head the head before the commit, `0-0` for none
 * @returns the entries now
 */
export function appendFeedRow(turn: Turn, span: FeedSpan, head: string, row: FeedRow): FeedSpan {
  let { first, last } = span;
  if (first === 0) {
    last = Math.max(last, lastFeedSequence(turn));
    first = last + 1;
    // An empty branch lacks no entries.
    if (row[0] !== 'created' && (last > 0 || head !== '0-0')) putRow(turn, ++last, ['begun', head]);
  } else if (span.isRestored) putRow(turn, ++last, ['restored', head]);
  putRow(turn, ++last, row);
  return { first, last, isRestored: false };
}

/** The feed of a fork, which continues the numbers of its source and none of its entries. */
export function forkedFeed(
  turn: Turn,
  source: FeedSpan,
  row: FeedRow & readonly ['created', ...unknown[]],
): FeedSpan {
  const first = Math.max(source.last, source.first === 0 ? lastFeedSequence(turn) : 0) + 1;
  putRow(turn, first, row);
  return { first, last: first, isRestored: false };
}

function putRow(turn: Turn, sequence: number, row: FeedRow): void {
  turn.put(BranchTable.feed, feedKey(sequence), encodeJsonRow([sequence, ...row]));
}

/** A stored entry: its row after its sequence, so that a damaged key does not go unnoticed. */
type StoredFeedRow = readonly [sequence: number, ...row: FeedRow];

/** @throws {ServiceError} `DATA_CORRUPTED` when the row is damaged or of another key */
export function decodeFeedRow({ key, value }: Row): FeedRow {
  const [sequence, ...row] = decodeJsonRow(value) as StoredFeedRow;
  if (feedKey(sequence) !== key) throw new ServiceError('DATA_CORRUPTED', `it holds entry ${sequence}`);
  if (!feedKinds.has(row[0])) throw new ServiceError('DATA_CORRUPTED', `its kind '${row[0]}' is unknown`);
  return row;
}

const everything = { start: feedKey(0), end: `${feedKey(2 ** 48 - 1)}\0` };

/** Sequence of the last stored entry; 0: there is none. */
function lastFeedSequence(reader: TableReader): number {
  for (const { key } of reader.range(BranchTable.feed, { ...everything, reverse: true }))
    return feedSequence(key);
  return 0;
}

/** Entries counted between two yields. */
const ENTRIES_PER_REST = 256;

/** Whether every entry of a feed is stored; in steps. */
export function* isWholeFeed(reader: TableReader, { first, last }: FeedSpan): Generator<undefined, boolean> {
  if (first === 0) return true;
  let next = first;
  for (const { key } of reader.range(BranchTable.feed, { ...everything, start: feedKey(first) })) {
    if (feedSequence(key) !== next) return false;
    next += 1;
    if (next % ENTRIES_PER_REST === 0) yield;
  }
  return next === last + 1;
}

/** Stored entries after a sequence, in order. At most `limit`, which must be small. */
export function feedRows(
  reader: TableReader,
  after: number,
  limit: number,
): readonly { readonly sequence: number; readonly row: FeedRow }[] {
  const rows: { sequence: number; row: FeedRow }[] = [];
  for (const stored of reader.range(BranchTable.feed, { ...everything, start: feedKey(after + 1) })) {
    rows.push({ sequence: feedSequence(stored.key), row: decodeFeedRow(stored) });
    if (rows.length === limit) break;
  }
  return rows;
}

/**
 * Removes entries of the source of a fork.
 *
 * @param first the first entry of the fork; 0: there are none of a source
 * @param most maximum number of rows
 * @returns the number of removed rows
 */
export function removeFeedRowsBefore(turn: Turn, first: number, most: number): number {
  const keys: string[] = [];
  if (first === 0) return 0;
  for (const { key } of turn.range(BranchTable.feed, { ...everything, end: feedKey(first) })) {
    if (keys.length >= most) break;
    keys.push(key);
  }
  for (const key of keys) turn.remove(BranchTable.feed, key);
  return keys.length;
}
