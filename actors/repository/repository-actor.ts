import { requireAdministrator } from '#runtime/access/policy.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorKind,
  Caller,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, RecordCache, writeRecord } from '#runtime/commit/record-store.ts';
import { requireBranchName, requireRepositoryName } from '#runtime/content/names.ts';
import {
  newLanguageSettings,
  patchLanguageSettings,
} from '#runtime/content/translations/translation-config.ts';
import {
  parseWorkspaceConfig,
  parseWorkspaceDefinition,
  type Workspace,
} from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import { withOutbox } from '#runtime/jobs/outbox.ts';
import { branchList, registerBranch, tokenFloor, unregisterBranch, updateBranch } from './branches.ts';
import {
  installBuiltIns,
  pendingBuiltIns,
  restoreBuiltIns,
  type WorkspaceRows,
} from './built-in-workspaces.ts';
import type {
  BranchAddress,
  BranchEntry,
  FindBranch,
  InitializeRepository,
  RepositoryInitialized,
  PutWorkspace,
  PutWorkspaceConfig,
  RepositoryChanged,
  RepositoryCommand,
  RepositoryQuery,
  RepositorySettings,
  RepositoryState,
  ReopenTokens,
  RetireTokens,
  TagEntry,
  UpdateRepository,
  WorkspaceList,
  WorkspacePut,
} from './messages.ts';
import {
  EVERY_BRANCH,
  RepositoryTable,
  repositoryTableNames,
  SETTINGS,
  type SettingsRow,
  type WorkspaceRow,
} from './repository-tables.ts';
import { writeListed } from './listed-records.ts';
import { putTag, removeTag } from './tags.ts';
import { checkDescription } from './texts.ts';
import { workspaceAlias } from './workspace-alias.ts';

const workspaceList = { table: RepositoryTable.workspaces, noun: 'workspaces', mebibytesMax: 8 };

const repositoryChanged: RepositoryChanged = Object.freeze({ type: 'RepositoryChanged' });

/**
 * The records of one repository: settings, languages, workspaces, branches, tags. Branch actors query it inside their
 * own turn, so queries answer synchronously, from records that are decoded once for each state.
 *
 * Invariants: invariants.md in this folder.
 */
class RepositoryActor implements ActorBehaviour {
  readonly #cache = new RecordCache();
  readonly #context: ActorContext;
  /** Branches whose locks this batch has sealed, with the seals. */
  readonly #sealed: { readonly branch: BranchAddress; readonly seal: string }[] = [];

  constructor(context: ActorContext) {
    this.#context = context;
  }

  execute(command: RepositoryCommand, turn: Turn): unknown {
    requireAdministrator(turn.caller.policy, turn.caller.principal);
    const result = this.#apply(command, turn);
    turn.emit(repositoryChanged);
    return result;
  }

  #apply(command: RepositoryCommand, turn: Turn): unknown {
    switch (command.type) {
      case 'InitializeRepository':
        return initialize(command, turn);
      case 'UpdateRepository':
        return update(command, turn);
      case 'UpdateTranslationConfig': {
        const settings = settingsOf(turn);
        const languages = patchLanguageSettings(command.patch, settings.languages);
        return writeRecord(turn, RepositoryTable.settings, { ...settings, languages }, SETTINGS);
      }
      case 'PutWorkspace':
        return putWorkspace(command, turn);
      case 'PutWorkspaceConfig':
        return putWorkspaceConfig(command, turn);
      case 'InstallBuiltInWorkspaces':
        return installBuiltIns(command, rowsOf(turn), settingsOf(turn).defaultBranch, turn);
      case 'RestoreBuiltInWorkspaces':
        return restoreBuiltIns(command, rowsOf(turn), settingsOf(turn).defaultBranch, turn);
      case 'RefuseCreation': {
        const { code, field, message } = command;
        throw new ServiceError(code, message, field === undefined ? {} : { field });
      }
      case 'RegisterBranch':
        return registerBranch(command, turn, this.#context.id);
      case 'UpdateBranch':
        return updateBranch(command, turn);
      case 'UnregisterBranch':
        return unregisterBranch(command, settingsOf(turn).defaultBranch, turn, (branch) =>
          this.#retireTokens(branch, command.seal),
        );
      case 'PutTag':
        return putTag(command, turn);
      case 'RemoveTag':
        return removeTag(command, turn);
      default:
        return unknownMessage(command);
    }
  }

