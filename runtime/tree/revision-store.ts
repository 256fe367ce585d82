import type { DefinitionChange, NodeChange, RevisionRecord } from './revision-record.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import {
  compareRevisions,
  formatRevision,
  parseRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { BranchTable, revisionChangesKey, revisionKey } from '#runtime/shard/key-layout.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import { revisionCommitted } from './branch-events.ts';
import { appendFeedRow, type FeedRow, type FeedSpan, isWholeFeed, noFeed } from './feed-store.ts';
import { Lineage, readLineage, writeLineage } from './lineage.ts';

/** Changes stored inside the record. More go to chunks, so that listing revisions stays cheap. */
const INLINE_CHANGES_MAX = 16;

/** Changes in one chunk. */
const CHUNK_CHANGES = 1000;

/** The head of a branch and the number of revisions that lead to it. */
export interface BranchHead {
  readonly head: Revision;
  readonly revisions: number;
  readonly systemRevisions: number;
  /** The newest revision written; above the head after the head was moved back. */
  readonly tip: Revision;
  readonly feed: FeedSpan;
}

/** Key of the row of the head, in the meta table. A branch has it from its first commit on. */
export const HEAD_KEY = 'head';

const empty: BranchHead = Object.freeze({
  head: revisionZero,
  revisions: 0,
  systemRevisions: 0,
  tip: revisionZero,
  feed: noFeed,
});

/** Rows of older builds have fewer fields. */
type StoredHead = readonly [
  head: string,
  revisions: number,
  systemRevisions: number,
  tip?: string,
  feedFirst?: number,
  feedLast?: number,
  isRestored?: 1,
];

/** Decoded rows by their bytes: a row that was just written is read as the same bytes until it is applied. */
const branchHeads = new WeakMap<Uint8Array, BranchHead>();

/** Reads the head of the branch; `0-0` for an empty branch. */
export function readBranchHead(reader: TableReader): BranchHead {
  const bytes = reader.get(CommonTable.meta, HEAD_KEY);
  if (bytes === undefined) return empty;
  return branchHeads.get(bytes) ?? decodeHead(bytes);
}

function decodeHead(bytes: Uint8Array): BranchHead {
  const [head, revisions, systemRevisions, tip, first = 0, last = 0, isRestored = 0] = decodeJsonRow(
    bytes,
  ) as StoredHead;
  const feed = { first, last, isRestored: isRestored === 1 };
  // Rows of the first builds have no tip, because a head could not be moved then.
  return { head: parseRevision(head), revisions, systemRevisions, tip: parseRevision(tip ?? head), feed };
}

/** Stores the head of the branch. */
export function writeBranchHead(turn: Turn, branchHead: BranchHead): void {
  const bytes = encodeHead(branchHead);
  branchHeads.set(bytes, Object.freeze({ ...branchHead }));
  turn.put(CommonTable.meta, HEAD_KEY, bytes);
}

function encodeHead({ head, revisions, systemRevisions, tip, feed }: BranchHead): Uint8Array {
  const place = [formatRevision(head), revisions, systemRevisions, formatRevision(tip)] as const;
  const stored: StoredHead = [...place, feed.first, feed.last];
  return encodeJsonRow(feed.isRestored ? [...stored, 1] : stored);
}

/** The head row of a branch that is restored from a backup; its feed tells so from its next commit on. */
export function restoredHead({ key, value }: Row): Uint8Array {
  if (key !== HEAD_KEY) return value;
  const branchHead = decodeHead(value);
  return encodeHead({ ...branchHead, feed: { ...branchHead.feed, isRestored: true } });
}

/**
 * The row of a head whose feed begins again with the next commit, because entries are lost; undefined when none are.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the head cannot be read
 */
export function headOfBrokenFeed(reader: TableReader): Row | undefined {
  const branchHead = readBranchHead(reader);
  if (atOnce(isWholeFeed(reader, branchHead.feed))) return undefined;
  // Its numbers are not used again: consumers know what they have seen by them.
  return {
    key: HEAD_KEY,
    value: encodeHead({ ...branchHead, feed: { ...noFeed, last: branchHead.feed.last } }),
  };
}

/** Adds an entry to the feed for a commit that moved the head without writing a revision. @param head before it */
export function appendToFeed(turn: Turn, head: Revision, row: FeedRow): void {
  const branchHead = readBranchHead(turn);
  const feed = appendFeedRow(turn, branchHead.feed, formatRevision(head), row);
  writeBranchHead(turn, { ...branchHead, feed });
}

/** What the writer of a revision provides. */
export interface RevisionFacts {
  readonly actor: string;
  /** Who made it, where its actor is another one. */
  readonly author?: string;
  readonly message: string;
  readonly isSystem: boolean;
  readonly mergeParent?: string;
  /** The branch it was made on; absent: this one. */
  readonly branch?: string;
  /** Whether it is one of several revisions of a fast-forward, which has one entry in the feed for all. */
  readonly isReplayed?: true;
}

/**
 * Writes the record of the turn's revision, moves the head to it and publishes the event.
 *
 * @param changes must not be modified afterwards
 */
