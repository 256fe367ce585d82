import type { FeedCommand, FeedQuery } from '#runtime/feed/feed-messages.ts';
import type { ProjectionCommand } from '#runtime/projection/projection-messages.ts';
import type { CommitInfo } from './commit-messages.ts';
import type { Expected } from './condition-messages.ts';
import type {
  ListChildren,
  ListIncomingReferences,
  NodePlace,
  NodesRead,
  ReadMoment,
  ReadNode,
  ReadProperty,
  ReadTree,
  WorkspaceRead,
} from './read-messages.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { JsonText } from '#runtime/content/values/json-text.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type {
  CountLeftovers,
  CountOrphanedVersions,
  RemoveLeftovers,
  RemoveOrphanedVersions,
} from './orphan-messages.ts';
import type { ReadStatistics } from './statistics-messages.ts';
import type { BuildIndexes, CountPendingIndexes, ReadPendingSince } from './index-messages.ts';
import type { ListConflicts, MergeBranch, ResolveMerge } from './merge-messages.ts';
import type { AccessQuery } from './access-messages.ts';
import type { EngineQuery } from './pair-messages.ts';
import type { RevertRevisions } from './revert-messages.ts';
import type { FindUsers } from './user-messages.ts';
import type {
  ChangeBySql,
  ChangeSomeBySql,
  ForgetBulkProgress,
  LendBranch,
  MatchBySql,
  ReadBulkProgress,
  RunSql,
} from './sql-messages.ts';
import type { VersionedMessage } from '#runtime/actor/message-version.ts';

/**
 * All commands and queries of a branch actor. Protocols build them and have no access to the actor itself. Field names
 * inside `node`, `definition` and results are those of the wire (snake_case).
 *
 * @see docs/interface/README.md
 */

/** A write to the tree of one workspace. */
interface WorkspaceWrite extends VersionedMessage {
  readonly workspace: string;
  readonly commit?: CommitInfo;
  /** Preconditions on the node the command is addressed to; for a create, on the parent. */
  readonly expected?: Expected;
}

/** Fields of a node as the caller gives them. */
export interface NewNode {
  readonly name: string;
  readonly nodeType: string;
  readonly properties: JsonObject;
  readonly id?: string;
  readonly archetype?: string | null;
  readonly translations?: JsonObject | null;
  readonly ownerId?: string | null;
}

/** Creates a node under a parent. Result: {@link NodeWritten}. */
export interface CreateNode extends WorkspaceWrite {
  readonly type: 'CreateNode';
  /** `/` for the root. */
  readonly parentPath: string;
  readonly node: NewNode;
  /** Creates missing parents as `svc:Folder`. */
  readonly deep: boolean;
}

/** Replaces the properties of a node. Result: {@link NodeWritten}. */
export interface UpdateNode extends WorkspaceWrite {
  readonly type: 'UpdateNode';
  readonly place: NodePlace;
  readonly properties?: JsonObject;
  /** `{locale: {"/pointer": value}}`, replacing the stored translations; null removes them. */
  readonly translations?: JsonObject | null;
  readonly archetype?: string | null;
  readonly ownerId?: string | null;
  /** Fixed after creation: a value other than the stored one is refused. */
  readonly nodeType?: string;
}

/**
 * Changes parts of a node; absent fields keep their values. Properties and translations are merge patches (RFC 7396),
 * in which null removes. Result: {@link NodeWritten}.
 */
export interface PatchNode extends WorkspaceWrite {
  readonly type: 'PatchNode';
  readonly place: NodePlace;
  readonly properties?: JsonObject;
  /** By locale; null removes all of them. */
  readonly translations?: JsonObject | null;
  readonly archetype?: string | null;
  readonly ownerId?: string | null;
}

/** Removes one property, nested by keys. Result: {@link Written}. */
export interface RemoveProperty extends WorkspaceWrite {
  readonly type: 'RemoveProperty';
  readonly place: NodePlace;
  readonly property: readonly string[];
}

/** Sets one property, nested by keys. Result: {@link Written}. */
export interface SetProperty extends WorkspaceWrite {
  readonly type: 'SetProperty';
  readonly place: NodePlace;
  readonly property: readonly string[];
  readonly value: JsonValue;
}

/** Removes a node and everything below it. Result: {@link NodeDeleted}. */
export interface DeleteNode extends WorkspaceWrite {
  readonly type: 'DeleteNode';
  readonly place: NodePlace;
}

/** Gives a node another name under the same parent. Result: {@link Written}. */
export interface RenameNode extends WorkspaceWrite {
  readonly type: 'RenameNode';
  readonly place: NodePlace;
  readonly newName: string;
}

