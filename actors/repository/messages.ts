import type { LanguageSettings } from '#runtime/content/locale.ts';
import type { Workspace } from '#runtime/content/workspace-definition.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';

/**
 * What a repository actor can be told and asked: configuration, languages, workspaces, branches, tags.
 *
 * @see docs/interface/repositories.md
 */

/** A branch in the list. Its content lives in an actor named after `uid`. */
export interface BranchEntry {
  readonly name: string;
  readonly uid: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: string;
  /** The revision it was forked at; null for one that began empty. */
  readonly createdFrom: string | null;
  /** Null when it has been taken away. */
  readonly upstreamBranch: string | null;
  /** Not to be deleted, not to be merged into, its head not to be moved. */
  readonly protected: boolean;
  readonly description: string | null;
}

/** Which actor has a branch's content. */
export type BranchAddress = Pick<BranchEntry, 'name' | 'uid'>;

/** A name for one revision, for good. @see docs/interface/branches.md#tags */
export interface TagEntry {
  readonly name: string;
  readonly revision: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: string;
  readonly message: string | null;
  /** Not to be deleted. */
  readonly protected: boolean;
  /** The branch that has the revision; it may have been deleted since, its content is kept for the tag then. */
  readonly branch: BranchAddress;
}

/** What a branch actor needs to know of its repository; answered synchronously, inside its turn. */
export interface RepositorySettings {
  readonly workspace: Workspace | undefined;
  readonly languages: LanguageSettings;
}

/**
 * Fills a new repository actor: settings, the default branch, the built-in workspaces. Filling one that is
 * filled changes nothing. Result: undefined.
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
  /** Every fence token of the repository is above it. Default: 0, for the first repository of its name. */
  readonly tokenFloor?: number;
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

/** What {@link PutWorkspace} answers. */
export interface WorkspacePut {
  readonly created: boolean;
  /** The branch that receives the initial structure: the configured one, or the default branch without it. */
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
 * Brings the built-in workspaces up to the shipped versions. A workspace that somebody changed keeps its
 * definition unless `force` is set. Result: {@link BuiltInsInstalled}.
 */
export interface InstallBuiltInWorkspaces {
  readonly type: 'InstallBuiltInWorkspaces';
  /** Only these; absent: all. */
  readonly names?: readonly string[];
  readonly force?: boolean;
}

/** What {@link InstallBuiltInWorkspaces} answers. */
export interface BuiltInsInstalled {
  /** Names of the workspaces that were written. */
  readonly installed: readonly string[];
  /** Names of those that somebody changed and that were left alone. */
  readonly skipped: readonly string[];
}

/**
 * Puts a branch into the list, which is the moment it exists: its actor is made before. Result: the
 * {@link BranchEntry}.
 *
 * @throws {ServiceError} `BRANCH_ALREADY_EXISTS`, also for the name of a tag; `BRANCH_NOT_FOUND` for an unknown
 *   upstream; `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`
 */
export interface RegisterBranch {
  readonly type: 'RegisterBranch';
  readonly branch: Omit<BranchEntry, 'createdAt'>;
  /** Whether the upstream was named by somebody and must exist, which the one that is merely assumed need not. */
  readonly requiresUpstream: boolean;
  /** What remains to be done in the background once the branch exists. */
  readonly job?: JobRequest;
}

/**
 * Changes what is said of a branch; absent keys keep their value. Result: the {@link BranchEntry}.
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
 * Takes a branch off the list, which is the moment it is gone. Result: {@link BranchUnregistered}.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`; `FORBIDDEN` for a protected branch and for the default branch
 */
export interface UnregisterBranch {
  readonly type: 'UnregisterBranch';
  readonly name: string;
  /** Other branches that have the revision of a tag of this branch, by the name of the tag. */
  readonly successors?: Readonly<Record<string, BranchAddress>>;
  /** Name of {@link RetireTokens}, a new one each time. */
  readonly seal: string;
}

/**
 * What a repository asks the locks of a branch, within the turn that takes the branch off the list: from then on
 * they grant nothing. Changes memory only. Answer: the newest fence token there ever was.
 */
export interface RetireTokens {
  readonly type: 'RetireTokens';
  /** Tells apart who asks, so that each undoes its own only. */
  readonly seal: string;
}

/** What a repository asks the locks of a branch that stays after all: they grant again. Answer: undefined. */
export interface ReopenTokens {
  readonly type: 'ReopenTokens';
  readonly seal: string;
}

/** What the locks of a branch answer to the deletion of the branch. */
export type TokenQuery = RetireTokens | ReopenTokens;

/** What {@link UnregisterBranch} answers. */
export interface BranchUnregistered {
  readonly branch: BranchAddress;
  /** Whether its content stays, out of sight, because a tag names a revision that no other branch has. */
  readonly isRetired: boolean;
}

/**
 * Gives a revision a name, for good. Result: the {@link TagEntry}.
 *
 * @throws {ServiceError} `TAG_ALREADY_EXISTS`, also for the name of a branch; `REVISION_NOT_FOUND` when the branch
 *   is gone; `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`
 */
export interface PutTag {
  readonly type: 'PutTag';
  /** Its `branch` has the revision: the caller has looked. */
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

/** What {@link RemoveTag} answers. */
export interface TagRemoved {
  /** The deleted branch whose content stayed for this tag alone, and need not stay any longer. */
  readonly released: BranchAddress | null;
}

/** Every command of a repository. */
export type RepositoryCommand =
  | InitializeRepository
  | UpdateRepository
  | UpdateTranslationConfig
  | PutWorkspace
  | PutWorkspaceConfig
  | InstallBuiltInWorkspaces
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

/** Answer: {@link RepositoryState}. @throws {ServiceError} `REPOSITORY_NOT_FOUND` before it is filled */
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

/** Deleted branches whose content stays for a tag, for the engine only. Answer: array of {@link BranchAddress}. */
export interface ListRetiredBranches {
  readonly type: 'ListRetiredBranches';
}

/**
 * The fence token that every token of a branch has to be above: the newest of all branches there were by its name.
 * For the engine only. Answer: number.
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

/** What {@link ListWorkspaces} answers. */
export interface WorkspaceList {
  readonly items: readonly Workspace[];
  /** How many there are. */
  readonly total: number;
}

/** A workspace by name. Answer: Workspace or undefined. */
export interface ReadWorkspace {
  readonly type: 'ReadWorkspace';
  readonly name: string;
}

/** What a branch needs to know, for the engine only. Answer: {@link RepositorySettings}. */
export interface ReadSettings {
  readonly type: 'ReadSettings';
  readonly workspace: string;
}

/** Built-in workspaces whose shipped version is newer. Answer: array of {@link BuiltInUpdate}. */
export interface ListBuiltInUpdates {
  readonly type: 'ListBuiltInUpdates';
}

/** A built-in workspace whose shipped version is newer than the repository's. */
export interface BuiltInUpdate {
  readonly name: string;
  /** Null when the repository lacks it. */
  readonly currentVersion: number | null;
  readonly shippedVersion: number;
  /** Whether installing it would replace what somebody changed; it then takes `force`. */
  readonly isChanged: boolean;
}

/** Every query of a repository. */
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
  | ListBuiltInUpdates;

/** Settings, workspaces or branches changed: what was remembered of them is to be looked up again. */
export interface RepositoryChanged {
  readonly type: 'RepositoryChanged';
}

/** What happened to a branch or a tag. */
export interface NamesChanged {
  readonly type: 'BranchCreated' | 'BranchUpdated' | 'BranchDeleted' | 'TagCreated' | 'TagDeleted';
  /** Of the branch or tag. */
  readonly name: string;
}
