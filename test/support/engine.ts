import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand, BranchQuery } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { ActorHost, type HostLimits } from '#runtime/actor/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { type Clock, systemClock } from '#runtime/base/clock.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type ActorKind, type Caller, commonTableNames } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/json-text.ts';
import { Journal } from '#runtime/embedded/journal.ts';
import type { JournalEvent } from '#runtime/embedded/journal-events.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const megabyte = 1024 * 1024;

/** Limits of an engine under test: large mailboxes, small and early applications. */
export const engineLimits: HostLimits = {
  commit: {
    mailboxMax: 100_000,
    batchCommandsMax: 512,
    batchBytesMax: 8 * megabyte,
    applyPendingBytesMax: 512 * megabyte,
    idempotency: { ttlMs: 3_600_000, entriesMax: 10_000 },
  },
  apply: { applyBytes: megabyte, applyDelayMs: 20 },
  openActorsMax: 100,
  idleCloseMs: 3_600_000,
};

/** How an engine is opened. */
export interface EngineSetup {
  readonly files?: FileSystem;
  readonly clock?: Clock;
  /** Folder of the journal; beside the actors when absent. */
  readonly journalFolder?: string;
  readonly segmentBytes?: number;
  readonly kinds?: readonly ActorKind[];
  readonly limits?: Partial<HostLimits>;
}

/** A journal and an actor host over a folder, as a member assembles them. */
export class Engine {
  readonly folder: string;
  readonly journal: Journal;
  readonly host: ActorHost;
  readonly journalEvents: JournalEvent[];
  readonly stopped: unknown[] = [];
  readonly applyFailures: unknown[] = [];

  private constructor(folder: string, journal: Journal, events: JournalEvent[], setup: EngineSetup) {
    this.folder = folder;
    this.journal = journal;
    this.journalEvents = events;
    this.host = new ActorHost({
      folder: join(folder, 'actors'),
      log: journal,
      clock: setup.clock ?? systemClock,
      random: systemRandom,
      kinds: setup.kinds ?? [repositoryActor, branchActor({ commitNodesMax: 200_000 })],
      limits: { ...engineLimits, ...setup.limits },
      observer: {
        batchDurable: () => {},
        events: () => {},
        stopped: (_actor, cause) => void this.stopped.push(cause),
        applyFailed: (_actor, cause) => void this.applyFailures.push(cause),
      },
    });
  }

  /** Opens the journal and brings the shards up to it. */
  static async open(folder: string, setup: EngineSetup = {}): Promise<Engine> {
    const events: JournalEvent[] = [];
    const journal = await Journal.open({
      folder: setup.journalFolder ?? join(folder, 'journal'),
      durability: 'local',
      files: setup.files ?? realFileSystem,
      clock: setup.clock ?? systemClock,
      random: systemRandom,
      report: (event) => void events.push(event),
      ...(setup.segmentBytes === undefined ? {} : { segmentBytes: setup.segmentBytes }),
    });
    const engine = new Engine(folder, journal, events, setup);
    try {
      await engine.host.recover();
      return engine;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.host.close();
    await this.journal.close();
  }
}

/** The tenant of {@link TestBranch}. */
export const TENANT = 'acme';
const REPOSITORY_PART = 'site~1';
const REPOSITORY = actorId(TENANT, REPOSITORY_PART, 'repository');

/** The branch actor of {@link TestBranch}. */
export const BRANCH: string = actorId(TENANT, REPOSITORY_PART, 'main~1', 'branch');

/** The workspace of {@link TestBranch}; it takes everything. */
export const CONTENT = 'content';

/** Who works with {@link TestBranch}. */
export const engineUser: Caller = engineCaller(TENANT);

/** A type with an indexed, a unique and a required property, and room for anything else. */
const article = {
  name: 'test:Article',
  properties: [
    { name: 'title', type: 'String', required: true },
    { name: 'rank', type: 'Number', index: ['Property'] },
    { name: 'code', type: 'String', unique: true },
  ],
};

/** The branch of one repository on an engine, with the type `test:Article`. */
export class TestBranch {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Makes what is missing; interrupted at any point it can be called again. */
  async prepare(): Promise<this> {
    const { host } = this.engine;
    host.create(REPOSITORY);
    host.create(BRANCH);
    const toRepository = (command: unknown) => host.command(REPOSITORY, command, { caller: engineUser });
    await toRepository({
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en'],
    });
    const definition = { allowed_node_types: [], allowed_root_node_types: [] };
    await toRepository({ type: 'PutWorkspace', name: CONTENT, definition });
    await this.command({ type: 'InstallBuiltIns' });
    await this.command({ type: 'PutDefinition', kind: 'node_type', definition: article });
    return this;
  }

  command(command: BranchCommand, caller: Caller = engineUser): Promise<unknown> {
    return this.engine.host.command(BRANCH, command, { caller });
  }

  create(
    path: string,
    properties: object = { title: path },
    nodeType = 'test:Article',
  ): Promise<{ revision: string }> {
    const slash = path.lastIndexOf('/');
    const node = { name: path.slice(slash + 1), nodeType, properties: properties as never };
    const parentPath = path.slice(0, slash) || '/';
    const created = this.command({ type: 'CreateNode', workspace: CONTENT, parentPath, node, deep: false });
    return created as Promise<{ revision: string }>;
  }

  query(query: BranchQuery): unknown {
    const answer = this.engine.host.query(BRANCH, query, engineUser);
    return answer instanceof JsonText ? answer.parse() : answer;
  }

  /** The node at a path. */
  read(path: string): { path: string; properties: Record<string, unknown>; has_children: boolean } {
    return this.query({ type: 'ReadNode', workspace: CONTENT, place: { path } }) as never;
  }
}

/** Opens a branch on a new engine over a folder. */
export async function openTestBranch(folder: string, setup: EngineSetup = {}): Promise<TestBranch> {
  return new TestBranch(await Engine.open(folder, setup)).prepare();
}

/** The stored tables of {@link TestBranch} in the folder of a closed engine. Close them. */
export function openBranchShard(folder: string): LmdbShard {
  return new LmdbShard(join(folder, 'actors', ...BRANCH.split('/')), [
    ...commonTableNames,
    ...branchTableNames,
  ]);
}
