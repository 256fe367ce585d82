import type { Turn } from '#runtime/commit/behaviour.ts';
import { wholeScope } from '#runtime/access/policy.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { parseRevision, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardConsumer, StartStep } from '#runtime/feed/consumer.ts';
import type { FeedItem, FeedStart } from '#runtime/feed/feed-batch.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { scan } from '#runtime/scan/scan.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { storedRows } from '#runtime/shard/value-in-steps.ts';
import { decodeTypeCount, everyType } from '#runtime/tree/index-catalog.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readRevision } from '#runtime/tree/revision-store.ts';
import type { NodeStep, Projection, ProjectionBatch } from './projection.ts';
import { ProjectionRows, removeProjectionRows } from './projection-rows.ts';
import { type BuildProgress, projectionState, stateJson } from './projection-state.ts';

/** Nodes of one step of a build, which is a commit: a few milliseconds of the branch's writer. */
const NODES_PER_STEP = 250;

/** Bytes of nodes after which a step of a build ends, unless it has only one node. */
const BYTES_PER_STEP = 2 * 1024 * 1024;

/** Rows that one step removes before a build. */
const ROWS_PER_STEP = 2_000;

/** Limits of one step of a build. */
export interface StepLimits {
  readonly nodes: number;
  readonly rows: number;
}

/**
 * Lets a projection follow the feed of each branch in which it is registered. A start is its build: it removes the rows
 * of earlier builds, then takes in the nodes of the revision, workspace by workspace, a few in each commit.
 */
export class ProjectionConsumer implements ShardConsumer {
  readonly effects = 'shard';
  readonly isEverywhere = false;
  readonly projection: Projection;
  readonly #limits: StepLimits;

  constructor(projection: Projection, limits: StepLimits = { nodes: NODES_PER_STEP, rows: ROWS_PER_STEP }) {
    this.projection = projection;
    this.#limits = limits;
  }

  get name(): string {
    return this.projection.name;
  }

  get delayMs(): number {
    return this.projection.delayMs;
  }

  *start(turn: Turn, { revision }: FeedStart, state: JsonValue | undefined): Generator<undefined, StartStep> {
    const { version } = this.projection;
    const begun = state === undefined ? undefined : projectionState(state)?.build;
    const build = begun ?? beginning(turn);
    const next = yield* build.isCleared
      ? this.#take(turn, parseRevision(revision), build)
      : this.#clear(turn, build);
    return next === undefined
      ? { state: stateJson({ version, revision }), isDone: true }
      : { state: stateJson({ version, revision: null, build: next }), isDone: false };
  }

  *consume(turn: Turn, { after, changes, entry }: FeedItem): Generator<undefined, JsonValue> {
    if (changes !== undefined) {
      const record =
        entry.kind === 'revision' ? entry.record : recordOf(turn, parseRevision(changes.revision));
      const states = [parentOf(record), parseRevision(record.revision)] as const;
      const [from, to] = changes.isUndone ? [states[1], states[0]] : states;
      const trees = { before: new PastNodeReader(turn, from), after: new PastNodeReader(turn, to) };
      const batch = this.#batch(turn);
      for (const change of changes.changes) {
        yield* batch.take(stepOf(trees, change));
        yield;
      }
      yield* batch.write();
    }
    const revision = after.parts === 0 ? entry.revision : null;
    return stateJson({ version: this.projection.version, revision });
  }

  #batch(turn: Turn): ProjectionBatch {
    return this.projection.batch(turn, new ProjectionRows(turn, this.name));
  }

  *#clear(turn: Turn, build: BuildProgress): Generator<undefined, BuildProgress> {
    const { rows } = this.#limits;
    const removed = yield* removeProjectionRows(turn, this.name, rows);
    return { ...build, isCleared: removed < rows };
  }

  /** Takes in some nodes. @returns undefined when no more are left */
  *#take(turn: Turn, at: Revision, build: BuildProgress): Generator<undefined, BuildProgress | undefined> {
    const batch = this.#batch(turn);
    let { after, nodes, workspace } = build;
    let left = this.#limits.nodes;
    let bytes = 0;
    for (;;) {
      if (after === null) {
        const next = nextWorkspace(turn, workspace);
        if (next === undefined) {
          yield* batch.write();
          return undefined;
        }
        workspace = next;
        after = '';
      }
      const places = scan(new Moment(turn, at), {
        source: { kind: 'nodes', workspace },
        after: after === '' ? undefined : after,
        scope: wholeScope,
        placesMax: left,
      });
      let passed = 0;
      let step = places.next();
      for (; step.done !== true && bytes < BYTES_PER_STEP; step = places.next()) {
        const row = step.value;
        if (row === undefined) {
          yield;
          continue;
        }
        yield* batch.take(comingStep(workspace, row.id, row.record));
        after = row.position;
        nodes += 1;
        passed += 1;
        bytes += row.record.bytes.length;
        yield;
      }
      const isFull = step.done !== true;
      // Where it ended before the end of the source, it tells the last place, which need not have a node at the revision.
      const last = step.done === true ? step.value : after;
      if (isFull || last !== undefined) {
        yield* batch.write();
        return { ...build, workspace, after: last as string, nodes };
      }
      left = Math.max(left - passed, 1);
      after = null;
    }
  }
}

/** A build before its first step. */
function beginning(reader: TableReader): BuildProgress {
  let total = 0;
  for (const { value } of reader.range(BranchTable.counts, everyType)) total += decodeTypeCount(value).count;
  return { isCleared: false, workspace: '', after: null, nodes: 0, total };
}

/** The next workspace that has or had nodes, in the order of names. @param after empty: the first one */
function nextWorkspace(reader: TableReader, after: string): string | undefined {
  const range = { start: after === '' ? '' : after + AFTER_END, end: '\u00ff' };
  const names = [BranchTable.nodes, BranchTable.nodeVersions].flatMap((table) => {
    for (const { key } of storedRows(reader, table, range)) return [key.slice(0, key.indexOf(END))];
    return [];
  });
  return names.sort()[0];
}

/** A node that comes in while a projection is built. */
function comingStep(workspace: string, id: string, record: NodeRecord): NodeStep {
  return { workspace, id, change: undefined, before: () => known(undefined), after: () => known(record) };
}

function stepOf(trees: Record<'before' | 'after', NodeReader>, change: NodeChange): NodeStep {
  const { node_id: id, workspace } = change;
  return {
    workspace,
    id,
    change,
    before: () => trees.before.byIdInSteps(workspace, id),
    after: () => trees.after.byIdInSteps(workspace, id),
  };
}

/** A state that is known already. */
function* known(record: NodeRecord | undefined): Generator<undefined, NodeRecord | undefined> {
  if (record?.isLarge === true) yield;
  return record;
}

function parentOf({ parent }: RevisionRecord): Revision {
  return parent === null ? revisionZero : parseRevision(parent);
}

/** @throws {ServiceError} `DATA_CORRUPTED` */
function recordOf(reader: TableReader, revision: Revision): RevisionRecord {
  const record = readRevision(reader, revision);
  if (record === undefined)
    throw new ServiceError(
      'DATA_CORRUPTED',
      `The feed names revision ${revision.ms}-${revision.counter}, which is lost`,
    );
  return record;
}