/** Moves a node with its subtree to a full new path, final name included. Result: {@link Written}. */
export interface MoveNode extends WorkspaceWrite {
  readonly type: 'MoveNode';
  readonly place: NodePlace;
  readonly targetPath: string;
}

/**
 * Copies a node, alone or with its subtree. With `newName`, `targetPath` is the destination parent, without
 * it the full destination path. Result: {@link NodeWritten}.
 */
export interface CopyNode extends WorkspaceWrite {
  readonly type: 'CopyNode';
  readonly place: NodePlace;
  readonly targetPath: string;
  readonly newName?: string;
  readonly tree: boolean;
}

/** Places a node before or after a sibling. Result: {@link Written}; revision null when nothing moved. */
export interface ReorderNode extends WorkspaceWrite {
  readonly type: 'ReorderNode';
  readonly place: NodePlace;
  /** Path of the sibling. */
  readonly targetPath: string;
  readonly position: 'before' | 'after';
}

/** Publishes or unpublishes a node, alone or with its subtree. Result: {@link Written}. */
export interface PublishNode extends WorkspaceWrite {
  readonly type: 'PublishNode';
  readonly place: NodePlace;
  readonly publish: boolean;
  readonly tree: boolean;
}

/** Stores the current state as a manual version. Result: {@link VersionCreated}. */
export interface CreateVersion extends WorkspaceWrite {
  readonly type: 'CreateVersion';
  readonly place: NodePlace;
  readonly note?: string;
}

/** Restores a manual version as a new revision. Result: {@link NodeWritten}. */
export interface RestoreVersion extends WorkspaceWrite {
  readonly type: 'RestoreVersion';
  readonly place: NodePlace;
  readonly version: number;
}

/**
 * Relates a node to another; if the source, target and relation type exist already, only the weight changes. Result:
 * {@link Written}.
 */
export interface AddRelation extends WorkspaceWrite {
  readonly type: 'AddRelation';
  readonly place: NodePlace;
  readonly targetWorkspace: string;
  readonly targetPath: string;
  readonly relationType: string;
  readonly weight: number | null;
}

/** Removes every relation to a target, or only those of one type. Result: {@link RelationRemoved}. */
export interface RemoveRelation extends WorkspaceWrite {
  readonly type: 'RemoveRelation';
  readonly place: NodePlace;
  readonly targetWorkspace: string;
  readonly targetPath: string;
  readonly relationType?: string;
}

/** Replaces the translation overlay of a locale. Result: {@link Translated}. */
export interface TranslateNode extends WorkspaceWrite {
  readonly type: 'TranslateNode';
  readonly place: NodePlace;
  readonly locale: string;
  /** `{"/pointer": value}`, at least one. */
  readonly translations: JsonObject;
}

/** Removes the overlay of a locale, hides the node in it, or shows it again. Result: {@link Translated}. */
export interface ChangeLocale extends WorkspaceWrite {
  readonly type: 'ChangeLocale';
  readonly place: NodePlace;
  readonly locale: string;
  readonly change: 'delete-translation' | 'hide' | 'unhide';
}

/** Records that the translation is up to date with the current source text. Result: {@link Written}. */
export interface AcknowledgeStaleness extends WorkspaceWrite {
  readonly type: 'AcknowledgeStaleness';
  readonly place: NodePlace;
  readonly locale: string;
  readonly pointer: string;
}

/** An operation on an existing node. */
interface OnNode {
  readonly nodeId: string;
  /** The `version` the node must have when the operation runs, else `PRECONDITION_FAILED`. */
  readonly version?: number;
}

/** One step of {@link CommitOperations}. */
export type CommitOperation =
  | { readonly type: 'create'; readonly parentPath: string; readonly node: NewNode }
  | ({ readonly type: 'update'; readonly properties: JsonObject } & OnNode)
  | ({ readonly type: 'delete' } & OnNode)
  | ({ readonly type: 'move'; readonly newPath: string } & OnNode)
  | ({ readonly type: 'rename'; readonly newName: string } & OnNode)
  | {
      readonly type: 'copy' | 'copy_tree';
      readonly sourcePath: string;
      readonly targetParent: string;
      readonly newName?: string;
      /** The required `version` of the source. */
      readonly version?: number;
    };

/** Several writes as one revision: all or nothing. Updates merge keys. Result: {@link OperationsCommitted}. */
export interface CommitOperations extends WorkspaceWrite {
  readonly type: 'CommitOperations';
  /** The node the commit is addressed to, which {@link WorkspaceWrite.expected} applies to. Default: the root. */
  readonly place?: NodePlace;
  readonly commit: CommitInfo & { readonly message: string };
  readonly operations: readonly CommitOperation[];
}

