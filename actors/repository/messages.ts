import type { LanguageSettings } from '#runtime/content/translations/locale.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';

/**
 * Commands and queries of a repository actor: configuration, languages, workspaces, branches, tags.
 *
 * @see docs/interface/repositories.md
 */

/** A branch in the list. Its content is in an actor named after `uid`. */
export interface BranchEntry {
  readonly name: string;
  readonly uid: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: string;
  /** The revision it was forked at; null for a branch created empty. */
  readonly createdFrom: string | null;
  /** Null when it was removed. */
  readonly upstreamBranch: string | null;
  /** A protected branch cannot be deleted or merged into, and its head cannot be moved. */
  readonly protected: boolean;
  readonly description: string | null;
}

/** Identifies the actor with the content of a branch. */
export type BranchAddress = Pick<BranchEntry, 'name' | 'uid'>;

/** A name that always refers to the same revision. @see docs/interface/branches.md#tags */
export interface TagEntry {
  readonly name: string;
  readonly revision: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: string;
  readonly message: string | null;
  /** A protected tag cannot be deleted. */
  readonly protected: boolean;
  /** The branch with the revision. If it was deleted since, its content is kept for the tag. */
  readonly branch: BranchAddress;
}

/** Settings of the repository that a branch actor uses; answered synchronously, inside the turn of the branch. */
export interface RepositorySettings {
  readonly workspace: Workspace | undefined;
  readonly languages: LanguageSettings;
}

/**
 * Initializes a new repository actor with its settings, the default branch and the built-in workspaces. A repeated
 * command changes nothing. Result: {@link RepositoryInitialized}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `INVALID_BRANCH_NAME`
 */
export interface InitializeRepository {
  readonly type: 'InitializeRepository';
  readonly repositoryId: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly defaultBranchUid: string;
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
  /** Every fence token of the repository is above this number. Default: 0, for the first repository with its name. */
  readonly tokenFloor?: number;
}

/** Result of {@link InitializeRepository}. Earlier members answer undefined. */
export interface RepositoryInitialized {
  readonly createdAt: string;
}

/**
 * Changes settings; absent keys keep their value. Result: undefined.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND` for a default branch that does not exist; `VALIDATION_FAILED`
 */
export interface UpdateRepository {
  readonly type: 'UpdateRepository';
  readonly description?: string | null;
  readonly defaultBranch?: string;
  readonly supportedLanguages?: readonly string[];
}

/**
 * Changes languages; `patch` is the unchecked body of the translation-config route. Result: undefined.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export interface UpdateTranslationConfig {
  readonly type: 'UpdateTranslationConfig';
  readonly patch: unknown;
}

/**
 * Creates or replaces a workspace; `definition` is the unchecked body. Result: {@link WorkspacePut}.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export interface PutWorkspace {
  readonly type: 'PutWorkspace';
  readonly name: string;
  readonly definition: unknown;
}

/** Result of {@link PutWorkspace}. */
export interface WorkspacePut {
  readonly created: boolean;
  /** The branch that receives the initial structure: the configured one, else the default branch. */
  readonly branch: string;
}

/**
 * Replaces the config of a workspace; `config` is the unchecked body. Result: undefined.
 *
 * @throws {ServiceError} `WORKSPACE_NOT_FOUND`, `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export interface PutWorkspaceConfig {
  readonly type: 'PutWorkspaceConfig';
  readonly name: string;
  readonly config: unknown;
}

/**
 * Updates the built-in workspaces to the shipped versions. A workspace changed by a user keeps its definition unless
 * `force` is set. Result: {@link BuiltInsInstalled}.
 */
export interface InstallBuiltInWorkspaces {
  readonly type: 'InstallBuiltInWorkspaces';
  /** Only these; absent: all. */
  readonly names?: readonly string[];
  readonly force?: boolean;
}

/**
 * Gives built-in workspaces that a user changed the shipped definition again, of whatever version they are. Their
 * configuration stays. Result: {@link BuiltInsInstalled}.
 */
export interface RestoreBuiltInWorkspaces {
  readonly type: 'RestoreBuiltInWorkspaces';
  /** Names that no built-in workspace has are ignored. */
  readonly names: readonly string[];
}

