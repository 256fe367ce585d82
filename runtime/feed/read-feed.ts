import { formatRevision, parseRevision, revisionZero } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type FeedRow, feedRows } from '#runtime/tree/feed-store.ts';
import type { RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readBranchHead, readRevision } from '#runtime/tree/revision-store.ts';

/** What all entries of a feed have. */
interface Place {
  /** Rises by one with each entry of a branch. */
  readonly sequence: number;
  /** The head after the commit. */
  readonly revision: string;
}

/** A commit wrote a revision. Its record has parent, actor, message and the changed definitions. */
export interface RevisionEntry extends Place {
  readonly kind: 'revision';
  readonly previous: string;
  readonly record: RevisionRecord;
}

/** The head left `previous` without a new revision, or with several by a fast-forward. */
export interface HeadEntry extends Place {
  readonly kind: 'head_moved' | 'fast_forwarded';
  /** The head before the commit. */
  readonly previous: string;
}

/** Nothing before this entry is in the feed; what was there before it is the content of `revision`. */
export interface StartEntry extends Place {
  readonly kind: 'begun' | 'restored';
}

/** The branch was forked from a revision of another one. */
export interface CreatedEntry extends Place {
  readonly kind: 'created';
  /** Name of the other branch. */
  readonly source: string;
}

/** An entry of the change feed of a branch. @see feed-store.ts, FeedRow */
export type FeedEntry = RevisionEntry | HeadEntry | StartEntry | CreatedEntry;

/** A part of the feed. */
export interface FeedPage {
  /** Without gaps, from the one after the position on. */
  readonly entries: readonly FeedEntry[];
  /** Whether the last entry of the branch is among them, or there is none after the position. */
  readonly isComplete: boolean;
  /** The last entry of the branch; 0: there is none. */
  readonly last: number;
  /**
   * Whether entries after the position are missing: the position is of another branch or of a later state, or the
   * entries are lost. Then there are none; the consumer has to start again from the head, at {@link last}.
   */
  readonly isCut: boolean;
}

/** Entries of one page. */
export const FEED_PAGE_MAX = 256;

/** Changes stored inside the records of one page, after which it ends. */
const PAGE_CHANGES = 1_000;

/** Characters of the messages of one page, after which it ends. */
const PAGE_MESSAGES = 256 * 1024;

/**
 * Entries after a position, in order.
 *
 * @param after sequence of the last entry the consumer has seen; 0: none
 * @param limit entries of the answer, at most {@link FEED_PAGE_MAX}; the answer may have fewer
 */
export function readFeed(reader: TableReader, after: number, limit: number): FeedPage {
  const { feed } = readBranchHead(reader);
  const { first, last } = feed;
  const isKnown = after <= last && (after === 0 || after >= first - 1);
  if (!isKnown) return { entries: [], isComplete: true, last, isCut: true };
  const entries: FeedEntry[] = [];
  let changes = 0;
  let messages = 0;
  let next = Math.max(after + 1, first);
  for (const { sequence, row } of feedRows(reader, next - 1, Math.min(limit, FEED_PAGE_MAX))) {
    const entry = sequence === next ? entryOf(reader, sequence, row) : undefined;
    if (entry === undefined) break;
    entries.push(entry);
    next += 1;
    if (entry.kind !== 'revision') continue;
    changes += entry.record.changes?.length ?? 0;
    messages += entry.record.message.length;
    if (changes >= PAGE_CHANGES || messages >= PAGE_MESSAGES) break;
  }
  const isComplete = next > last;
  return { entries, isComplete, last, isCut: entries.length === 0 && !isComplete };
}

/** @returns undefined for an entry about a revision whose record is lost */
function entryOf(reader: TableReader, sequence: number, row: FeedRow): FeedEntry | undefined {
  const [kind, revision] = row;
  switch (kind) {
    case 'revision': {
      const record = readRevision(reader, parseRevision(revision));
      if (record === undefined) return undefined;
      const previous = record.parent ?? formatRevision(revisionZero);
      return { sequence, kind, revision, previous, record };
    }
    case 'head_moved':
    case 'fast_forwarded':
      return { sequence, kind, revision, previous: row[2] };
    case 'created':
      return { sequence, kind, revision, source: row[2] };
    default:
      return { sequence, kind, revision };
  }
}