/** The four kinds of definition in the schema registry. Mixins are node types with `is_mixin`. */
export type DefinitionKind = 'node_type' | 'mixin' | 'archetype' | 'element_type';

/** Stores a definition. Result: {@link DefinitionWritten}. */
export interface PutDefinition {
  readonly type: 'PutDefinition';
  readonly kind: DefinitionKind;
  /** The JSON inside the wrapper, unchecked. */
  readonly definition: unknown;
  /** Replaces exactly this name, which must exist; otherwise an upsert. */
  readonly replaceName?: string;
  readonly commit?: CommitInfo;
}

/** Removes a definition; nodes of the type stay readable. Result: {@link Written}. */
export interface DeleteDefinition {
  readonly type: 'DeleteDefinition';
  readonly kind: DefinitionKind;
  readonly name: string;
  readonly commit?: CommitInfo;
}

/** Publishes or unpublishes a definition. Result: {@link DefinitionWritten}. */
export interface PublishDefinition {
  readonly type: 'PublishDefinition';
  readonly kind: DefinitionKind;
  readonly name: string;
  readonly publish: boolean;
  readonly commit?: CommitInfo;
}

/**
 * Installs the shipped built-in types and initial content that the branch lacks; existing ones stay. Sent by the engine
 * when a branch is opened after an upgrade. Result: {@link Written}.
 */
export interface InstallBuiltIns extends VersionedMessage {
  readonly type: 'InstallBuiltIns';
  /** Needs `since`. Also rewrites shipped types that lack something, see {@link BuiltIns}; additions to them are lost. */
  readonly force?: boolean;
}

/** Creates the initial structure of a workspace that was just defined. Result: {@link Written}. */
export interface InstallWorkspace {
  readonly type: 'InstallWorkspace';
  readonly workspace: string;
}

/**
 * Moves the head to another revision of this branch; later revisions stay. The caller checks whether the branch is
 * protected. Result: {@link HeadMoved}.
 */
export interface MoveHead {
  readonly type: 'MoveHead';
  /** `<milliseconds>-<counter>`; `0-0` is the empty branch. */
  readonly revision: string;
}

/** Turns a fresh copy of another branch into an independent branch. Result: {@link ForkMade}. */
export interface BecomeFork {
  readonly type: 'BecomeFork';
  /** Name of the branch that was copied. */
  readonly sourceName: string;
  /** Head of the fork; absent: the head of the copy. */
  readonly revision?: string;
}

/** Every command of a branch. */
export type BranchCommand =
  | FeedCommand
  | ProjectionCommand
  | CreateNode
  | UpdateNode
  | PatchNode
  | SetProperty
  | RemoveProperty
  | DeleteNode
  | RenameNode
  | MoveNode
  | CopyNode
  | ReorderNode
  | PublishNode
  | CreateVersion
  | RestoreVersion
  | AddRelation
  | RemoveRelation
  | TranslateNode
  | ChangeLocale
  | AcknowledgeStaleness
  | CommitOperations
  | ChangeBySql
  | ChangeSomeBySql
  | ForgetBulkProgress
  | PutDefinition
  | DeleteDefinition
  | PublishDefinition
  | MoveHead
  | BecomeFork
  | RemoveOrphanedVersions
  | RemoveLeftovers
  | BuildIndexes
  | MergeBranch
  | ResolveMerge
  | RevertRevisions
  | InstallBuiltIns
  | InstallWorkspace;

/** The revision a write made; null when it changed nothing. */
export interface Written {
  readonly revision: string | null;
}

/** The new head and the previous one. */
export interface HeadMoved {
  readonly revision: string;
  readonly previous: string;
}

/** The head of a fork. */
export interface ForkMade {
  readonly head: string;
}

/** A node as it is after a write. */
export interface NodeWritten extends Written {
  /** The node object, as a read without `lang` returns it. */
  readonly node: string;
  readonly nodeId: string;
  readonly revision: string;
  /** Entity tag of the node, without quotes. Absent in answers of members with an older version. */
  readonly tag?: string;
}

/** What a deletion removed. */
export interface NodeDeleted extends Written {
  readonly nodeId: string;
  readonly revision: string;
}

/** Number of the created manual version. */
export interface VersionCreated extends Written {
  readonly version: number;
}

/** Whether a relation existed. */
export interface RelationRemoved extends Written {
  readonly removed: boolean;
}

/** Result of a translation write; the revision is null when there was nothing to remove or to show. */
export interface Translated extends Written {
  readonly node_id: string;
  readonly locale: string;
  readonly timestamp: string;
}