/** Result of {@link InstallBuiltInWorkspaces}. */
export interface BuiltInsInstalled {
  /** Names of the written workspaces. */
  readonly installed: readonly string[];
  /** Names of workspaces that were changed by a user and not updated. */
  readonly skipped: readonly string[];
}

/**
 * Refuses to create a branch or a tag because what it was to be made of does not exist. The refusal of a repeated
 * request is its first outcome: the source may have been deleted since. Result: that outcome.
 *
 * @throws {ServiceError} the refusal
 */
export interface RefuseCreation {
  readonly type: 'RefuseCreation';
  readonly code: 'BRANCH_NOT_FOUND' | 'REVISION_NOT_FOUND';
  readonly message: string;
  readonly field?: string;
}

/**
 * Adds a branch to the list. The branch exists from then on; its actor is created before. Result: the
 * {@link BranchEntry}.
 *
 * @throws {ServiceError} `BRANCH_ALREADY_EXISTS`, also for the name of a tag; `BRANCH_NOT_FOUND` for an unknown
 *   upstream; `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`
 */
export interface RegisterBranch {
  readonly type: 'RegisterBranch';
  readonly branch: Omit<BranchEntry, 'createdAt'>;
  /** Whether the upstream must exist: true when the request names it, false when it is a default. */
  readonly requiresUpstream: boolean;
  /** Job to enqueue when the branch exists. */
  readonly job?: JobRequest;
}

/**
 * Changes properties of a branch; absent keys keep their value. Result: the {@link BranchEntry}.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`, also for an unknown upstream; `VALIDATION_FAILED`
 */
export interface UpdateBranch {
  readonly type: 'UpdateBranch';
  readonly name: string;
  readonly protected?: boolean;
  readonly description?: string | null;
  readonly upstreamBranch?: string | null;
}

/**
 * Removes a branch from the list. The branch no longer exists from then on. Result: {@link BranchUnregistered}.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`; `FORBIDDEN` for a protected branch and for the default branch
 */
export interface UnregisterBranch {
  readonly type: 'UnregisterBranch';
  readonly name: string;
  /** By the name of each tag of this branch, another branch with the revision of the tag. */
  readonly successors?: Readonly<Record<string, BranchAddress>>;
  /** The seal of {@link RetireTokens}, unique for each command. */
  readonly seal: string;
}

/**
 * Sent by a repository to the locks of a branch, within the turn that removes the branch from the list. From then on
 * they grant no lock. Changes memory only. Answer: the newest fence token ever issued.
 */
export interface RetireTokens {
  readonly type: 'RetireTokens';
  /** Identifies the sender, so that each reopens only its own seal. */
  readonly seal: string;
}

/** Sent by a repository to the locks of a branch that was not removed: they grant locks again. Answer: undefined. */
export interface ReopenTokens {
  readonly type: 'ReopenTokens';
  readonly seal: string;
}

/** Queries a repository sends to the locks of a branch. */
export type TokenQuery = RetireTokens | ReopenTokens;

/** Result of {@link UnregisterBranch}. */
export interface BranchUnregistered {
  readonly branch: BranchAddress;
  /** Whether its content is kept, hidden, because a tag names a revision that no other branch has. */
  readonly isRetired: boolean;
}

/**
 * Creates a tag. Result: the {@link TagEntry}.
 *
 * @throws {ServiceError} `TAG_ALREADY_EXISTS`, also for the name of a branch; `REVISION_NOT_FOUND` when the branch
 *   is gone; `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`
 */
export interface PutTag {
  readonly type: 'PutTag';
  /** The caller has verified that its `branch` has the revision. */
  readonly tag: Omit<TagEntry, 'createdAt'>;
}

/**
 * Removes a tag. Result: {@link TagRemoved}.
 *
 * @throws {ServiceError} `TAG_NOT_FOUND`; `FORBIDDEN` for a protected tag
 */
export interface RemoveTag {
  readonly type: 'RemoveTag';
  readonly name: string;
}

/** Result of {@link RemoveTag}. */
export interface TagRemoved {
  /** The deleted branch whose content was kept only for this tag and can now be removed. */
  readonly released: BranchAddress | null;
}

