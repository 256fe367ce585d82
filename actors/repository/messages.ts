import type { LanguageSettings } from '#runtime/content/locale.ts';
import type { Workspace } from '#runtime/content/workspace-definition.ts';

/**
 * What a repository actor can be told and asked: configuration, languages, workspaces, the list of branches.
 *
 * @see Supplement 1, 2, 9
 */

/** A branch in the list. Its content lives in an actor named after `uid`. */
export interface BranchEntry {
  readonly name: string;
  readonly uid: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly createdFrom: string | null;
  readonly upstreamBranch: string;
  readonly protected: boolean;
  readonly description: string | null;
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

/** Every command of a repository. */
export type RepositoryCommand =
  | InitializeRepository
  | UpdateRepository
  | UpdateTranslationConfig
  | PutWorkspace
  | PutWorkspaceConfig
  | InstallBuiltInWorkspaces;

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
  | ListWorkspaces
  | ReadWorkspace
  | ReadSettings
  | ListBuiltInUpdates;

/** Settings, workspaces or branches changed: what was remembered of them is to be looked up again. */
export interface RepositoryChanged {
  readonly type: 'RepositoryChanged';
}