  query(query: RepositoryQuery, { caller, view }: QueryContext): unknown {
    const records = this.#cache.at(view);
    switch (query.type) {
      case 'ReadSettings':
        requireEngine(caller);
        return settingsFor(records, query.workspace);
      case 'FindWorkspaceAlias':
        requireEngine(caller);
        return records.derived('aliases', aliasesOf).get(query.alias);
      case 'FindBranch':
        requireEngine(caller);
        return records.record<BranchEntry>(RepositoryTable.branches, query.name);
      case 'FindTag':
        requireEngine(caller);
        return records.record<TagEntry>(RepositoryTable.tags, query.name);
      case 'ListRetiredBranches':
        requireEngine(caller);
        return listRecords<BranchAddress>(view, RepositoryTable.retired);
      case 'ReadTokenFloor':
        requireEngine(caller);
        return tokenFloorFor(query.branch, records, view);
      case 'ListBranches':
        requireAdministrator(caller.policy, caller.principal);
        return branchList(records);
      case 'ListTags':
        requireAdministrator(caller.policy, caller.principal);
        return records.derived('tags', (reader) => listRecords<TagEntry>(reader, RepositoryTable.tags));
      case 'ReadRepository':
        requireAdministrator(caller.policy, caller.principal);
        return records.derived('state', () => stateOf(records));
      case 'ListWorkspaces':
        requireAdministrator(caller.policy, caller.principal);
        return pageOf(records, query.limit, query.offset ?? 0);
      case 'ReadWorkspace':
        requireAdministrator(caller.policy, caller.principal);
        return records.record<WorkspaceRow>(RepositoryTable.workspaces, query.name)?.workspace;
      case 'ListBuiltInUpdates':
        requireAdministrator(caller.policy, caller.principal);
        return records.derived('updates', () =>
          pendingBuiltIns((name) => records.record<WorkspaceRow>(RepositoryTable.workspaces, name)),
        );
      default:
        return unknownMessage(query);
    }
  }

  batchEnded(): void {
    for (const { branch, seal } of this.#sealed.splice(0)) this.#reopenTokens(branch, seal);
  }

  /** A branch without a locks actor has never had a lock, so its newest token is 0. */
  #retireTokens(branch: BranchAddress, seal: string): number {
    const query: RetireTokens = { type: 'RetireTokens', seal };
    this.#sealed.push({ branch, seal });
    try {
      return this.#context.ask(this.#locksOf(branch), query) as number;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return 0;
      throw error;
    }
  }

  /**
   * Unseals the locks of a branch that is still listed. Only at the end of the batch is it certain that the removal was
   * discarded.
   */
  #reopenTokens(branch: BranchAddress, seal: string): void {
    const { ask, id } = this.#context;
    const find: FindBranch = { type: 'FindBranch', name: branch.name };
    const query: ReopenTokens = { type: 'ReopenTokens', seal };
    try {
      const listed = ask(id, find) as BranchEntry | undefined;
      if (listed?.uid === branch.uid) ask(this.#locksOf(branch), query);
    } catch (error) {
      // A locks actor that does not answer is not open. A seal is in memory only, so the actor opens without one.
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  #locksOf({ name, uid }: BranchAddress): string {
    const [tenant, repository] = this.#context.id.split('/').map(decodeURIComponent) as [string, string];
    return actorId(tenant, repository, `${name}~${uid}`, 'locks');
  }
}

/** Refuses callers other than the engine. The operations that use these queries check permissions themselves. */
function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

function tokenFloorFor({ name, uid }: BranchAddress, records: RecordCache, view: TableReader): number {
  const known = records.record<BranchEntry>(RepositoryTable.branches, name);
  if (known?.uid !== uid) throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
  return tokenFloor(view, name);
}

function settingsOf(turn: Turn): SettingsRow {
  const settings = readRecord<SettingsRow>(turn, RepositoryTable.settings, SETTINGS);
  if (settings === undefined) throw new ServiceError('REPOSITORY_NOT_FOUND');
  return settings;
}

function rowsOf(turn: Turn): WorkspaceRows {
  return {
    read: (name) => readRecord<WorkspaceRow>(turn, RepositoryTable.workspaces, name),
    write: (row) => writeListed(turn, workspaceList, row, row.workspace.name),
  };
}

function initialize(command: InitializeRepository, turn: Turn): RepositoryInitialized {
  const known = readRecord<SettingsRow>(turn, RepositoryTable.settings, SETTINGS);
  if (known !== undefined) return { createdAt: known.createdAt };
  const createdAt = new Date(turn.wallMs).toISOString();
  const defaultBranch = requireBranchName(command.defaultBranch);
  const settings: SettingsRow = {
    repositoryId: requireRepositoryName(command.repositoryId),
    createdAt,
    description: checkDescription(command.description),
    defaultBranch,
    languages: newLanguageSettings(command.defaultLanguage, command.supportedLanguages),
  };
  const branch: BranchEntry = {
    name: defaultBranch,
    uid: command.defaultBranchUid,
    createdAt,
    createdBy: 'system',
    createdFrom: null,
    upstreamBranch: 'main',
    protected: false,
    description: null,
  };
  writeRecord(turn, RepositoryTable.settings, settings, SETTINGS);
  writeRecord(turn, RepositoryTable.branches, branch, branch.name);
  const floor = command.tokenFloor ?? 0;
  if (floor > 0) writeRecord(turn, RepositoryTable.tokens, floor, EVERY_BRANCH);
  installBuiltIns({ type: 'InstallBuiltInWorkspaces' }, rowsOf(turn), defaultBranch, turn);
  return { createdAt };
}

function update(command: UpdateRepository, turn: Turn): void {
  const settings = settingsOf(turn);
  const { description, defaultBranch, supportedLanguages } = command;
  if (
    defaultBranch !== undefined &&
    readRecord(turn, RepositoryTable.branches, requireBranchName(defaultBranch)) === undefined
  ) {
    throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${defaultBranch}' not found`, {
      field: 'default_branch',
    });
  }
  const languages =
    supportedLanguages === undefined
      ? settings.languages
      : patchLanguageSettings({ supported_languages: supportedLanguages }, settings.languages);
  const changed: SettingsRow = {
    ...settings,
    description: description === undefined ? settings.description : checkDescription(description),
    defaultBranch: defaultBranch ?? settings.defaultBranch,
    languages,
  };
  writeRecord(turn, RepositoryTable.settings, changed, SETTINGS);
}

