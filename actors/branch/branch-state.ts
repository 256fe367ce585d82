import type {
  BranchEntry,
  ListWorkspaces,
  RepositorySettings,
  TagEntry,
  WorkspaceList,
} from '#actors/repository/messages.ts';
import { BranchAccess } from './access/branch-access.ts';
import type { BranchQuery, BranchState as ShownState } from './messages.ts';
import type { SlowStatementReport } from './sql/slow-statements.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { ActorContext } from '#runtime/commit/behaviour.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import type { LanguageSettings } from '#runtime/content/translations/locale.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchConsumers } from '#runtime/feed/branch-consumers.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import { BranchProjections } from '#runtime/projection/branch-projections.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { SchemaCache } from '#runtime/tree/schema-store.ts';

/** Limits of one branch. */
export interface BranchLimits {
  /** Number of nodes one commit may change. */
  readonly commitNodesMax: number;
  /** Longest path a write may give a node, in UTF-8 bytes. Default: the most that can be stored. */
  readonly pathBytesMax?: number;
  /** Nodes whose index rows a change of types writes at once, see `IndexWriter`. Default: that of the product. */
  readonly indexedAtOnceMax?: number;
  /** Number of values and keys in one JSON body, see `checkJsonWork`. Default: the option's default. */
  readonly jsonValuesMax?: number;
  /** Takes the reports of slow statements of SQL. Default: none is reported. */
  readonly slowStatements?: SlowStatementReport | undefined;
}

/** A branch that was found by a name. */
export interface NamedBranch {
  readonly actor: string;
  /** The revision of the tag that has the name; undefined: a branch has it. */
  readonly taggedAt: string | undefined;
}

/**
 * What a branch actor keeps between messages: its names, access to its repository, resolved schemas. It holds no
 * content, so dropping it loses nothing.
 */
export class BranchState {
  /** Id of its actor. */
  readonly actor: string;
  /** Name of the branch, as users see it. */
  readonly name: string;
  /** Name of its repository, as users see it. */
  readonly repositoryName: string;
  readonly tenant: string;
  readonly limits: BranchLimits;
  readonly consumers: BranchConsumers;
  /** What callers may do in the repository; only branch `main` is asked. */
  readonly access: BranchAccess;
  readonly projections: BranchProjections;
  /** Schemas as commands see them, including changes of the running batch. */
  readonly commandSchemas = new SchemaCache();
  /** Schemas as queries see them: durable state only. */
  readonly querySchemas = new SchemaCache();
  readonly #context: ActorContext;
  readonly #repository: string;
  #shown: ShownState | undefined;
  #shownGeneration = Number.NaN;

  constructor(context: ActorContext, limits: BranchLimits, consumers: readonly FeedConsumer[] = []) {
    const [tenant, repository, branch] = context.id.split('/').map(decodeURIComponent) as [
      string,
      string,
      string,
    ];
    this.#context = context;
    this.actor = context.id;
    this.tenant = tenant;
    this.limits = limits;
    this.repositoryName = repository.slice(0, repository.lastIndexOf('~'));
    this.access = new BranchAccess(this.repositoryName);
    this.consumers = new BranchConsumers(context.id, consumers);
    this.projections = new BranchProjections(this.consumers, consumers);
    this.#repository = actorId(tenant, repository, 'repository');
    this.name = branch.slice(0, branch.lastIndexOf('~'));
  }

  /** The time of the process. */
  get clock(): Clock {
    return this.#context.clock;
  }

  /** A workspace of the repository. @throws {ServiceError} `WORKSPACE_NOT_FOUND` */
  workspace(name: string): Workspace {
    const { workspace } = this.#settings(name);
    if (workspace === undefined)
      throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
    return workspace;
  }

  /** Whether the repository has a workspace of this name, which may be any text. */
  hasWorkspace(name: string): boolean {
    return isWorkspaceName(name) && this.#settings(name).workspace !== undefined;
  }

  /** The workspace with an alias, see `FindWorkspaceAlias`; undefined: none. */
  workspaceAliased(alias: string): string | undefined {
    return this.#context.ask(this.#repository, { type: 'FindWorkspaceAlias', alias }) as string | undefined;
  }

  /** The branch, or the branch of the tag, of a name of the repository. */
  branchNamed(name: string): NamedBranch | undefined {
    const branch = this.#context.ask(this.#repository, { type: 'FindBranch', name });
    if (branch !== undefined) return { actor: this.#branchActor(branch as BranchEntry), taggedAt: undefined };
    const tag = this.#context.ask(this.#repository, { type: 'FindTag', name }) as TagEntry | undefined;
    return tag && { actor: this.#branchActor(tag.branch), taggedAt: tag.revision };
  }

  /** The workspaces of the repository, sorted by name. Only for a caller who administers it. */
  workspaces(): readonly Workspace[] {
    const query: ListWorkspaces = { type: 'ListWorkspaces' };
    return (this.#context.ask(this.#repository, query) as WorkspaceList).items;
  }

  /** Languages of the repository. */
  languages(): LanguageSettings {
    return this.#settings('').languages;
  }

  /** The schema in force in a workspace while a command runs: pinned types at their pinned revision. */
  commandSchema(reader: TableReader, workspace: Workspace): ResolvedSource {
    return this.commandSchemas.get(reader, { pins: workspace.config.node_type_pins });
  }

  /** The {@link ShownState} of a view; every read needs it, so it is cached until the view changes. */
  rememberedState(view: TableReader, read: () => ShownState): ShownState {
    if (this.#shown === undefined || view.generation !== this.#shownGeneration) {
      this.#shown = read();
      this.#shownGeneration = view.generation ?? Number.NaN;
    }
    return this.#shown;
  }

  /** Queries another branch of the repository within the current turn. @throws {ServiceError} `NOT_FOUND` */
  askBranch(actor: string, query: BranchQuery): unknown {
    return this.#context.ask(actor, query);
  }

  #branchActor({ name, uid }: Pick<BranchEntry, 'name' | 'uid'>): string {
    const [tenant, repository] = this.actor.split('/').map(decodeURIComponent) as [string, string];
    return actorId(tenant, repository, `${name}~${uid}`, 'branch');
  }

  #settings(workspace: string): RepositorySettings {
    return this.#context.ask(this.#repository, { type: 'ReadSettings', workspace }) as RepositorySettings;
  }
}
