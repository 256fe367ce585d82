/**
 * The tour of the README with a client that is generated from the description of the interface: a test generates
 * `client.ts` beside a copy of this file, compiles both and runs them against a server.
 *
 *     node tour.ts <url of the server> <password of admin>
 */
import {
  ApiError,
  configure,
  createNode,
  createRepository,
  listRevisions,
  logInAdmin,
  publishNode,
  putNodeType,
  putWorkspace,
  queryNodes,
  queryNodesByDsl,
  readHistory,
  readNode,
  readNodeAtRevision,
  reorderNode,
  translateNode,
  updateNode,
} from './client.ts';

const [serverUrl = '', password = ''] = process.argv.slice(2);

/** What stands before the path of a node, and the path. */
const nodePath =
  /(\/api\/(?:repository(?:\/[^/]+){2}\/(?:head|rev\/[^/]+)|(?:history|audit)(?:\/[^/]+){2})\/[^/]+\/)([^?]*)/;

/**
 * The path of a node is an address: `/` and `@` in it stay as they are. To OpenAPI it is one segment, so clients send
 * these as `%2F` and `%40`. A slash in another segment, as in the name of a branch, stays encoded.
 */
function withNodePath(url: string): string {
  return url.replace(nodePath, (_, before: string, path: string) => {
    return before + path.replaceAll(/%(?:2F|40)/g, decodeURIComponent);
  });
}

configure({
  serverUrl,
  fetch: (input, init) => fetch(withNodePath(String(input)), init),
});

const { token } = await logInAdmin({ path: { tenant: 'default' }, body: { username: 'admin', password } });
configure({ auth: { bearer: token ?? '' } });

const repo = 'magazine';
const main = { repo, branch: 'main' };
const content = { ...main, workspace: 'content' };
const at = (path: string) => ({ ...content, path });

const repository = await createRepository({
  body: { repo_id: repo, description: 'Our first issue', supported_languages: ['en', 'de'] },
});
const type = await putNodeType({
  path: main,
  body: {
    node_type: {
      name: 'mag:Article',
      extends: 'svc:Folder',
      strict: true,
      properties: [
        { name: 'title', type: 'String', required: true },
        { name: 'author', type: 'String', index: ['Property'] },
        { name: 'words', type: 'Number', constraints: { min: 0 } },
      ],
    },
  },
});
await putWorkspace({
  path: { repo, name: 'content' },
  body: {
    allowed_node_types: ['mag:Article', 'svc:Folder'],
    allowed_root_node_types: ['svc:Folder', 'mag:Article'],
  },
});

const issue = await createNode({
  path: at(''),
  body: { name: 'Spring Issue', node_type: 'svc:Folder', properties: {} },
});
const article = (name: string, title: string, author: string, words: number) =>
  createNode({
    path: at('spring-issue'),
    body: { name, node_type: 'mag:Article', properties: { title, author, words } },
  });
const gardens = await article('Gardens', 'Gardens in March', 'Ada', 1200);
await article('Rivers', 'Rivers in flood', 'Bo', 900);

/** What a request that has to fail is refused with. */
async function refusalOf(request: Promise<unknown>): Promise<{ status: number; body: unknown }> {
  try {
    await request;
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, body: error.body };
    throw error;
  }
  throw new Error('the request was not refused');
}

const unfit = await refusalOf(
  createNode({
    path: at('spring-issue'),
    body: { name: 'Bad', node_type: 'mag:Article', properties: { title: 'No', pages: 3 } },
  }),
);
// What types of bodies do not allow is sent all the same.
const untyped = await refusalOf(
  createNode({ path: at('spring-issue'), body: { node_type: 'mag:Article' } as never }),
);

const node: unknown = await readNode({ path: at('spring-issue/gardens') });
const title: unknown = await readNode({ path: at('spring-issue/gardens@title') });
const page: unknown = await readNode({ path: at('spring-issue/'), query: { limit: 1 } });
const tree: unknown = await readNode({ path: at(''), query: { deep: true } });

const updated = await updateNode({
  path: at('spring-issue/gardens'),
  body: {
    properties: { title: 'Gardens in April', author: 'Ada', words: 1250 },
    commit: { message: 'Late spring', actor: 'ada' },
  },
});
await reorderNode({
  path: at('spring-issue/rivers'),
  body: { targetPath: '/spring-issue/gardens', movePosition: 'before' },
});
const translated = await translateNode({
  path: at('spring-issue/gardens'),
  body: { locale: 'de', translations: { '/title': 'Gärten im April' } },
});
const german: unknown = await readNode({ path: at('spring-issue/gardens'), query: { lang: 'de' } });
await publishNode({ path: at('spring-issue/gardens'), body: {} });

const found = await queryNodes({ path: content, body: { nodeType: 'mag:Article' } });
const roots = await queryNodesByDsl({
  path: content,
  body: { or: [{ name: { like: 'spring' } }, { 'properties.words': { gt: 5000 } }], limit: 10 },
});

const { revisions } = await listRevisions({ path: { tenant: 'default', repo }, query: { limit: 5 } });
const history = await readHistory({ path: { ...content, path: 'spring-issue/gardens' } });
const first: unknown = await readNodeAtRevision({
  path: { ...at('spring-issue/gardens'), revision: history.at(-1)?.revision ?? '' },
});

process.stdout.write(
  JSON.stringify({
    repository: repository.branches,
    type: type.version,
    issue: 'path' in issue ? issue.path : issue.node.path,
    gardens: 'committed' in gardens ? gardens.node.properties : gardens.properties,
    unfit,
    untyped,
    node,
    title,
    page,
    tree,
    updated,
    translated: translated.locale,
    german,
    found: found.items.map(({ path }) => path),
    roots: roots.items.map(({ path }) => path),
    revisions: revisions.length,
    first,
  }),
);
