import { requireAdministrator } from '#runtime/access/policy.ts';
import { forgetOutcomes } from '#runtime/commit/idempotency.ts';
import {
  compareRevisions,
  formatRevision,
  parseRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { forgetOutbox } from '#runtime/jobs/outbox.ts';
import { forgetConsumers } from '#runtime/feed/consumer-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { HeadMovedAway } from '#runtime/tree/branch-events.ts';
import { HeadRestorer, type NodeMove } from '#runtime/tree/head-restorer.ts';
import { Lineage, readLineage, successor, writeLineage } from '#runtime/tree/lineage.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { forkedFeed } from '#runtime/tree/feed-store.ts';
import {
  appendToFeed,
  readBranchHead,
  readChangeParts,
  readRevision,
  writeBranchHead,
} from '#runtime/tree/revision-store.ts';
import type { DefinitionChange } from '#runtime/tree/revision-record.ts';
import { revisionsApart } from '#runtime/tree/revisions-apart.ts';
import { restoreDefinition, storedDefinition } from '#runtime/tree/schema-store.ts';
import { forgetMissingBuiltIns } from '../schema/built-ins.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { EditScope } from '../edit-scope.ts';
import type { BecomeFork, ForkMade, HeadMoved, MoveHead } from '../messages.ts';

/** The changes between two revisions of a branch. */
interface Way {
  /** By `workspace\0id`: every node that a revision between the two changed. */
  readonly nodes: ReadonlyMap<string, { readonly workspace: string; readonly id: string }>;
  readonly definitions: ReadonlyMap<string, DefinitionChange>;
  /** The difference in the number of revisions that lead to the head. */
  readonly revisions: number;
  readonly systemRevisions: number;
}

/**
 * Moves the head of the branch to another of its revisions, back or forward. Content, indexes and schema become those
 * of that revision; later revisions stay readable. The cost grows with the changes of the revisions in between.
 *
 * @see messages.ts, MoveHead; docs/interface/branches.md#moving-the-head
 */
export function* moveHead(edit: EditScope, command: MoveHead): Generator<undefined, HeadMoved> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const { head } = readBranchHead(edit.turn);
  const target = parseRevision(command.revision);
  requireRevision(edit.turn, target);
  yield* restoreHead(edit, target);
  const moved = { revision: formatRevision(target), previous: formatRevision(head) };
  if (moved.revision !== moved.previous)
    appendToFeed(edit.turn, head, ['head_moved', moved.revision, moved.previous]);
  const event: HeadMovedAway = { type: 'HeadMoved', ...moved };
  edit.turn.emit(event);
  return moved;
}

/**
 * Turns a fresh copy of another branch into an independent branch at a revision, with the history up to it. What
 * belongs only to the source is no longer visible, and its change feed is not continued. The cost grows with the changes since that revision.
 *
 * @see messages.ts, BecomeFork; docs/decisions/0008-lines-and-forks.md
 */
export function* becomeFork(edit: EditScope, command: BecomeFork): Generator<undefined, ForkMade> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const { turn } = edit;
  const { head, tip } = readBranchHead(turn);
  const target = command.revision === undefined ? head : parseRevision(command.revision);
  requireRevision(turn, target);
  const carry = compareRevisions(head, target) === 0 ? edit.state.projections.carried(turn) : undefined;
  yield* restoreHead(edit, target);
  forgetOutcomes(turn);
  forgetOutbox(turn);
  forgetConsumers(turn);
  const { lines, inherited } = readLineage(turn);
  const kept = lines.filter(({ start }) => compareRevisions(start, target) <= 0);
  // Rows written after the fork are still in the version tables, including orphaned rows of the source if it is a fork
  // itself. They belong to no revision of this branch. Later revision records stay until those rows are removed, see
  // orphaned-versions.ts.
  const newest = newestOf([tip, ...lines.map(({ hiddenUpTo }) => hiddenUpTo ?? tip)]);
  const leftOver = compareRevisions(newest, target) > 0;
  const gap = { start: successor(target), parent: target, hiddenUpTo: newest };
  const earlier = inherited.filter(({ upTo }) => compareRevisions(upTo, target) < 0);
  const own = { branch: branchAt(inherited, target) ?? command.sourceName, upTo: target };
  writeLineage(turn, new Lineage(leftOver ? [...kept, gap] : kept, [...earlier, own]));
  const branchHead = readBranchHead(turn);
  const feed = forkedFeed(turn, branchHead.feed, ['created', formatRevision(target), command.sourceName]);
  writeBranchHead(turn, { ...branchHead, tip: target, feed });
  carry?.(feed.first);
  return { head: formatRevision(target) };
}

