import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { SlowStatementReport } from '#actors/branch/sql/slow-statements.ts';
import type { BranchLimits } from '#actors/branch/branch-state.ts';
import type {
  BranchCommand,
  BranchQuery,
  DefinitionWritten,
  NodeDeleted,
  NodeWritten,
  OperationsCommitted,
  RelationRemoved,
  TextStream,
  Translated,
  VersionCreated,
  Written,
} from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { RepositoryCommand } from '#actors/repository/messages.ts';
import { type Policy, policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { defaultRequestLimits, type RequestLimits } from '#runtime/budget/request-budget.ts';
import type { ActorEvent, Caller } from '#runtime/commit/behaviour.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { openReaders } from './open-readers.ts';
import { policyThat } from './policy-that.ts';
import type { IndexStep } from '#runtime/tree/index-writer.ts';
import { chunkText } from './chunk-text.ts';

/** A node object as reads answer it, with the fields tests look at. */
export interface NodeObject {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly properties: JsonObject;
  readonly parent: string;
  readonly order_key: string;
  readonly has_children: boolean;
  readonly version: number;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
  readonly updated_by: string;
  readonly published_at: string | null;
  readonly published_by: string | null;
  readonly translations: JsonObject | null;
  readonly owner_id: string | null;
  readonly relations: readonly JsonObject[];
}

/** What each command answers; those that are not named answer {@link Written}. */
interface Results {
  readonly CreateNode: NodeWritten;
  readonly UpdateNode: NodeWritten;
  readonly CopyNode: NodeWritten;
  readonly RestoreVersion: NodeWritten;
  readonly DeleteNode: NodeDeleted;
  readonly CreateVersion: VersionCreated;
  readonly RemoveRelation: RelationRemoved;
  readonly TranslateNode: Translated;
  readonly ChangeLocale: Translated;
  readonly CommitOperations: OperationsCommitted;
  readonly PutDefinition: DefinitionWritten;
  readonly PublishDefinition: DefinitionWritten;
}

type ResultOf<C extends BranchCommand> = C['type'] extends keyof Results ? Results[C['type']] : Written;

/** How a branch is opened. */
export interface BranchSetup {
  /** Definitions of node types, as a body has them inside `node_type`. */
  readonly nodeTypes?: readonly JsonObject[];
  readonly archetypes?: readonly JsonObject[];
  /** Bodies of workspaces by name, besides `content`, which takes everything. */
  readonly workspaces?: Readonly<Record<string, JsonObject>>;
  /** Nodes one commit may change. Default 100,000. */
  readonly commitNodesMax?: number;
  /** Nodes whose index rows a change of types writes at once. Default: that of the product. */
  readonly indexedAtOnceMax?: number;
  /** Work that a request may take, in nanoseconds. Default: that of the product. */
  readonly workMax?: number;
  /** What reads of large nodes may hold together, in bytes. Default: that of the product. */
  readonly roomBytes?: number;
  /** What tells how long the slices of its long reads take. Default: the clock of the system. */
  readonly slicesClock?: Clock;
  /** The clock of the host. Default: that of the system. */
  readonly clock?: Clock;
  /** Takes the reports of slow statements. Default: none is reported. */
  readonly slowStatements?: SlowStatementReport;
}

const tenant = 'acme';
const repository = actorId(tenant, 'site~1', 'repository');
const branch = actorId(tenant, 'site~1', 'main~1', 'branch');
const megabyte = 1024 * 1024;

const ada: Principal = {
  kind: 'admin',
  tenant,
  userId: 'u-ada',
  username: 'ada',
  accessFlags: {
    console_login: true,
    cli_access: true,
    api_access: true,
    pgwire_access: true,
    can_impersonate: true,
  },
};

/** The administrator commands run as. */
export const administrator: Caller = { principal: ada, policy: policyFor(ada, tenant) };

/** The same person under another policy. */
export function callerWith(allows: Policy['allows']): Caller {
  return { principal: ada, policy: policyThat(allows) };
}

/** The workspace that is there unless a test wants others. */
export const WORKSPACE = 'content';

/**
 * A real branch: the actor in a real host over LMDB and the journal in a folder of its own, with the actor of
 * its repository beside it.
 */
export class BranchFixture {
  /** Every event that became durable. */
  readonly events: ActorEvent[] = [];
  readonly #folder: string;
  readonly #limits: BranchLimits;
  readonly #request: RequestLimits;
  readonly #clock: Clock;
  /** What its long reads take turns with. */
  readonly slices: SliceScheduler;
  #journal: Journal | undefined;
  #host: ActorHost | undefined;

  constructor(folder: string, setup: BranchSetup) {
    const {
      commitNodesMax = 100_000,
      indexedAtOnceMax,
      roomBytes,
      slicesClock,
      slowStatements,
      workMax,
    } = setup;
    this.#clock = setup.clock ?? systemClock;
    this.slices = new SliceScheduler(slicesClock ?? systemClock, roomBytes);
    this.#folder = folder;
    this.#limits = {
      commitNodesMax,
      slowStatements,
      ...(indexedAtOnceMax === undefined ? {} : { indexedAtOnceMax }),
    };
    this.#request = { ...defaultRequestLimits, ...(workMax === undefined ? {} : { workMax }) };
  }

  /** Sends a command; the answer is durable. */
  command<C extends BranchCommand>(command: C, caller: Caller = administrator): Promise<ResultOf<C>> {
    return this.#running.command(branch, command, { caller }) as Promise<ResultOf<C>>;
  }

  /** Asks a query; JSON text is parsed, also when it comes in pieces. */
  async query(query: BranchQuery, caller: Caller = administrator): Promise<unknown> {
    const answer = await this.ask(query, caller);
    if (answer instanceof JsonText) return answer.parse();
    if (typeof answer !== 'object' || answer === null || !('chunks' in answer)) return answer;
    let text = '';
    for await (const chunk of (answer as TextStream).chunks) text += chunkText(chunk);
    return JSON.parse(text);
  }

  /** Asks a query; the answer is as the actor gave it. */
  ask(query: BranchQuery, caller: Caller = administrator): unknown {
    return this.#running.query(branch, query, caller);
  }

  /** Continues with pending indexes until none is left, a few nodes at a time. */
  async buildIndexes(nodesMax = 3): Promise<void> {
    const caller = engineCaller(tenant);
    const command = { type: 'BuildIndexes', nodesMax } as const;
    while (!((await this.#running.command(branch, command, { caller })) as IndexStep).isDone);
  }

  /** The transactions that readers of its shard hold open. */
  openReaders(): Promise<readonly string[]> {
    return openReaders(this.#shardFolder);
  }

  get #shardFolder(): string {
    return join(this.#folder, 'actors', ...branch.split('/'));
  }

  /** Sends a command to the repository. */
  repositoryCommand(command: RepositoryCommand): Promise<unknown> {
    return this.#running.command(repository, command, { caller: engineCaller(tenant) });
  }

  /** Creates a node at a path. */
  async create(path: string, properties: JsonObject = {}, nodeType = 'svc:Folder'): Promise<NodeObject> {
    const slash = path.lastIndexOf('/');
    const { node } = await this.command({
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: path.slice(0, slash) || '/',
      node: { name: path.slice(slash + 1), nodeType, properties },
      deep: false,
    });
    return JSON.parse(node) as NodeObject;
  }

  /** The node at a path, now or at an earlier revision. */
  async read(path: string, at?: Revision, workspace = WORKSPACE): Promise<NodeObject> {
    const place = { path };
    const query = { type: 'ReadNode', workspace, place, ...(at === undefined ? {} : { at }) } as const;
    return (await this.query(query)) as NodeObject;
  }

  /** The nodes at some paths, in the order of their keys: the editorial order when they are siblings. */
  async inOrder(...paths: readonly string[]): Promise<readonly string[]> {
    const nodes = await Promise.all(paths.map((path) => this.read(path)));
    return nodes.sort((a, b) => (a.order_key < b.order_key ? -1 : 1)).map((node) => node.name);
  }

  /** Whether nothing is at a path. */
  async isMissing(path: string, at?: Revision): Promise<boolean> {
    return this.read(path, at).then(
      () => false,
      (error: { code?: string }) => {
        if (error.code !== 'NODE_NOT_FOUND') throw error;
        return true;
      },
    );
  }

  /** Closes everything and looks at the stored tables, then opens again. */
  inspect<T>(look: (reader: TableReader) => T): Promise<T> {
    return this.#offline(look);
  }

  /** Closes everything and changes stored rows, as an earlier build may have left them, then opens again. */
  rewrite(rows: readonly Write[]): Promise<void> {
    return this.#offline((shard) => shard.apply(rows, shard.position).flushed);
  }

  async #offline<T>(work: (shard: LmdbShard) => T | Promise<T>): Promise<T> {
    await this.#shut();
    const shard = new LmdbShard(this.#shardFolder, [...commonTableNames, ...branchTableNames]);
    try {
      return await work(shard);
    } finally {
      await shard.close();
      await this.open();
    }
  }

  /** Closes and opens again from what is on disk. */
  async reopen(): Promise<void> {
    await this.#shut();
    await this.open();
  }

  /** Closes and removes everything. */
  async close(): Promise<void> {
    await this.#shut();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Opens the host over the folder and brings it up to its journal. */
  async open(): Promise<void> {
    this.#journal = await Journal.open({
      folder: join(this.#folder, 'journal'),
      durability: 'local',
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      report: () => {},
    });
    this.#host = new ActorHost({
      folder: join(this.#folder, 'actors'),
      log: this.#journal,
      clock: this.#clock,
      random: systemRandom,
      kinds: [repositoryActor, branchActor(this.#limits)],
      slices: this.slices,
      limits: {
        commit: {
          mailboxMax: 100_000,
          batchCommandsMax: 512,
          batchBytesMax: 8 * megabyte,
          applyPendingBytesMax: 512 * megabyte,
          request: this.#request,
          idempotency: { ttlMs: 3_600_000, entriesMax: 10_000 },
        },
        apply: { applyBytes: megabyte, applyDelayMs: 20 },
        openActorsMax: 10,
        idleCloseMs: 3_600_000,
      },
      observer: {
        batchDurable: () => {},
        events: (_actor, events) => void this.events.push(...events),
        stopped: (_actor, cause) => {
          throw cause;
        },
        applyFailed: (_actor, cause) => {
          throw cause;
        },
      },
    });
    await this.#host.recover();
  }

  /** Makes the actors and what a test starts with. */
  async fill(setup: BranchSetup): Promise<void> {
    await this.#running.create(repository);
    await this.#running.create(branch);
    await this.repositoryCommand({
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en', 'de', 'fr'],
    });
    await this.command({ type: 'InstallBuiltIns' });
    const anything = { allowed_node_types: [], allowed_root_node_types: [] };
    for (const [name, definition] of Object.entries({ [WORKSPACE]: anything, ...setup.workspaces })) {
      await this.repositoryCommand({ type: 'PutWorkspace', name, definition });
    }
    for (const definition of setup.nodeTypes ?? [])
      await this.command({ type: 'PutDefinition', kind: 'node_type', definition });
    for (const definition of setup.archetypes ?? [])
      await this.command({ type: 'PutDefinition', kind: 'archetype', definition });
  }

  get #running(): ActorHost {
    if (this.#host === undefined) throw new Error('the branch is closed');
    return this.#host;
  }

  async #shut(): Promise<void> {
    await this.#host?.close();
    await this.#journal?.close();
    this.#host = undefined;
    this.#journal = undefined;
  }
}

/** Opens a new branch with the built-in types and the workspace {@link WORKSPACE}. */
export async function openBranch(setup: BranchSetup = {}): Promise<BranchFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'branch-'));
  const fixture = new BranchFixture(folder, setup);
  await fixture.open();
  await fixture.fill(setup);
  return fixture;
}
