/**
 * Records a data directory of the present format: `npx node test/history/record.ts`, before a release that changes one.
 *
 * A member writes nodes, types, versions, translations, relations, a move and a deletion; it is stopped, started
 * again, writes more and is killed in the middle, so that its last writes are in the journal and not in the shards.
 * What a member over a copy of that answers is recorded with it.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';
import { startServer } from '#test/support/server.ts';
import {
  packFolder,
  presentFormats,
  type RecordedAnswer,
  recordingNames,
  writeRecording,
} from './recording.ts';

const repository = 'magazine';
const head = `/api/repository/${repository}/main/head/articles`;

/** A member that is written to; every write must work. */
class Author {
  readonly #server: ServerProcess;
  readonly #token: string;

  private constructor(server: ServerProcess, token: string) {
    this.#server = server;
    this.#token = token;
  }

  static async at(dataDir: string, config: string): Promise<Author> {
    const server = await startServerProcess({ dataDir, env: { SVC_CONFIG: config } });
    return new Author(server, await server.logIn());
  }

  async send(method: string, path: string, body: unknown): Promise<void> {
    const { status, text } = await this.#server.request(method, path, { token: this.#token, body });
    if (status >= 300) throw new Error(`${method} ${path} answers ${status}: ${text}`);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#server.kill(signal);
  }
}

type Write = readonly [method: string, path: string, body: unknown];

const article = (name: string, properties: object): Write => [
  'POST',
  `${head}/spring`,
  { name, node_type: 'mag:Article', properties },
];
const command = (path: string, name: string, body: object = {}): Write => [
  'POST',
  `${head}${path}/svc:cmd/${name}`,
  body,
];

const firstWrites: readonly Write[] = [
  [
    'POST',
    '/api/repositories',
    { repo_id: repository, description: 'Recorded', supported_languages: ['en', 'de'] },
  ],
  [
    'POST',
    `/api/management/${repository}/main/nodetypes`,
    {
      node_type: {
        name: 'mag:Article',
        extends: 'svc:Folder',
        auditable: true,
        properties: [
          { name: 'title', type: 'String', required: true, is_translatable: true },
          { name: 'code', type: 'String', unique: true },
          { name: 'author', type: 'String', index: ['Property'] },
          { name: 'words', type: 'Number', constraints: { min: 0 } },
        ],
      },
    },
  ],
  ['PUT', `/api/workspaces/${repository}/articles`, { allowed_node_types: [], allowed_root_node_types: [] }],
  ['POST', `${head}/`, { name: 'Spring', node_type: 'svc:Folder', properties: {} }],
  article('Gardens', { title: 'Gardens in March', code: 'g-1', author: 'Ada', words: 1200 }),
  article('Rivers', { title: 'Rivers in flood', code: 'r-1', author: 'Bo', words: 900 }),
  article('Bridges', {
    title: 'Grüße von der Brücke',
    author: 'Ada',
    deep: { er: [1, null, true, 'x'.repeat(3000)] },
  }),
  // Large enough to be stored in pieces.
  article('Atlas', { title: 'Atlas', author: 'Di', maps: 'terra incognita '.repeat(20_000) }),
  [
    'PUT',
    `${head}/spring/gardens`,
    { properties: { title: 'Gardens in April', code: 'g-1', author: 'Ada', words: 1250 } },
  ],
  command('/spring/gardens', 'create_version', { note: 'before the summer' }),
  command('/spring/gardens', 'translate', { locale: 'de', translations: { '/title': 'Gärten im April' } }),
  command('/spring/rivers', 'add-relation', {
    targetWorkspace: 'articles',
    targetPath: '/spring/gardens',
    relationType: 'cites',
    weight: 0.5,
  }),
  command('/spring/bridges', 'reorder', { targetPath: '/spring/gardens', movePosition: 'before' }),
  command('', 'commit', {
    message: 'Many at once',
    actor: 'importer',
    operations: Array.from({ length: 40 }, (_, index) => ({
      type: 'create',
      node: { name: `note-${index}`, node_type: 'svc:Folder', properties: { index } },
    })),
  }),
];

const secondWrites: readonly Write[] = [
  command('/spring', 'move', { targetPath: '/summer' }),
  ['DELETE', `${head}/note-7`, {}],
  command('/summer/rivers', 'publish'),
  [
    'PUT',
    `${head}/summer/gardens`,
    {
      properties: { title: 'Gardens in May', code: 'g-2', author: 'Cy', words: 1300 },
      commit: { message: 'Late spring', actor: 'ada' },
    },
  ],
  [
    'POST',
    `${head}/`,
    {
      name: 'Last',
      node_type: 'mag:Article',
      properties: { title: 'Written last', code: 'l-1', author: 'Cy' },
    },
  ],
];

const revisionsPath = `/api/management/repositories/default/${repository}/revisions`;
const query = `${head}/query`;