/** Result of a commit of several operations; the revision is null when they cancelled each other out. */
export interface OperationsCommitted extends Written {
  readonly operations_count: number;
}

/** A stored definition. */
export interface DefinitionWritten extends Written {
  /** False when an existing definition was replaced. */
  readonly created: boolean;
  readonly definition: JsonObject;
}

/**
 * The JSON query: exactly one selector. Answer: {@link JsonAnswer} of `{items, page}`.
 *
 * At an earlier revision the cost of a query by type grows with all nodes of the workspace at that revision, whatever
 * the selection and the page: types are indexed for the head only.
 */
export interface RunQuery extends NodesRead {
  readonly type: 'RunQuery';
  readonly selector:
    | { readonly nodeType: string }
    /** Id or path of the parent. */
    | { readonly parent: string }
    | { readonly path: string };
  readonly limit?: number;
  readonly offset?: number;
}

/**
 * The boolean query over root-level nodes. Answer: as {@link RunQuery}. At an earlier revision it reads every
 * root-level node of that revision.
 *
 * `filter` is the unchecked body: combinators, fields, `order_by`, `limit`, `offset`.
 */
export interface RunDslQuery extends NodesRead {
  readonly type: 'RunDslQuery';
  readonly filter: JsonObject;
}

/** History entries, newest first; also of deleted nodes. Answer: {@link JsonAnswer} of an array. */
export interface ReadHistory extends ReadMoment {
  readonly type: 'ReadHistory';
  readonly workspace: string;
  readonly place: NodePlace;
  readonly limit?: number;
}

/** Audit entries, newest first; also of deleted nodes. Answer: {@link JsonAnswer} of an array. */
export interface ReadAudit extends ReadMoment {
  readonly type: 'ReadAudit';
  readonly workspace: string;
  readonly place: NodePlace;
  readonly limit?: number;
}

/** Manual versions, newest first, or one of them. Answer: {@link JsonAnswer} of an array, or of one version. */
export interface ReadVersions extends ReadMoment {
  readonly type: 'ReadVersions';
  readonly workspace: string;
  readonly place: NodePlace;
  readonly version?: number;
}

/** Relations from and to a node. Answer: {@link JsonAnswer} of `{outgoing, incoming}`. */
export interface ReadRelations extends WorkspaceRead {
  readonly type: 'ReadRelations';
  readonly place: NodePlace;
}

/** Locales with a translation overlay. Answer: `{node_id, node_path, locales}`. */
export interface ListTranslations extends WorkspaceRead {
  readonly type: 'ListTranslations';
  readonly place: NodePlace;
}

/** How a locale's overlay compares with the current source. Answer: `{stale, missing, fresh, unknown}`. */
export interface ReadStaleness extends ReadMoment {
  readonly type: 'ReadStaleness';
  readonly workspace: string;
  readonly place: NodePlace;
  readonly locale: string;
}

/**
 * Revisions of this branch, newest first. Those of which the caller may learn nothing are left out, and counted. Answer:
 * {@link JsonAnswer} of `{revisions, total, has_more}`.
 */
export interface ListRevisions extends ReadMoment {
  readonly type: 'ListRevisions';
  readonly limit: number;
  readonly offset: number;
  readonly includeSystem: boolean;
}

/**
 * One revision record. Answer: {@link JsonAnswer}, or undefined when this branch has no such revision, or one of which the
 * caller may learn nothing.
 */
export interface ReadRevision {
  readonly type: 'ReadRevision';
  readonly revision: Revision;
}

/** The node changes of a revision. Answer: {@link JsonAnswer} of an array, or undefined as {@link ReadRevision}. */
export interface ReadRevisionChanges {
  readonly type: 'ReadRevisionChanges';
  readonly revision: Revision;
}

/**
 * How far this branch and another one have diverged. Answer: {@link BranchComparison}.
 *
 * @see docs/interface/branches.md#comparing-branches
 */
export interface CompareBranch extends ReadMoment {
  readonly type: 'CompareBranch';
  /** Actor of the other branch, of the same repository. */
  readonly base: string;
  /** Absent: the head of the other branch. */
  readonly baseAt?: Revision;
}

/** Answer to {@link CompareBranch}. */
export interface BranchComparison {
  /** Revisions only this branch has. */
  readonly ahead: number;
  /** Revisions only the other branch has. */
  readonly behind: number;
  /** The greatest common revision; `0-0` when there is none. */
  readonly common_ancestor: string;
}

/**
 * The net changes of this branch since its common ancestor with another branch. Answer: {@link JsonAnswer} of
 * `{common_ancestor, added, modified, deleted, definitions}`.
 */
