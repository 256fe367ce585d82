import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { requireLogin } from '#runtime/access/policy.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import { revisionRanges, revisionsUpTo } from '#runtime/tree/leading-revisions.ts';
import { type Lineage, readLineage } from '#runtime/tree/lineage.ts';
import { readBranchHead, readChangeParts, readRevision as readRecord } from '#runtime/tree/revision-store.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { restReader } from '#runtime/scan/moment.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { answerScan, settle, silently } from '../long-answer.ts';
import type { JsonAnswer, ListRevisions, ReadRevision, ReadRevisionChanges } from '../messages.ts';
import { type ChangeExtent, ChangeSight, shownMessage } from './change-sight.ts';

/** Most revisions in one answer. */
const REVISIONS_MAX = 1000;

/** Changes rendered between two pauses. */
const CHANGES_PER_PIECE = 200;

/**
 * The revisions of this branch from its head backwards. Those of which the caller may learn nothing are left out of the
 * page. Offset, limit and total count all of them: otherwise every revision before a page would have to be looked at.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login
 * @see messages.ts, ListRevisions; docs/interface/revisions.md#revision-lists
 */
export function listRevisions(state: BranchState, context: QueryContext, query: ListRevisions): JsonAnswer {
  requireLogin(context.caller.principal);
  const limit = Math.min(Math.max(Math.trunc(query.limit), 1), REVISIONS_MAX);
  const offset = Math.max(Math.trunc(query.offset), 0);
  return answerScan(context, (reader) =>
    listText(new RevisionText(state, context, reader), reader, { ...query, limit, offset }),
  );
}

function* listText(
  text: RevisionText,
  reader: TableReader,
  { at, limit, offset, includeSystem }: ListRevisions,
): Generator<string, void> {
  const branchHead = readBranchHead(reader);
  const from = at ?? branchHead.head;
  const { revisions, systemRevisions } = at === undefined ? branchHead : yield* countUpTo(reader, at);
  const total = includeSystem ? revisions : revisions - systemRevisions;
  // If none is omitted, revisions before the offset need not be read.
  const isPlain = includeSystem || systemRevisions === 0;
  let met = 0;
  let opening = '{"revisions":[';
  for (const { value } of revisionRows(reader, from)) {
    if (met >= offset + limit) break;
    if (isPlain && met < offset) {
      met += 1;
      continue;
    }
    const record = decodeJsonRow(value) as RevisionRecord;
    if (includeSystem || !record.isSystem) {
      if (met >= offset) {
        const extent = yield* silently(text.sight.extentOf(record));
        if (extent !== 'none') {
          yield opening;
          yield* text.record(record, extent);
          opening = ',';
        }
      }
      met += 1;
    }
    restReader(reader);
    yield '';
  }
  yield `${opening === ',' ? '' : opening}],"total":${total},"has_more":${offset + limit < total}}`;
}

/** The number of revisions that lead to one. Records of the first builds do not store it: then each is read. */
function* countUpTo(
  reader: TableReader,
  at: Revision,
): Generator<string, { readonly revisions: number; readonly systemRevisions: number }> {
  for (const { ordinals } of revisionsUpTo(reader, at)) {
    if (ordinals !== undefined) return { revisions: ordinals[0], systemRevisions: ordinals[1] };
    break;
  }
  let revisions = 0;
  let systemRevisions = 0;
  for (const { value } of revisionRows(reader, at)) {
    const { isSystem, ordinals } = decodeJsonRow(value) as RevisionRecord;
    if (ordinals !== undefined)
      return { revisions: revisions + ordinals[0], systemRevisions: systemRevisions + ordinals[1] };
    revisions += 1;
    if (isSystem) systemRevisions += 1;
    restReader(reader);
    yield '';
  }
  return { revisions, systemRevisions };
}

/** The rows of the revisions that lead to one, newest first. */
function* revisionRows(reader: TableReader, upTo: Revision): Generator<Row, void> {
  for (const range of revisionRanges(reader, upTo))
    yield* rowsInBatches(reader, BranchTable.revisions, range);
}

/**
 * One revision record.
 *
 * @returns undefined when this branch has no such revision, or one of which the caller may learn nothing
 * @throws {ServiceError} `UNAUTHORIZED` without a login
 * @see messages.ts, ReadRevision
 */
export function readRevision(
  state: BranchState,
  context: QueryContext,
  query: ReadRevision,
): JsonAnswer | undefined | Promise<JsonAnswer | undefined> {
  return withSeenRevision(context, query, (record, extent) =>
    answerScan(context, (reader) => new RevisionText(state, context, reader).record(record, extent)),
  );
}