const fixedQuestions: readonly Omit<RecordedAnswer, 'status' | 'json'>[] = [
  ...[
    '/api/repositories',
    `/api/repositories/${repository}`,
    `/api/workspaces/${repository}/articles`,
    `/api/management/${repository}/main/nodetypes/mag:Article`,
    `/api/management/${repository}/main/nodetypes/mag:Article/resolved`,
    `${head}/?flatten=true`,
    `${head}/summer?deep=true`,
    `${head}/?limit=10`,
    `${head}/summer/gardens`,
    `${head}/summer/gardens?lang=de`,
    `${head}/summer/rivers`,
    `${head}/summer/gardens@title`,
    `${head}/summer/gardens/svc:version`,
    `${head}/summer/gardens/svc:version/1`,
    `${head}/summer/gardens/svc:relations`,
    `${head}/summer/rivers/svc:relations`,
    `${head}/summer/gardens/svc:list-translations`,
    `${head}/spring/gardens`,
    `${head}/note-7`,
    `/api/history/${repository}/main/articles/summer/gardens`,
    `/api/audit/${repository}/main/articles/summer/gardens`,
    revisionsPath,
  ].map((path) => ({ method: 'GET', path }) as const),
  ...[
    { nodeType: 'mag:Article' },
    { nodeType: 'svc:Folder', limit: 5, offset: 3 },
    { parent: '/summer' },
  ].map((body) => ({ method: 'POST', path: query, body }) as const),
  {
    method: 'POST',
    path: `${query}/dsl`,
    body: { node_type: { eq: 'mag:Article' }, 'properties.author': { eq: 'Cy' } },
  },
];

/** The newest record of the journal in a data directory that nobody uses. */
async function lastSequenceIn(dataDir: string): Promise<number> {
  const copy = mkdtempSync(join(tmpdir(), 'grove-copy-'));
  cpSync(join(dataDir, 'journal'), copy, { recursive: true });
  const journal = await Journal.open({
    folder: copy,
    durability: 'local',
    files: realFileSystem,
    clock: systemClock,
    random: systemRandom,
    report: () => undefined,
  });
  const { lastSequence } = journal;
  await journal.close();
  rmSync(copy, { recursive: true, force: true });
  return lastSequence;
}

/** What is asked at every revision. */
const questionsAt = (revision: string): readonly Omit<RecordedAnswer, 'status' | 'json'>[] => [
  { method: 'GET', path: `/api/repository/${repository}/main/rev/${revision}/articles/?flatten=true` },
  { method: 'GET', path: `/api/repository/${repository}/main/rev/${revision}/articles/spring/gardens` },
  { method: 'POST', path: `${query}?revision=${revision}`, body: { nodeType: 'mag:Article' } },
  { method: 'GET', path: `${revisionsPath}/${revision}/changes` },
];

/** Asks a member over a copy of the data, which it may change. */
async function answersOver(dataDir: string): Promise<readonly RecordedAnswer[]> {
  const copy = mkdtempSync(join(tmpdir(), 'grove-copy-'));
  cpSync(dataDir, copy, { recursive: true });
  const server = await startServer({ dataDir: copy });
  try {
    const revisions = (await server.admin('GET', revisionsPath)).json.revisions as { revision: string }[];
    // Every third is enough to reach each kind of write, and keeps the file small.
    const some = revisions.filter((_, index) => index % 3 === 0);
    const questions = [...fixedQuestions, ...some.flatMap(({ revision }) => questionsAt(revision))];
    const answers: RecordedAnswer[] = [];
    for (const question of questions) {
      const { status, json } = await server.admin(question.method, question.path, question.body);
      // The rest of an error is its time and words for people.
      answers.push({ ...question, status, json: status < 400 ? json : { code: json.code } });
    }
    return answers;
  } finally {
    await server.close();
    rmSync(copy, { recursive: true, force: true });
  }
}

// Timers of the clock do not keep a process alive.
const alive = new MessageChannel();
alive.port1.on('message', () => {});
const folder = mkdtempSync(join(tmpdir(), 'grove-record-'));
try {
  const dataDir = join(folder, 'data');
  const config = join(folder, 'svc.toml');
  // Small, because the file is stored with its room.
  writeFileSync(config, '[limits]\njournal_segment_bytes = 1048576\nbatch_bytes_max = 524288\n');
  const first = await Author.at(dataDir, config);
  for (const write of firstWrites) await first.send(...write);
  await first.end('SIGTERM');
  const second = await Author.at(dataDir, config);
  for (const write of secondWrites) await second.send(...write);
  await second.end('SIGKILL');
  const lastSequence = await lastSequenceIn(dataDir);
  const answers = await answersOver(dataDir);
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  };
  const number = String(recordingNames().length + 1).padStart(4, '0');
  const name = `${number}-grove-${version}.json.gz`;
  const bytes = writeRecording(name, {
    version,
    formats: presentFormats,
    lastSequence,
    files: packFolder(dataDir),
    answers,
  });
  process.stdout.write(`${name}: ${bytes} bytes, ${answers.length} answers\n`);
} finally {
  alive.port1.close();
  rmSync(folder, { recursive: true, force: true });
}
