import type { Workspace } from '#runtime/content/workspace-definition.ts';

/**
 * What a repository actor can be told and asked: configuration, languages, workspaces, the list of branches.
 *
 * @see Supplement 1, 2, 9
 */

/** Languages of a repository. */
export interface LanguageSettings {
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
  readonly fallbackChains: Readonly<Record<string, readonly string[]>>;
}

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

/** Fills a new repository actor: settings, the default branch, the built-in workspaces. */
export interface InitializeRepository {
  readonly type: 'InitializeRepository';
  readonly repositoryId: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly defaultBranchUid: string;
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
}

/** Changes settings; absent keys keep their value. */
export interface UpdateRepository {
  readonly type: 'UpdateRepository';
  readonly description?: string | null;
  readonly defaultBranch?: string;
  readonly supportedLanguages?: readonly string[];
}

/** Changes languages; `patch` is the unchecked body of the translation-config route. */
export interface UpdateTranslationConfig {
  readonly type: 'UpdateTranslationConfig';
  readonly patch: unknown;
}

/** Creates or replaces a workspace; `definition` is the unchecked body. Result: `{created: boolean}`. */
export interface PutWorkspace {
  readonly type: 'PutWorkspace';
  readonly name: string;
  readonly definition: unknown;
}

/** Replaces the config of a workspace; `config` is the unchecked body. */
export interface PutWorkspaceConfig {
  readonly type: 'PutWorkspaceConfig';
  readonly name: string;
  readonly config: unknown;
}

/** Brings the built-in workspaces up to the shipped versions. Result: names of the changed ones. */
export interface InstallBuiltInWorkspaces {
  readonly type: 'InstallBuiltInWorkspaces';
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

/** Answer: {@link RepositoryState}. */
export interface ReadRepository {
  readonly type: 'ReadRepository';
}

/** A branch by name. Answer: {@link BranchEntry} or undefined. */
export interface FindBranch {
  readonly type: 'FindBranch';
  readonly name: string;
}

/** Workspaces sorted by name. Answer: `{items: Workspace[], total: number}`. */
export interface ListWorkspaces {
  readonly type: 'ListWorkspaces';
  readonly limit?: number;
  readonly offset?: number;
}

/** A workspace by name. Answer: Workspace or undefined. */
export interface ReadWorkspace {
  readonly type: 'ReadWorkspace';
  readonly name: string;
}

/** What a branch needs to know. Answer: {@link RepositorySettings}. */
export interface ReadSettings {
  readonly type: 'ReadSettings';
  readonly workspace: string;
}

/** Every query of a repository. */
export type RepositoryQuery = ReadRepository | FindBranch | ListWorkspaces | ReadWorkspace | ReadSettings;