export interface DiffBranch extends ReadMoment, VersionedMessage {
  readonly type: 'DiffBranch';
  /** Adds its changes to each entry, and `truncated` to the answer. */
  readonly detail?: 'properties';
  /** Actor of the other branch, of the same repository. */
  readonly base: string;
  /** Absent: the head of the other branch. */
  readonly baseAt?: Revision;
}

/** Definitions of a kind, sorted by name. Answer: array. */
export interface ListDefinitions extends ReadMoment {
  readonly type: 'ListDefinitions';
  readonly kind: DefinitionKind;
  readonly publishedOnly: boolean;
}

/** One definition. Answer: the stored record. */
export interface ReadDefinition extends ReadMoment {
  readonly type: 'ReadDefinition';
  readonly kind: DefinitionKind;
  readonly name: string;
}

/** A definition with everything it inherits. Answer: the `/resolved` object. */
export interface ResolveDefinition extends ReadMoment {
  readonly type: 'ResolveDefinition';
  readonly kind: 'node_type' | 'archetype' | 'element_type';
  readonly name: string;
  /** Resolves against the versions pinned by this workspace. */
  readonly workspace?: string;
}

/** Runs the write-time checks without storing. Answer: `{valid, errors}`. */
export interface ValidateNode {
  readonly type: 'ValidateNode';
  readonly workspace: string;
  readonly node: {
    readonly name: string;
    readonly nodeType: string;
    readonly properties: JsonObject;
    readonly archetype?: string | null;
  };
}

/** Compares the branch with the shipped built-ins. Answer: {@link BuiltIns}. @throws {ServiceError} `FORBIDDEN` */
export interface ReadBuiltIns {
  readonly type: 'ReadBuiltIns';
}

/** Shipped built-ins that a branch lacks. */
export interface BuiltIns {
  /** Whether a type or workspace is shipped in a newer version than the branch received. */
  readonly isPending: boolean;
  /** Names of shipped types that are missing or incomplete. */
  readonly changedTypes: readonly string[];
}

/** The state of the branch. Answer: {@link BranchState}. */
export interface ReadBranchState {
  readonly type: 'ReadBranchState';
}

/**
 * A query together with the head of the branch, in one message, for callers on other members. The answer to a query at
 * an earlier moment carries the revision that was read, see `readableRevision`. Answer: a `DatedAnswer` with the answer
 * to the query.
 *
 * @throws {ServiceError} `REVISION_NOT_FOUND` if the branch has no revision for the moment of the query
 */
export interface ReadAtHead extends VersionedMessage {
  readonly type: 'ReadAtHead';
  readonly query: BranchQuery;
  /** The revision whose ancestors are read instead of those of the head: the revision of a tag. */
  readonly line?: Revision;
}

/** Every query of a branch except {@link ReadAtHead}, which contains one. */
export type BranchQuery =
  | FeedQuery
  | ReadStatistics
  | ReadNode
  | ReadProperty
  | ListChildren
  | ListIncomingReferences
  | ReadTree
  | RunQuery
  | RunDslQuery
  | RunSql
  | MatchBySql
  | ReadBulkProgress
  | LendBranch
  | ReadHistory
  | ReadAudit
  | ReadVersions
  | ReadRelations
  | ListTranslations
  | ReadStaleness
  | ListRevisions
  | ReadRevision
  | ReadRevisionChanges
  | CompareBranch
  | DiffBranch
  | ListConflicts
  | EngineQuery
  | AccessQuery
  | FindUsers
  | CountOrphanedVersions
  | CountLeftovers
  | CountPendingIndexes
  | ReadPendingSince
  | ListDefinitions
  | ReadDefinition
  | ResolveDefinition
  | ValidateNode
  | ReadBranchState
  | ReadBuiltIns;

/** One page of a listing, in the form of its JSON. */
export interface NodePage {
  /** Node objects. */
  readonly items: readonly JsonObject[];
  readonly next_cursor: string | null;
  readonly total: null;
}

/**
 * A JSON document in pieces, for answers that are large. It shows one snapshot, which stays pinned from the first piece
 * on. It must therefore be read to its end or closed with `return()`, as `for await` does.
 */
export interface TextStream {
  /** Strings, and UTF-8 that does not end inside a character. */
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

/** A JSON document: text when it is small, a stream when it is not. */
export type JsonAnswer = JsonText | TextStream;

/** State of a branch. */
export interface BranchState {
  readonly head: string;
  /** Whether the shipped built-ins are newer than those of the branch. */
  readonly builtInsPending: boolean;
}