/** The commands of a repository. */
export type RepositoryCommand =
  | InitializeRepository
  | UpdateRepository
  | UpdateTranslationConfig
  | PutWorkspace
  | PutWorkspaceConfig
  | InstallBuiltInWorkspaces
  | RestoreBuiltInWorkspaces
  | RefuseCreation
  | RegisterBranch
  | UpdateBranch
  | UnregisterBranch
  | PutTag
  | RemoveTag;

/** Settings of a repository. */
export interface RepositoryState {
  readonly repositoryId: string;
  readonly createdAt: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly languages: LanguageSettings;
  readonly branches: readonly string[];
}

/** Answer: {@link RepositoryState}. @throws {ServiceError} `REPOSITORY_NOT_FOUND` before it is initialized */
export interface ReadRepository {
  readonly type: 'ReadRepository';
}

/** A branch by name, for the engine only. Answer: {@link BranchEntry} or undefined. */
export interface FindBranch {
  readonly type: 'FindBranch';
  readonly name: string;
}

/** Every branch, sorted by name. Answer: array of {@link BranchEntry}. */
export interface ListBranches {
  readonly type: 'ListBranches';
}

/** Deleted branches whose content is kept for a tag, for the engine only. Answer: array of {@link BranchAddress}. */
export interface ListRetiredBranches {
  readonly type: 'ListRetiredBranches';
}

/**
 * The fence token that every token of a branch must exceed: the newest token of all earlier branches with its name. For
 * the engine only. Answer: number.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND` when the branch is not listed
 */
export interface ReadTokenFloor {
  readonly type: 'ReadTokenFloor';
  readonly branch: BranchAddress;
}

/** A tag by name, for the engine only. Answer: {@link TagEntry} or undefined. */
export interface FindTag {
  readonly type: 'FindTag';
  readonly name: string;
}

/** Every tag, sorted by name. Answer: array of {@link TagEntry}. */
export interface ListTags {
  readonly type: 'ListTags';
}

/** Workspaces sorted by name. Answer: {@link WorkspaceList}. */
export interface ListWorkspaces {
  readonly type: 'ListWorkspaces';
  readonly limit?: number;
  readonly offset?: number;
}

/** Answer of {@link ListWorkspaces}. */
export interface WorkspaceList {
  readonly items: readonly Workspace[];
  /** Number of all workspaces. */
  readonly total: number;
}

/** A workspace by name. Answer: Workspace or undefined. */
export interface ReadWorkspace {
  readonly type: 'ReadWorkspace';
  readonly name: string;
}

/** Settings for a branch actor, for the engine only. Answer: {@link RepositorySettings}. */
export interface ReadSettings {
  readonly type: 'ReadSettings';
  readonly workspace: string;
}

/**
 * The workspace with an alias in CamelCase, as statements may write it: `SvcAccessControl` for `svc:access_control`. Of several,
 * the first by name. For the engine only. Answer: its name or undefined.
 */
export interface FindWorkspaceAlias {
  readonly type: 'FindWorkspaceAlias';
  readonly alias: string;
}

/** Built-in workspaces whose shipped version is newer. Answer: array of {@link BuiltInUpdate}. */
export interface ListBuiltInUpdates {
  readonly type: 'ListBuiltInUpdates';
}

/** A built-in workspace whose shipped version is newer than the version of the repository. */
export interface BuiltInUpdate {
  readonly name: string;
  /** Null when the repository lacks it. */
  readonly currentVersion: number | null;
  readonly shippedVersion: number;
  /** Whether a user changed the workspace, so that the update requires `force`. */
  readonly isChanged: boolean;
}

/** The queries of a repository. */
export type RepositoryQuery =
  | ReadRepository
  | FindBranch
  | ListBranches
  | ListRetiredBranches
  | ReadTokenFloor
  | FindTag
  | ListTags
  | ListWorkspaces
  | ReadWorkspace
  | ReadSettings
  | FindWorkspaceAlias
  | ListBuiltInUpdates;

/** Settings, workspaces or branches changed: cached copies have to be read again. */
export interface RepositoryChanged {
  readonly type: 'RepositoryChanged';
}

/** A branch or tag was created, changed or deleted. */
export interface NamesChanged {
  readonly type: 'BranchCreated' | 'BranchUpdated' | 'BranchDeleted' | 'TagCreated' | 'TagDeleted';
  /** Name of the branch or tag. */
  readonly name: string;
}