function newestOf(revisions: readonly Revision[]): Revision {
  return revisions.reduce((newest, one) => (compareRevisions(one, newest) > 0 ? one : newest));
}

function branchAt(inherited: Lineage['inherited'], revision: Revision): string | undefined {
  return inherited.find(({ upTo }) => compareRevisions(revision, upTo) <= 0)?.branch;
}

/** @throws {ServiceError} `REVISION_NOT_FOUND` */
function requireRevision(reader: TableReader, revision: Revision): void {
  if (compareRevisions(revision, revisionZero) === 0 || readRevision(reader, revision) !== undefined) return;
  throw new ServiceError('REVISION_NOT_FOUND', `The branch has no revision '${formatRevision(revision)}'`);
}

/**
 * Restores the state of a revision of this branch at the head.
 *
 * @throws {ServiceError} `COMMIT_TOO_LARGE`
 */
export function* restoreHead(edit: EditScope, target: Revision): Generator<undefined, void> {
  const { turn, state } = edit;
  const branchHead = readBranchHead(turn);
  if (compareRevisions(branchHead.head, target) === 0) return;
  const way = yield* wayTo(turn, branchHead.head, target);
  const past = new PastNodeReader(turn, target);
  const restorer = new HeadRestorer(turn, (name) => edit.schema(name));
  const moves: NodeMove[] = [];
  let bytes = 0;
  for (const { workspace, id } of way.nodes.values()) {
    const move = yield* restorer.plan(past, workspace, id);
    if (move !== undefined) {
      moves.push(move);
      bytes += recordBytes(move);
      // Checked early: the plan holds the records of both states in memory, and all of them are written.
      if (moves.length > state.limits.commitNodesMax) {
        throw new ServiceError(
          'COMMIT_TOO_LARGE',
          `Moving there changes more than ${state.limits.commitNodesMax} nodes; move in several steps`,
        );
      }
      turn.requireRoom(bytes);
    }
    yield;
  }
  const definitions = [...way.definitions.values()].map(({ kind, name }) => ({
    kind,
    name,
    stored: storedDefinition(turn, kind, name, target),
  }));
  yield* eachInSlices(moves, function* (move) {
    yield* restorer.prepare(move);
    restorer.leave(move);
  });
  for (const { kind, name, stored } of definitions) restoreDefinition(turn, kind, name, stored);
  if (definitions.some(({ stored }) => stored === undefined)) forgetMissingBuiltIns(turn);
  state.commandSchemas.forget();
  yield* edit.writer.reindex();
  yield* eachInSlices(moves, (move) => restorer.enter(move));
  restorer.settleParents();
  writeBranchHead(turn, {
    head: target,
    revisions: branchHead.revisions + way.revisions,
    systemRevisions: branchHead.systemRevisions + way.systemRevisions,
    tip: branchHead.tip,
    feed: branchHead.feed,
  });
}

/** Bytes of both states of a node. */
function recordBytes({ past, present }: NodeMove): number {
  return (past?.bytes.length ?? 0) + (present?.bytes.length ?? 0);
}

/** Collects the revisions to undo back to the common ancestor, and those to redo from there. */
function* wayTo(reader: TableReader, from: Revision, to: Revision): Generator<undefined, Way> {
  const nodes = new Map<string, { workspace: string; id: string }>();
  const definitions = new Map<string, DefinitionChange>();
  let revisions = 0;
  let systemRevisions = 0;
  for (const { isOfFirst, record } of revisionsApart(() => reader, from, to)) {
    for (const part of readChangeParts(reader, record)) {
      for (const { workspace, node_id: id } of part) nodes.set(`${workspace}\0${id}`, { workspace, id });
      yield;
    }
    for (const change of record.definitions) definitions.set(`${change.kind}\0${change.name}`, change);
    const by = isOfFirst ? -1 : 1;
    revisions += by;
    if (record.isSystem) systemRevisions += by;
  }
  return { nodes, definitions, revisions, systemRevisions };
}
