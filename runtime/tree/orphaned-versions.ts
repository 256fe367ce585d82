import type { Turn } from '#runtime/commit/behaviour.ts';
import { type Revision, parseRevision } from '#runtime/content/revision.ts';
import {
  auditKey,
  BranchTable,
  childVersionsUpTo,
  definitionVersionsUpTo,
  nodeVersionsUpTo,
  parentVersionsUpTo,
  pathVersionsUpTo,
  revisionChangesKey,
  revisionKey,
} from '#runtime/shard/key-layout.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import { storedRows, wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import type { Range, Row, TableReader } from '#runtime/shard/shard.ts';
import { type Interval, type Lineage, readLineage, successor } from './lineage.ts';
import { HeadNodeReader } from './node-reader.ts';
import { type NodeRecord, recordInSteps } from './record/node-record.ts';
import type { DefinitionChange, NodeChange, RevisionRecord } from './revision-record.ts';

/** The progress of a removal. */
export interface OrphansRemoved {
  /** Rows that were removed. */
  readonly rows: number;
  /** Revisions removed completely. */
  readonly revisions: number;
  /** Whether none are left. */
  readonly isDone: boolean;
}

/** Nodes processed between two yields. */
const NODES_PER_SLICE = 32;

/** Upper limit of nodes in one call: more than a chunk of changes has, so that every call makes progress. */
const NODES_MAX = 2_000;

/** Versions of a node read at a time. */
const VERSIONS_PER_BATCH = 64;

/** Number of newest own states of a node searched for its position before the source moved it. */
const OWN_STATES_MAX = 1_000;

/**
 * Removes what a fork holds of revisions that its source wrote after the fork revision: rows of the version tables,
 * audit entries, and the revision records. The records locate the other rows and are removed last. These rows are never
 * visible, so reads of the branch are the same before, during and after. Cost follows the rows removed.
 *
 * The removal may stop at any row and continue later, also in a copy of the branch. Manual versions made by the source
 * stay and remain hidden: no revision locates them, and they are few.
 *
 * @param rowsMax rows after which it stops; slightly more may be removed
 * @see docs/decisions/0008-lines-and-forks.md
 */
export function* removeOrphanedVersions(turn: Turn, rowsMax: number): Generator<undefined, OrphansRemoved> {
  const remover = new OrphanRemover(turn, readLineage(turn), rowsMax);
  const isDone = yield* remover.run();
  return { rows: remover.rows, revisions: remover.revisions, isDone };
}

/** The ranges of `revisions` whose records are orphaned versions. */
export function orphanedRanges(reader: TableReader): readonly Range[] {
  return readLineage(reader).foreign.map(({ from, to }) => ({
    start: revisionKey(from),
    end: `${revisionKey(to)}\0`,
  }));
}

/** Creates the range of versions up to a revision, newest first. */
type VersionsUpTo = (at: Revision) => Range;

class OrphanRemover {
  rows = 0;
  revisions = 0;
  readonly #turn: Turn;
  readonly #lineage: Lineage;
  readonly #rowsMax: number;
  readonly #head: HeadNodeReader;
  /** Nodes without any orphaned version. */
  readonly #clean = new Set<string>();
  #looked = 0;

  constructor(turn: Turn, lineage: Lineage, rowsMax: number) {
    this.#turn = turn;
    this.#lineage = lineage;
    this.#rowsMax = rowsMax;
    this.#head = new HeadNodeReader(turn);
  }

