import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { LanguageSettings } from '#runtime/content/translations/locale.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';

/** Own tables of a repository. Records are JSON with a checksum; the key is the name. */
export const RepositoryTable = {
  /** One record: {@link SettingsRow} under {@link SETTINGS}. */
  settings: FIRST_OWN_TABLE,
  /** name → {@link WorkspaceRow} */
  workspaces: FIRST_OWN_TABLE + 1,
  /** name → BranchEntry */
  branches: FIRST_OWN_TABLE + 2,
  /** name → TagEntry */
  tags: FIRST_OWN_TABLE + 3,
  /** uid → BranchAddress of a deleted branch whose content is kept for a tag */
  retired: FIRST_OWN_TABLE + 4,
  /** name, or {@link EVERY_BRANCH} → the newest fence token of the deleted branches with this name */
  tokens: FIRST_OWN_TABLE + 5,
} as const;

/** Names of the tables, in the order of their numbers. */
export const repositoryTableNames: readonly string[] = Object.freeze(Object.keys(RepositoryTable));

/** Name of the only record in `settings`. */
export const SETTINGS = 'repository';

/**
 * Key in `tokens` of the floor for branches of every name, set when the repository was restored or is not the first
 * with its name. It is no valid name of a branch.
 */
export const EVERY_BRANCH = '*';

/** Settings of a repository as stored. */
export interface SettingsRow {
  readonly repositoryId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly languages: LanguageSettings;
}

/** A workspace as stored. */
export interface WorkspaceRow {
  readonly workspace: Workspace;
  /** For a shipped workspace: its version, and whether a user changed it since. */
  readonly builtIn?: { readonly version: number; readonly isChanged: boolean };
}
