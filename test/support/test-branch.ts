import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand, BranchQuery } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type ActorKind, type Caller, commonTableNames } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { Engine, type EngineSetup, engineUser, TENANT } from './engine.ts';

const REPOSITORY_PART = 'site~1';
const REPOSITORY = actorId(TENANT, REPOSITORY_PART, 'repository');

/** The branch actor of {@link TestBranch}. */
export const BRANCH: string = actorId(TENANT, REPOSITORY_PART, 'main~1', 'branch');

/** The workspace of {@link TestBranch}; it takes everything. */
export const CONTENT = 'content';

/** A type with an indexed, a unique and a required property, and room for anything else. */
const article = {
  name: 'test:Article',
  properties: [
    { name: 'title', type: 'String', required: true },
    { name: 'rank', type: 'Number', index: ['Property'] },
    { name: 'code', type: 'String', unique: true },
  ],
};

/** What {@link TestBranch.read} answers. */
interface NodeRead {
  readonly id: string;
  readonly path: string;
  readonly properties: Record<string, unknown>;
  readonly has_children: boolean;
}

/** The branch of one repository on an engine, with the type `test:Article`. */
export class TestBranch {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Makes what is missing; interrupted at any point it can be called again. */
  async prepare(): Promise<this> {
    const { host } = this.engine;
    await host.create(REPOSITORY);
    await host.create(BRANCH);
    const toRepository = (command: unknown) => host.command(REPOSITORY, command, { caller: engineUser });
    await toRepository({
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en', 'de', 'fr'],
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

  /** Asks a query. Any may rest on its way, on a busy machine also a short one. */
  async query(query: BranchQuery): Promise<unknown> {
    const answer = await this.engine.host.query(BRANCH, query, engineUser);
    return answer instanceof JsonText ? answer.parse() : answer;
  }

  /** The node at a path. */
  async read(path: string): Promise<NodeRead> {
    return (await this.query({ type: 'ReadNode', workspace: CONTENT, place: { path } })) as NodeRead;
  }
}

/** Nodes one commit may change in these tests. */
const COMMIT_NODES_MAX = 200_000;

/** The actors a branch needs. */
export const branchKinds: readonly ActorKind[] = [
  repositoryActor,
  branchActor({ commitNodesMax: COMMIT_NODES_MAX }),
];

/** Opens a branch on a new engine over a folder. */
export async function openTestBranch(
  folder: string,
  setup: Omit<EngineSetup, 'kinds'> = {},
): Promise<TestBranch> {
  return new TestBranch(await Engine.open(folder, { kinds: branchKinds, ...setup })).prepare();
}

/** The stored tables of {@link TestBranch} in the folder of a closed engine. Close them. */
export function openBranchShard(folder: string): LmdbShard {
  return new LmdbShard(join(folder, 'actors', ...BRANCH.split('/')), [
    ...commonTableNames,
    ...branchTableNames,
  ]);
}
