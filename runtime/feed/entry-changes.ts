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
import {
  changePartCount,
  readChangePart,
  readRevision,
  revisionsBetween,
} from '#runtime/tree/revision-store.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FeedEntry } from './read-feed.ts';

/** Some changes of one revision that an entry did or undid. */
export interface EntryChanges {
  readonly revision: string;
  /** Whether the head left the revision: then the changes are the inverse of those it made. */
  readonly isUndone: boolean;
  readonly changes: readonly NodeChange[];
  /** Changed definitions; only with the first part of a revision. */
  readonly definitions: readonly DefinitionChange[];
}

/**
 * The changes of an entry, in parts, in the order in which they lead from the head before it to the head after it. A
 * moved head undoes the revisions it leaves, the newest first, then does those it reaches. Entries at which a consumer
 * starts anew have none.
 *
 * Memory does not grow with the entry. The reader is asked for before each step, and no range is open between two of
 * them, so the caller may pause at any and continue with a later state of the branch.
 *
 * @param skipped parts left out at the beginning; they are not read
 * @returns a generator; undefined where it only read
 * @throws {ServiceError} `DATA_CORRUPTED` when a revision is lost
 */
export function* entryChanges(
  read: () => TableReader,
  entry: FeedEntry,
  skipped = 0,
): Generator<EntryChanges | undefined, void> {
  let left = skipped;
  for (const step of stepsOf(read, entry)) {
    if (step === undefined) {
      yield undefined;
      continue;
    }
    const { isUndone, record } = step;
    const parts = changePartCount(record);
    for (let part = Math.min(left, parts); part < parts; part++) {
      const changes = readChangePart(read(), record, part) as readonly NodeChange[];
      yield isUndone ? undonePart(record, part, changes) : entryPart(record, part, changes);
    }
    left = Math.max(left - parts, 0);
    yield undefined;
  }
}

/** A revision that an entry does or undoes. */
interface Step {
  readonly record: RevisionRecord;
  readonly isUndone: boolean;
}

function* stepsOf(read: () => TableReader, entry: FeedEntry): Generator<Step | undefined, void> {
  if (entry.kind === 'revision') yield { record: entry.record, isUndone: false };
  else if (entry.kind === 'fast_forwarded')
    yield* doneBetween(read, parseRevision(entry.previous), parseRevision(entry.revision));
  else if (entry.kind === 'head_moved') {
    const from = parseRevision(entry.previous);
    const to = parseRevision(entry.revision);
    const met = yield* meetingOf(read, from, to);
    for (let next = from; compareRevisions(next, met) > 0; ) {
      const record = recordOf(read(), next);
      yield { record, isUndone: true };
      next = parentOf(record);
    }
    yield* doneBetween(read, met, to);
  }
}

/** The revision to which both revisions lead back. */
function* meetingOf(read: () => TableReader, a: Revision, b: Revision): Generator<undefined, Revision> {
  let [one, other] = [a, b];
  while (compareRevisions(one, other) !== 0) {
    if (compareRevisions(one, other) > 0) one = parentOf(recordOf(read(), one));
    else other = parentOf(recordOf(read(), other));
    yield undefined;
  }
  return one;
}

function* doneBetween(read: () => TableReader, after: Revision, upTo: Revision): Generator<Step, void> {
  const intervals = revisionsBetween(read(), after, upTo);
  if (intervals === undefined) throw lost(after);
  for (const { from, to } of intervals) {
    const end = `${revisionKey(to)}\0`;
    for (let start = revisionKey(from); ; ) {
      const found = firstRecord(read(), start, end);
      if (found === undefined) break;
      yield { record: found, isUndone: false };
      start = `${encodeRevision(parseRevision(found.revision))}\0`;
    }
  }
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
  return { revision, isUndone: false, changes, definitions: part === 0 ? definitions : [] };
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
