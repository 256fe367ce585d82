import type { TestResponse } from './http-client.ts';
import type { TestServer } from './server.ts';

/** A workspace that takes every type. */
export const anything = { allowed_node_types: [], allowed_root_node_types: [] } as const;

type Json = TestResponse['json'];

/** A repository of a test server as its administrator sees it. Makes workspaces that no other test looks at. */
export class ContentClient {
  readonly server: TestServer;
  readonly repository: string;
  #spaces = 0;

  constructor(server: TestServer, repository: string) {
    this.server = server;
    this.repository = repository;
  }

  /** Makes a new repository on a server, to be translated to some languages. */
  static async on(server: TestServer): Promise<ContentClient> {
    const settings = { supported_languages: ['en', 'de', 'fr'] };
    return new ContentClient(server, await server.createRepository(undefined, settings));
  }

  /** Makes a workspace. @param definition default: every type is allowed */
  async workspace(definition: object = anything): Promise<Space> {
    this.#spaces += 1;
    const name = `space-${this.#spaces}`;
    expectStatus(
      await this.server.admin('PUT', `/api/workspaces/${this.repository}/${name}`, definition),
      204,
    );
    return new Space(this, name);
  }

  /** A request below `/api/management/{repo}/main/`. */
  schema(method: string, rest: string, body?: unknown): Promise<TestResponse> {
    return this.server.admin(method, `/api/management/${this.repository}/main/${rest}`, body);
  }

  /** Stores a node type, new or not. @returns the stored definition */
  async defineType(definition: object): Promise<Json> {
    return expectStatus(await this.schema('POST', 'nodetypes', { node_type: definition }), 200, 201).json;
  }

  /** A GET below the revisions of the repository. @param rest `?limit=2`, `/{revision}/changes` */
  revisions(rest = ''): Promise<TestResponse> {
    return this.server.admin(
      'GET',
      `/api/management/repositories/default/${this.repository}/revisions${rest}`,
    );
  }

  /** The record of a revision. */
  async revision(revision: string): Promise<Json> {
    return expectStatus(await this.revisions(`/${revision}`), 200).json;
  }

  /** A request below the management address of the repository. @param rest `/branches`, `/tags/v1` */
  managed(method: string, rest: string, body?: unknown): Promise<TestResponse> {
    const path = `/api/management/repositories/default/${this.repository}${rest}`;
    return this.server.admin(method, path, body);
  }

  /** Makes a branch. @param body besides the name @returns the branch */
  async branch(name: string, body: object = {}): Promise<Json> {
    return expectStatus(await this.managed('POST', '/branches', { name, ...body }), 201).json;
  }

  /** Where a branch stands. */
  async headOf(branch: string): Promise<string> {
    const answer = await this.managed('GET', `/branches/${encodeURIComponent(branch)}/head`);
    return expectStatus(answer, 200).json.revision as string;
  }

  /** The newest revision of `main`, system revisions included. */
  async headRevision(): Promise<string> {
    const { json } = expectStatus(await this.revisions('?limit=1&include_system=true'), 200);
    return json.revisions[0].revision as string;
  }
}

/** A workspace on one branch. Paths begin with a slash; a trailing one lists. */
export class Space {
  readonly client: ContentClient;
  readonly name: string;
  /** Name of a branch, or of a tag. */
  readonly branch: string;

  /** @param branch default: `main` */
  constructor(client: ContentClient, name: string, branch = 'main') {
    this.client = client;
    this.name = name;
    this.branch = branch;
  }

  /** The same workspace on another branch, or as a tag shows it. */
  on(branch: string): Space {
    return new Space(this.client, this.name, branch);
  }

  /** The address of a path at the head. */
  url(path: string): string {
    return `${this.#base}/head/${encodeURIComponent(this.name)}${path}`;
  }

  /** The address of a path at a revision. */
  urlAt(revision: string, path: string): string {
    return `${this.#base}/rev/${revision}/${encodeURIComponent(this.name)}${path}`;
  }

  get #base(): string {
    return `/api/repository/${this.client.repository}/${encodeURIComponent(this.branch)}`;
  }

  get(path: string): Promise<TestResponse> {
    return this.client.server.admin('GET', this.url(path));
  }

  /** Reads at a revision. */
  getAt(revision: string, path: string): Promise<TestResponse> {
    return this.client.server.admin('GET', this.urlAt(revision, path));
  }

  post(path: string, body?: unknown): Promise<TestResponse> {
    return this.client.server.admin('POST', this.url(path), body);
  }

  put(path: string, body?: unknown): Promise<TestResponse> {
    return this.client.server.admin('PUT', this.url(path), body);
  }

  delete(path: string, body?: unknown): Promise<TestResponse> {
    return this.client.server.admin('DELETE', this.url(path), body);
  }

  /** Posts a command to a node. */
  command(path: string, command: string, body: object = {}): Promise<TestResponse> {
    return this.post(`${path === '/' ? '' : path}/svc:cmd/${command}`, body);
  }

  /** Posts a command that must be answered with 200 or 204. */
  async done(path: string, command: string, body: object = {}): Promise<TestResponse> {
    return expectStatus(await this.command(path, command, body), 200, 204);
  }

  /** Creates a node. @param parent `/` for the root @returns the node */
  async add(
    parent: string,
    name: string,
    properties: object = {},
    nodeType = 'svc:Folder',
    rest: object = {},
  ): Promise<Json> {
    const body = { name, node_type: nodeType, properties, ...rest };
    const { json } = expectStatus(await this.post(parent, body), 201);
    return 'committed' in json ? json.node : json;
  }

  /** Creates nodes at paths in order, with whatever parents they need in the list before them. */
  async addAll(...paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      const slash = path.lastIndexOf('/');
      await this.add(slash === 0 ? '/' : path.slice(0, slash), path.slice(slash + 1));
    }
  }

  /** Reads a node that must be there. */
  async node(path: string): Promise<Json> {
    return expectStatus(await this.get(path), 200).json;
  }

  /** Names of the children in listed order. */
  async names(path = '/'): Promise<string[]> {
    const listing = path.endsWith('/') ? path : `${path}/`;
    const { json } = expectStatus(await this.get(listing), 200);
    return (json as { name: string }[]).map((node) => node.name);
  }

  /** Posts a JSON query. */
  query(body: object): Promise<TestResponse> {
    return this.post('/query', body);
  }

  /** Posts a DSL query. */
  dsl(body: object): Promise<TestResponse> {
    return this.post('/query/dsl', body);
  }
}

/** The revision a write says it made, or a read says it looked at. */
export function revisionOf(answer: TestResponse): string {
  const revision = answer.headers['x-svc-revision'];
  if (typeof revision !== 'string') throw new Error(`no revision in ${answer.status} ${answer.text}`);
  return revision;
}

/** Sorts revisions: negative when `a` is the earlier one. */
export function compareRevisionTexts(a: string, b: string): number {
  const [aMs = 0, aCounter = 0] = a.split('-').map(Number);
  const [bMs = 0, bCounter = 0] = b.split('-').map(Number);
  return aMs - bMs || aCounter - bCounter;
}

/** The answer, if it has one of the statuses; else an error that shows it. */
export function expectStatus(answer: TestResponse, ...statuses: readonly number[]): TestResponse {
  if (statuses.includes(answer.status)) return answer;
  throw new Error(`expected ${statuses.join(' or ')}, got ${answer.status}: ${answer.text.slice(0, 500)}`);
}
