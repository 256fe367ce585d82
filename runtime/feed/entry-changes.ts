import {
  compareRevisions,
  encodeRevision,
  parseRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type {
  ChangeDetails,
  ChangeKind,
  DefinitionChange,
  NodeChange,
  RevisionRecord,
} from '#runtime/tree/revision-record.ts';
import { changePartCount, readChangePart, readRevision } from '#runtime/tree/revision-store.ts';
import type { Interval } from '#runtime/tree/lineage.ts';
import { StateAt } from '#runtime/tree/state-at.ts';
import { revisionsBetween } from '#runtime/tree/leading-revisions.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FeedEntry } from './read-feed.ts';

/** A part of an entry. */
export interface EntryPart {
  readonly revision: string;
  /** Whether the head left the revision: then the changes are the inverse of those it made. */
  readonly isUndone: boolean;
  /** Number of the part within the revision, from 0. */
  readonly part: number;
}

/** Some changes of one revision that an entry did or undid. */
export interface EntryChanges extends EntryPart {
  readonly changes: readonly NodeChange[];
  /** Changed definitions; only with the first part of a revision. */
  readonly definitions: readonly DefinitionChange[];
}

/**
 * The changes of an entry, in parts, in the order in which they lead from the head before it to the head after it. A
 * moved head undoes the revisions it leaves, the newest first, then does those it reaches. Entries at which a consumer
 * starts anew have none.
 *
 * Memory does not grow with the entry, nor the cost of continuing with what was read before. The reader is asked for
 * before each step, and no range is open between two of them, so the caller may pause at any and continue with a later
 * state of the branch.
 *
 * @param after the part after which to continue; undefined: from the beginning
 * @returns a generator; undefined where it only read
 * @throws {ServiceError} `DATA_CORRUPTED` when a revision is lost
 */
export function* entryChanges(
  read: () => TableReader,
  entry: FeedEntry,
  after?: EntryPart,
): Generator<EntryChanges | undefined, void> {
  for (const { isUndone, record } of stepsOf(read, entry, after)) {
    const isBegun = after?.revision === record.revision;
    const parts = changePartCount(record);
    for (let part = isBegun ? after.part + 1 : 0; part < parts; part++) {
      const changes = readChangePart(read(), record, part) as readonly NodeChange[];
      yield isUndone ? undonePart(record, part, changes) : entryPart(record, part, changes);
    }
    yield undefined;
  }
}

/** A revision that an entry does or undoes. An entry has it once. */
interface Step {
  readonly record: RevisionRecord;
  readonly isUndone: boolean;
}

/** @param after the first step is that of this part */
function* stepsOf(
  read: () => TableReader,
  entry: FeedEntry,
  after: EntryPart | undefined,
): Generator<Step, void> {
  if (entry.kind === 'revision') yield { record: entry.record, isUndone: false };
  if (entry.kind !== 'fast_forwarded' && entry.kind !== 'head_moved') return;
  const [from, to] = [parseRevision(entry.previous), parseRevision(entry.revision)];
  const reached = after === undefined ? undefined : parseRevision(after.revision);
  if (reached !== undefined && after?.isUndone === false) {
    yield { record: recordOf(read(), reached), isUndone: false };
    yield* doneBetween(read, reached, to);
  } else if (entry.kind === 'fast_forwarded') yield* doneBetween(read, from, to);
  else {
    const met = meetingOf(read(), from, to);
    for (let next = reached ?? from; compareRevisions(next, met) > 0; ) {
      const record = recordOf(read(), next);
      yield { record, isUndone: true };
      next = parentOf(record);
    }
    yield* doneBetween(read, met, to);
  }
}

/** The newest revision that leads to both revisions. Cost follows the number of lines. */
function meetingOf(reader: TableReader, a: Revision, b: Revision): Revision {
  const [ones, others] = [new StateAt(reader, a).intervals, new StateAt(reader, b).intervals];
  for (let one = 0, other = 0; one < ones.length && other < others.length; ) {
    const [here, there] = [ones[one] as Interval, others[other] as Interval];
    const met = lastRevision(reader, newest(here.from, there.from), oldest(here.to, there.to));
    if (met !== undefined) return met;
    if (compareRevisions(here.from, there.from) >= 0) one += 1;
    else other += 1;
  }
  return revisionZero;
}

function newest(a: Revision, b: Revision): Revision {
  return compareRevisions(a, b) > 0 ? a : b;
}

function oldest(a: Revision, b: Revision): Revision {
  return compareRevisions(a, b) < 0 ? a : b;
}

/** The newest revision between two, both included, that has a record. */
function lastRevision(reader: TableReader, from: Revision, to: Revision): Revision | undefined {
  if (compareRevisions(from, to) > 0) return undefined;
  const range = { start: revisionKey(from), end: `${revisionKey(to)}\0`, reverse: true };
  for (const { value } of reader.range(BranchTable.revisions, range))
    return parseRevision((decodeJsonRow(value) as RevisionRecord).revision);
  return undefined;
}

function* doneBetween(read: () => TableReader, after: Revision, upTo: Revision): Generator<Step, void> {
  const intervals = revisionsBetween(read(), after, upTo);
  if (intervals === undefined) throw lost(after);
  let previous = after;
  for (const { from, to } of intervals) {
    const end = `${revisionKey(to)}\0`;
    for (let start = revisionKey(from); ; ) {
      const record = firstRecord(read(), start, end);
      if (record === undefined) break;
      const revision = parseRevision(record.revision);
      // Otherwise the record between the two is lost.
      if (compareRevisions(parentOf(record), previous) !== 0) throw lost(parentOf(record));
      yield { record, isUndone: false };
      previous = revision;
      start = `${encodeRevision(revision)}\0`;
    }
  }
  if (compareRevisions(previous, upTo) !== 0) throw lost(upTo);
}

function firstRecord(reader: TableReader, start: string, end: string): RevisionRecord | undefined {
  for (const { value } of reader.range(BranchTable.revisions, { start, end }))
    return decodeJsonRow(value) as RevisionRecord;
  return undefined;
}

function entryPart(
  { definitions, revision }: RevisionRecord,
  part: number,
  changes: readonly NodeChange[],
): EntryChanges {
  return { revision, isUndone: false, part, changes, definitions: part === 0 ? definitions : [] };
}

function undonePart(
  { definitions, revision }: RevisionRecord,
  part: number,
  changes: readonly NodeChange[],
): EntryChanges {
  const inverted = part === 0 ? definitions : [];
  return {
    revision,
    isUndone: true,
    part,
    changes: changes.map(inverse),
    definitions: inverted.map((change) => ({ ...change, operation: inverseOperation(change.operation) })),
  };
}

const inverseKinds: Readonly<Record<ChangeKind, ChangeKind>> = {
  created: 'deleted',
  deleted: 'created',
  published: 'unpublished',
  unpublished: 'published',
  relation_added: 'relation_removed',
  relation_removed: 'relation_added',
  updated: 'updated',
  moved: 'moved',
  renamed: 'renamed',
  reordered: 'reordered',
  property_changed: 'property_changed',
};

function inverseOperation<O extends NodeChange['operation']>(operation: O): O | 'added' | 'deleted' {
  if (operation === 'added') return 'deleted';
  return operation === 'deleted' ? 'added' : operation;
}

/** The change that takes a node from its state after a revision to the one before it. */
function inverse(change: NodeChange): NodeChange {
  const { details, ...rest } = change;
  const operation = inverseOperation(change.operation);
  if (details === undefined) return { ...rest, operation };
  const { kinds, pathBefore, typeBefore, ...same } = details;
  // A node that was moved and then deleted by one revision has had its last path at no revision.
  const before: Pick<ChangeDetails, 'pathBefore' | 'typeBefore'> =
    operation === 'added'
      ? {}
      : {
          ...(pathBefore === undefined ? {} : { pathBefore: change.path }),
          ...(typeBefore === undefined ? {} : { typeBefore: change.node_type }),
        };
  return {
    ...rest,
    operation,
    path: pathBefore ?? change.path,
    node_type: typeBefore ?? change.node_type,
    details: { kinds: kinds.map((kind) => inverseKinds[kind]), ...before, ...same },
  };
}

function parentOf({ parent }: RevisionRecord): Revision {
  return parent === null ? revisionZero : parseRevision(parent);
}

/** @throws {ServiceError} `DATA_CORRUPTED` */
function recordOf(reader: TableReader, revision: Revision): RevisionRecord {
  const record = readRevision(reader, revision);
  if (record === undefined) throw lost(revision);
  return record;
}

function lost(revision: Revision): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `The feed names revision ${revision.ms}-${revision.counter}, which is lost`,
  );
}
