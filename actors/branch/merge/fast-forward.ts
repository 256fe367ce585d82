import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Policy } from '#runtime/access/policy.ts';
import type { ActorEvent, Caller, Turn } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { Range, Row } from '#runtime/shard/shard.ts';
import { nodesOfType } from '#runtime/scan/nodes-of-type.ts';
import { writeMergedRevisions } from '#runtime/tree/ancestry-store.ts';
import { changeDetails } from '#runtime/tree/change-details.ts';
import { readLineage, writeLineage } from '#runtime/tree/lineage.ts';
import { withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type GraphRecord, parentsOf } from '#runtime/tree/revision-graph.ts';
import {
  appendToFeed,
  readBranchHead,
  readRevision,
  writeRevisionInSteps,
} from '#runtime/tree/revision-store.ts';
import type { DefinitionChange, NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readDefinition, removeDefinition, writeDefinition } from '#runtime/tree/schema-store.ts';
import { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { BranchPair } from '../pair/branch-pair.ts';
import type { EditScope } from '../edit-scope.ts';
import type { MergeBranch } from '../merge-messages.ts';
import { removeAllOrphanedVersions } from '../history/orphaned-versions.ts';
import { countAdoptedAccessChanges } from './access-changes.ts';
import { nodeKeyOf } from './merge-sides.ts';
import { restoreHead } from '../history/move-head.ts';
import type { DefinitionAddress, NodeAddress, RecordPart } from '../pair-messages.ts';
import { STATES_MAX } from '../pair/pair-queries.ts';

/**
 * Applies the source's revisions to the target, each with its own number, time and message. The target then has the
 * head of the source, and every one of them can be read here. The cost grows with their changes.
 *
 * If the source contains the target through a merge of its own, that merge commit is the first one applied: here its
 * parent is the head of the target, and its parent on the source becomes its merge parent.
 *
 * @param pair target and source; the source has revisions that the target lacks
 * @throws {ServiceError} `VALIDATION_FAILED` when the target has revisions of its own, also after a head that was moved
 *   back, and a revision of the source would have to come before them; `COMMIT_TOO_LARGE`
 * @returns how many of the nodes that differ afterwards decide who may do what
 * @see docs/interface/merges.md#fast-forward
 */
export function* fastForward(
  edit: EditScope,
  pair: BranchPair,
  { dryRun, source }: MergeBranch,
): Generator<undefined, number> {
  const { turn } = edit;
  const way = yield* wayOf(edit, pair, source);
  // To revisions that the target already has, after a head that was moved back, the head is only moved forward.
  const known = way.findLastIndex((revision) => readRevision(turn, revision) !== undefined);
  const fresh = way.slice(known + 1);
  const [first] = fresh;
  const isBetween = first !== undefined && compareRevisions(first, readBranchHead(turn).tip) <= 0;
  if (pair.divergence.left.length > 0 || way.length === 0 || isBetween) {
    throw invalid('Fast-forward merge not possible: branches have diverged');
  }
  const accessChanges = yield* countAdoptedAccessChanges(pair);
  if (dryRun) return accessChanges;
  const reached = way[known];
  if (reached !== undefined) yield* restoreHead(edit, reached);
  if (first !== undefined) {
    if (readLineage(turn).isForeign(first)) yield* removeAllOrphanedVersions(edit);
    writeLineage(turn, readLineage(turn).entered(first));
  }
  let changed = 0;
  for (const revision of fresh) {
    const step = yield* BranchPair.of(edit.state, turn, source, { other: revision });
    changed += yield* replay(edit, step, recordOf(edit, source, revision));
    crashPoint('mid-merge');
    edit.checkSize(changed);
    edit.state.commandSchemas.forget();
  }
  const { other, own } = pair.heads;
  appendToFeed(turn, own, ['fast_forwarded', formatRevision(other), formatRevision(own)]);
  yield* writeMergedRevisions(turn, pair.divergence.right, source);
  turn.emit({ type: 'RevisionsAdopted' });
  return accessChanges;
}

/**
 * The source's revisions that contain the target's head, oldest first, along `parent` on the source: a merge commit
 * that a fast-forward applied has another parent on other branches.
 */
function* wayOf(
  edit: EditScope,
  { divergence, heads }: BranchPair,
  source: string,
): Generator<undefined, readonly Revision[]> {
  const start = formatRevision(heads.own);
  const isEmpty = heads.own.ms === 0 && heads.own.counter === 0;
  const containing = new Set<string>([start]);
  for (const record of divergence.right.toReversed()) {
    const isFirst = isEmpty && record.parent === null;
    if (isFirst || parentsOf(record).some((one) => containing.has(one))) containing.add(record.revision);
  }
  const way: Revision[] = [];
  for (let next: string | null = formatRevision(heads.other); next !== null; ) {
    const page: readonly GraphRecord[] = graphPage(edit, source, next);
    assert(page.length > 0, 'a branch has the revisions that lead to its head');
    for (const { parent, revision } of page) {
      if (revision === start || !containing.has(revision)) return way.reverse();
      way.push(parseRevision(revision));
      next = parent;
    }
    yield;
  }
  return way.reverse();
}

/** A revision of another branch and its ancestors there. */
function graphPage(edit: EditScope, actor: string, revision: string): readonly GraphRecord[] {
  return edit.state.askBranch(actor, { type: 'ReadGraph', revision }) as readonly GraphRecord[];
}

interface SourceRecord {
  readonly record: RevisionRecord;
  /** Name of the branch that made the revision. */
  readonly branch: string;
  readonly changes: readonly NodeChange[];
}

function recordOf(edit: EditScope, source: string, revision: Revision): SourceRecord {
  const changes: NodeChange[] = [];
  for (let part = 0; ; part++) {
    const query = { type: 'ReadRecordPart', revision: formatRevision(revision), part } as const;
    const answer = edit.state.askBranch(source, query) as RecordPart | undefined;
    assert(answer !== undefined, 'a branch has the revisions that lead to its head');
    const { branch, record } = answer;
    if (answer.changes === undefined) return { branch, record, changes };
    changes.push(...answer.changes);
  }
}

/** Writes one revision of the source to the target. @returns the number of nodes it changed */
function* replay(edit: EditScope, step: BranchPair, source: SourceRecord): Generator<undefined, number> {
  const { branch, record } = source;
  const start = formatRevision(step.heads.own);
  // A merge commit of the source has other changes here, because here its parent is the other side.
  const isContinued = record.parent === start || record.parent === null;
  const { changes, definitions } = isContinued
    ? { ...source, definitions: record.definitions }
    : yield* netChanges(step);
  const turn = new ReplayTurn(edit.turn, parseRevision(record.revision), Date.parse(record.timestamp));
  const atOnceMax = edit.state.limits.indexedAtOnceMax;
  const writer = new TreeWriter(turn, (name) => edit.schema(name), { atOnceMax, nodesOfType });
  const { addresses, nodes } = yield* touched(step, changes, definitions);
  edit.checkSize(nodes.length);
  const put: { workspace: string; record: NodeRecord }[] = [];
  for (let done = 0; done < nodes.length; ) {
    const after = yield* step.states('other', nodes.slice(done, done + STATES_MAX));
    yield;
    for (const [index, state] of after.entries()) {
      const { id, workspace } = nodes[done + index] as NodeAddress;
      const present = yield* writer.head.byIdInSteps(workspace, id);
      if (present !== undefined) {
        yield* writer.prepare(workspace, present);
        writer.remove(workspace, present);
      }
      if (state !== undefined) put.push({ workspace, record: state });
    }
    done += after.length;
    yield;
  }
  for (const address of addresses) {
    const { kind, name } = address;
    const [after] = step.definitions('other', [address]);
    if (after !== undefined) writeDefinition(turn, kind, after.definition as never);
    else if (readDefinition(turn, kind, name) !== undefined) removeDefinition(turn, kind, name);
  }
  edit.state.commandSchemas.forget();
  yield* writer.reindex();
  for (const { workspace, record: state } of put) {
    yield* writer.prepare(workspace, state);
    const next = yield* withHeaderInSteps(state, { ...state.header, revision: record.revision });
    writer.add(workspace, next);
    yield;
  }
  // One of the two is its parent here.
  const mergeParent =
    [record.parent, record.mergeParent].find((one) => one !== null && one !== start) ?? null;
  const { actor, author, isSystem, message } = record;
  const who = author === undefined ? { actor } : { actor, author };
  const facts = { ...who, message, isSystem, branch, isReplayed: true } as const;
  const merged = mergeParent === null ? facts : { ...facts, mergeParent };
  yield* writeRevisionInSteps(turn, merged, changes, definitions);
  return nodes.length;
}

/** The differences between the target and the source. */
function* netChanges(
  step: BranchPair,
): Generator<undefined, { changes: readonly NodeChange[]; definitions: readonly DefinitionChange[] }> {
  const changes: NodeChange[] = [];
  for (const change of step.changes('other')) {
    if (change === undefined) {
      yield;
      continue;
    }
    const { after, before, nodeId, operation, workspace } = change;
    const { nodeType, path } = ((after ?? before) as NodeRecord).header;
    const details = changeDetails(before, after);
    changes.push({ node_id: nodeId, workspace, operation, path, node_type: nodeType, details });
  }
  const definitions: DefinitionChange[] = [];
  for (const change of step.definitionChanges('other')) {
    if (change === undefined) yield;
    else definitions.push({ kind: change.kind, name: change.name, operation: change.operation });
  }
  return { changes, definitions };
}

/**
 * The nodes and definitions that differ from the target, and all others that the revision wrote: their times and
 * versions change too.
 */
function* touched(
  step: BranchPair,
  changes: readonly NodeChange[],
  written: readonly DefinitionChange[],
): Generator<undefined, { nodes: readonly NodeAddress[]; addresses: readonly DefinitionAddress[] }> {
  const nodes = new Map<string, NodeAddress>();
  for (const { node_id: id, workspace } of changes) nodes.set(nodeKeyOf(workspace, id), { workspace, id });
  for (const change of step.changes('other')) {
    if (change === undefined) yield;
    else {
      const { nodeId: id, workspace } = change;
      nodes.set(nodeKeyOf(workspace, id), { workspace, id });
    }
  }
  const definitions = new Map<string, DefinitionAddress>();
  for (const { kind, name } of written) definitions.set(nodeKeyOf(kind, name), { kind, name });
  for (const change of step.definitionChanges('other')) {
    if (change === undefined) yield;
    else definitions.set(nodeKeyOf(change.kind, change.name), { kind: change.kind, name: change.name });
  }
  return { nodes: [...nodes.values()], addresses: [...definitions.values()] };
}

/** A turn that writes under a revision already made on another branch. */
class ReplayTurn implements Turn {
  readonly revision: Revision;
  readonly wallMs: number;
  readonly #turn: Turn;

  constructor(turn: Turn, revision: Revision, wallMs: number) {
    this.#turn = turn;
    this.revision = revision;
    this.wallMs = wallMs;
  }

  get caller(): Caller {
    return this.#turn.caller;
  }

  get budget(): RequestBudget {
    return this.#turn.budget;
  }

  usePolicy(policy: Policy): void {
    this.#turn.usePolicy(policy);
  }

  ageMs(atMs: number): number {
    return this.#turn.ageMs(atMs);
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#turn.get(table, key);
  }

  has(table: number, key: string): boolean {
    return hasRow(this.#turn, table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#turn.range(table, range);
  }

  put(table: number, key: string, value: Uint8Array): void {
    this.#turn.put(table, key, value);
  }

  insert(table: number, key: string, value: Uint8Array): void {
    this.#turn.insert(table, key, value);
  }

  undoInSteps(): Generator<undefined, void> {
    return this.#turn.undoInSteps();
  }

  remove(table: number, key: string): void {
    this.#turn.remove(table, key);
  }

  requireRoom(bytes: number): void {
    this.#turn.requireRoom(bytes);
  }

  undo(): void {
    this.#turn.undo();
  }

  newId(): string {
    return this.#turn.newId();
  }

  observe(revision: Revision): void {
    this.#turn.observe(revision);
  }

  emit(event: ActorEvent): void {
    this.#turn.emit(event);
  }
}
