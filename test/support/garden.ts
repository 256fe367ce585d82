import { ContentClient, expectStatus, Space } from './content-client.ts';
import type { TestResponse } from './http-client.ts';
import type { TestServer } from './server.ts';

/** The answer of a statement. */
export interface SqlRows {
  readonly columns: readonly string[];
  readonly rows: readonly Record<string, unknown>[];
  readonly row_count: number;
  readonly execution_time_ms: number;
  readonly explain_plan?: string;
}

/** What a statement is asked with. */
export interface SqlRequest {
  readonly params?: readonly unknown[];
  /** Default: none in the address, which is `main`. */
  readonly branch?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: that of the administrator; null: none. */
  readonly token?: string | null;
}

const beds = [
  ['/', 'beds', 'svc:Folder', 'f0', {}],
  [
    '/beds',
    'north',
    'grow:Bed',
    'b1',
    {
      title: 'North',
      area: 12,
      open: true,
      tags: ['sun', 'herbs'],
      soil: { ph: 6.5, kind: 'loam' },
      geo: { type: 'Point', coordinates: [8, 47] },
    },
  ],
  ['/beds', 'south', 'grow:Bed', 'b2', { title: 'South', area: 7.5, open: false, tags: ['shade'] }],
  ['/beds/north', 'basil', 'grow:Plant', 'p1', { title: 'Basil', stock: '40', price: 3 }],
  ['/beds/north', 'mint', 'grow:Plant', 'p2', { title: 'mint', stock: '9' }],
  ['/', 'sheds', 'svc:Folder', 's0', {}],
] as const;

const people = [
  ['/', 'ana', 'grow:Person', 'u1', {}],
  ['/', 'ben', 'grow:Person', 'u2', {}],
  ['/', 'cid', 'grow:Person', 'u3', {}],
] as const;

/**
 * A repository with a small garden, which the examples of statements are about: workspace `g` with beds and plants, workspace `p`
 * with people, and relations between them.
 */
export class Garden {
  readonly client: ContentClient;
  readonly g: Space;
  readonly p: Space;

  private constructor(client: ContentClient) {
    this.client = client;
    this.g = new Space(client, 'g');
    this.p = new Space(client, 'p');
  }

  /** Makes a new repository on a server. */
  static async on(server: TestServer): Promise<Garden> {
    const garden = new Garden(await ContentClient.on(server));
    await garden.#plant();
    return garden;
  }

  async #plant(): Promise<void> {
    const { client } = this;
    const { repository, server } = client;
    for (const name of ['g', 'p']) {
      const definition = { allowed_node_types: [], allowed_root_node_types: [] };
      expectStatus(await server.admin('PUT', `/api/workspaces/${repository}/${name}`, definition), 204);
    }
    const title = { name: 'title', type: 'String', index: ['Fulltext'], is_translatable: true };
    for (const type of ['Bed', 'Plant', 'Person'])
      await client.defineType({ name: `grow:${type}`, properties: [title] });
    for (const [space, nodes] of [
      [this.g, beds],
      [this.p, people],
    ] as const) {
      for (const [parent, name, type, id, properties] of nodes)
        await space.add(parent, name, properties, type, { id });
    }
    await this.#relate('/ana', 'p', '/ben', 'KNOWS', 1);
    await this.#relate('/ben', 'p', '/cid', 'KNOWS', 4);
    await this.#relate('/ana', 'p', '/cid', 'KNOWS', 9);
    await this.#relate('/ana', 'g', '/beds/north', 'TENDS');
  }

  async #relate(from: string, workspace: string, target: string, type: string, weight?: number) {
    await this.p.done(from, 'add-relation', {
      targetWorkspace: workspace,
      targetPath: target,
      relationType: type,
      ...(weight === undefined ? {} : { weight }),
    });
  }

  /** Posts statements, whatever the answer. */
  ask(sql: string, { branch, headers, params, token }: SqlRequest = {}): Promise<TestResponse> {
    const { repository, server } = this.client;
    const path = `/api/sql/${repository}${branch === undefined ? '' : `/${encodeURIComponent(branch)}`}`;
    const sent = token === undefined ? server.adminToken : token;
    return server.request('POST', path, {
      ...(sent === null ? {} : { token: sent }),
      ...(headers === undefined ? {} : { headers }),
      body: params === undefined ? { sql } : { sql, params },
    });
  }

  /** Runs statements that must succeed. */
  async run(sql: string, request: SqlRequest = {}): Promise<SqlRows> {
    return expectStatus(await this.ask(sql, request), 200).json as SqlRows;
  }

  /** The rows of statements. */
  async rows(sql: string, ...params: readonly unknown[]): Promise<readonly Record<string, unknown>[]> {
    return (await this.run(sql, { params })).rows;
  }

  /** The values of the first column. */
  async column(sql: string, ...params: readonly unknown[]): Promise<readonly unknown[]> {
    const { columns, rows } = await this.run(sql, { params });
    return rows.map((row) => row[columns[0] as string]);
  }
}
