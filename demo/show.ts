import type { GroveClient } from './grove-client.ts';
import { nodesUrl, repository } from './import-documents.ts';

/** Most children of a node shown in the tree. */
const CHILDREN_SHOWN = 6;

interface Node {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

interface Page {
  readonly items: readonly Node[];
  readonly page: { readonly total: number };
}

interface Tree {
  readonly [name: string]: { readonly node: Node; readonly children: Tree };
}

/** Shows a few queries over the imported content, each with its request. */
export async function showContent(client: GroveClient): Promise<void> {
  await showCounts(client);
  await showLargest(client);
  const document = await showListing(client);
  if (document !== undefined) await showHistory(client, document);
  await showTree(client);
}

async function showCounts(client: GroveClient): Promise<void> {
  say(
    'How many nodes are there of each type?',
    'POST …/files/query {"nodeType": "demo:Document", "limit": 1}',
  );
  for (const nodeType of ['demo:Folder', 'demo:Document']) {
    const { page } = await client.json<Page>('POST', `${nodesUrl}/query`, { nodeType, limit: 1 });
    console.log(`  ${page.total.toLocaleString('en-US').padStart(8)}  ${nodeType}`);
  }
}

async function showLargest(client: GroveClient): Promise<void> {
  const filter = {
    and: [{ node_type: { eq: 'demo:Folder' } }, { 'properties.files': { gt: 0 } }],
    order_by: { 'properties.files': 'desc' },
    limit: 5,
  };
  say('Which folders of the root hold most files?', `POST …/files/query/dsl ${JSON.stringify(filter)}`);
  const { items } = await client.json<Page>('POST', `${nodesUrl}/query/dsl`, filter);
  for (const { path, properties } of items) {
    console.log(`  ${Number(properties.files).toLocaleString('en-US').padStart(8)}  ${path}`);
  }
}

/** Descends the first folders until one has documents. @returns one of the documents */
async function showListing(client: GroveClient): Promise<Node | undefined> {
  let folder = '';
  for (;;) {
    const { items } = await client.json<{ items: Node[] }>('GET', `${nodesUrl}${folder}/?limit=5`);
    const document = items.find((node) => node.node_type === 'demo:Document');
    if (document !== undefined || items[0] === undefined) {
      say(`What is in ${folder}?`, `GET …/files${folder}/?limit=5`);
      for (const { name, properties } of items) console.log(`  ${name.padEnd(28)}  ${properties.title}`);
      return document;
    }
    folder = items[0].path;
  }
}

async function showHistory(client: GroveClient, { path, properties }: Node): Promise<void> {
  const url = `/api/history/${repository}/main/files${path}`;
  say(`What happened to ${path} (${properties.lines} lines)?`, `GET ${url}`);
  const entries = await client.json<{ revision: string; updated_by: string; message: string }[]>(
    'GET',
    `${url}?limit=5`,
  );
  for (const entry of entries) console.log(`  ${entry.revision}  ${entry.updated_by}  ${entry.message}`);
}

async function showTree(client: GroveClient): Promise<void> {
  say('The tree, two levels of it', 'GET …/files/?level=2');
  printTree(await client.json<Tree>('GET', `${nodesUrl}/?level=2`), '  ');
}

function printTree(tree: Tree, indent: string): void {
  const entries = Object.entries(tree);
  for (const [name, { node, children }] of entries.slice(0, CHILDREN_SHOWN)) {
    const count = node.properties.files;
    console.log(
      `${indent}${name}${count === undefined ? '' : `/  (${Number(count).toLocaleString('en-US')})`}`,
    );
    printTree(children ?? {}, `${indent}    `);
  }
  if (entries.length > CHILDREN_SHOWN) console.log(`${indent}… and ${entries.length - CHILDREN_SHOWN} more`);
}

function say(question: string, request: string): void {
  console.log(`\n${question}\n  ${request}`);
}
