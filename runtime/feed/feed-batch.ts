import { formatRevision } from '#runtime/content/revision.ts';
import { isDamage } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { type EntryChanges, entryChanges, type EntryPart } from './entry-changes.ts';
import { type FeedEntry, readFeed } from './read-feed.ts';

/** What a consumer has seen of a feed. */
export interface FeedPosition {
  /** The last entry it has seen completely; 0: none. */
  readonly sequence: number;
  /** Parts of the next entry that it has seen. */
  readonly parts: number;
  /** The last of these parts; absent where there is none. */
  readonly part?: EntryPart;
}

/** One step of a consumer: an entry with a part of its changes. */
export interface FeedItem {
  readonly entry: FeedEntry;
  /** Undefined for an entry without changes. */
  readonly changes: EntryChanges | undefined;
  /** The position of a consumer that has seen it. It rises, so it recognizes what was seen before. */
  readonly after: FeedPosition;
}

/** Where a consumer starts: it takes the content of the revision, and then what follows the position. */
export interface FeedStart {
  readonly revision: string;
  readonly position: FeedPosition;
  /**
   * - `new`: the consumer has no position, as in a branch that was just forked;
   * - `cut`: what follows its position is not in the feed: it was lost, or never written.
   */
  readonly reason: 'new' | 'cut';
}

/** Some steps of a consumer. */
export interface FeedBatch {
  readonly items: readonly FeedItem[];
  /** Given instead of items when the consumer has to start. */
  readonly start?: FeedStart;
  /** The position behind the items or of the start. */
  readonly position: FeedPosition;
  /** The last entry of the branch; 0: there is none. */
  readonly last: number;
  /** Whether nothing follows. */
  readonly isComplete: boolean;
}

/** Entries read at a time. */
const ENTRIES_MAX = 64;

/** Changes after which a batch takes no further item; a part has at most as many. One without changes counts as one. */
const CHANGES_MAX = 1_000;

/** Where a consumer starts at the head. */
function startAtHead(reader: TableReader, reason: FeedStart['reason']): FeedStart {
  const { feed, head } = readBranchHead(reader);
  return { revision: formatRevision(head), position: { sequence: feed.last, parts: 0 }, reason };
}

/**
 * The next steps of a consumer, bounded in entries and changes. They never contain an entry at which it has to start:
 * it is told to start at the head then, where it has all that follows.
 *
 * @param position undefined: it has none
 * @returns a generator that yields between entries and parts
 */
export function* readBatch(
  reader: TableReader,
  position: FeedPosition | undefined,
): Generator<undefined, FeedBatch> {
  if (position === undefined) return startingAt(reader, 'new');
  const page = readFeed(reader, position.sequence, ENTRIES_MAX);
  const { last } = page;
  if (page.isCut) return startingAt(reader, 'cut');
  const items: FeedItem[] = [];
  let at = position;
  let changes = 0;
  try {
    for (const entry of page.entries) {
      if (entry.kind === 'begun' || entry.kind === 'created') {
        if (items.length > 0) break;
        return startingAt(reader, 'cut');
      }
      const whole = { sequence: entry.sequence, parts: 0 };
      let held: EntryChanges | undefined;
      for (const part of entryChanges(() => reader, entry, at.part)) {
        yield;
        if (part === undefined) continue;
        if (held !== undefined) {
          at = behindPart(at, held);
          items.push({ entry, changes: held, after: at });
          if (changes >= CHANGES_MAX) return { items, position: at, last, isComplete: false };
        }
        held = part;
        changes += Math.max(part.changes.length, 1);
      }
      items.push({ entry, changes: held, after: whole });
      at = whole;
      if (changes >= CHANGES_MAX) break;
      yield;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    // What follows is lost: a consumer that has nothing before it starts at the head.
    if (items.length === 0) return startingAt(reader, 'cut');
    return { items, position: at, last, isComplete: false };
  }
  return { items, position: at, last, isComplete: at.sequence === last };
}

function behindPart(
  { parts, sequence }: FeedPosition,
  { isUndone, part, revision }: EntryPart,
): FeedPosition {
  return { sequence, parts: parts + 1, part: { revision, isUndone, part } };
}

/** The batch of a consumer that has begun a start; undefined when what follows the start is not in the feed. */
export function continuedStart(reader: TableReader, start: FeedStart | undefined): FeedBatch | undefined {
  if (start === undefined) return undefined;
  const { position } = start;
  const { isCut, last } = readFeed(reader, position.sequence, 1);
  if (isCut) return undefined;
  return { items: [], start, position, last, isComplete: position.sequence === last };
}

function startingAt(reader: TableReader, reason: FeedStart['reason']): FeedBatch {
  const start = startAtHead(reader, reason);
  const { position } = start;
  return { items: [], start, position, last: position.sequence, isComplete: true };
}