export function writeRevision(
  turn: Turn,
  facts: RevisionFacts,
  changes: readonly NodeChange[],
  definitions: readonly DefinitionChange[],
): void {
  if (changes.length > INLINE_CHANGES_MAX) atOnce(writeRevisionInSteps(turn, facts, changes, definitions));
  else writeRecord(turn, facts, changes, definitions);
}

/** As {@link writeRevision}, in steps, for revisions that may have many changes. */
export function* writeRevisionInSteps(
  turn: Turn,
  facts: RevisionFacts,
  changes: readonly NodeChange[],
  definitions: readonly DefinitionChange[],
): Generator<undefined, void> {
  if (changes.length > INLINE_CHANGES_MAX) {
    for (let start = 0; start < changes.length; start += CHUNK_CHANGES) {
      const key = revisionChangesKey(turn.revision, start / CHUNK_CHANGES);
      const chunk = encodeJsonRow(changes.slice(start, start + CHUNK_CHANGES));
      turn.put(BranchTable.revisionChanges, key, chunk);
      yield;
    }
  }
  writeRecord(turn, facts, changes, definitions);
}

/** Writes everything of a revision except the changes that do not fit into its record. */
function writeRecord(
  turn: Turn,
  facts: RevisionFacts,
  changes: readonly NodeChange[],
  definitions: readonly DefinitionChange[],
): void {
  const { feed, head, revisions, systemRevisions, tip } = readBranchHead(turn);
  if (compareRevisions(head, tip) !== 0) {
    // The first write after the head was moved back: revisions in between stay readable, as another line.
    const { lines, inherited } = readLineage(turn);
    writeLineage(turn, new Lineage([...lines, { start: turn.revision, parent: head }], inherited));
  }
  const previous = formatRevision(head);
  const inline = changes.length <= INLINE_CHANGES_MAX;
  const record: RevisionRecord = {
    revision: formatRevision(turn.revision),
    parent: revisions === 0 ? null : previous,
    mergeParent: facts.mergeParent ?? null,
    timestamp: new Date(turn.wallMs).toISOString(),
    actor: facts.actor,
    ...(facts.author === undefined ? {} : { author: facts.author }),
    message: facts.message,
    isSystem: facts.isSystem,
    ...(facts.branch === undefined ? {} : { branch: facts.branch }),
    definitions,
    changeCount: changes.length,
    ordinals: [revisions + 1, systemRevisions + (facts.isSystem ? 1 : 0)],
    ...(inline ? { changes } : {}),
  };
  turn.put(BranchTable.revisions, revisionKey(turn.revision), encodeJsonRow(record));
  writeBranchHead(turn, {
    head: turn.revision,
    revisions: revisions + 1,
    systemRevisions: systemRevisions + (facts.isSystem ? 1 : 0),
    tip: turn.revision,
    feed:
      facts.isReplayed === true
        ? feed
        : appendFeedRow(turn, feed, previous, ['revision', formatRevision(turn.revision)]),
  });
  turn.emit(revisionCommitted(record, previous, changes));
}

/** The record of a revision; undefined when it does not belong to this branch. */
export function readRevision(reader: TableReader, revision: Revision): RevisionRecord | undefined {
  const bytes = reader.get(BranchTable.revisions, revisionKey(revision));
  // A fork keeps the records of its source's later revisions until their orphaned versions are removed.
  if (bytes === undefined || readLineage(reader).isForeign(revision)) return undefined;
  return decodeJsonRow(bytes) as RevisionRecord;
}

/** Whether {@link readRevision} returns a record. */
export function hasRevision(reader: TableReader, revision: Revision): boolean {
  if (reader.get(BranchTable.revisions, revisionKey(revision)) === undefined) return false;
  return !readLineage(reader).isForeign(revision);
}

/**
 * The node changes of a record, in parts. Cost follows their number. No range is open between two parts, so a pinned
 * reader may pause there.
 */
export function* readChangeParts(
  reader: TableReader,
  record: RevisionRecord,
): Generator<readonly NodeChange[], void> {
  for (let part = 0; ; part++) {
    const changes = readChangePart(reader, record, part);
    if (changes === undefined) return;
    yield changes;
  }
}

/** One part of {@link readChangeParts} by its number; undefined after the last. */
export function readChangePart(
  reader: TableReader,
  record: RevisionRecord,
  part: number,
): readonly NodeChange[] | undefined {
  if (record.changes !== undefined) return part === 0 ? record.changes : undefined;
  if (part * CHUNK_CHANGES >= record.changeCount) return undefined;
  const key = revisionChangesKey(parseRevision(record.revision), part);
  const bytes = reader.get(BranchTable.revisionChanges, key);
  if (bytes === undefined)
    throw new ServiceError('DATA_CORRUPTED', `Changes of revision ${record.revision} are lost`);
  return decodeJsonRow(bytes) as NodeChange[];
}

/** Number of parts that {@link readChangePart} has for a record; a record without changes has an empty one. */
export function changePartCount({ changeCount, changes }: RevisionRecord): number {
  return changes === undefined ? Math.ceil(changeCount / CHUNK_CHANGES) : 1;
}

/** All node changes of a record. */
export function readChanges(reader: TableReader, record: RevisionRecord): readonly NodeChange[] {
  return [...readChangeParts(reader, record)].flat();
}
