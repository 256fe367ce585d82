import { CallerPolicies } from '#runtime/actor/caller-policies.ts';
import type { LockPrecondition } from '#actors/locks/messages.ts';
import type { Policy } from '#runtime/access/policy.ts';
import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorKind,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { formatRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import type { SpaceUse } from '#runtime/space/space-gate.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import { readableRevision } from '#runtime/tree/readable-revision.ts';
import { type BranchLimits, BranchState } from './branch-state.ts';
import { installBuiltIns, installWorkspace, readBuiltIns } from './schema/built-ins.ts';
import { commitOperations } from './nodes/commit-operations.ts';
import { compareBranch } from './pair/compare-branch.ts';
import { copyNode } from './nodes/copy-node.ts';
import { createNode } from './nodes/create-node.ts';
import {
  listDefinitions,
  readBranchState,
  readDefinition,
  resolveDefinition,
  validateNode,
} from './schema/definition-queries.ts';
import { deleteDefinition, publishDefinition, putDefinition } from './schema/definitions.ts';
import { deleteNode } from './nodes/delete-node.ts';
import {
  consumeFeed,
  isFeedAhead,
  moveConsumer,
  readConsumerBatch,
  readConsumers,
  registerConsumer,
  removeConsumer,
} from './feed/feed-consumers.ts';
import { buildProjection, dropProjection } from './feed/projections.ts';
import { findUsers } from './reads/find-users.ts';
import { readStatistics } from './reads/read-statistics.ts';
import { diffBranch } from './pair/diff-branch.ts';
import { runDslQuery } from './query/dsl-query.ts';
import { EditScope } from './edit-scope.ts';
import { runQuery } from './query/json-query.ts';
import { countOrphanedVersions, removeSomeOrphanedVersions } from './history/orphaned-versions.ts';
import { listIncomingReferences } from './reads/incoming-references.ts';
import { listChildren } from './reads/list-children.ts';
import { listConflicts } from './merge/list-conflicts.ts';
import { LockGuard } from './lock-guard.ts';
import { readGrants, readOwnAccess } from './access/access-queries.ts';
import { requireCommitBounds } from './commit-bounds.ts';
import { createVersion, restoreVersion } from './nodes/manual-versions.ts';
import type { BranchCommand, BranchQuery, ReadAtHead } from './messages.ts';
import type { LendBranch } from './sql-messages.ts';
import type { LentBranch } from './sql/branch-tables.ts';
import { changeBySql } from './sql/changes/change-by-sql.ts';
import { changeSomeBySql, forgetBulk, matchBySql, readBulk } from './sql/changes/bulk-statements.ts';
import { recallChanged, shortenChanged } from './sql/changes/recall-changed.ts';
import { freesSpace } from './sql/frees-space.ts';
import { runSql } from './sql/run-sql.ts';
import { becomeFork, moveHead } from './history/move-head.ts';
import { mergeBranch } from './merge/merge-branch.ts';
import { moveNode, renameNode } from './nodes/move-node.ts';
import {
  announcePending,
  buildIndexes,
  countPendingIndexes,
  readPendingSince,
} from './schema/pending-indexes.ts';
import { publishNode } from './nodes/publish-node.ts';
import { readAudit } from './history/read-audit.ts';
import {
  readChanged,
  readDefinitionStates,
  readGraph,
  readRecordPart,
  readStates,
  readUniqueHolder,
  requireEngine,
} from './pair/pair-queries.ts';
import { readEventsAfter } from './history/read-events.ts';
import { readHistory } from './history/read-history.ts';
import { readNode, readProperty } from './reads/read-node.ts';
import { readRelations } from './reads/read-relations.ts';
import { readTree } from './reads/read-tree.ts';
import { readVersions } from './history/read-versions.ts';
import { addRelation, removeRelation } from './nodes/relations.ts';
import { reorderNode } from './nodes/reorder-node.ts';
import { recallWritten, shortenWritten } from './nodes/recall-written.ts';
import { resolveMerge } from './merge/resolve-merge.ts';
import { revertRevisions } from './revert/revert-revisions.ts';
import { listRevisions, readRevision, readRevisionChanges } from './history/revisions.ts';
import { acknowledgeStaleness, changeLocale, translateNode } from './nodes/translate-node.ts';
import { listTranslations, readStaleness } from './reads/translations-info.ts';
import { patchNode, removeNodeProperty, setNodeProperty, updateNode } from './nodes/update-node.ts';

/** The handler of each command. The record is total: a new command does not compile until it is handled. */
type CommandHandlers = {
  readonly [K in BranchCommand['type']]: (
    edit: EditScope,
    command: Extract<BranchCommand, { type: K }>,
  ) => unknown;
};

/** The handler of each query. */
type QueryHandlers = {
  readonly [K in Exclude<BranchQuery['type'], 'LendBranch'>]: (
    state: BranchState,
    context: QueryContext,
    query: Extract<BranchQuery, { type: K }>,
  ) => unknown;
};

const commands: CommandHandlers = {
  PutDefinition: putDefinition,
  DeleteDefinition: deleteDefinition,
  PublishDefinition: publishDefinition,
  MoveHead: moveHead,
  BecomeFork: becomeFork,
  RemoveOrphanedVersions: removeSomeOrphanedVersions,
  RemoveLeftovers: removeSomeOrphanedVersions,
  BuildIndexes: buildIndexes,
  MergeBranch: mergeBranch,
  ResolveMerge: resolveMerge,
  RevertRevisions: revertRevisions,
  InstallBuiltIns: installBuiltIns,
  InstallWorkspace: installWorkspace,
  CreateNode: createNode,
  UpdateNode: updateNode,
  PatchNode: patchNode,
  SetProperty: setNodeProperty,
  RemoveProperty: removeNodeProperty,
  DeleteNode: deleteNode,
  RenameNode: renameNode,
  MoveNode: moveNode,
  CopyNode: copyNode,
  ReorderNode: reorderNode,
  PublishNode: publishNode,
  CreateVersion: createVersion,
  RestoreVersion: restoreVersion,
  AddRelation: addRelation,
  RemoveRelation: removeRelation,
  TranslateNode: translateNode,
  ChangeLocale: changeLocale,
  AcknowledgeStaleness: acknowledgeStaleness,
  CommitOperations: commitOperations,
  ChangeBySql: changeBySql,
  ChangeSomeBySql: changeSomeBySql,
  ForgetBulkProgress: forgetBulk,
  RegisterConsumer: registerConsumer,
  RemoveConsumer: removeConsumer,
  ConsumeFeed: consumeFeed,
  MoveConsumer: moveConsumer,
  BuildProjection: buildProjection,
  DropProjection: dropProjection,
};

const queries: QueryHandlers = {
  ListDefinitions: listDefinitions,
  ReadDefinition: readDefinition,
  ResolveDefinition: resolveDefinition,
  ValidateNode: validateNode,
  ReadBranchState: readBranchState,
  ReadBuiltIns: readBuiltIns,
  ReadGrants: readGrants,
  ReadOwnAccess: readOwnAccess,
  ReadNode: readNode,
  ReadProperty: readProperty,
  ListChildren: listChildren,
  ListIncomingReferences: listIncomingReferences,
  ReadTree: readTree,
  RunQuery: runQuery,
  RunDslQuery: runDslQuery,
  RunSql: runSql,
  MatchBySql: matchBySql,
  ReadBulkProgress: readBulk,
  ReadHistory: readHistory,
  ReadAudit: readAudit,
  ReadVersions: readVersions,
  ReadRelations: readRelations,
  ListTranslations: listTranslations,
  ReadStaleness: readStaleness,
  ListRevisions: listRevisions,
  ReadRevision: readRevision,
  ReadRevisionChanges: readRevisionChanges,
  CompareBranch: compareBranch,
  DiffBranch: diffBranch,
  ListConflicts: listConflicts,
  ReadGraph: readGraph,
  ReadChanged: readChanged,
  ReadRecordPart: readRecordPart,
  ReadStates: readStates,
  ReadDefinitionStates: readDefinitionStates,
  ReadUniqueHolder: readUniqueHolder,
  ReadEventsAfter: readEventsAfter,
  CountOrphanedVersions: countOrphanedVersions,
  CountLeftovers: countOrphanedVersions,
  CountPendingIndexes: countPendingIndexes,
  ReadPendingSince: readPendingSince,
  ReadConsumerBatch: readConsumerBatch,
  ReadConsumers: readConsumers,
  IsFeedAhead: isFeedAhead,
  ReadStatistics: readStatistics,
  FindUsers: findUsers,
};

/** The actor of one branch: all its content, schema, revisions and indexes. @see invariants.md */
class BranchBehaviour implements ActorBehaviour {
  readonly #state: BranchState;
  readonly #lockGuard: LockGuard;
  readonly #policies: CallerPolicies;
  /** Whether pending indexes were announced since the actor was opened. */
  #isAnnounced = false;
  /** Whether that was in a batch that is durable. */
  #isAnnouncedForGood = false;

  constructor(context: ActorContext, limits: BranchLimits, consumers: readonly FeedConsumer[]) {
    this.#state = new BranchState(context, limits, consumers);
    this.#lockGuard = new LockGuard(context);
    const { access } = this.#state;
    this.#policies = new CallerPolicies(context, (view, principal) => access.granted(view, principal));
  }

  execute(command: BranchCommand & LockPrecondition, turn: Turn): unknown {
    const found = this.#policies.find(turn.caller.principal);
    if (found === undefined) return this.#handle(command, turn);
    if ('next' in found) return this.#handleAfter(found, command, turn);
    turn.usePolicy(found);
    return this.#handle(command, turn);
  }

  *#handleAfter(
    finding: Generator<undefined, Policy>,
    command: BranchCommand & LockPrecondition,
    turn: Turn,
  ): Generator<unknown, unknown> {
    turn.usePolicy(yield* finding);
    const handled = this.#handle(command, turn);
    return isGenerator(handled) ? yield* handled : handled;
  }

  #handle(command: BranchCommand & LockPrecondition, turn: Turn): unknown {
    requireWorkspaceNames(command);
    if ('commit' in command && command.commit !== undefined) requireCommitBounds(command.commit);
    if (command.lock !== undefined) this.#lockGuard.require(command.lock);
    const handler = commands[command.type] as (edit: EditScope, command: BranchCommand) => unknown;
    if (handler === undefined) return unknownMessage(command as never);
    this.#announce(command, turn);
    return handler(new EditScope(turn, this.#state), command);
  }

  query(query: BranchQuery | ReadAtHead, context: QueryContext): unknown {
    if (query.type === 'LendBranch') return this.#lend(query, context);
    const found = this.#policies.find(context.caller.principal, context.view);
    if (found === undefined) return this.#answer(query, context);
    if ('next' in found) return this.#answerAfter(found, query, context);
    context.usePolicy(found);
    return this.#answer(query, context);
  }

  async #answerAfter(
    finding: Generator<undefined, Policy>,
    query: BranchQuery | ReadAtHead,
    context: QueryContext,
  ): Promise<unknown> {
    context.usePolicy(await runInSlices(context, finding));
    return await this.#answer(query, context);
  }

  #answer(query: BranchQuery | ReadAtHead, context: QueryContext): unknown {
    if (query.type === 'ReadAtHead') return this.#readAtHead(query, context);
    requireWorkspaceNames(query);
    const handler = queries[query.type as keyof QueryHandlers] as (
      state: BranchState,
      context: QueryContext,
      query: BranchQuery,
    ) => unknown;
    if (handler === undefined) return unknownMessage(query as never);
    return handler(this.#state, context, query);
  }

  /** Reads the head first, as a separate request would: the answer shows that head or a later one. */
  #readAtHead({ line, query }: ReadAtHead, context: QueryContext): unknown {
    const { at: asked } = query as { readonly at?: Revision };
    if (asked !== undefined) {
      const at = readableRevision(context.view, asked, line);
      return dated(formatRevision(at), this.#answer({ ...query, at } as BranchQuery, context));
    }
    const { head } = readBranchState(this.#state, context, { type: 'ReadBranchState' });
    return dated(head, this.#answer(query, context));
  }

  #lend({ principal }: LendBranch, context: QueryContext): LentBranch {
    requireEngine(context);
    return { state: this.#state, context, policy: this.#policies.find(principal) };
  }

  shorten(result: unknown, wholeMax: number): unknown {
    return shortenChanged(shortenWritten(result, wholeMax), wholeMax);
  }

  *recall(kept: unknown, command: BranchCommand, turn: Turn): Generator<undefined, unknown> {
    const found = this.#policies.find(turn.caller.principal);
    if (found !== undefined) turn.usePolicy('next' in found ? yield* found : found);
    return command.type === 'ChangeBySql'
      ? yield* recallChanged(this.#state, kept, command, turn)
      : yield* recallWritten(this.#state, kept, command, turn);
  }

  /** With the first command, because only a command can announce. What a dry run writes and announces is undone. */
  #announce(command: BranchCommand, turn: Turn): void {
    const isDryRun = 'dryRun' in command && command.dryRun === true;
    if (this.#isAnnounced || isDryRun || command.type === 'BuildIndexes') return;
    this.#isAnnounced = true;
    announcePending(turn);
  }

  forget(): void {
    if (!this.#isAnnouncedForGood) this.#isAnnounced = false;
    this.#state.commandSchemas.forget();
  }

  batchEnded(): void {
    this.#isAnnouncedForGood = this.#isAnnounced;
    this.#state.commandSchemas.release();
    this.#lockGuard.settle();
  }
}

function isGenerator(value: unknown): value is Generator<unknown, unknown> {
  return typeof value === 'object' && value !== null && 'next' in value && Symbol.iterator in value;
}

function dated(revision: string, answer: unknown): DatedAnswer | Promise<DatedAnswer> {
  if (!(answer instanceof Promise)) return new DatedAnswer(revision, answer);
  return answer.then((settled: unknown) => new DatedAnswer(revision, settled));
}

/**
 * Refuses a text that cannot be the name of a workspace. Keys are bytes: as part of a key it could be read as another
 * name.
 *
 * @throws {ServiceError} `WORKSPACE_NOT_FOUND`
 */
function requireWorkspaceNames(message: BranchCommand | BranchQuery): void {
  if ('workspace' in message && message.workspace !== undefined) requireWorkspace(message.workspace);
  if ('targetWorkspace' in message) requireWorkspace(message.targetWorkspace);
}

function requireWorkspace(name: string): void {
  if (!isWorkspaceName(name)) throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
}

const spaceUseOfOne = spaceUseByType<BranchCommand['type']>([
  'DeleteNode',
  'DeleteDefinition',
  'RemoveRelation',
  'RemoveOrphanedVersions',
  'RemoveLeftovers',
  'RemoveConsumer',
  'MoveConsumer',
  'DropProjection',
  'ForgetBulkProgress',
]);

/** A commit of several operations, or of statements of SQL, counts as freeing space only if each of them does. */
function spaceUseOf(command: BranchCommand): SpaceUse {
  switch (command.type) {
    case 'CommitOperations':
      return command.operations.every(({ type }) => type === 'delete') ? 'ends' : 'grows';
    case 'ChangeBySql':
    case 'ChangeSomeBySql':
      return freesSpace(command.sql) ? 'ends' : 'grows';
    default:
      return spaceUseOfOne(command);
  }
}

/** The branch kind of actor. @param consumers of the change feed of each branch */
export function branchActor(limits: BranchLimits, consumers: readonly FeedConsumer[] = []): ActorKind {
  return {
    kind: 'branch',
    tables: branchTableNames,
    spaceUse: spaceUseOf,
    create: (context) => new BranchBehaviour(context, limits, consumers),
  };
}
