/**
 * The measured content: folders with 100 articles each. An article has a title, two indexed properties, a text and
 * tags, 436 bytes of properties as JSON. schema.sql has the same content for PostgreSQL.
 */

/**
 * URL of the nodes of a branch.
 *
 * @param moment `head`, or `rev/` and a revision
 */
export function nodesUrlOf(branch: string, moment = 'head'): string {
  return `/api/repository/bench/${branch}/${moment}/content`;
}

/** URL of the repository, branch and workspace of the benchmark. */
export const nodesUrl = nodesUrlOf('main');

/** URL of the branches of the repository. */
export const branchesUrl = '/api/management/repositories/default/bench/branches';

/** Articles in a folder. */
export const ARTICLES_PER_FOLDER = 100;

/** Node type of an article. */
const articleType = {
  name: 'bench:Article',
  strict: true,
  properties: [
    { name: 'title', type: 'String', required: true },
    { name: 'author', type: 'String', index: ['Property'] },
    { name: 'rank', type: 'Number', index: ['Property'] },
    { name: 'body', type: 'String' },
    { name: 'tags', type: 'Array' },
  ],
};

/** Text of every article; only its size matters. */
export const bodyText = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. '
  .repeat(4)
  .trim();

/** Properties of article number `rank`. */
export function articleProperties(rank: number): Record<string, unknown> {
  return {
    title: `Title ${rank}`,
    author: `author-${rank % 100}`,
    rank,
    body: bodyText,
    tags: ['one', 'two'],
  };
}

/** URL of article number `rank`. */
export function articleUrl(nodes: string, rank: number): string {
  return `${folderUrl(nodes, rank)}/n-${rank % ARTICLES_PER_FOLDER}`;
}

/** URL of the folder of article number `rank`. */
export function folderUrl(nodes: string, rank: number): string {
  return `${nodes}/f-${Math.floor(rank / ARTICLES_PER_FOLDER)}`;
}

/** Body of the request that creates article `name`. */
export function articleBody(name: string, rank: number): string {
  return JSON.stringify({ name, node_type: 'bench:Article', properties: articleProperties(rank) });
}

/** Body of the request that creates a folder. */
export function folderBody(number: number): string {
  return JSON.stringify({ name: `f-${number}`, node_type: 'svc:Folder', properties: {} });
}

/** Sends one request to a server. */
interface Caller {
  json(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** Creates the repository, node type and workspace. */
export async function defineCorpus(server: Caller): Promise<void> {
  await server.json('POST', '/api/repositories', {
    repo_id: 'bench',
    description: 'Benchmark',
    supported_languages: ['en', 'de'],
  });
  await server.json('POST', '/api/management/bench/main/nodetypes', { node_type: articleType });
  await server.json('PUT', '/api/workspaces/bench/content', {
    allowed_node_types: ['bench:Article', 'svc:Folder'],
    allowed_root_node_types: ['svc:Folder', 'bench:Article'],
  });
}