/**
 * The node changes of a revision.
 *
 * @returns undefined as {@link readRevision}
 * @throws {ServiceError} `UNAUTHORIZED` without a login
 * @see messages.ts, ReadRevisionChanges; docs/interface/revisions.md#revision-lists
 */
export function readRevisionChanges(
  state: BranchState,
  context: QueryContext,
  query: ReadRevisionChanges,
): JsonAnswer | undefined | Promise<JsonAnswer | undefined> {
  return withSeenRevision(context, query, (record) =>
    answerScan(context, (reader) => new RevisionText(state, context, reader).changes(record, wholeChange)),
  );
}

/** Answers what is about a revision of which the caller may learn something. Usually at once. */
function withSeenRevision(
  context: QueryContext,
  { revision }: ReadRevision | ReadRevisionChanges,
  answer: (record: RevisionRecord, extent: ChangeExtent) => JsonAnswer,
): JsonAnswer | undefined | Promise<JsonAnswer | undefined> {
  requireLogin(context.caller.principal);
  const record = readRecord(context.view, revision);
  if (record === undefined) return undefined;
  const extent = settle(context, (reader) => new ChangeSight(context, reader).extentOf(record), 'moving');
  const answered = (found: ChangeExtent) => (found === 'none' ? undefined : answer(record, found));
  return extent instanceof Promise ? extent.then(answered) : answered(extent);
}

function wholeChange(change: NodeChange): unknown {
  const { node_id, workspace, operation, node_type, path, translation_locale } = change;
  return {
    node_id,
    workspace,
    operation,
    node_type,
    path,
    ...(translation_locale === undefined ? {} : { translation_locale }),
  };
}

function briefChange({ node_id, workspace, operation }: NodeChange): unknown {
  return { node_id, workspace, operation };
}

/** Renders revisions. Changes of nodes the caller may not read are omitted. */
class RevisionText {
  readonly sight: ChangeSight;
  readonly #branch: string;
  readonly #lineage: Lineage;
  readonly #reader: TableReader;

  constructor(state: BranchState, context: QueryContext, reader: TableReader) {
    this.#branch = state.name;
    this.#lineage = readLineage(reader);
    this.#reader = reader;
    this.sight = new ChangeSight(context, reader);
  }

  /** The record in its wire form. @param extent how much of it the caller may learn of */
  *record(record: RevisionRecord, extent: ChangeExtent): Generator<string, void> {
    const { revision, parent, mergeParent, timestamp, actor, author, isSystem } = record;
    const head = {
      revision,
      parent,
      merge_parent: mergeParent,
      branch: record.branch ?? this.#lineage.branchOf(parseRevision(revision)) ?? this.#branch,
      timestamp,
      actor,
      ...(author === undefined ? {} : { author }),
      message: shownMessage(record, extent),
      is_system: isSystem,
    };
    yield `${JSON.stringify(head).slice(0, -1)},"changed_nodes":`;
    yield* this.changes(record, briefChange);
    const definitions = {
      changed_node_types: changedNames(record, 'node_type'),
      changed_archetypes: changedNames(record, 'archetype'),
      changed_element_types: changedNames(record, 'element_type'),
    };
    yield `,${JSON.stringify(definitions).slice(1)}`;
  }

  /** The array of a revision's node changes. */
  *changes(record: RevisionRecord, shape: (change: NodeChange) => unknown): Generator<string, void> {
    let opening = '[';
    for (const part of readChangeParts(this.#reader, record)) {
      for (let start = 0; start < part.length; start += CHANGES_PER_PIECE) {
        const piece = yield* silently(this.#seen(record, part.slice(start, start + CHANGES_PER_PIECE)));
        if (piece.length === 0) continue;
        yield opening + JSON.stringify(piece.map(shape)).slice(1, -1);
        opening = ',';
      }
    }
    yield opening === '[' ? '[]' : ']';
  }

  *#seen(
    record: RevisionRecord,
    changes: readonly NodeChange[],
  ): Generator<undefined, readonly NodeChange[]> {
    if (this.sight.seesAll) return changes;
    const seen: NodeChange[] = [];
    for (const change of changes) if (yield* this.sight.sees(record, change)) seen.push(change);
    return seen;
  }
}

function changedNames(
  record: RevisionRecord,
  kind: RevisionRecord['definitions'][number]['kind'],
): unknown[] {
  return record.definitions
    .filter((change) => change.kind === kind)
    .map(({ name, operation }) => ({ name, operation }));
}