  get #isFull(): boolean {
    return this.rows >= this.#rowsMax || this.#looked >= NODES_MAX;
  }

  /** @returns whether all are removed */
  *run(): Generator<undefined, boolean> {
    for (const { start, end } of orphanedRanges(this.#turn)) {
      for (let next = start; ; ) {
        const found = first(this.#turn, BranchTable.revisions, { start: next, end });
        if (found === undefined) break;
        if (this.#isFull) return false;
        const record = decodeJsonRow(found.value) as RevisionRecord;
        if (!(yield* this.#removeRevision(record))) return false;
        this.#remove(BranchTable.revisions, found.key);
        this.revisions += 1;
        next = `${found.key}\0`;
        yield;
      }
    }
    return true;
  }

  /** Removes the rows of a revision and its chunks of changes. @returns false when it was interrupted */
  *#removeRevision(record: RevisionRecord): Generator<undefined, boolean> {
    for (const definition of record.definitions) this.#removeDefinition(definition);
    if (record.changes !== undefined) return yield* this.#removeChanges(record.changes);
    const revision = parseRevision(record.revision);
    const range = { start: revisionChangesKey(revision, 0), end: revisionKey(successor(revision)) };
    for (;;) {
      const chunk = first(this.#turn, BranchTable.revisionChanges, range);
      if (chunk === undefined) return true;
      const changes = decodeJsonRow(chunk.value) as readonly NodeChange[];
      if (!(yield* this.#removeChanges(changes))) return false;
      this.#remove(BranchTable.revisionChanges, chunk.key);
    }
  }

  /** @returns false when it was interrupted */
  *#removeChanges(changes: readonly NodeChange[]): Generator<undefined, boolean> {
    for (const { node_id: id, workspace } of changes) {
      const name = `${workspace}\0${id}`;
      if (this.#clean.has(name)) continue;
      if (this.#isFull || !(yield* this.#removeNode(workspace, id))) return false;
      this.#clean.add(name);
      this.#looked += 1;
      if (this.#looked % NODES_PER_SLICE === 0) yield;
    }
    return true;
  }

  /**
   * Removes all orphaned versions of a node. Its earlier paths, positions and parents may have rows of the same
   * revisions. A state is removed after those rows, so that an interrupted removal is found again.
   *
   * @returns false when it was interrupted
   */
  *#removeNode(workspace: string, id: string): Generator<undefined, boolean> {
    const versionsUpTo = (at: Revision): Range => nodeVersionsUpTo(workspace, id, at);
    const present = yield* this.#head.byIdInSteps(workspace, id);
    if (present !== undefined) this.#removePlaces(workspace, present);
    for (const interval of this.#lineage.foreign) {
      for (const { key, value } of inBatches(this.#turn, between(interval, versionsUpTo))) {
        if (this.#isFull) return false;
        yield* this.#removePlacesOf(workspace, value);
        this.#remove(BranchTable.nodeVersions, key);
      }
      let looked = 0;
      for (const { value } of inBatches(this.#turn, versionsUpTo(interval.from))) {
        if (this.#isFull) return false;
        yield* this.#removePlacesOf(workspace, value);
        looked += 1;
        if (looked === OWN_STATES_MAX) break;
      }
    }
    this.#removeAudit(workspace, id);
    return true;
  }

  /** Removes the places of a stored state. Yields only for a large one. */
  *#removePlacesOf(workspace: string, value: StoredValue): Generator<undefined, void> {
    if (value.length === 0) return;
    this.#removePlaces(workspace, yield* recordInSteps(yield* wholeInSteps(this.#turn, value)));
  }

  #removePlaces(workspace: string, { orderKey, parentId, path }: NodeRecord): void {
    this.#removeVersions(BranchTable.pathVersions, (at) => pathVersionsUpTo(workspace, path, at));
    this.#removeVersions(BranchTable.childVersions, (at) =>
      childVersionsUpTo(workspace, parentId, orderKey, at),
    );
    this.#removeVersions(BranchTable.parentVersions, (at) => parentVersionsUpTo(workspace, parentId, at));
  }

  #removeDefinition({ kind, name }: DefinitionChange): void {
    this.#removeVersions(BranchTable.definitionVersions, (at) => definitionVersionsUpTo(kind, name, at));
  }

  #removeAudit(workspace: string, id: string): void {
    for (const { from, to } of this.#lineage.foreign) {
      const range = {
        start: auditKey(workspace, id, from, 0),
        end: auditKey(workspace, id, successor(to), 0),
      };
      this.#removeRange(BranchTable.audit, range);
    }
  }

  #removeVersions(table: number, versionsUpTo: VersionsUpTo): void {
    for (const interval of this.#lineage.foreign) this.#removeRange(table, between(interval, versionsUpTo));
  }

  #removeRange(table: number, range: Range): void {
    const keys: string[] = [];
    for (const { key } of this.#turn.range(table, range)) keys.push(key);
    for (const key of keys) this.#remove(table, key);
  }

  #remove(table: number, key: string): void {
    this.#turn.remove(table, key);
    this.rows += 1;
  }
}

/** The versions written within an interval. */
function between({ from, to }: Interval, versionsUpTo: VersionsUpTo): Range {
  return { start: versionsUpTo(to).start, end: `${versionsUpTo(from).start}\0` };
}

/** Versions of a node in batches, so that rows may be removed between two of them. */
function* inBatches(reader: TableReader, { start, end }: Range): Generator<StoredRow, void> {
  for (let next = start; ; ) {
    const batch: StoredRow[] = [];
    for (const row of storedRows(reader, BranchTable.nodeVersions, { start: next, end })) {
      batch.push(row);
      if (batch.length === VERSIONS_PER_BATCH) break;
    }
    yield* batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < VERSIONS_PER_BATCH) return;
    next = `${last.key}\0`;
  }
}

function first(reader: TableReader, table: number, range: Range): Row | undefined {
  for (const row of reader.range(table, range)) return row;
  return undefined;
}
