import { DemoError, type GroveClient } from './grove-client.ts';
import type { Found } from './find-documents.ts';
import { Progress } from './progress.ts';
import { hashOf, readDocument } from './read-document.ts';

/** The repository of the demo. */
export const repository = 'demo';
export const nodesUrl = `/api/repository/${repository}/main/head/files`;

/** Number of nodes by outcome. */
export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  /** Files that are not text, empty or too long. */
  skipped: number;
}

/** Asks the import to stop after the requests in progress. */
export interface Stop {
  readonly isAsked: boolean;
}

const text = { type: 'String' } as const;
const number = { type: 'Number' } as const;
const indexed = { index: ['Property'] } as const;

const nodeTypes = [
  {
    name: 'demo:Document',
    description: 'A text file of this machine.',
    strict: true,
    properties: [
      { name: 'title', ...text, required: true },
      { name: 'bytes', ...number, required: true, constraints: { min: 1 } },
      { name: 'lines', ...number, required: true, ...indexed },
      { name: 'extension', ...text, ...indexed },
      { name: 'language', ...text, ...indexed },
      { name: 'source', ...text, required: true },
      { name: 'content', ...text, required: true },
      { name: 'hash', ...text, required: true },
    ],
  },
  {
    name: 'demo:Folder',
    description: 'A folder with text files somewhere below it.',
    strict: true,
    allowed_children: ['demo:Folder', 'demo:Document'],
    properties: [
      { name: 'title', ...text, required: true },
      { name: 'files', ...number, required: true, ...indexed },
      { name: 'hash', ...text, required: true },
    ],
  },
];

/** Creates the repository, node types and workspace if they are missing. */
export async function prepare(client: GroveClient): Promise<void> {
  const made = await client.send('POST', '/api/repositories', {
    repo_id: repository,
    description: 'Documentation found on this machine',
  });
  if (made.status !== 201 && made.status !== 409) {
    throw new DemoError(`The repository cannot be created: ${made.status} ${made.text.slice(0, 300)}`);
  }
  for (const type of nodeTypes) {
    const url = `/api/management/${repository}/main/nodetypes`;
    const stored = await client.send('GET', `${url}/${encodeURIComponent(type.name)}`);
    // Storing an unchanged type would add a version in every run.
    if (stored.status !== 200 || !hasProperties(stored.text, type.properties)) {
      await client.json('POST', url, { node_type: type });
    }
  }
  await client.json('PUT', `/api/workspaces/${repository}/files`, {
    description: 'A tree of folders and documents',
    allowed_node_types: ['demo:Folder', 'demo:Document'],
    allowed_root_node_types: ['demo:Folder'],
  });
}

/** Whether a stored definition is of this version of the demo. */
function hasProperties(definition: string, properties: readonly { readonly name: string }[]): boolean {
  const stored = JSON.parse(definition) as { properties: { readonly name: string }[] };
  const names = (list: readonly { readonly name: string }[]): string =>
    list
      .map(({ name }) => name)
      .sort()
      .join();
  return names(stored.properties) === names(properties);
}

/**
 * Creates missing nodes, replaces changed nodes, and leaves unchanged nodes alone. A run can therefore continue an
 * interrupted one.
 *
 * @param concurrency most concurrent requests
 */
export async function importFound(
  client: GroveClient,
  found: Found,
  concurrency: number,
  stop: Stop,
): Promise<Counts> {
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, skipped: 0 };
  const progress = new Progress(process.stdout, 'Importing', found.folders.length + found.documents.length);
  const put = async (path: string, type: string, properties: NodeProperties | undefined): Promise<void> => {
    counts[properties === undefined ? 'skipped' : await bringUpToDate(client, path, type, properties)] += 1;
    progress.step(
      `${counts.created} new, ${counts.updated} changed, ${counts.unchanged} as before, ${counts.skipped} no text`,
    );
  };
  // One level of folders at a time, because a node needs its parent.
  for (const level of Map.groupBy(found.folders, ({ path }) => path.split('/').length).values()) {
    await inParallel(level, concurrency, stop, ({ path, title, files }) => {
      const properties = { title, files };
      return put(path, 'demo:Folder', { ...properties, hash: hashOf(properties) });
    });
  }
  await inParallel(found.documents, concurrency, stop, ({ path, file }) =>
    put(path, 'demo:Document', readDocument(file)),
  );
  progress.end();
  return counts;
}

/** Properties of both types. */
interface NodeProperties {
  readonly hash: string;
}

async function bringUpToDate(
  client: GroveClient,
  path: string,
  type: string,
  properties: NodeProperties,
): Promise<'created' | 'updated' | 'unchanged'> {
  const url = nodesUrl + path;
  const stored = await storedHash(client, url);
  if (stored === properties.hash) return 'unchanged';
  if (stored === undefined) {
    const slash = path.lastIndexOf('/');
    const parent = nodesUrl + (path.slice(0, slash) || '/');
    const node = { name: path.slice(slash + 1), node_type: type, properties };
    const { status, text: why } = await client.send('POST', parent, node);
    if (status === 201) return 'created';
    // Another demo, or a request of an interrupted one, may have created the node meanwhile. The answer is a failure
    // only if the node does not exist.
    const present = await storedHash(client, url);
    if (present === properties.hash) return 'unchanged';
    if (present === undefined) {
      throw new DemoError(`${path} cannot be created: ${status} ${why.slice(0, 500)}`);
    }
  }
  await client.json('PUT', url, {
    properties,
    commit: { message: `Import ${path} again`, actor: 'demo' },
  });
  return 'updated';
}

/** The hash of a stored node. */
async function storedHash(client: GroveClient, url: string): Promise<string | undefined> {
  const { status, text: value } = await client.send('GET', `${url}@hash`);
  if (status === 200) return JSON.parse(value) as string;
  if (status === 404) return undefined;
  throw new DemoError(`GET ${url}@hash was answered ${status}: ${value.slice(0, 500)}`);
}

/** Processes a list with bounded concurrency. It starts no further item when asked to stop or after a failure. */
async function inParallel<Item>(
  items: readonly Item[],
  concurrency: number,
  stop: Stop,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !stop.isAsked && !hasFailed) {
      const item = items[next++] as Item;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
