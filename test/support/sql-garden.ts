import type { SqlChanged } from '#actors/branch/sql-messages.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { administrator, type BranchFixture, type NodeObject, openBranch } from './branch-fixture.ts';

/** What a statement is run with. */
export interface ChangeRequest {
  readonly parameters?: readonly JsonValue[];
  readonly caller?: Caller;
  readonly isTransaction?: boolean;
  readonly dryRun?: boolean;
  readonly commit?: CommitInfo;
}

/** What statements that write have answered, with their rows read. */
export interface Changed extends Omit<SqlChanged, 'rows'> {
  readonly rows: readonly JsonObject[];
}

/** Runs statements that write on a branch. */
export async function changeBySql(
  branch: BranchFixture,
  sql: string,
  { caller = administrator, isTransaction = false, parameters = [], ...rest }: ChangeRequest = {},
): Promise<Changed> {
  const command = { type: 'ChangeBySql', sql, parameters, isTransaction, ...rest } as const;
  const answer = (await branch.command(command, caller)) as unknown as SqlChanged;
  return { ...answer, rows: JSON.parse(answer.rows) as readonly JsonObject[] };
}

const anything = { allowed_node_types: [], allowed_root_node_types: [] };
const title = { name: 'title', type: 'String', is_translatable: true };

const gardens = {
  g: [
    ['/', 'beds', 'svc:Folder', 'f0', {}],
    ['/beds', 'north', 'grow:Bed', 'b1', { title: 'North', area: 12, open: true }],
    ['/beds', 'south', 'grow:Bed', 'b2', { title: 'South', area: 7.5, open: false }],
    ['/beds/north', 'basil', 'grow:Plant', 'p1', { title: 'Basil', stock: '40', price: 3 }],
    ['/beds/north', 'mint', 'grow:Plant', 'p2', { title: 'mint', stock: '9' }],
    ['/', 'sheds', 'svc:Folder', 's0', {}],
  ],
  p: [
    ['/', 'ana', 'grow:Person', 'u1', {}],
    ['/', 'ben', 'grow:Person', 'u2', {}],
    ['/', 'cid', 'grow:Person', 'u3', {}],
  ],
} as const;

const edges = [
  ['/ana', 'p', '/ben', 'KNOWS', 1],
  ['/ben', 'p', '/cid', 'KNOWS', 4],
  ['/ana', 'p', '/cid', 'KNOWS', 9],
  ['/ana', 'g', '/beds/north', 'TENDS', null],
] as const;

/** The garden that the examples of statements are about, on a branch without a server. */
export class SqlGarden {
  readonly branch: BranchFixture;

  private constructor(branch: BranchFixture) {
    this.branch = branch;
  }

  static async open(): Promise<SqlGarden> {
    const branch = await openBranch({
      nodeTypes: ['Bed', 'Plant', 'Person'].map((type) => ({ name: `grow:${type}`, properties: [title] })),
      workspaces: { g: anything, p: anything },
    });
    const garden = new SqlGarden(branch);
    await garden.#plant();
    return garden;
  }

  async #plant(): Promise<void> {
    for (const [workspace, nodes] of Object.entries(gardens)) {
      for (const [parentPath, name, nodeType, id, properties] of nodes) {
        const node = { id, name, nodeType, properties };
        await this.branch.command({ type: 'CreateNode', workspace, parentPath, node, deep: false });
      }
    }
    for (const [path, targetWorkspace, targetPath, relationType, weight] of edges) {
      const target = { targetWorkspace, targetPath, relationType, weight };
      await this.branch.command({ type: 'AddRelation', workspace: 'p', place: { path }, ...target });
    }
  }

  run(sql: string, request: ChangeRequest = {}): Promise<Changed> {
    return changeBySql(this.branch, sql, request);
  }

  /** The rows of statements. */
  async rows(sql: string, ...parameters: readonly JsonValue[]): Promise<readonly JsonObject[]> {
    return (await this.run(sql, { parameters })).rows;
  }

  /** The value of `affected_rows`. */
  async affected(sql: string, ...parameters: readonly JsonValue[]): Promise<JsonValue | undefined> {
    return (await this.rows(sql, ...parameters))[0]?.['affected_rows'];
  }

  /** A node by its path. */
  read(workspace: 'g' | 'p', path: string): Promise<NodeObject> {
    return this.branch.read(path, undefined, workspace);
  }

  /** The message of a revision. */
  async message(revision: string | null): Promise<string> {
    const record = await this.branch.query({
      type: 'ReadRevision',
      revision: parseRevision(revision as string),
    });
    return (record as { message: string }).message;
  }

  close(): Promise<void> {
    return this.branch.close();
  }
}