function putWorkspace({ name, definition }: PutWorkspace, turn: Turn): WorkspacePut {
  const { defaultBranch } = settingsOf(turn);
  const rows = rowsOf(turn);
  const previous = rows.read(name);
  const now = new Date(turn.wallMs).toISOString();
  const workspace = parseWorkspaceDefinition(name, definition, previous?.workspace ?? null, now);
  const stored = previous === undefined ? configuredFor(workspace, definition, defaultBranch) : workspace;
  const builtIn = previous?.builtIn;
  rows.write({
    workspace: stored,
    ...(builtIn === undefined ? {} : { builtIn: { ...builtIn, isChanged: true } }),
  });
  const wanted = stored.config.default_branch;
  const isThere = readRecord(turn, RepositoryTable.branches, wanted) !== undefined;
  return { created: previous === undefined, branch: isThere ? wanted : defaultBranch };
}

/** A new workspace without a branch is configured for the default branch of the repository. */
function configuredFor(workspace: Workspace, definition: unknown, defaultBranch: string): Workspace {
  const named = (definition as { readonly config?: { readonly default_branch?: unknown } | null }).config;
  if (named !== undefined && named !== null && typeof named.default_branch === 'string') return workspace;
  return { ...workspace, config: { ...workspace.config, default_branch: defaultBranch } };
}

function putWorkspaceConfig({ name, config }: PutWorkspaceConfig, turn: Turn): void {
  const rows = rowsOf(turn);
  const row = rows.read(name);
  if (row === undefined) throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
  const now = new Date(turn.wallMs).toISOString();
  rows.write({
    ...row,
    workspace: { ...row.workspace, config: parseWorkspaceConfig(config), updated_at: now },
  });
}

function settingsFor(records: RecordCache, workspace: string): RepositorySettings {
  const settings = records.record<SettingsRow>(RepositoryTable.settings, SETTINGS);
  if (settings === undefined) throw new ServiceError('REPOSITORY_NOT_FOUND');
  // Without a name only the rest is asked for, and names that are missing are not cached.
  const row =
    workspace === '' ? undefined : records.record<WorkspaceRow>(RepositoryTable.workspaces, workspace);
  return { workspace: row?.workspace, languages: settings.languages };
}

function stateOf(records: RecordCache): RepositoryState {
  const settings = records.record<SettingsRow>(RepositoryTable.settings, SETTINGS);
  if (settings === undefined) throw new ServiceError('REPOSITORY_NOT_FOUND');
  return { ...settings, branches: branchList(records).map((branch) => branch.name) };
}

/** Names of workspaces by their aliases. */
function aliasesOf(reader: TableReader): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { workspace } of listRecords<WorkspaceRow>(reader, RepositoryTable.workspaces)) {
    const alias = workspaceAlias(workspace.name);
    if (!names.has(alias)) names.set(alias, workspace.name);
  }
  return names;
}

function pageOf(records: RecordCache, limit: number | undefined, offset: number): WorkspaceList {
  const all = records.derived('workspaces', (reader) =>
    listRecords<WorkspaceRow>(reader, RepositoryTable.workspaces).map((row) => row.workspace),
  );
  const items = limit === undefined ? all.slice(offset) : all.slice(offset, offset + limit);
  return { items, total: all.length };
}

/** The kind `repository`: one actor for each repository, id `{tenant}/{repository}~{uid}/repository`. */
export const repositoryActor: ActorKind = withOutbox({
  kind: 'repository',
  tables: repositoryTableNames,
  spaceUse: spaceUseByType<RepositoryCommand['type']>(['UnregisterBranch', 'RemoveTag']),
  create: (context) => new RepositoryActor(context),
});
